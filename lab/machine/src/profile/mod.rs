//! The cycle profile: attributes the cycles within the samples to functions, from the record of a
//! machine that sees every instruction. It knows addresses and symbols, not experiments.

mod symbols;

use std::collections::{BTreeMap, HashMap};

use anyhow::{Context as _, Result, bail};

pub(crate) use symbols::Symbols;

use chronoscope_run::{Cycles, Spent};

/// The cycles that the hardware takes before a handler's first instruction retires; they belong to
/// no function.
pub const ENTRY: &str = "interrupt entry (hardware)";

/// The most runs that are kept, from the start of the trace.
const MAX_RUNS: usize = 50_000;

/// The raw record of a repetition by program counter (`docs/machines/bench.md`). Finding the
/// functions takes longer than all other work on a repetition, so it is left to callers that keep
/// the result.
#[derive(Debug)]
pub struct Retirement {
    /// The ELF image of the program that ran.
    pub image: Vec<u8>,
    /// The cycles and retired instructions of each address, as the board writes them.
    pub profile: String,
    /// The trace of every instruction, if it was requested.
    pub trace: Option<String>,
}

/// The record by function.
pub struct Functions {
    /// The cycles of each function; `None` if no window was observed.
    pub cycles: Option<Cycles>,
    /// The runs of functions as lines `START END name`, if there is a trace.
    pub runs: Option<String>,
}

impl Retirement {
    /// Attributes the record to functions. Reading the image's line tables is most of the cost.
    ///
    /// # Errors
    /// If the image has no valid tables, or a line is malformed.
    pub fn by_function(&self) -> Result<Functions> {
        let symbols = Symbols::read(&self.image)?;
        let cycles = cycles(&self.profile, &symbols)?;
        let runs = self.trace.as_ref().map(|trace| runs(trace, &symbols)).transpose()?;
        Ok(Functions { cycles, runs })
    }
}

/// Parses a profile; `None` if it has no window.
fn cycles(text: &str, symbols: &Symbols<'_>) -> Result<Option<Cycles>> {
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let ["windows", windows, "cycles", total, "asleep", asleep] = head[..] else {
        bail!("the profile has no first line")
    };
    let [windows, total, asleep] = [windows.parse()?, total.parse()?, asleep.parse()?];
    let mut by_name: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for line in lines {
        let Counted { address, cycles, retired, entry } =
            Counted::parse(line).with_context(|| format!("in the profile: `{line}`"))?;
        let mut spend = |name: String, cycles: u64, retired: u64| {
            let spent = by_name.entry(name).or_default();
            (spent.0, spent.1) = (spent.0.saturating_add(cycles), spent.1.saturating_add(retired));
        };
        spend(symbols.function(address), cycles - entry, retired);
        if entry > 0 {
            spend(ENTRY.to_owned(), entry, 0);
        }
    }
    let mut rows: Vec<Spent> = by_name
        .into_iter()
        .map(|(name, (cycles, retired))| Spent { name: name.into(), cycles, retired })
        .collect();
    rows.sort_by(|one, next| next.cycles.cmp(&one.cycles).then_with(|| one.name.cmp(&next.name)));
    Ok((windows > 0).then_some(Cycles { windows, total, asleep, rows }))
}

/// A line of a profile.
struct Counted {
    address: u64,
    cycles: u64,
    retired: u64,
    /// The part of `cycles` that the hardware took to enter a handler at this address.
    entry: u64,
}

impl Counted {
    fn parse(line: &str) -> Result<Self> {
        let fields: Vec<&str> = line.split(' ').collect();
        let [address, cycles, retired, entry] = fields[..] else {
            bail!("a line has four numbers")
        };
        let address = u64::from_str_radix(address, 16)?;
        let [cycles, retired, entry] = [cycles.parse()?, retired.parse()?, entry.parse()?];
        if entry > cycles {
            bail!("more cycles to enter than in all");
        }
        Ok(Self { address, cycles, retired, entry })
    }
}

