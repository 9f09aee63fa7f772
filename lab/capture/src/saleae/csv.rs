//! Reads Saleae's CSV export: a row of names, `Time [s],Channel 0,Channel 1`, then rows such as
//! `0.000006500,1,0`. The level `X` marks a gap, or a channel that was off.

use std::io::{BufRead, BufReader, Read};

use chronoscope_units::printable;

use crate::error::{Result, bail, ensure, fault, within};
use crate::{
    Sampling, Tick,
    flow::{Header, Settle, Sink, Source},
    words::shown,
};

/// The longest row in bytes.
const LONGEST: u64 = 1 << 16;

/// Picoseconds in a second.
const PARTS: i64 = 1_000_000_000_000;

/// A CSV export that is read row by row.
pub struct Reader<R> {
    lines: Lines<R>,
    header: Header,
}

impl<R: Read> Reader<R> {
    /// Reads the row of names; `source` is the name that messages show.
    ///
    /// # Errors
    /// If the first row is not of Saleae's form, or a name occurs twice.
    pub fn new(source: &str, input: R) -> Result<Self> {
        let mut lines =
            Lines { input: BufReader::with_capacity(1 << 18, input), line: Vec::new(), number: 0 };
        ensure!(lines.next()?, "it is empty");
        let names = cells(&String::from_utf8_lossy(lines.text()));
        let [time, channels @ ..] = names.as_slice() else { bail!("line 1 is no row of names") };
        ensure!(
            time.starts_with("Time") && time.contains("[s]"),
            "line 1: the first column is `{}`, not `Time [s]`: export time in seconds",
            printable(time)
        );
        ensure!(!channels.is_empty(), "line 1 names no channel");
        for (place, name) in channels.iter().enumerate() {
            ensure!(
                !channels[..place].contains(name),
                "line 1: {} is there twice",
                printable(name)
            );
        }
        let channels = channels.to_vec();
        let header = Header {
            source: source.into(),
            tick: Tick::PICOSECOND,
            sampling: Sampling::Unknown,
            channels: channels.into_iter().collect(),
        };
        Ok(Self { lines, header })
    }
}

impl<R: Read> Source for Reader<R> {
    fn header(&self) -> &Header {
        &self.header
    }

    fn read(&mut self, wanted: &[usize], sink: &mut dyn Sink) -> Result<()> {
        let channels = &self.header.channels;
        let mut places = vec![Vec::new(); channels.len()];
        for (place, channel) in wanted.iter().enumerate() {
            places[*channel].push(place);
        }
        let mut settle = Settle::new(0, vec![false; wanted.len()], sink);
        let mut first = None;
        while self.lines.next()? {
            let (number, text) = (self.lines.number, self.lines.text());
            if text.is_empty() {
                continue;
            }
            let mut cells = text.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
            let time = cells.next().unwrap_or_default();
            let now = picoseconds(time)
                .ok_or_else(|| fault!("line {number}: `{}` is no time in seconds", shown(time)))?;
            let since = now
                .checked_sub(*first.get_or_insert(now))
                .and_then(|since| u64::try_from(since).ok());
            let at = since.filter(|at| *at >= settle.now());
            settle.advance(
                at.ok_or_else(|| fault!("line {number}: time goes back, to {}", shown(time)))?,
            )?;
            for (channel, places) in places.iter().enumerate() {
                let Some(cell) = cells.next() else {
                    bail!(
                        "line {number}: it has no level for {}: it is cut off",
                        printable(&channels[channel])
                    );
                };
                for place in places {
                    settle.set(
                        *place,
                        level(cell).map_err(|error| {
                            fault!("line {number}: {}: {error}", printable(&channels[channel]))
                        })?,
                    );
                }
            }
            ensure!(
                cells.next().is_none(),
                "line {number}: it has more columns than the first line"
            );
        }
        ensure!(first.is_some(), "there is no row in it: it is cut off");
        settle.end()
    }
}

fn level(cell: &[u8]) -> Result<bool> {
    match cell {
        b"0" => Ok(false),
        b"1" => Ok(true),
        b"X" | b"x" => {
            bail!(
                "it is `X`, a gap: only 0 and 1 can be measured; leave it out, or export from after the gap"
            )
        }
        other => bail!("`{}` is no level", shown(other)),
    }
}

/// Parses seconds as exact picoseconds, without the rounding of binary fractions; `None` if the
/// text is no time.
fn picoseconds(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        all => (false, all),
    };
    let (mut value, mut places, mut some) = (0_i64, None, false);
    for byte in digits {
        match (byte, places) {
            (b'.', None) => places = Some(0),
            (b'0'..=b'9', Some(12..)) => {
                places = places.map(|places: u32| places.saturating_add(1))
            }
            (b'0'..=b'9', _) => {
                value = value.checked_mul(10)?.checked_add(i64::from(byte - b'0'))?;
                places = places.map(|places| places + 1);
                some = true;
            }
            // Other programs write an exponent, as in `5e-06`.
            _ => {
                let seconds: f64 = str::from_utf8(text).ok()?.parse().ok()?;
                let value = (seconds * PARTS as f64).round();
                return (value.abs() < 9e18).then_some(value as i64);
            }
        }
    }
    // The digit after the picoseconds decides the rounding.
    let dot = digits.iter().position(|byte| *byte == b'.');
    let round = dot.and_then(|dot| digits.get(dot + 13)).is_some_and(|digit| *digit >= b'5');
    let power = 12_u32.saturating_sub(places.unwrap_or(0));
    let value = value.checked_mul(10_i64.pow(power))?.checked_add(i64::from(round))?;
    some.then_some(if negative { -value } else { value })
}

/// Splits a row of names; a quoted name may contain commas.
fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut quoted) = (vec![String::new()], false);
    for character in line.trim_start_matches('\u{feff}').chars() {
        match character {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            other => cells.last_mut().expect("it starts with one").push(other),
        }
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

struct Lines<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    number: u64,
}

impl<R: Read> Lines<R> {
    /// Reads the next line; `false` at the end.
    fn next(&mut self) -> Result<bool> {
        self.line.clear();
        self.number += 1;
        let count = self
            .input
            .by_ref()
            .take(LONGEST + 1)
            .read_until(b'\n', &mut self.line)
            .map_err(within("cannot be read"))?;
        ensure!(count as u64 <= LONGEST, "line {}: it is longer than {LONGEST} bytes", self.number);
        Ok(count > 0)
    }

    fn text(&self) -> &[u8] {
        self.line.trim_ascii_end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_exact() {
        let read = [
            "0",
            "0.0000065",
            "-0.000000500",
            "12.345678901234567",
            "1.5",
            "5e-06",
            "+3",
            "0.0000000000005",
        ];
        let expected = [
            0,
            6_500_000,
            -500_000,
            12_345_678_901_235,
            1_500_000_000_000,
            5_000_000,
            3_000_000_000_000,
            1,
        ];
        assert_eq!(read.map(|text| picoseconds(text.as_bytes()).unwrap()), expected);
        for wrong in [
            "",
            "-",
            ".",
            "1.2.3",
            "nan",
            "inf",
            "1e300",
            "99999999999999999999",
            "9999999999",
            "1 s",
            "2026-01-01",
        ] {
            assert_eq!(picoseconds(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn names_may_have_commas() {
        assert_eq!(
            cells("\u{feff}Time [s], \"a, b\",Channel 0"),
            ["Time [s]", "a, b", "Channel 0"]
        );
    }
}
