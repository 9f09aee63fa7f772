//! Reads the changes of a dump and passes them on as edges. The module `header` reads the head.

use std::{io::Read, mem};

use super::{
    codes::{Codes, Variables},
    header::{self, text},
};
use crate::error::{Result, bail, ensure, fault};
use crate::{
    Sampling, Tick,
    flow::{Header, Settle, Sink, Source},
    words::{Words, shown},
};

/// A dump that is read word by word.
pub struct Reader<R> {
    words: Words<R>,
    header: Header,
    variables: Variables,
}

impl<R: Read> Reader<R> {
    /// Reads the dump's head; `source` is the name that messages show.
    ///
    /// # Errors
    /// If the head is malformed or has no timescale; the message gives the line.
    pub fn new(source: &str, input: R) -> Result<Self> {
        Self::sampled(source, input, None)
    }

    /// Reads as [`new`](Self::new) does. `hertz` is the rate of the ticks of a dump that has no
    /// timescale.
    ///
    /// # Errors
    /// As [`new`](Self::new), unless the rate is given.
    pub fn sampled(source: &str, input: R, hertz: Option<u64>) -> Result<Self> {
        let mut words = Words::new(input);
        let definitions = header::read(&mut words)?;
        let sampling = match (definitions.tick, hertz) {
            (None, Some(hertz)) => Sampling::At(hertz),
            _ => definitions.sampling(),
        };
        let Some(tick) = definitions.tick.or(hertz.and_then(Tick::from_hertz)) else {
            bail!(
                "it has no `$timescale`, so the length of its ticks is not known: give their rate, --sampled RATE"
            )
        };
        let header =
            Header { source: source.into(), tick, sampling, channels: definitions.channels };
        Ok(Self { words, header, variables: definitions.variables })
    }
}

impl<R: Read> Source for Reader<R> {
    fn header(&self) -> &Header {
        &self.header
    }

    fn read(&mut self, wanted: &[usize], sink: &mut dyn Sink) -> Result<()> {
        let codes = Codes::new(mem::take(&mut self.variables), wanted);
        let name = |place: usize| &self.header.channels[wanted[place]];
        // Before the first instant is over, a channel may have no level yet.
        let mut known = vec![false; wanted.len()];
        let missing = |known: &[bool], line: u64| match known.iter().position(|known| !known) {
            Some(place) => Err(fault!(
                "line {line}: {} has no level at the start",
                shown(name(place).as_bytes())
            )),
            None => Ok(()),
        };
        let mut settle = Settle::new(0, vec![false; wanted.len()], sink);
        let (mut is_timed, mut has_values) = (false, false);
        let words = &mut self.words;
        while let Some(word) = words.next()? {
            match word[0] {
                b'#' => {
                    let at = time(&word[1..]);
                    let at = at.ok_or_else(|| {
                        fault!("line {}: `{}` is no time", words.line(), words.shown())
                    })?;
                    if !is_timed && !has_values {
                        settle.start(at);
                    } else if at > settle.now() && !settle.has_begun() {
                        missing(&known, words.line())?;
                    } else if at < settle.now() {
                        bail!(
                            "line {}: time goes back, from #{} to #{at}",
                            words.line(),
                            settle.now()
                        );
                    }
                    is_timed = true;
                    settle.advance(at)?;
                }
                level @ (b'0' | b'1' | b'x' | b'X' | b'z' | b'Z') => {
                    has_values = true;
                    let Some(wanted) = codes.find(&word[1..]) else {
                        bail!(
                            "line {}: `{}` changes what is not defined",
                            words.line(),
                            words.shown()
                        );
                    };
                    for &(bit, place) in wanted {
                        let place = place as usize;
                        // A scalar assigned to a vector sets its lowest bit; the other bits become
                        // 0, or x or z with it.
                        let level = if bit > 0 && level == b'1' { b'0' } else { level };
                        let level = driven(level).map_err(|level| {
                            unmeasurable(words.line(), name(place), level, settle.now())
                        })?;
                        known[place] = true;
                        settle.set(place, level);
                    }
                }
                b'b' | b'B' => {
                    has_values = true;
                    let mut value = [0; 64];
                    let length = word.len() - 1;
                    let kept = length.min(value.len());
                    value[..kept].copy_from_slice(&word[word.len() - kept..]);
                    let line = words.line();
                    ensure!(length > 0, "line {line}: a vector without a value");
                    let Some(code) = words.next()? else {
                        bail!("line {line}: it ends within a change: it is cut off")
                    };
                    let Some(wanted) = codes.find(code) else {
                        bail!(
                            "line {line}: a vector changes `{}`, which is not defined",
                            shown(code)
                        );
                    };
                    for &(bit, place) in wanted {
                        let place = place as usize;
                        // Missing bits on the left are 0, or x or z if the leftmost digit is.
                        let level = match kept.checked_sub(usize::from(bit) + 1) {
                            Some(at) => value[at],
                            None if value[0] == b'1' => b'0',
                            None => value[0],
                        };
                        let level = driven(level).map_err(|level| {
                            unmeasurable(line, name(place), level, settle.now())
                        })?;
                        known[place] = true;
                        settle.set(place, level);
                    }
                }
                // Real numbers and strings are not pins.
                b'r' | b'R' | b's' | b'S' => {
                    let line = words.line();
                    ensure!(
                        words.next()?.is_some(),
                        "line {line}: it ends within a change: it is cut off"
                    );
                }
                b'$' => match word {
                    b"$comment" => drop(text(words, "$comment")?),
                    b"$dumpvars" | b"$dumpall" | b"$dumpon" | b"$dumpoff" | b"$end" => {}
                    _ => bail!(
                        "line {}: `{}` is no part of a dump's body",
                        words.line(),
                        words.shown()
                    ),
                },
                _ => bail!(
                    "line {}: `{}` is neither a time nor a change",
                    words.line(),
                    words.shown()
                ),
            }
        }
        ensure!(is_timed || has_values, "there is no change in it: it is cut off");
        if !settle.has_begun() {
            missing(&known, words.line())?;
        }
        settle.end()
    }
}

fn time(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |sum, digit| {
        let digit = digit.wrapping_sub(b'0');
        (digit < 10).then(|| sum.checked_mul(10)?.checked_add(digit.into())).flatten()
    })
}

fn driven(level: u8) -> Result<bool, u8> {
    match level {
        b'0' => Ok(false),
        b'1' => Ok(true),
        other => Err(other),
    }
}

fn unmeasurable(line: u64, name: &str, level: u8, at: u64) -> crate::Error {
    let name = shown(name.as_bytes());
    let level = shown(&[level]);
    fault!(
        "line {line}: {name} is `{level}` at #{at}: only 0 and 1 can be measured; leave it out, or dump from where it is driven"
    )
}
