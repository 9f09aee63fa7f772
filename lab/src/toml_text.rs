//! TOML that people write: mistakes with their line and the nearest key, and values that may be a list or stand alone.

use anyhow::{Result, anyhow};
use serde::{Deserialize, Deserializer, de::DeserializeOwned};

use crate::units::words::nearest;

/// Reads TOML; what is wrong is told with the line.
pub fn from_toml<T: DeserializeOwned>(text: &str) -> Result<T> {
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let line = 1 + before.matches('\n').count();
        let message = error.message().lines().next().unwrap_or_default();
        anyhow!("line {line}: {message}{}", nearest_key(message))
    })
}

/// The key that was meant, when the message is serde's of an unknown one: it quotes that first, then all there are.
fn nearest_key(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    match quoted.next() {
        Some(unknown) if message.starts_with("unknown field") => nearest(unknown, quoted),
        _ => String::new(),
    }
}

/// A TOML value as a parameter's value: numbers without their dress, words without quotes.
pub fn word(value: &toml::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

pub fn list(value: toml::Value) -> Vec<toml::Value> {
    match value {
        toml::Value::Array(values) => values,
        value => vec![value],
    }
}

pub fn words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(list(toml::Value::deserialize(deserializer)?).iter().map(word).collect())
}
