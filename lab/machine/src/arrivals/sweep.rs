//! The arrivals of an interrupt in a round, as the plugin writes them, and the records of them.

use std::cmp::Reverse;

use anyhow::{Result, bail, ensure};
use chronoscope_run::names::{LONGEST_WAIT, PAIRS, WAIT};
use chronoscope_suite::wire::{Record, Role, Sample, Series};

use crate::{profile::Symbols, stream::StreamBuilder};

/// Most starts of an image whose rounds do not come back to their path after an interrupt.
const MOST_STARTS: usize = 2000;

/// The functions of a round that are named, and the characters of a name.
const MOST_BLOCKS: usize = 6;
const LONGEST_NAME: usize = 40;

/// The end of a wait, unless it is a place of the image.
pub(crate) const HANDLER: &str = "handler";

/// An arrival that was tried.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Arrival {
    /// The place of its instruction in the round; the mark is 0.
    place: u64,
    /// The instructions until the handler.
    wait: u64,
    /// The instructions of the round with the interrupt.
    length: u64,
    /// The rounds that were needed.
    tries: u64,
    /// The cycles until the handler, from the beginning of the instruction on: at least, twice the
    /// estimate, and at most; 0 without a model.
    cycles: [u64; 3],
}

/// The unit of the waits and of the places in a round.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Waits {
    /// Instructions of an emulator.
    Instructions,
    /// Instructions, whose waits are cycles of a model, with bounds.
    Modelled,
    /// Cycles of a core's logic.
    Cycles,
}

impl Waits {
    /// The waits of an emulated round, with or without the model of a chip.
    pub fn by_model(is_modelled: bool) -> Self {
        if is_modelled { Self::Modelled } else { Self::Instructions }
    }

    /// The unit of a place in the round.
    const fn name(self) -> &'static str {
        match self {
            Self::Instructions | Self::Modelled => "instruction",
            Self::Cycles => "cycle",
        }
    }
}

/// All arrivals of a round.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Sweep {
    exception: u64,
    /// The addresses of the round's instructions.
    pub path: Vec<u64>,
    arrivals: Vec<Arrival>,
    /// The arrivals that no try came to.
    missed: usize,
    /// The pairs with another interrupt, of several starts.
    pairs: u64,
}

