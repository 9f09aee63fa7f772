//! Reads TOML written by people: errors name the line and the nearest key, and a list of one may be
//! written as a single value.

use anyhow::{Result, anyhow};
use serde::{Deserialize, Deserializer, de::DeserializeOwned};

use crate::units::words::nearest;

/// Parses TOML.
///
/// # Errors
/// The text is invalid; the message is one line, with the line number and, for an unknown key, the
/// nearest known one.
pub fn from_toml<T: DeserializeOwned>(text: &str) -> Result<T> {
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let line = 1 + before.matches('\n').count();
        let message = error.message().lines().next().unwrap_or_default();
        anyhow!("line {line}: {message}{}", nearest_key(message))
    })
}

/// A suggestion for an unknown key. Serde's message quotes the unknown key first, then all known
/// keys.
fn nearest_key(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    match quoted.next() {
        Some(unknown) if message.starts_with("unknown field") => nearest(unknown, quoted),
        _ => String::new(),
    }
}

/// A TOML value as the value of a parameter: strings without quotes.
pub fn word(value: &toml::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The values of a list, or a single value as a list of one.
pub fn list(value: toml::Value) -> Vec<toml::Value> {
    match value {
        toml::Value::Array(values) => values,
        value => vec![value],
    }
}

/// Deserializes a list of values, or a single value, as words.
///
/// # Errors
/// If the TOML is invalid.
pub fn words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(list(toml::Value::deserialize(deserializer)?).iter().map(word).collect())
}
