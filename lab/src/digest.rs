//! Digests of bytes, and of the properties on which a guest's output depends. Two machines with
//! equal identities give equal bytes.

use std::{collections::BTreeMap, fmt};

use sha2::{Digest, Sha256};

/// Returns the SHA-256 digest in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Properties by name, sorted.
pub type Identity = BTreeMap<String, String>;

/// Returns a short digest of an identity, 16 hexadecimal digits.
pub fn key<T: fmt::Display>(identity: &BTreeMap<T, T>) -> String {
    let text: String = identity.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
    sha256(text.as_bytes())[..16].to_owned()
}
