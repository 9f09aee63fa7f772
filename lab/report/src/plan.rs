//! The output of `chronoscope plan`: the samples and the time that support a claimed upper bound of
//! the miss rate, for independent misses and for the bursts of a run. The module measures nothing.

use std::fmt::Write as _;

use serde::Serialize;

use super::text_table::{
    Side::{Left, Right},
    TextTable,
};
use chronoscope_run::{CaseResult, Run, SeriesResult, names::TOGETHER};
use chronoscope_statistics::{samples_in_bursts, samples_to_claim};
use chronoscope_units::{OneLine, digits, show};

/// The largest number of misses that a plan allows for.
pub const MOST_MISSES: u64 = 3;

/// The interval of samples in µs if neither the command line nor the case gives one.
const USUAL_INTERVAL: u64 = 1000;

/// The lengths of runs that support a claim.
#[derive(Debug, PartialEq, Serialize)]
pub struct Plan {
    /// The claimed upper bound of the rate, with 95 % confidence.
    pub claim: f64,
    /// The interval of samples in µs, for independent misses.
    pub interval_us: u64,
    /// The length for independent misses, for each number of misses from 0 to [`MOST_MISSES`].
    pub independent: Vec<Needed>,
    /// The length given the bursts of each measured series of the run; empty without a run.
    pub cases: Vec<InBursts>,
}

/// The length of a run that supports the claim.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Needed {
    /// The number of misses among the samples.
    pub misses: u64,
    /// The number of samples.
    pub samples: u64,
    /// The length of the run in seconds.
    pub seconds: f64,
}

/// The length of a run without misses that supports the claim, given the bursts of a series.
#[derive(Debug, PartialEq, Serialize)]
pub struct InBursts {
    /// The case's label.
    pub case: OneLine,
    /// The series' name.
    pub series: OneLine,
    /// The dispersion of rare samples; `None` if it is unknown.
    pub dispersion: Option<f64>,
    /// The number of independent samples that the series' samples are worth.
    pub effective: Option<f64>,
    /// The interval of samples in µs.
    pub interval_us: u64,
    /// The length of a run without misses; `None` if the dispersion is unknown.
    pub needed: Option<Needed>,
}

impl Plan {
    /// Plans for a claimed `rate` above 0 and below 1. `interval` in µs takes precedence over a
    /// case's own. Lengths of more than 2^53 samples are left out.
    pub fn new(rate: f64, run: Option<&Run>, interval: Option<u64>) -> Self {
        let interval_us = interval.unwrap_or(USUAL_INTERVAL);
        let independent = (0..=MOST_MISSES).filter_map(|misses| {
            let samples = samples_to_claim(rate, misses)?;
            Some(needed(misses, samples, interval_us))
        });
        let cases = run.map_or(&[][..], |run| &run.cases);
        let series = cases.iter().flat_map(|case| {
            // The samples of several processors come together more often than the interval says.
            let alone = case.measured().filter(|series| *series.name != *TOGETHER);
            alone.map(move |series| in_bursts(rate, case, series, interval))
        });
        Self {
            claim: rate,
            interval_us,
            independent: independent.collect(),
            cases: series.collect(),
        }
    }

    /// Returns the plan as text: a table for independent misses, and one for the run's bursts.
    pub fn table(&self) -> String {
        let mut text = format!(
            "Fewer misses than 1 in {}, with 95 % confidence, if misses are independent; \
             a sample every {}:\n",
            digits((1.0 / self.claim * 1e3).round() / 1e3),
            show(self.interval_us as f64 * 1e3, "ns")
        );
        let mut table = TextTable::new(&[("misses", Right), ("samples", Right), ("time", Right)]);
        for one in &self.independent {
            let cells = [one.misses.to_string(), one.samples.to_string(), lasting(one.seconds)];
            table.row(cells.to_vec());
        }
        text.push_str(&table.render());
        if self.cases.is_empty() {
            text.push_str(
                "Misses that come in bursts need more: name a run to take its bursts into account.\n",
            );
            return text;
        }
        text.push_str("\nWith the bursts of this run, without a miss:\n");
        let mut table = TextTable::new(&[
            ("case", Left),
            ("series", Left),
            ("dispersion", Right),
            ("samples", Right),
            ("time", Right),
        ]);
        for one in &self.cases {
            let none = || "–".to_owned();
            table.row(vec![
                one.case.to_string(),
                one.series.to_string(),
                one.dispersion.map_or_else(none, digits),
                one.needed.map_or_else(none, |needed| needed.samples.to_string()),
                one.needed.map_or_else(none, |needed| {
                    let interval = show(one.interval_us as f64 * 1e3, "ns");
                    format!("{} at {interval}", lasting(needed.seconds))
                }),
            ]);
        }
        text.push_str(&table.render());
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "dispersion: how much more the counts of rare samples vary than with independent samples; \
             about 1 if the samples are independent.\n– where a run has too few rare samples to tell, or an exact clock."
        );
        text
    }
}

