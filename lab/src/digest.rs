//! Digests: one name for bytes, and for facts that something follows from.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

/// In hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Facts by name, in the order of their names.
pub type Identity = BTreeMap<String, String>;

/// One name for all of them.
pub fn key(identity: &Identity) -> String {
    let text: String = identity.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
    sha256(text.as_bytes())[..16].to_owned()
}
