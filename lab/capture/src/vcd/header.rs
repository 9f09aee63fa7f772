//! Reads the head of a dump: the tick, the sampling rate, and the channels with their codes. The
//! module knows no changes; the reader handles them.

use std::{borrow::Cow, collections::HashSet, io::Read};

use chronoscope_units::{parse_hertz, printable};

use super::{OURS, codes::Variables, names::UniqueNames};
use crate::error::{Result, bail, ensure, fault};
use crate::{
    Names, Sampling, Tick,
    words::{Words, shown},
};

/// The most variables of a dump, and the most bytes of their names; the largest dumps of whole
/// chips have a million variables.
const MOST_VARIABLES: usize = 1 << 21;
const MOST_NAMES: usize = 1 << 27;

/// The widest vector, in bits, that counts as a port of pins.
const WIDEST: u64 = 64;

#[derive(Default)]
pub(super) struct Definitions {
    pub tick: Option<Tick>,
    pub sampling: Option<u64>,
    pub channels: Names,
    pub variables: Variables,
}

/// Reads everything up to `$enddefinitions`.
pub(super) fn read<R: Read>(words: &mut Words<R>) -> Result<Definitions> {
    let mut reader = Header::default();
    loop {
        let Some(word) = words.next()? else {
            bail!("it ends before `$enddefinitions`: it is cut off, or no dump")
        };
        let word = shown(word);
        let line = words.line();
        match word.as_str() {
            "$enddefinitions" => {
                skip(words, "$enddefinitions")?;
                return reader.finish();
            }
            "$timescale" => reader.timescale(&text(words, &word)?),
            "$comment" => reader.comment(&text(words, &word)?),
            "$scope" => reader.scope(&text(words, &word)?),
            "$upscope" => {
                reader.scopes.pop();
                reader.is_path_current = false;
                skip(words, &word)
            }
            "$var" => reader.variable(&text(words, &word)?),
            _ if word.starts_with('$') => skip(words, &word),
            _ => bail!("line {line}: `{word}` is no part of a dump's head"),
        }
        .map_err(|error| fault!("line {line}: {error}"))?;
    }
}

/// Reads everything up to `$end`; keeps the first sixteen words.
pub(super) fn text<R: Read>(words: &mut Words<R>, what: &str) -> Result<Vec<String>> {
    const KEPT: usize = 16;
    let mut kept = Vec::new();
    loop {
        match words.next()? {
            None => bail!("`{what}` has no `$end`: the file is cut off"),
            Some(b"$end") => return Ok(kept),
            Some(word) if kept.len() < KEPT => {
                kept.push(String::from_utf8_lossy(word).into_owned())
            }
            Some(_) => {}
        }
    }
}

fn skip<R: Read>(words: &mut Words<R>, what: &str) -> Result<()> {
    text(words, what).map(drop)
}

/// A channel: the end of its name, and the place of its scope's path.
struct Channel {
    end: u32,
    path: u32,
}

#[derive(Default)]
struct Header {
    definitions: Definitions,
    /// `true` after a comment of Chronoscope gave the tick, which overrides the timescale.
    has_clock: bool,
    /// The open scopes, from the outermost.
    scopes: Vec<String>,
    /// The paths of all scopes that hold a channel.
    paths: Vec<String>,
    /// `true` while the last of `paths` is the path of the open scopes.
    is_path_current: bool,
    channels: Vec<Channel>,
    /// The names of the channels, one after the other.
    names: String,
    variables: usize,
    length: usize,
}

impl Header {
    fn timescale(&mut self, words: &[String]) -> Result<()> {
        let text = words.concat();
        let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let count = text[..split].parse().ok().filter(|count| [1, 10, 100].contains(count));
        let parts = [("s", 0), ("ms", 3), ("us", 6), ("ns", 9), ("ps", 12), ("fs", 15)];
        let power = parts
            .iter()
            .find(|(unit, _)| *unit == &text[split..])
            .map(|(_, power)| 10_u64.pow(*power));
        let tick = count.zip(power).and_then(|(count, power)| Tick::new(count, power));
        let tick = tick.ok_or_else(|| {
            fault!("`{}` is no timescale: it is 1, 10 or 100 of s to fs", shown(text.as_bytes()))
        })?;
        if !self.has_clock {
            self.definitions.tick = Some(tick);
        }
        Ok(())
    }