/// Groups a trace of retired instructions into runs of a function: lines `START END name`, in
/// cycles. Stops after 50,000 runs.
fn runs(trace: &str, symbols: &Symbols<'_>) -> Result<String> {
    let mut names: HashMap<u64, String> = HashMap::new();
    let mut text = String::new();
    let (mut written, mut since, mut last, mut current) = (0, 0, 0, String::new());
    let mut write = |since: u64, until: u64, name: &str| {
        text.push_str(&format!("{since} {until} {name}\n"));
        written += 1;
        written < MAX_RUNS
    };
    for line in trace.lines() {
        let mut fields = line.split(' ');
        let mut field = || fields.next().with_context(|| format!("in the trace: `{line}`"));
        let (cycle, address) = (field()?.parse::<u64>()?, u64::from_str_radix(field()?, 16)?);
        field()?;
        let (mut is_entry, mut woke) = (false, None);
        for mark in fields {
            match mark.strip_prefix('w') {
                Some(at) => woke = Some(at.parse()?),
                None => is_entry = mark == "i",
            }
        }
        // Idle cycles between two instructions are attributed to no function.
        let from = last.max(woke.unwrap_or(0));
        let name = names.entry(address).or_insert_with(|| symbols.function(address));
        if current.is_empty() {
            (since, current) = (cycle, name.clone());
        } else if is_entry {
            // The cycles before the handler's first instruction are all the hardware's.
            if !(write(since, last, &current) && write(from, cycle, ENTRY)) {
                return Ok(text);
            }
            (since, current) = (cycle, name.clone());
        } else if current != *name || woke.is_some() {
            // The cycles between two instructions count for the later one.
            if !write(since, last, &current) {
                return Ok(text);
            }
            (since, current) = (from, name.clone());
        }
        last = cycle;
    }
    if !current.is_empty() {
        write(since, last, &current);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image() -> Vec<u8> {
        std::fs::read(std::env::current_exe().unwrap()).unwrap()
    }

    #[test]
    fn entries_are_the_hardware_s() {
        let image = image();
        let symbols = Symbols::read(&image).unwrap();
        // No code is at these addresses.
        let text =
            "windows 2 cycles 30 asleep 900\nfffffffffffffff0 12 2 0\nfffffffffffffff2 18 2 14\n";
        let cycles = super::cycles(text, &symbols).unwrap().unwrap();
        let row = |name: &str, cycles, retired| Spent { name: name.into(), cycles, retired };
        assert_eq!((cycles.windows, cycles.total, cycles.asleep), (2, 30, 900));
        assert_eq!(
            cycles.rows,
            [row(ENTRY, 14, 0), row("0xfffffffffffffff0", 12, 2), row("0xfffffffffffffff2", 4, 2)]
        );
        assert_eq!(super::cycles("windows 0 cycles 0 asleep 0\n", &symbols).unwrap(), None);
    }

    #[test]
    fn damaged_profiles_are_errors() {
        let image = image();
        let symbols = Symbols::read(&image).unwrap();
        for text in [
            "",
            "windows 1 cycles 2\n",
            "windows 1 cycles 2 asleep 0\n10 1\n",
            "windows 1 cycles 2 asleep 0\n10 1 1 2\n",
            "windows 1 cycles -2 asleep 0\n",
        ] {
            assert!(super::cycles(text, &symbols).is_err(), "{text}");
        }
    }

    #[test]
    fn a_trace_becomes_runs() {
        let image = image();
        let symbols = Symbols::read(&image).unwrap();
        let trace = "100 fffffffffffffff0 13\n101 fffffffffffffff0 13 i\n104 fffffffffffffff2 13\n105 fffffffffffffff0 13\n";
        assert_eq!(
            runs(trace, &symbols).unwrap(),
            "100 100 0xfffffffffffffff0\n100 101 interrupt entry (hardware)\n101 101 0xfffffffffffffff0\n\
             101 104 0xfffffffffffffff2\n104 105 0xfffffffffffffff0\n"
        );
        let slept = "100 fffffffffffffff0 13\n109 fffffffffffffff0 13 w107\n130 fffffffffffffff0 13 i w125\n";
        assert_eq!(
            runs(slept, &symbols).unwrap(),
            "100 100 0xfffffffffffffff0\n107 109 0xfffffffffffffff0\n125 130 interrupt entry (hardware)\n\
             130 130 0xfffffffffffffff0\n",
            "sleep is nobody's"
        );
        assert_eq!(runs("", &symbols).unwrap(), "");
        assert!(runs("100\n", &symbols).is_err());
    }
}
