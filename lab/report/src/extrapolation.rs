//! `report --extrapolate`: the maxima of longer runs by a model, for each measured series whose
//! samples were kept, with the reasons where the model does not apply.

use super::text_table::wrap;
use chronoscope_run::{CaseResult, Domain, Run, SeriesResult};
use chronoscope_statistics::{Extrapolation, extrapolate, extreme};
use chronoscope_units::{digits, show};

/// The words that belong to every figure of a model.
pub const CAVEAT: &str = "a model, under this load; a cause that has not happened yet is not in it";

/// Line width in characters.
const WIDTH: usize = 100;

/// The extrapolation of a series.
pub struct Extrapolated<'a> {
    pub case: &'a CaseResult,
    pub series: &'a SeriesResult,
    /// The mean time from sample to sample in ns; 0 if the model was not applied.
    pub interval: f64,
    /// The model with its failed gates, or the reason why it cannot be applied at all.
    pub result: Result<Extrapolation, &'static str>,
}

impl Extrapolated<'_> {
    /// Experiment, target, label and series.
    pub fn name(&self) -> String {
        let Self { case, series, .. } = self;
        let label = if case.label.is_empty() { String::new() } else { format!(" {}", case.label) };
        format!("{} {}{label}: {}", case.experiment, case.target, series.name)
    }

    /// The reasons why no limit is stated; empty if one is.
    pub fn reasons(&self) -> Vec<String> {
        match &self.result {
            Ok(found) => found.failed.iter().map(ToString::to_string).collect(),
            Err(reason) => vec![(*reason).to_owned()],
        }
    }
}

/// Extrapolates the proven, measured series of a run to `seconds`.
pub fn of(run: &Run, seconds: f64) -> Vec<Extrapolated<'_>> {
    let proven = run.cases.iter().filter(|case| case.is_proven());
    let all = proven.flat_map(|case| case.measured().map(move |series| (case, series)));
    all.map(|(case, series)| one(case, series, seconds)).collect()
}

fn one<'a>(case: &'a CaseResult, series: &'a SeriesResult, seconds: f64) -> Extrapolated<'a> {
    let refused = |reason| Extrapolated { case, series, interval: 0.0, result: Err(reason) };
    if case.clock.as_ref().is_none_or(|clock| clock.domain != Domain::Wall) {
        return refused("the clock does not count time");
    }
    if case.figure("steal").is_some_and(|steal| steal.max > 0.0) {
        return refused("the hypervisor stole time: the maximum may be the machine's");
    }
    if series.samples.is_empty() {
        return refused("the run has no samples: run with --samples");
    }
    let interval = interval(&series.samples);
    if interval <= 0.0 {
        return refused("the samples have no times");
    }
    let values: Vec<f64> = series.samples.iter().map(|(_, value)| *value).collect();
    let result = extrapolate(&values, seconds * 1e9 / interval);
    Extrapolated { case, series, interval, result: Ok(result) }
}

/// The mean time from the start of a sample to the start of the next of the same repetition; 0
/// without such pairs.
fn interval(samples: &[(f64, f64)]) -> f64 {
    let gaps = samples.windows(2).map(|pair| pair[1].0 - pair[0].0).filter(|gap| *gap >= 0.0);
    let (sum, count) = gaps.fold((0.0, 0.0_f64), |(sum, count), gap| (sum + gap, count + 1.0));
    sum / count.max(1.0)
}