    /// Reads Chronoscope's comments, which give the clock, and sigrok's, which gives the rate:
    /// `Acquisition with 8/8 channels at 2 MHz`.
    fn comment(&mut self, words: &[String]) -> Result<()> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            [OURS, "hertz", hertz] => {
                let tick = hertz.parse().ok().and_then(Tick::from_hertz);
                self.definitions.tick =
                    Some(tick.ok_or_else(|| {
                        fault!("`{}` is no clock's rate", shown(hertz.as_bytes()))
                    })?);
                self.has_clock = true;
            }
            [OURS, "sampled", hertz] => {
                let hertz = hertz.parse().ok().filter(|hertz| *hertz > 0);
                self.definitions.sampling =
                    Some(hertz.ok_or_else(|| fault!("the rate of sampling is no number"))?);
            }
            ["Acquisition", "with", _, "channels", "at", rate @ ..] => {
                self.definitions.sampling = parse_hertz(&rate.concat()).ok();
            }
            _ => {}
        }
        Ok(())
    }

    fn scope(&mut self, words: &[String]) -> Result<()> {
        ensure!(self.scopes.len() < 1000, "scopes stand more than 1000 deep");
        self.scopes.push(words.get(1).cloned().unwrap_or_default());
        self.is_path_current = false;
        Ok(())
    }

    /// Reads a variable, such as `wire 1 ! D0` or `reg 8 " port [7:0]`.
    fn variable(&mut self, words: &[String]) -> Result<()> {
        let [kind, width, code, name, index @ ..] = words else {
            bail!("a variable is `$var TYPE WIDTH CODE NAME $end`")
        };
        let width: u64 = width
            .parse()
            .map_err(|_| fault!("`{}` is no number of bits", shown(width.as_bytes())))?;
        self.variables += 1;
        ensure!(self.variables <= MOST_VARIABLES, "more than {MOST_VARIABLES} variables");
        let name = format!("{name}{}", index.concat());
        let first = self.channels.len() as u32;
        match kind.as_str() {
            "real" | "realtime" | "string" | "parameter" | "event" => {}
            _ if width == 1 => self.channel(&name)?,
            _ if width <= WIDEST => {
                // The bits of `port[11:4]` are named `port[4]` to `port[11]`, from the lowest bit;
                // the bits of `port[4:11]` are named downwards from `port[11]`.
                let (name, range) = name.split_once('[').unwrap_or((&name, ""));
                let ends = range.trim_end_matches(']').split_once(':');
                let ends = ends.and_then(|(high, low)| {
                    Some((high.parse::<i64>().ok()?, low.parse::<i64>().ok()?))
                });
                let (high, low) = ends.unwrap_or((1, 0));
                let number = |bit: u64| {
                    if high >= low {
                        low.checked_add_unsigned(bit)
                    } else {
                        low.checked_sub_unsigned(bit)
                    }
                };
                (0..width).try_for_each(|bit| {
                    self.channel(&format!("{name}[{}]", number(bit).unwrap_or_default()))
                })?;
            }
            _ => {}
        }
        let width = self.channels.len() as u32 - first;
        self.length += code.len();
        ensure!(self.length <= MOST_NAMES, "the codes of the variables are too long to be kept");
        self.definitions.variables.add(code.as_bytes(), first, width as u8);
        Ok(())
    }

    fn channel(&mut self, name: &str) -> Result<()> {
        if !self.is_path_current {
            self.paths.push(printable(&self.scopes.join(".")));
            self.is_path_current = true;
            self.length += self.paths[self.paths.len() - 1].len();
        }
        self.names.push_str(&printable(name));
        self.length += name.len();
        ensure!(self.length <= MOST_NAMES, "the names of the variables are too long to be kept");
        self.channels
            .push(Channel { end: self.names.len() as u32, path: self.paths.len() as u32 - 1 });
        Ok(())
    }

    /// Gives a name that occurs in several scopes its scope as a prefix. A name that still occurs
    /// twice then gets a number.
    fn finish(mut self) -> Result<Definitions> {
        let start =
            |place: usize| place.checked_sub(1).map_or(0, |before| self.channels[before].end);
        let bare =
            |place: usize| &self.names[start(place) as usize..self.channels[place].end as usize];
        let often = repeated(self.channels.len(), bare);
        let mut length = self.length;
        let mut full = Vec::new();
        for place in (0..self.channels.len()).filter(|place| often[*place]) {
            let path = &self.paths[self.channels[place].path as usize];
            full.push(format!("{path}.{}", bare(place)));
            length += path.len();
            ensure!(length <= MOST_NAMES, "the names of the variables are too long to be kept");
        }
        let mut rest = full.into_iter();
        let unique = |place: usize, rest: &mut std::vec::IntoIter<String>| {
            let path = often[place].then(|| rest.next()).flatten();
            path.map_or_else(|| Cow::Borrowed(bare(place)), Cow::Owned)
        };
        let names: Names = (0..self.channels.len()).map(|place| unique(place, &mut rest)).collect();
        self.definitions.channels = numbered(names);
        Ok(self.definitions)
    }
}

/// Returns for each of `count` names whether it occurs more than once. Takes five bytes of memory
/// for each name.
fn repeated<'a>(count: usize, name: impl Fn(usize) -> &'a str) -> Vec<bool> {
    let mut order: Vec<u32> = (0..count as u32).collect();
    order.sort_unstable_by_key(|place| name(*place as usize));
    let mut repeated = vec![false; count];
    for same in order.chunk_by(|one, other| name(*one as usize) == name(*other as usize)) {
        for place in same.iter().filter(|_| same.len() > 1) {
            repeated[*place as usize] = true;
        }
    }
    repeated
}

/// Gives a number to each repetition of a name: `D0`, `D0#2`.
fn numbered(names: Names) -> Names {
    let repeated = repeated(names.len(), |place| &names[place]);
    if !repeated.contains(&true) {
        return names;
    }
    let mut unique = UniqueNames::new('#', names.iter());
    let mut seen = HashSet::new();
    let number = |(place, name): (usize, &str)| {
        if !repeated[place] || seen.insert(name.to_owned()) {
            return name.to_owned();
        }
        unique.claim(name)
    };
    names.iter().enumerate().map(number).collect()
}

impl Definitions {
    pub fn sampling(&self) -> Sampling {
        self.sampling.map_or(Sampling::Exact, Sampling::At)
    }
}
