//! Digests of bytes, and of the properties on which a guest's output depends. The module knows no
//! property by name.

use std::{collections::BTreeMap, fmt};

use sha2::{Digest, Sha256};

/// Returns the SHA-256 digest in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns a UUID whose random bits are from the SHA-256 digest of these bytes.
pub fn uuid(bytes: &[u8]) -> String {
    let mut digits = sha256(bytes)[..32].to_owned();
    // Version 4, and the variant of RFC 9562.
    digits.replace_range(12..13, "4");
    digits.replace_range(16..17, "a");
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| &digits[part]);
    parts.join("-")
}

/// The properties of a machine by name, sorted. Machines with equal identities give equal bytes.
pub type Identity = BTreeMap<String, String>;

/// Returns a short digest of an identity, 16 hexadecimal digits.
pub fn key<T: fmt::Display>(identity: &BTreeMap<T, T>) -> String {
    let text: String = identity.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
    sha256(text.as_bytes())[..16].to_owned()
}