/// The section of the terminal: a paragraph for each series.
pub fn section(extrapolated: &[Extrapolated<'_>], words: &str) -> String {
    let mut text = format!("\nThe maximum of {words}: {CAVEAT}\n");
    if extrapolated.is_empty() {
        text.push_str("  no case with evidence has a measured series\n");
    }
    for one in extrapolated {
        let nominal = one.series.nominal;
        let show = |value: f64| show(value + nominal, one.series.unit.name());
        let mut items = vec![one.name()];
        let reasons = one.reasons();
        match one.result.as_ref().ok().and_then(|found| found.model.as_ref()) {
            Some(model) if reasons.is_empty() => {
                items.push(format!("below {} (95 %)", show(model.at_horizon.upper)));
                items.push(format!("{} reached once, on average", show(model.at_horizon.level)));
                items.push(format!("{} peaks above {}", model.peaks, show(model.threshold)));
                items.push(shape(model));
            }
            _ => {
                items.push("no extrapolation".to_owned());
                items.extend(reasons);
            }
        }
        text.push_str(&wrap(&items, 2, WIDTH));
        text.push('\n');
    }
    text
}

/// The shape with its upper limit.
pub fn shape(model: &extreme::Model) -> String {
    format!("shape {:.2}, at most {:.2}", model.shape, model.shape_upper)
}

/// A number of samples as a time.
pub fn lasting(samples: f64, interval: f64) -> String {
    let seconds = samples * interval / 1e9;
    match seconds {
        short if short < 120.0 => show(samples * interval, "ns"),
        medium if medium < 7200.0 => format!("{} min", digits(seconds / 60.0)),
        long if long < 172_800.0 => format!("{} h", digits(seconds / 3600.0)),
        _ => format!("{} d", digits(seconds / 86_400.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chronoscope_run::sample;
    use chronoscope_statistics::SplitMix64;

    /// A run of one case with kept samples, exponential with mean 10 µs, every 1 ms.
    fn run(count: u32) -> Run {
        let mut run = sample::run();
        run.cases.truncate(1);
        run.cases[0].series.truncate(1);
        let mut random = SplitMix64::new(3);
        run.cases[0].series[0].samples =
            (0..count).map(|i| (f64::from(i) * 1e6, -1e4 * random.unit().ln())).collect();
        run
    }

    #[test]
    fn a_limit_has_its_caveat() {
        let run = run(50_000);
        let text = section(&of(&run, 3600.0), "1 h");
        assert!(text.contains(CAVEAT) && text.contains("(95 %)"), "{text}");
        assert!(text.contains("100 peaks above") && text.contains("at most"), "{text}");
        // The longest of an hour of such samples is about 150 µs.
        let found = &of(&run, 3600.0)[0];
        let level = found.result.as_ref().unwrap().model.as_ref().unwrap().at_horizon;
        assert!((0.8e5..3e5).contains(&level.level) && level.upper > level.level, "{level:?}");
        assert_eq!(found.interval, 1e6);
    }

    #[test]
    fn reasons_replace_a_limit() {
        let reasons = |run: &Run, seconds: f64| -> String {
            let text = section(&of(run, seconds), "1 h");
            assert!(text.contains("no extrapolation") && !text.contains("95 %"), "{text}");
            text
        };
        // 50 s allow 5000 s.
        assert!(reasons(&run(50_000), 5001.0).contains("100 times the measurement"));
        assert!(reasons(&run(0), 60.0).contains("run with --samples"));
        assert!(reasons(&run(100), 1.0).contains("separate peaks"));
        let mut stolen = run(50_000);
        stolen.cases[0].figures = vec![sample::figure("steal", "ms", 20.0)];
        assert!(reasons(&stolen, 60.0).contains("stole time"));
        let mut emulated = run(50_000);
        emulated.cases[0].clock.as_mut().unwrap().domain = Domain::Instructions;
        assert!(reasons(&emulated, 60.0).contains("does not count time"));
        let mut still = run(50_000);
        still.cases[0].series[0].samples.iter_mut().for_each(|sample| sample.0 = 0.0);
        assert!(reasons(&still, 60.0).contains("no times"));
        let mut unproven = run(50_000);
        unproven.cases[0].evidence.clear();
        assert!(section(&of(&unproven, 60.0), "1 h").contains("no case with evidence"));
    }

    #[test]
    fn times_have_a_unit() {
        let of = |samples| lasting(samples, 1e6);
        assert_eq!(
            [of(500.0), of(6e5), of(1.8e7), of(864e5 * 3.0)],
            ["500 ms", "10 min", "5 h", "3 d"]
        );
    }
}