impl Sweep {
    /// # Errors
    /// Names the line that the plugin does not write.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let mut sweep = Self::default();
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let number = |word: &str| match word.strip_prefix("0x") {
                Some(digits) => u64::from_str_radix(digits, 16).ok(),
                None => word.parse().ok(),
            };
            let numbers: Option<Vec<u64>> = words[1..].iter().map(|word| number(word)).collect();
            match (words[0], numbers.as_deref()) {
                ("enabled", Some([_, _])) => {}
                ("exception", Some([number])) => sweep.exception = *number,
                ("path", Some([at])) => sweep.path.push(*at),
                ("arrival", Some(&[place, wait, length, tries, least, halves, most])) => {
                    let cycles = [least, halves, most];
                    sweep.arrivals.push(Arrival { place, wait, length, tries, cycles });
                }
                ("pairs", Some([pairs])) => sweep.pairs = *pairs,
                ("missed", Some([_])) => sweep.missed += 1,
                _ => bail!("the arrivals are damaged: `{line}`"),
            }
        }
        ensure!(sweep.path.len() > 1, "the image ended before two rounds in a row were equal");
        Ok(sweep)
    }

    /// Returns whether every instruction of the round was tried.
    pub fn is_complete(&self) -> bool {
        self.count() == self.path.len()
    }

    /// The arrivals so far.
    fn count(&self) -> usize {
        self.arrivals.len() + self.missed
    }

    /// All arrivals: `start` runs the image again, from an instruction of the round on, until it has had
    /// enough rounds. If [`MOST_STARTS`] are too few, arrivals are left out, evenly spread over the rest of
    /// the round.
    ///
    /// # Errors
    /// A start fails, has another round, or tries nothing.
    pub(crate) fn completed(mut self, start: impl Fn(usize) -> Result<Self>) -> Result<Self> {
        for starts in 1..=MOST_STARTS {
            if self.is_complete() {
                return Ok(self);
            }
            let before = self.count();
            let (open, left) = (self.path.len() - before, MOST_STARTS + 1 - starts);
            let each = self.arrivals.len().div_ceil(starts).max(1);
            let skipped = open.div_ceil(left).saturating_sub(each);
            let first = before + skipped.min(open - 1);
            self.missed += first - before;
            self.append(start(first)?)?;
            ensure!(self.count() > first, "the image ends before the next arrival is tried");
        }
        self.missed += self.path.len() - self.count();
        Ok(self)
    }

    /// Appends the arrivals of another start.
    ///
    /// # Errors
    /// It has another round.
    fn append(&mut self, other: Self) -> Result<()> {
        ensure!(self.path == other.path, "another start of the image has another round");
        self.arrivals.extend(other.arrivals);
        self.missed += other.missed;
        self.pairs += other.pairs;
        Ok(())
    }

    /// The arrival that waits longest, the first of equal ones.
    fn worst(&self) -> Option<&Arrival> {
        self.arrivals.iter().rev().max_by_key(|arrival| arrival.wait)
    }

    /// Writes the waits to the place `end`, the evidence, and the place of the longest wait.
    pub(crate) fn write(
        &self,
        stream: &mut StreamBuilder,
        waits: Waits,
        end: &str,
        symbols: &Symbols<'_>,
    ) -> Result<()> {
        let mut send = |series: Series<'_>, value: fn(&Arrival) -> u64| {
            let mut before = 0;
            // A sample's time is its place in the round.
            let samples = self.arrivals.iter().map(|arrival| {
                let gap = (arrival.place - before).cast_signed();
                before = arrival.place;
                Sample { gap, value: value(arrival) }
            });
            stream.series(series, samples)
        };
        fn beside(name: &str) -> Series<'_> {
            Series { role: Role::Auxiliary, ..Series::measured(name) }
        }
        let wait = format!("{WAIT}{end}");
        if waits == Waits::Modelled {
            send(Series::measured(&wait), |arrival| arrival.cycles[1].div_ceil(2))?;
            send(beside(&format!("{wait}, at least")), |arrival| arrival.cycles[0])?;
            send(beside(&format!("{wait}, at most")), |arrival| arrival.cycles[2])?;
        } else {
            send(Series::measured(&wait), |arrival| arrival.wait)?;
            send(beside("round with the interrupt"), |arrival| arrival.length)?;
        }
        let round = self.path.len() as u64;
        for (name, value) in [("round", round), ("exception", self.exception)] {
            stream.send(&Record::Figure { name, unit: "", value: value as f64 })?;
        }
        if self.pairs > 0 {
            let value = self.pairs as f64;
            stream.send(&Record::Figure { name: PAIRS, unit: "", value })?;
        }
        if let Some(worst) = self.worst() {
            let at = self.path.get(worst.place as usize).copied().unwrap_or_default();
            stream.send(&Record::Figure { name: "at", unit: "", value: worst.place as f64 })?;
            let unit = waits.name();
            stream.send(&Record::Log(&format!(
                "{LONGEST_WAIT}{} {unit}s, for an arrival at {unit} {} of {round}, in {}",
                worst.wait,
                worst.place,
                symbols.place(at)
            )))?;
        }
        stream.send(&Record::Log(&format!(
            "the round, by function: {}",
            blocks(&self.path, symbols)
        )))?;
        let again = self.arrivals.iter().filter(|arrival| arrival.tries > 1).count();
        let all = round as f64;
        let tried = self.arrivals.len() as f64;
        for (name, value, low, high) in [
            ("arrivals tried", tried, all, all),
            ("arrivals tried again", again as f64, 0.0, f64::INFINITY),
        ] {
            stream.evidence(name, value, low, high)?;
        }
        Ok(())
    }
}

