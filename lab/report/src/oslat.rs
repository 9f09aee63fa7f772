//! A run of `noise` in the words of rt-tests' oslat 2.40: its table and its JSON. A turn is one pass of the
//! loop that reads the clock.

use chronoscope_run::{CaseResult, Role, Run, SeriesResult};
use serde_json::{Map, Value, json};

use crate::tool::document;

/// The form of the output, by the command line.
#[derive(Clone, Copy, Debug, Default)]
pub struct Format {
    /// The number of buckets, each of 1 µs; the last has all longer turns.
    pub buckets: u64,
    /// The buckets begin at the shortest turn.
    pub is_biased: bool,
    /// Buckets that are empty on all processors are left out.
    pub omits_zeros: bool,
}

/// The length in µs from which the port has one count for all turns. Each of them is among the gaps, too.
const COUNTED_TOGETHER: u64 = 4096;

/// The whole µs above a time in ns.
fn above(ns: f64) -> u64 {
    (ns / 1000.0) as u64 + 1
}

/// The loop of a processor. Lengths are whole µs, each the next above the turn.
struct Core {
    cpu: u64,
    /// The number of turns of each length, in rising order.
    turns: Vec<(u64, u64)>,
    longest: u64,
    /// In s.
    watched: f64,
}

impl Core {
    fn shortest(&self) -> u64 {
        self.turns.first().map_or(1, |(length, _)| *length)
    }

    /// The number of turns in a bucket, by its length.
    fn bucket(&self, length: u64, format: &Format, bias: u64) -> u64 {
        let is_in = |turn: u64| turn.clamp(bias + 1, bias + format.buckets) == length;
        self.turns.iter().filter(|(turn, _)| is_in(*turn)).map(|(_, count)| count).sum()
    }

    /// The mean length of a turn in µs. A turn below the first bucket counts as that bucket's; one beyond the
    /// last counts with its own length.
    fn mean(&self, bias: u64) -> f64 {
        let length = |(turn, count): &(u64, u64)| (*turn).max(bias + 1) as f64 * *count as f64;
        let turns: u64 = self.turns.iter().map(|(_, count)| count).sum();
        self.turns.iter().map(length).sum::<f64>() / turns.max(1) as f64
    }
}

/// The longest turn, by the turns and the longest gap in ns: a loop whose turns are all short has no gap.
fn longest(turns: &[(u64, u64)], gap: Option<f64>) -> u64 {
    turns.iter().map(|(length, _)| *length).chain(gap.map(above)).max().unwrap_or(1)
}

/// The turns by their lengths in µs: `counted` as the port has them, in which those from [`COUNTED_TOGETHER`]
/// on are the longest of the gaps, whose lengths are in ns.
fn by_length(counted: impl Iterator<Item = (u64, u64)>, gaps: &[(f64, u64)]) -> Vec<(u64, u64)> {
    let (mut turns, together): (Vec<_>, Vec<_>) =
        counted.partition(|(length, _)| *length < COUNTED_TOGETHER);
    // The histogram's length may be 0.1 % too long, so the number says which gaps these are.
    let mut left: u64 = together.iter().map(|(_, count)| count).sum();
    let mut longer = Vec::new();
    for (ns, count) in gaps.iter().rev() {
        let count = left.min(*count);
        left -= count;
        longer.push((above(*ns).max(COUNTED_TOGETHER), count));
    }
    longer.push((COUNTED_TOGETHER, left));
    turns.extend(longer.into_iter().rev().filter(|(_, count)| *count > 0));
    turns
}

/// The loops of a case, by their processors.
fn cores(case: &CaseResult) -> Vec<Core> {
    let figure = |name: &str| case.figures.iter().find(|figure| &*figure.name == name);
    let only_cpu = case.parameters.get("cpu").and_then(|cpu| cpu.parse().ok()).unwrap_or_default();
    let measured = case.series.iter().filter(|series| series.role == Role::Measured);
    let core = |series: &SeriesResult| {
        let of_cpu = format!("{}, watched", series.name);
        let watched = figure(&of_cpu).or_else(|| figure("watched"));
        let name = format!("{}, turns by length", series.name);
        let turns = case.series.iter().find(|other| *other.name == *name)?;
        // The start of a sample is its length less 1 µs: starts are relative to the first sample's.
        let turns = turns.samples.iter().filter(|(_, count)| *count > 0.0);
        let turns = turns.map(|(ns, count)| ((ns / 1000.0).round() as u64 + 1, *count as u64));
        let turns = by_length(turns, &series.histogram);
        Some(Core {
            cpu: series.name.strip_prefix("cpu ").map_or(Some(only_cpu), |cpu| cpu.parse().ok())?,
            longest: longest(&turns, series.summary.max),
            turns,
            watched: watched.map_or(0.0, |figure| figure.value),
        })
    };
    measured.filter_map(core).collect()
}

/// The bias of all processors: the shortest turn if the format is biased, or else 0.
fn bias(cores: &[Core], format: &Format) -> u64 {
    let shortest = cores.iter().map(Core::shortest).min();
    shortest.filter(|_| format.is_biased).unwrap_or(0)
}