fn needed(misses: u64, samples: u64, interval_us: u64) -> Needed {
    Needed { misses, samples, seconds: samples as f64 * interval_us as f64 / 1e6 }
}

fn in_bursts(
    rate: f64,
    case: &CaseResult,
    series: &SeriesResult,
    interval: Option<u64>,
) -> InBursts {
    let of_case = || case.parameters.get("interval_us")?.parse().ok();
    let interval_us = interval.or_else(of_case).unwrap_or(USUAL_INTERVAL);
    let dispersion = series.bursts.and_then(|bursts| bursts.dispersion);
    let dispersion = dispersion.filter(|_| !case.is_deterministic());
    let samples = dispersion
        .zip(samples_to_claim(rate, 0))
        .map(|(dispersion, samples)| samples_in_bursts(samples, dispersion));
    let words = format!("{} {} {}", case.experiment, case.target, case.label);
    InBursts {
        case: words.trim_end().into(),
        series: series.name.clone(),
        dispersion,
        effective: dispersion.map(|dispersion| series.summary.count as f64 / dispersion.max(1.0)),
        interval_us,
        needed: samples.map(|samples| needed(0, samples, interval_us)),
    }
}

/// A duration in its two largest units, as `49 min 56 s`, rounded up to whole seconds first. Days
/// are a unit from two days on.
fn lasting(seconds: f64) -> String {
    let whole = seconds.ceil();
    let two = |large: f64, name: &str, small: f64, small_name: &str| {
        let (count, rest) = ((whole / large).floor(), ((whole % large) / small).floor());
        let rest = if rest > 0.0 { format!(" {rest:.0} {small_name}") } else { String::new() };
        format!("{count:.0} {name}{rest}")
    };
    match whole {
        short if short < 60.0 => format!("{whole:.0} s"),
        short if short < 3600.0 => two(60.0, "min", 1.0, "s"),
        medium if medium < 2.0 * 86400.0 => two(3600.0, "h", 60.0, "min"),
        _ => two(86400.0, "d", 3600.0, "h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chronoscope_run::sample;
    use chronoscope_statistics::Bursts;

    #[test]
    fn durations_have_two_units() {
        for (seconds, text) in [
            (0.2, "1 s"),
            (59.0, "59 s"),
            (60.0, "1 min"),
            (2995.731, "49 min 56 s"),
            (7260.0, "2 h 1 min"),
            (172_799.0, "47 h 59 min"),
            (180_000.0, "2 d 2 h"),
        ] {
            assert_eq!(lasting(seconds), text);
        }
    }

    #[test]
    fn a_run_in_bursts_must_be_longer() {
        let plan = Plan::new(1e-6, None, None);
        let samples: Vec<u64> = plan.independent.iter().map(|needed| needed.samples).collect();
        assert_eq!(samples, [2_995_731, 4_743_863, 6_295_792, 7_753_655]);
        let text = plan.table();
        assert!(text.contains("1 in 1000000") && text.contains("49 min 56 s"), "{text}");
        assert!(text.contains("name a run"), "{text}");

        let mut run = sample::run();
        run.cases.truncate(2);
        let bursts =
            |dispersion| Bursts { tested: 100, dispersion, p: None, episodes: 0, longest: 0 };
        run.cases[0].series[0].bursts = Some(bursts(Some(4.0)));
        run.cases[0].parameters.insert("interval_us".into(), "250".into());
        run.cases[1].series[0].bursts = Some(bursts(None));
        // The samples of all processors come at their intervals together.
        let mut together = run.cases[0].series[0].clone();
        together.name = TOGETHER.into();
        run.cases[0].series.push(together);
        let plan = Plan::new(1e-6, Some(&run), None);
        assert_eq!(plan.cases.len(), 2);
        let needed = plan.cases[0].needed.unwrap();
        assert_eq!((needed.samples, plan.cases[0].effective), (4 * 2_995_731, Some(1_250.0)));
        assert!((needed.seconds - 2995.731).abs() < 0.01);
        assert_eq!(plan.cases[1].needed, None);
        assert!(plan.table().contains("49 min 56 s at 250 µs"), "{}", plan.table());
        // The command line's interval takes precedence.
        assert_eq!(Plan::new(1e-6, Some(&run), Some(500)).cases[0].interval_us, 500);
    }
}