/// The functions with the most instructions of a round, in the order of the round.
fn blocks(path: &[u64], symbols: &Symbols<'_>) -> String {
    let mut blocks: Vec<(String, usize)> = Vec::new();
    for at in path {
        let name = symbols.function(*at);
        match blocks.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => blocks.push((name, 1)),
        }
    }
    let mut counts: Vec<usize> = blocks.iter().map(|(_, count)| *count).collect();
    counts.sort_unstable_by_key(|count| Reverse(*count));
    let least = counts.get(MOST_BLOCKS - 1).copied().unwrap_or_default();
    let shown = blocks.iter().filter(|(_, count)| *count >= least).take(MOST_BLOCKS);
    let texts: Vec<String> = shown
        .map(|(name, count)| {
            let name: String = name.chars().take(LONGEST_NAME).collect();
            format!("{name} {count}")
        })
        .collect();
    texts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SWEEP: &str = "enabled 44 0x8000874\nexception 44\npath 0x8000100\n\
                         path 0x8000104\narrival 0 0 127 1 0 0 0\narrival 1 46 130 3 80 181 99\n";

    #[test]
    fn the_lines_of_the_plugin_are_read() {
        let sweep = Sweep::parse(SWEEP).unwrap();
        assert_eq!((sweep.exception, sweep.path.len(), sweep.is_complete()), (44, 2, true));
        let cycles = [80, 181, 99];
        let last = Arrival { place: 1, wait: 46, length: 130, tries: 3, cycles };
        assert_eq!(sweep.worst(), Some(&last));
        for (from, to) in [
            ("arrival 0 0 127 1 0 0 0", "arrival 0 0 127 1"),
            ("arrival 0 0 127 1", "arrival 0 -1 127 1"),
            ("path 0x8000104", "path 0xg"),
            ("exception 44", "panicked"),
            ("exception 44", ""),
        ] {
            let error = Sweep::parse(&SWEEP.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains("damaged") && !error.contains('\n'), "{error}");
        }
        assert!(Sweep::parse("exception 44\n").unwrap_err().to_string().contains("equal"));
    }

    #[test]
    fn another_start_goes_on_with_the_same_round() {
        let mut sweep = Sweep::parse(&SWEEP.replace("arrival 1 46 130 3 80 181 99\n", "")).unwrap();
        assert!(!sweep.is_complete());
        let rest = SWEEP.replace("arrival 0 0 127 1 0 0 0\n", "");
        sweep.append(Sweep::parse(&rest).unwrap()).unwrap();
        assert!(sweep.is_complete());
        let other = SWEEP.replace("path 0x8000104", "path 0x8000106");
        assert!(sweep.append(Sweep::parse(&other).unwrap()).is_err());
    }

    /// Each start tries one arrival of a round of three times as many.
    #[test]
    fn starts_that_are_too_few_are_spread_over_the_round() {
        let round = vec![0x800_0100; 3 * MOST_STARTS];
        let start = |first| {
            let place = first as u64;
            let arrival = Arrival { place, wait: 0, length: 9, tries: 1, cycles: [0; 3] };
            Ok(Sweep { path: round.clone(), arrivals: vec![arrival], ..Sweep::default() })
        };
        let all = start(0).unwrap().completed(start).unwrap();
        assert_eq!(all.arrivals.len() + all.missed, round.len());
        assert!(all.arrivals.len() > MOST_STARTS - 10, "{}", all.arrivals.len());
        let gaps = all.arrivals.windows(2).map(|pair| pair[1].place - pair[0].place);
        assert!(gaps.clone().all(|gap| gap <= 5), "{:?}", gaps.max());
        assert!(all.arrivals.last().unwrap().place as usize > round.len() - 10);
    }
}
