//! Splits a text of any length into words, in bounded memory, and counts its lines. The module
//! knows no meaning of a word.

use std::io::Read;

use chronoscope_units::printable;

use crate::error::{Result, bail, fault};

/// The longest word in bytes. A longer word is a vector too wide for pins, or the file is no dump.
const LONGEST: usize = 1 << 16;

/// The most bytes of a word that a message shows.
const SHOWN: usize = 40;

/// The initial size of the buffer, in bytes.
const ROOM: usize = 1 << 18;

pub(super) struct Words<R> {
    input: R,
    buffer: Vec<u8>,
    /// The unread bytes are those from `at` to `filled`.
    at: usize,
    /// The start of the latest word.
    word: usize,
    filled: usize,
    line: u64,
    ended: bool,
}

impl<R: Read> Words<R> {
    pub fn new(input: R) -> Self {
        Self { input, buffer: vec![0; ROOM], at: 0, word: 0, filled: 0, line: 1, ended: false }
    }

    /// The line of the latest word, counted from 1.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The latest word, made printable and cut short for a message.
    pub fn shown(&self) -> String {
        shown(&self.buffer[self.word..self.at])
    }

    /// Returns the next word, or `None` at the end of the text.
    ///
    /// # Errors
    /// If the input fails, or a word is longer than 65,536 bytes.
    pub fn next(&mut self) -> Result<Option<&[u8]>> {
        loop {
            let rest = &self.buffer[self.at..self.filled];
            match rest.iter().position(|byte| !is_space(*byte)) {
                Some(0) => break,
                Some(space) => {
                    self.line +=
                        rest[..space].iter().map(|byte| u64::from(*byte == b'\n')).sum::<u64>();
                    self.at += space;
                    break;
                }
                None => {
                    self.line += rest.iter().map(|byte| u64::from(*byte == b'\n')).sum::<u64>();
                    self.at = self.filled;
                    if !self.more()? {
                        return Ok(None);
                    }
                }
            }
        }
        let mut length = 1;
        loop {
            let rest = &self.buffer[self.at..self.filled];
            match rest[length..].iter().position(|byte| is_space(*byte)) {
                Some(more) => {
                    length += more;
                    break;
                }
                None => {
                    length = rest.len();
                    if length > LONGEST {
                        bail!(
                            "line {}: a word of more than {LONGEST} characters: this is no dump of pins",
                            self.line
                        );
                    }
                    if !self.more()? {
                        break;
                    }
                }
            }
        }
        self.word = self.at;
        self.at += length;
        Ok(Some(&self.buffer[self.word..self.at]))
    }

    /// Reads more input behind the unread bytes; `false` at the end of the input.
    fn more(&mut self) -> Result<bool> {
        if self.ended {
            return Ok(false);
        }
        if self.at > 0 {
            self.buffer.copy_within(self.at..self.filled, 0);
            self.filled -= self.at;
            self.at = 0;
        }
        let count = loop {
            match self.input.read(&mut self.buffer[self.filled..]) {
                Ok(count) => break count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(fault!("cannot be read: {error}")),
            }
        };
        self.filled += count;
        self.ended = count == 0;
        Ok(count > 0)
    }
}

/// Makes bytes of a file printable and short enough for a message.
pub(super) fn shown(bytes: &[u8]) -> String {
    printable(&String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN)]))
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_lines() {
        let text = "one two\n\nthree\r\n  four";
        // The words must not depend on the pieces in which the text arrives.
        for room in [1, 3, 64] {
            let mut words = Words::new(std::io::BufReader::with_capacity(room, text.as_bytes()));
            let mut seen = Vec::new();
            while let Some(word) = words.next().unwrap() {
                let word = String::from_utf8(word.to_vec()).unwrap();
                seen.push((word, words.line()));
            }
            let expected = [("one", 1), ("two", 1), ("three", 3), ("four", 4)]
                .map(|(word, line)| (word.to_owned(), line));
            assert_eq!(seen, expected);
        }
    }

    #[test]
    fn endless_words_are_refused() {
        let mut words = Words::new(std::io::BufReader::new(std::io::repeat(b'x')));
        assert!(words.next().unwrap_err().to_string().starts_with("line 1: a word of more than"));
    }
}
