//! Types of printable text, for text from outside. A value can be written to a terminal, a page or
//! a file of any format without moving a cursor, ending a line or hiding the text behind it. The
//! module knows no markup and no quoting.

use std::{borrow::Borrow, fmt, ops::Deref};

use serde::{Deserialize, Deserializer, Serialize};

use crate::{is_unprintable, printable, without_passwords};

/// The most characters of a line; a longer one is cut, and ends with `…`.
pub const LONGEST: usize = 4096;

/// Printable text on one line: a name, a label, a reason.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct OneLine(String);

/// Printable text on any number of lines, with tabs: notes, and a target's log.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct Text(String);

/// Makes a text one printable line, without the passwords in URLs of databases.
fn line(text: String) -> String {
    let text = if text.contains("://") { without_passwords(&text) } else { text };
    let text = if text.contains(is_unprintable) { printable(&text) } else { text };
    cut(without_commands(text))
}

/// Breaks the commands that a GitHub workflow obeys in its log: `::` at the start of a line, and so
/// of any word, since wrapping may begin a line there; and `##[` anywhere.
fn without_commands(text: String) -> String {
    if !text.contains("::") && !text.contains("##[") {
        return text;
    }
    let mut broken = String::with_capacity(text.len());
    let mut is_start = true;
    for (at, c) in text.char_indices() {
        let rest = &text[at..];
        let is_command = is_start && rest.starts_with("::") || rest.starts_with("##[");
        broken.push(if is_command { char::REPLACEMENT_CHARACTER } else { c });
        is_start = c.is_whitespace();
    }
    broken
}

/// Makes a text printable line by line. A line may end with CR LF.
fn lines(text: String) -> String {
    let is_sound = |c: char| matches!(c, '\n' | '\t') || !is_unprintable(c);
    if text.chars().all(is_sound) && text.len() <= LONGEST {
        return without_commands(text);
    }
    let clean = |line: &str| {
        let line = line.strip_suffix('\r').unwrap_or(line);
        cut(line.split('\t').map(printable).collect::<Vec<_>>().join("\t"))
    };
    without_commands(text.split('\n').map(clean).collect::<Vec<_>>().join("\n"))
}

fn cut(mut line: String) -> String {
    // A character has at least one byte.
    if line.len() > LONGEST
        && let Some((end, _)) = line.char_indices().nth(LONGEST)
    {
        line.truncate(end);
        line.push('…');
    }
    line
}

macro_rules! printable_type {
    ($name:ident, $make:ident) => {
        impl $name {
            /// The empty text.
            pub const fn new() -> Self {
                Self(String::new())
            }

            /// The text as a slice.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self($make(text))
            }
        }

        impl<T: AsRef<str> + ?Sized> From<&T> for $name {
            fn from(text: &T) -> Self {
                text.as_ref().to_owned().into()
            }
        }

        impl From<$name> for String {
            fn from(text: $name) -> Self {
                text.0
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                self.0 == other
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                self.0 == *other
            }
        }

        impl PartialEq<String> for $name {
            fn eq(&self, other: &String) -> bool {
                self.0 == *other
            }
        }

        impl PartialEq<$name> for &str {
            fn eq(&self, other: &$name) -> bool {
                *self == other.0
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer).map(Self::from)
            }
        }
    };
}

printable_type!(OneLine, line);
printable_type!(Text, lines);

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "a\u{1b}[2J\u{9b}1m\r\u{202e}\u{2066}\u{2028}\0\u{7f}b";

    #[test]
    fn a_line_is_one_line_without_controls() {
        let line = OneLine::from(format!("{HOSTILE}\n\t{HOSTILE}"));
        assert!(!line.contains(is_unprintable), "{line:?}");
        assert_eq!(OneLine::from("p99 ≤ 50 µs: 日本"), "p99 ≤ 50 µs: 日本");
        let long = OneLine::from("µ".repeat(LONGEST + 1));
        assert_eq!((long.chars().count(), long.chars().last()), (LONGEST + 1, Some('…')));
        assert_eq!(OneLine::from("µ".repeat(LONGEST)), "µ".repeat(LONGEST));
    }

    #[test]
    fn a_text_keeps_its_lines_and_tabs() {
        let kept = "one\n\ttwo\n\n";
        assert_eq!(Text::from(kept), kept);
        assert_eq!(Text::from("one\r\ntwo\r\n"), "one\ntwo\n");
        let text = Text::from(format!("{HOSTILE}\n{}", "x".repeat(9999)));
        assert!(text.lines().all(|line| !line.contains(is_unprintable)), "{text:?}");
        assert!(text.lines().all(|line| line.chars().count() <= LONGEST + 1));
    }

    #[test]
    fn no_text_is_a_command_of_a_workflow() {
        for (text, broken) in [
            ("::error::x", "\u{fffd}:error::x"),
            ("a ::error::x", "a \u{fffd}:error::x"),
            ("a ##[error]x", "a \u{fffd}#[error]x"),
            ("###[x]", "#\u{fffd}#[x]"),
            ("core::fmt: a", "core::fmt: a"),
        ] {
            assert_eq!(OneLine::from(text), broken);
        }
        assert_eq!(Text::from("a\n\t::b"), "a\n\t\u{fffd}:b");
        assert_eq!(Text::from("\u{1b}\r\n::b"), "\u{fffd}\n\u{fffd}:b");
    }

    #[test]
    fn deserialized_text_is_printable() {
        let read: OneLine = serde_json::from_str(r#""a\u001b[31m\nb""#).unwrap();
        assert_eq!(read, "a\u{fffd}[31m\u{fffd}b");
        assert_eq!(serde_json::to_string(&Text::from("a\n\"b")).unwrap(), r#""a\n\"b""#);
    }
}