/// The line on the bias; empty if the format has none.
pub fn bias_line(case: &CaseResult, format: &Format) -> String {
    let bias = bias(&cores(case), format);
    if format.is_biased { format!("Global bias set to {bias} (us)\n") } else { String::new() }
}

/// The table: a column for each processor.
pub fn text(case: &CaseResult, format: &Format) -> String {
    let cores = cores(case);
    let bias = bias(&cores, format);
    let mhz = case.clock.as_ref().map_or(1000, |clock| clock.hertz / 1_000_000);
    let mut text = String::new();
    let row = |label: &str, one: &dyn Fn(&Core) -> String, unit: &str| {
        let columns: Vec<String> = cores.iter().map(one).collect();
        format!("{label}:\t {}{unit}\n", columns.join(" "))
    };
    text += &row("        Core", &|core| core.cpu.to_string(), "");
    text += &row("Counter Freq", &|_| mhz.to_string(), " (Mhz)");
    let last = bias + format.buckets;
    let mut is_omitting = false;
    for length in bias + 1..=last {
        let count = |core: &Core| core.bucket(length, format, bias);
        if format.omits_zeros && cores.iter().all(|core| count(core) == 0) {
            if !is_omitting {
                text += "    ...\n";
            }
            is_omitting = true;
            continue;
        }
        is_omitting = false;
        let unit = if length == last { " (including overflows)" } else { "" };
        text += &row(&format!("    {length:03} (us)"), &|core| count(core).to_string(), unit);
    }
    text += &row("     Minimum", &|core| core.shortest().to_string(), " (us)");
    text += &row("     Average", &|core| format!("{:.3}", core.mean(bias)), " (us)");
    text += &row("     Maximum", &|core| core.longest.to_string(), " (us)");
    text += &row("     Max-Min", &|core| (core.longest - core.shortest()).to_string(), " (us)");
    text += &row("    Duration", &|core| format!("{:.3}", core.watched), " (sec)");
    text + "\n"
}

/// The result in the form of oslat's `--json`. `command` is the command line, and `end` the time at the
/// end, as [`Context::date`](chronoscope_run::Context).
pub fn json(run: &Run, case: &CaseResult, format: &Format, command: &str, end: &str) -> Value {
    let cores = cores(case);
    let bias = bias(&cores, format);
    let mhz = case.clock.as_ref().map_or(1000, |clock| clock.hertz / 1_000_000);
    let thread = |(number, core): (usize, &Core)| {
        let counts = (bias + 1..=bias + format.buckets)
            .map(|length| (length, core.bucket(length, format, bias)))
            .filter(|(_, count)| *count > 0)
            .map(|(length, count)| (length.to_string(), count.into()));
        let value = json!({
            "cpu": core.cpu,
            "freq": mhz,
            "min": core.shortest(),
            "avg": (core.mean(bias) * 1e6).round() / 1e6,
            "max": core.longest,
            "duration": (core.watched * 1e3).round() / 1e3,
            "histogram": counts.collect::<Map<_, _>>(),
        });
        (number.to_string(), value)
    };
    let own = json!({
        "num_threads": cores.len(),
        "thread": cores.iter().enumerate().map(thread).collect::<Map<_, _>>(),
    });
    document(run, command, end, own)
}

/// The processor and the length in µs of the longest turn that is longer than `us`.
pub fn triggered(case: &CaseResult, us: u64) -> Option<(u64, u64)> {
    let longest = cores(case).into_iter().max_by_key(|core| core.longest)?;
    (longest.longest > us).then_some((longest.cpu, longest.longest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn core() -> Core {
        Core { cpu: 1, turns: vec![(1, 100), (3, 2), (70, 1)], longest: 70, watched: 1.0 }
    }

    #[test]
    fn the_last_bucket_has_all_longer_turns_and_the_first_those_below_the_bias() {
        let format = Format { buckets: 4, ..Format::default() };
        let of = |bias| {
            let lengths = bias + 1..=bias + 4;
            lengths.map(|length| core().bucket(length, &format, bias)).collect::<Vec<_>>()
        };
        assert_eq!(of(0), [100, 0, 2, 1]);
        assert_eq!(of(2), [102, 0, 0, 1]);
    }

    #[test]
    fn each_turn_is_counted_once() {
        let counted = [(1, 100), (3, 2), (4095, 1), (4096, 3)];
        // One gap of just below 4095 µs is among the histogram's above.
        let gaps = [(2_500.0, 2), (4_095_900.0, 2), (9_000_000.0, 2)];
        let turns = by_length(counted.into_iter(), &gaps);
        assert_eq!(turns, [(1, 100), (3, 2), (4095, 1), (4096, 1), (9001, 2)]);
        let without_gaps = by_length(counted.into_iter(), &[]);
        assert_eq!(without_gaps, counted);
    }

    #[test]
    fn a_loop_without_a_gap_has_its_longest_turn() {
        assert_eq!(longest(&[(50, 7)], None), 50);
        assert_eq!(longest(&[(50, 7)], Some(70_100.0)), 71);
        assert_eq!(longest(&[], None), 1);
    }

    #[test]
    fn the_mean_is_of_the_buckets_lengths() {
        assert_eq!(core().mean(0), 176.0 / 103.0);
        assert_eq!(core().mean(1), 276.0 / 103.0);
    }
}
