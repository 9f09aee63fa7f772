//! Reads TOML written by people: errors name the line and the nearest key, and a list of one may be
//! written as a single value. The module knows no key by name.

use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_ignored::Path;
use toml::de::{DeTable, DeValue};

use chronoscope_units::{printable, words::nearest};

/// The error of a TOML text, on one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct TomlError {
    /// The number of the line, from 1.
    pub line: usize,
    /// The reason, with a suggestion for an unknown key.
    pub message: String,
}

/// Parses TOML.
///
/// # Errors
/// If the text is invalid.
pub fn from_toml<T: DeserializeOwned>(text: &str) -> Result<T, TomlError> {
    toml::from_str(text).map_err(|error| in_one_line(text, &error))
}

/// Parses TOML, and refuses each key that no type has, also where a type ignores such keys.
///
/// # Errors
/// As [`from_toml`], and if a key is unknown.
pub fn from_toml_with_known_keys<T: DeserializeOwned>(text: &str) -> Result<T, TomlError> {
    let mut unknown = None;
    let read = toml::Deserializer::parse(text).and_then(|toml| {
        serde_ignored::deserialize(toml, |key| {
            unknown.get_or_insert_with(|| keys(&key));
        })
    });
    let read = read.map_err(|error| in_one_line(text, &error))?;
    match unknown {
        Some(keys) => {
            let line = DeTable::parse(text).ok().and_then(|table| position(table.get_ref(), &keys));
            let line = line.map_or(1, |start| line_of(text, start));
            let key = printable(keys.last().map_or("", |key| key));
            Err(TomlError { line, message: format!("unknown field `{key}`") })
        }
        None => Ok(read),
    }
}

/// The keys and indices that lead to a key, outermost first.
fn keys(path: &Path) -> Vec<String> {
    let (parent, last) = match path {
        Path::Root => return Vec::new(),
        Path::Seq { parent, index } => (parent, Some(index.to_string())),
        Path::Map { parent, key } => (parent, Some(key.clone())),
        Path::Some { parent }
        | Path::NewtypeStruct { parent }
        | Path::NewtypeVariant { parent } => (parent, None),
    };
    keys(parent).into_iter().chain(last).collect()
}

/// Returns the byte at which the key begins to which `keys` lead.
fn position(table: &DeTable, keys: &[String]) -> Option<usize> {
    let (first, rest) = keys.split_first()?;
    let (key, value) = table.get_key_value(first.as_str())?;
    let mut rest = rest;
    let mut value = value.get_ref();
    while let (DeValue::Array(values), Some((index, others))) = (value, rest.split_first()) {
        value = values.get(index.parse::<usize>().ok()?)?.get_ref();
        rest = others;
    }
    match value {
        DeValue::Table(inner) if !rest.is_empty() => position(inner, rest),
        _ => Some(key.span().start),
    }
}

/// Shortens an error of the parser: the line number, the message, and the nearest known key.
fn in_one_line(text: &str, error: &toml::de::Error) -> TomlError {
    let line = error.span().map_or(1, |span| line_of(text, span.start));
    let message = &printable(error.message().lines().next().unwrap_or_default());
    TomlError { line, message: format!("{message}{}", nearest_key(message)) }
}

/// Returns the number of the line at the byte `start`, from 1.
fn line_of(text: &str, start: usize) -> usize {
    1 + text.get(..start).unwrap_or_default().matches('\n').count()
}

/// Returns a suggestion for an unknown key. Serde's message quotes the unknown key, which may have quotes
/// of its own, and after it all known keys.
fn nearest_key(message: &str) -> String {
    let parts =
        message.strip_prefix("unknown field `").and_then(|rest| rest.rsplit_once("`, expected"));
    parts.map_or_else(String::new, |(unknown, known)| {
        nearest(unknown, known.split('`').skip(1).step_by(2))
    })
}

/// Formats a TOML value as the value of a parameter: strings without quotes.
pub fn word(value: &toml::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns the values of a list, or a single value as a list of one.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Known {
        #[expect(dead_code, reason = "the error names it")]
        loops: Option<u32>,
        #[expect(dead_code, reason = "the error names it")]
        repeat: Option<u32>,
    }

    #[track_caller]
    fn error(text: &str) -> String {
        from_toml::<Known>(text).unwrap_err().to_string()
    }

    #[test]
    fn an_unknown_key_is_shown_in_one_line_with_the_nearest_known_one() {
        let expected = "expected `loops` or `repeat`";
        let near = error("\nloop = 1");
        assert_eq!(
            near,
            format!("line 2: unknown field `loop`, {expected}; did you mean `loops`?")
        );
        // Quotes in the key, and a tab.
        let odd = error("\"'`\t`\" = 1");
        assert!(odd.starts_with("line 1: unknown field `'`\u{fffd}``, expected "), "{odd}");
        assert!(!odd.contains("``?"), "{odd}");
    }
}
