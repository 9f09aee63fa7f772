//! A baseline: the figures of a run against which later runs are checked, a line for each series
//! and small enough to commit. `docs/ci.md` describes its use; where it is kept is the caller's
//! matter.
//!
//! A check is a [`comparison`] with the baseline as A, by the rules of `docs/compare.md` for stored
//! runs. In addition, every series of the baseline must still be offered and measured.

mod file;

use std::collections::{BTreeMap, BTreeSet};

pub use file::{load, parse, render};

use crate::comparison::InTurn;
use crate::{
    comparison, comparison::COMPARED_STATISTICS, comparison::CompareOptions,
    comparison::ComparedStatistic, comparison::Finding, comparison::History, comparison::Line,
    comparison::Pair, comparison::StatisticChoice,
};
use chronoscope_run::{
    CaseResult, Clock, Context, Domain, FigureResult, Repetition, Role, Run, SeriesResult, Status,
    Unit, Verdict,
};
use chronoscope_statistics::{Basis, Summary};
use chronoscope_units::OneLine;

/// The figures kept of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Baseline {
    /// The machine on which times were taken; `None` if the baseline holds no times.
    pub machine: Option<Machine>,
    /// The package of each guest's kernel, by target, as [`CaseResult::packaged_kernel`].
    pub kernels: BTreeMap<OneLine, OneLine>,
    /// The series, sorted by case and name.
    pub series: BTreeMap<Key, Series>,
}

/// The machine of a baseline with times.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// The host's name.
    pub host: OneLine,
    /// The processor's name.
    pub processor: OneLine,
}

/// The identity of a series: [`CaseResult::key`] and the series' name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The case's key.
    pub case: OneLine,
    /// The series' name.
    pub series: OneLine,
}

/// The properties of a series that a comparison needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The clock's domain; `None` if there is no clock.
    pub domain: Option<Domain>,
    /// The unit of the values.
    pub unit: Unit,
    /// The nominal part of the duration, which the values exclude.
    pub nominal: f64,
    /// The values of each statistic in each repetition, in the order of
    /// [`COMPARED_STATISTICS`]; a single value if an exact clock gave the same in all.
    pub values: Vec<(&'static str, Vec<f64>)>,
    /// The clock's step in the series' unit; 0 if it has none.
    pub step: f64,
    /// The geometric mean of the reference loop before and after the case, in ns; only for times,
    /// and if the loop ran.
    pub reference: Option<f64>,
}

/// The result of checking a run against a baseline.
pub struct Check {
    /// The compared series.
    pub lines: Vec<Line>,
    /// Cases of the baseline that are missing in the run.
    pub vanished: Vec<String>,
    /// Cases of the run that are missing in the baseline.
    pub new: Vec<String>,
}

impl Baseline {
    /// Makes the baseline of a run, with the judged statistics. A series that cannot be compared
    /// with itself (no evidence, too few repetitions) could never pass later and is left out; the
    /// second result names each with the reason.
    pub fn from_run(run: &Run, judge: &StatisticChoice) -> (Self, Vec<String>) {
        let (mut baseline, mut left_out) = (Self::default(), Vec::new());
        let history = History::default();
        let options = options(judge, 0.0, &history, &|_, _| None);
        for (key, label, case) in cases(run) {
            let itself = Pair { label, a: case, b: case };
            for line in comparison::compare(&[itself], &options) {
                let measured = case.measured().find(|series| series.name == line.series);
                let is_compared =
                    matches!(line.finding, Finding::Pass | Finding::NoRegressionShown);
                let Some(series) = measured.filter(|_| is_compared) else {
                    left_out.push(format!("{}: {}", line.name(), line.reasons.join("; ")));
                    continue;
                };
                let key = Key { case: key.as_str().into(), series: series.name.clone() };
                let kernel =
                    case.packaged_kernel().map(|kernel| (case.target.clone(), kernel.clone()));
                baseline.kernels.extend(kernel);
                let names: Vec<&str> = line.statistics.iter().map(|one| one.statistic).collect();
                baseline.series.entry(key).or_insert_with(|| Series::new(case, series, &names));
            }
        }
        if baseline.series.values().any(|series| series.unit == Unit::Nanoseconds) {
            let Context { host, processor, .. } = run.context.clone();
            baseline.machine = Some(Machine { host, processor });
        }
        (baseline, left_out)
    }

    /// Checks a run against this baseline, as [`options`] says. Unless statistics are named, those that
    /// the baseline holds are judged.
    pub fn check(&self, run: &Run, options: &CompareOptions<'_>) -> Check {
        let mut kept: BTreeMap<&str, CaseResult> = BTreeMap::new();
        for (key, series) in &self.series {
            let case = kept.entry(&key.case).or_insert_with(|| series.case(&key.case));
            case.series.push(series.result(&key.series));
        }
        let (mut pairs, mut new) = (Vec::new(), Vec::new());
        let mut vanished: BTreeSet<&str> = kept.keys().copied().collect();
        for (key, label, b) in cases(run) {
            vanished.remove(key.as_str());
            match kept.get(key.as_str()) {
                Some(a) => pairs.push(Pair { label, a, b }),
                None => new.push(key),
            }
        }
        let mut lines = Vec::new();
        for (pair, compared) in pairs.iter().zip(comparison::compare_each(&pairs, options)) {
            let other = self.other_kernel(pair.b);
            lines.extend(compared.into_iter().map(|line| match &other {
                Some(why) => comparison::without_figures(pair, &line.series, why),
                None => held(line),
            }));
        }
        Check { lines, vanished: vanished.into_iter().map(str::to_owned).collect(), new }
    }

    /// The reason why a case is not comparable with the baseline: its guest has another kernel of
    /// Debian's. A kernel of the user's is what a check is for.
    fn other_kernel(&self, case: &CaseResult) -> Option<String> {
        let (was, is) = (self.kernels.get(&case.target)?, case.packaged_kernel()?);
        (was != is).then(|| {
            format!(
                "not comparable: the baseline is of {was}, and this run of {is}: write it anew with \
                 `chronoscope baseline write`"
            )
        })
    }
}

/// The line of a check: what the run no longer offers was not shown to be as fast.
fn held(mut line: Line) -> Line {
    if line.finding == Finding::NotOffered {
        line.finding = Finding::Inconclusive;
        line.reasons.push("the baseline has figures of it".to_owned());
    }
    line
}

/// The options of a check against a baseline: the run and the baseline did not take turns, and a
/// baseline has no conditions.
pub fn options<'a>(
    judge: &'a StatisticChoice,
    threshold: f64,
    history: &'a History,
    in_turn: InTurn<'a>,
) -> CompareOptions<'a> {
    CompareOptions {
        interleaved: false,
        threshold,
        judge,
        history,
        conditions: &[],
        look: None,
        in_turn,
    }
}

/// The cases of a run with key and label; of cases with the same key, the first.
fn cases(run: &Run) -> Vec<(String, String, &CaseResult)> {
    let targets = comparison::has_several_targets(run);
    let mut seen = BTreeSet::new();
    let named = run.cases.iter().map(|case| (case.key(), comparison::label(case, targets), case));
    named.filter(|(key, ..)| seen.insert(key.clone())).collect()
}

impl Series {
    fn new(case: &CaseResult, series: &SeriesResult, names: &[&str]) -> Self {
        let domain = case.clock.as_ref().map(|clock| clock.domain);
        let is_exact = case.is_deterministic();
        let kept = |statistic: &&ComparedStatistic| names.contains(&statistic.name);
        let values = COMPARED_STATISTICS.iter().filter(kept).filter_map(|statistic| {
            let mut values = comparison::values(statistic, case, series)?;
            if is_exact && values.iter().all(|value| *value == values[0]) {
                values.truncate(1);
            }
            Some((statistic.name, values))
        });
        Self {
            domain,
            unit: series.unit,
            nominal: series.nominal,
            values: values.collect(),
            step: Some(comparison::step(case, series))
                .filter(|step| step.is_finite())
                .unwrap_or_default(),
            // Only times depend on the machine's speed.
            reference: comparison::reference(case).filter(|_| series.unit == Unit::Nanoseconds),
        }
    }

    /// The number of repetitions.
    fn repetitions(&self) -> usize {
        self.values.iter().map(|(_, values)| values.len()).max().unwrap_or_default()
    }

    /// The value of a statistic in a repetition; not a number if the baseline does not hold it.
    fn value(&self, name: &str, repetition: usize) -> f64 {
        let values = self.values.iter().find(|(known, _)| *known == name).map(|(_, values)| values);
        // A single value holds for all repetitions.
        let value = values.and_then(|values| values.get(repetition).or(values.first()));
        value.copied().unwrap_or(f64::NAN)
    }

    /// The series' case as a comparison takes it, still without series. Fields that a comparison
    /// ignores are empty.
    fn case(&self, key: &str) -> CaseResult {
        let beside = |when: &str, value: f64| {
            let name = format!("reference loop {when}");
            FigureResult { name: name.into(), unit: "ns".into(), value, min: value, max: value }
        };
        let reference = self
            .reference
            .iter()
            .flat_map(|loops| ["before", "after"].map(|when| beside(when, *loops)));
        CaseResult {
            experiment: key.split(' ').next().unwrap_or_default().into(),
            target: "".into(),
            release: "".into(),
            identity: BTreeMap::new(),
            parameters: BTreeMap::new(),
            label: "".into(),
            start: "".into(),
            end: "".into(),
            clock: self.domain.map(|domain| Clock { domain, hertz: NANOSECONDS, resolution: 1 }),
            repetitions: self.repetitions(),
            series: Vec::new(),
            slope: None,
            figures: reference.collect(),
            evidence: Vec::new(),
            cycles: None,
            log: Vec::new(),
            attachments: BTreeMap::new(),
            limits: Vec::new(),
            judge: Vec::new(),
            published: Vec::new(),
            verdict: Verdict { status: Status::Pass, reasons: Vec::new() },
        }
    }

    fn result(&self, name: &str) -> SeriesResult {
        let known = |value: f64| (!value.is_nan()).then_some(value);
        let repetition = |index: usize| Repetition {
            count: 1,
            min: self.value("min", index),
            p50: self.value("p50", index),
            p99: known(self.value("p99", index)),
            p999: known(self.value("p99.9", index)),
            max: self.value("max", index),
            mean: self.value("mean", index),
        };
        SeriesResult {
            name: name.into(),
            role: Role::Measured,
            unit: self.unit,
            nominal: self.nominal,
            // The value makes one tick of the clock above, divided by the operations of a sample,
            // equal the step.
            per: 1.0 / self.step,
            x: None,
            summary: Summary::default(),
            p50_interval: None,
            p50_interval_basis: Basis::TooFew,
            upper_limits: None,
            deadline: None,
            misses: None,
            bursts: None,
            by_repetition: (0..self.repetitions()).map(repetition).collect(),
            histogram: Vec::new(),
            late: Vec::new(),
            soak: None,
            next: None,
            samples: Vec::new(),
        }
    }
}

/// Nanoseconds in a second.
const NANOSECONDS: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use chronoscope_run::{names::KERNEL_ORIGIN, sample};

    /// A run with a case for each series: its name, its clock's domain and the medians of its
    /// repetitions.
    fn run(series: &[(String, Domain, Vec<f64>)]) -> Run {
        let cases = series.iter().enumerate().map(|(at, (name, domain, p50s))| {
            let mut case = sample::case("switch", &format!("tasks={at}"));
            case.clock = Some(Clock { domain: *domain, hertz: 62_500_000, resolution: 3 });
            case.series[0].name = name.into();
            case.series[0].unit = domain.unit();
            let first = case.series[0].by_repetition[0];
            case.series[0].by_repetition = p50s
                .iter()
                .map(|p50| Repetition { p50: *p50, p99: None, p999: None, max: 7.0, ..first })
                .collect();
            case.figures
                .extend(["before", "after"].map(|when| {
                    sample::figure(&format!("reference loop {when}"), "ns", 1e6 / 3.0)
                }));
            case
        });
        Run { cases: cases.collect(), ..sample::run() }
    }

    /// The judge of all usual statistics.
    fn usual() -> StatisticChoice {
        StatisticChoice::default()
    }

    /// Eight earlier runs of the first case, which differ by less than a percent.
    fn quiet(run: &Run) -> History {
        let mut history = History::default();
        for scale in [1.0, 1.002, 0.998, 1.001, 0.999, 1.003, 0.997, 1.0] {
            let mut run = run.clone();
            let first = run.cases.first_mut().and_then(|case| case.series.first_mut());
            for repetition in first.into_iter().flat_map(|series| &mut series.by_repetition) {
                repetition.p50 *= scale;
            }
            history.add(&run);
        }
        history
    }

    fn check(baseline: &Baseline, run: &Run) -> Check {
        baseline.check(run, &options(&usual(), 0.05, &quiet(run), &|_, _| None))
    }

    fn findings(baseline: &Baseline, run: &Run) -> Vec<Finding> {
        check(baseline, run).lines.iter().map(|line| line.finding).collect()
    }

    fn exact(p50: f64) -> Run {
        run(&[("switch".to_owned(), Domain::Instructions, vec![p50; 2])])
    }

    proptest! {
        // Each case resamples every series thousands of times.
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_run_passes_against_its_own_baseline(
            series in prop::collection::vec(
                (any::<String>(), prop::sample::select(vec![Domain::Wall, Domain::Instructions, Domain::Cycles]),
                 prop::collection::vec(prop_oneof![1e-3..1e9_f64, (0_u32..5000).prop_map(f64::from)], 0..12)),
                0..5,
            ),
            threshold in 0.0..1.0_f64,
        ) {
            let run = run(&series);
            let (baseline, left_out) = Baseline::from_run(&run, &usual());
            prop_assert_eq!(baseline.series.len() + left_out.len(), series.len());
            let text = render(&baseline);
            prop_assert_eq!(text.lines().filter(|line| line.starts_with("  {")).count(), baseline.series.len());
            // An empty baseline is not a valid file.
            if !baseline.series.is_empty() {
                prop_assert_eq!(&parse(&text).unwrap(), &baseline);
            }
            let check = baseline.check(&run, &options(&usual(), threshold, &History::default(), &|_, _| None));
            let harmless = |line: &Line| line.finding.status(false) == Status::Pass;
            prop_assert!(check.lines.iter().all(harmless), "{:?}", check.lines);
            prop_assert!(check.vanished.is_empty());
            prop_assert_eq!((check.lines.len(), check.new.len()), (baseline.series.len(), left_out.len()));
        }
    }

    /// Figures of another kernel of Debian's are neither a regression nor as fast. A kernel of the
    /// user's is compared, as its change is what a check is for.
    #[test]
    fn another_kernel_of_debians_is_not_comparable() {
        let guest = |p50: f64, origin: &str| {
            let mut run = exact(p50);
            run.cases[0].identity = BTreeMap::from([(KERNEL_ORIGIN.into(), origin.into())]);
            run
        };
        let [old, new] = ["linux-image 1, sha256 0a", "linux-image 2, sha256 0b"];
        let (baseline, _) = Baseline::from_run(&guest(100.0, old), &usual());
        let baseline = parse(&render(&baseline)).unwrap();
        assert_eq!(findings(&baseline, &guest(101.0, old)), [Finding::Regression]);
        for p50 in [99.0, 100.0, 101.0] {
            let check = check(&baseline, &guest(p50, new));
            assert_eq!(check.lines[0].finding, Finding::Inconclusive);
            assert!(check.lines[0].statistics.is_empty(), "no figure is called better or worse");
            let why = check.lines[0].reasons.join("; ");
            let told = format!("not comparable: the baseline is of {old}, and this run of {new}");
            assert!(why.starts_with(&told), "{why}");
        }
        for (was, is) in [("./bzImage", "./bzImage.new"), (old, "./bzImage"), ("./bzImage", old)] {
            let (baseline, _) = Baseline::from_run(&guest(100.0, was), &usual());
            assert_eq!(findings(&baseline, &guest(101.0, is)), [Finding::Regression]);
        }
    }

    #[test]
    fn an_exact_figure_may_not_grow() {
        let (baseline, _) = Baseline::from_run(&exact(1_000_000.0), &usual());
        assert_eq!(
            baseline.series.values().next().unwrap().values,
            [("p50", vec![1_000_000.0]), ("max", vec![7.0])],
            "twice the same is told once"
        );
        assert_eq!(baseline.machine, None, "instructions are no matter of the machine");
        assert_eq!(findings(&baseline, &exact(1_000_001.0)), [Finding::Regression]);
        assert_eq!(findings(&baseline, &exact(999_999.0)), [Finding::Improvement]);
    }

    #[test]
    fn all_that_a_baseline_holds_is_checked() {
        let judge = StatisticChoice::read(&["p50", "mean"]).unwrap();
        let run = exact(250.0);
        let (baseline, _) = Baseline::from_run(&run, &judge);
        assert_eq!(findings(&baseline, &run), [Finding::Pass]);
        let mut slower = run;
        slower.cases[0].series[0].by_repetition.iter_mut().for_each(|one| one.mean += 1.0);
        assert_eq!(findings(&baseline, &slower), [Finding::Regression]);
        // Whatever the run's study names.
        slower.cases[0].judge = vec!["p50".into()];
        assert_eq!(findings(&baseline, &slower), [Finding::Regression]);
    }

    #[test]
    fn a_run_has_what_its_baseline_holds() {
        let with_p99 = |p99: Option<f64>| {
            let mut run = exact(250.0);
            run.cases[0].series[0].by_repetition.iter_mut().for_each(|one| one.p99 = p99);
            run
        };
        let judge = StatisticChoice::read(&["p99"]).unwrap();
        let (baseline, _) = Baseline::from_run(&with_p99(Some(300.0)), &judge);
        assert_eq!(findings(&baseline, &with_p99(Some(300.0))), [Finding::Pass]);
        let line = check(&baseline, &with_p99(None)).lines.remove(0);
        assert_eq!(line.finding, Finding::Inconclusive);
        assert_eq!(line.reasons, ["a repetition of B has no p99"]);

        // The others are judged all the same.
        let judge = StatisticChoice::read(&["p50", "p99"]).unwrap();
        let (baseline, _) = Baseline::from_run(&with_p99(Some(300.0)), &judge);
        let mut without = with_p99(None);
        let line = check(&baseline, &without).lines.remove(0);
        assert_eq!(line.finding, Finding::Pass);
        assert_eq!(line.information, ["a repetition of B has no p99"]);
        without.cases[0].series[0].by_repetition.iter_mut().for_each(|one| one.p50 = 251.0);
        assert_eq!(findings(&baseline, &without), [Finding::Regression]);
    }

    #[test]
    fn extremes_and_tails_of_batches_are_checked_where_they_are_named() {
        let batches = |p99: f64, judge: &[&str]| {
            let mut run = exact(250.0);
            run.cases[0].judge = judge.iter().map(|name| (*name).into()).collect();
            run.cases[0].series[0].per = 64.0;
            run.cases[0].series[0].by_repetition.iter_mut().for_each(|one| one.p99 = Some(p99));
            run
        };
        let judge = StatisticChoice::read(&["p99"]).unwrap();
        let (baseline, _) = Baseline::from_run(&batches(300.0, &[]), &judge);
        assert_eq!(findings(&baseline, &batches(600.0, &["p99"])), [Finding::Regression]);
        let line = check(&baseline, &batches(600.0, &[])).lines.remove(0);
        assert_eq!(line.finding, Finding::Inconclusive);
        assert!(line.reasons[0].ends_with("name one (--judge)"), "{:?}", line.reasons);
    }

    #[test]
    fn times_are_judged_by_their_scatter_and_the_machine_s_speed() {
        let wall = |scale: f64| {
            let p50s = [100.0, 101.0, 99.0, 100.5, 99.6, 100.2].map(|value| value * 30.0 * scale);
            run(&[("switch".to_owned(), Domain::Wall, p50s.to_vec())])
        };
        let (baseline, _) = Baseline::from_run(&wall(1.0), &usual());
        assert_eq!(findings(&baseline, &wall(1.02)), [Finding::Pass]);
        assert_eq!(findings(&baseline, &wall(1.2)), [Finding::Regression]);
        assert_eq!(findings(&baseline, &wall(0.8)), [Finding::Improvement]);
        let mut slow = wall(1.2);
        slow.cases[0].figures.iter_mut().for_each(|figure| figure.value *= 1.2);
        assert_eq!(findings(&baseline, &slow), [Finding::Inconclusive]);
    }

    /// A step of the clock is noise, whether the baseline was taken with the coarse clock or the
    /// run is.
    #[test]
    fn the_step_of_either_clock_counts() {
        let p50s = [100.0, 101.0, 99.0, 100.5, 99.6, 100.2];
        // A sample of `per` operations, timed in steps of `step` ns each.
        let timed = |scale: f64, step: u64, per: f64| {
            let scaled = p50s.map(|value| value * scale);
            let mut run = run(&[("switch".to_owned(), Domain::Wall, scaled.to_vec())]);
            let clock = run.cases[0].clock.as_mut().unwrap();
            (clock.hertz, clock.resolution) = (1_000_000_000, step);
            run.cases[0].series[0].per = per;
            run
        };
        // The steps of the baseline and of the run.
        for (of_baseline, of_run, per, finding) in [
            (1, 1, 1.0, Finding::Regression),
            (30, 1, 1.0, Finding::Inconclusive),
            (1, 30, 1.0, Finding::Inconclusive),
            (300, 1, 100.0, Finding::Regression),
            (3_000, 1, 100.0, Finding::Inconclusive),
        ] {
            let (baseline, _) = Baseline::from_run(&timed(1.0, of_baseline, per), &usual());
            let baseline = parse(&render(&baseline)).unwrap();
            let kept = baseline.series.values().next().unwrap();
            assert_eq!(kept.step, of_baseline as f64 / per);
            let found = findings(&baseline, &timed(1.2, of_run, per));
            assert_eq!(found, [finding], "{of_baseline} and {of_run}, {per} operations");
        }
    }

    /// A clock that does not tick has no step that a file could hold.
    #[test]
    fn a_step_that_is_no_number_is_none() {
        let mut run = run(&[("switch".to_owned(), Domain::Wall, vec![30.0; 5])]);
        run.cases[0].clock.as_mut().unwrap().hertz = 0;
        let (baseline, left_out) = Baseline::from_run(&run, &usual());
        assert_eq!((baseline.series.values().next().unwrap().step, left_out.len()), (0.0, 0));
    }

    /// Without a clock, equal values are a coincidence, and each of them is kept.
    #[test]
    fn equal_values_without_a_clock_are_kept() {
        let mut run = run(&[("switch".to_owned(), Domain::Wall, vec![30.0; 5])]);
        run.cases[0].clock = None;
        let (baseline, _) = Baseline::from_run(&run, &usual());
        assert_eq!(baseline.series.values().next().unwrap().values[0], ("p50", vec![30.0; 5]));
    }

    /// A single value counts for all repetitions, and a statistic that is not kept is absent.
    #[test]
    fn a_series_is_read_back_by_repetition() {
        let text = "schema = 2\nseries = [\n  { case = \"c\", series = \"s\", unit = \"ns\", p50 = [1, 2, 3], max = [4] },\n]\n";
        let baseline = parse(text).unwrap();
        let result = baseline.series.values().next().unwrap().result("s");
        let read: Vec<_> =
            result.by_repetition.iter().map(|one| (one.p50, one.max, one.p99, one.p999)).collect();
        assert_eq!(read, [1.0, 2.0, 3.0].map(|p50| (p50, 4.0, None, None)));
    }

    #[test]
    fn what_is_kept_is_what_a_comparison_needs() {
        let mut run = run(&[
            ("switch".to_owned(), Domain::Wall, vec![30.0; 5]),
            ("switch".to_owned(), Domain::Cycles, vec![30.0, 31.0]),
            ("switch".to_owned(), Domain::Cycles, vec![0.0, 0.0]),
            ("switch".to_owned(), Domain::Wall, vec![30.0, 31.0]),
        ]);
        // The same case again: the first counts.
        run.cases.push(CaseResult { repetitions: 99, ..run.cases[0].clone() });
        run.cases[1].series[0].nominal = 5e7;
        let (baseline, left_out) = Baseline::from_run(&run, &usual());
        assert_eq!(
            left_out,
            ["switch tasks=3 switch: too few repetitions (2 and 2): take 5 or more"]
        );
        let kept: Vec<_> = baseline
            .series
            .values()
            .map(|one| {
                (
                    one.unit.name().to_owned(),
                    one.nominal,
                    &one.values[0].1[..],
                    one.step,
                    one.reference,
                )
            })
            .collect();
        // A tick of 62.5 MHz is 16 ns, and the clock steps by three. Only times depend on the
        // machine's speed.
        assert_eq!(
            kept,
            [
                ("ns".to_owned(), 0.0, &[30.0; 5][..], 48.0, Some(1e6 / 3.0)),
                ("cycles".to_owned(), 5e7, &[30.0, 31.0], 0.0, None),
                ("cycles".to_owned(), 0.0, &[0.0], 0.0, None),
            ]
        );
        let machine = baseline.machine.unwrap();
        assert_eq!((machine.host.as_str(), machine.processor.as_str()), ("desk", "a processor"));
    }

    #[test]
    fn what_has_figures_must_keep_them() {
        let (baseline, _) = Baseline::from_run(&exact(41.0), &usual());
        let mut refused = exact(41.0);
        refused.cases[0].verdict = Verdict::new(Status::NotOffered, "coroutines are not offered");
        assert_eq!(findings(&baseline, &refused), [Finding::Inconclusive]);
        let checked = check(&baseline, &refused);
        assert_eq!(
            checked.lines[0].reasons,
            ["B: coroutines are not offered", "the baseline has figures of it"]
        );
        assert!(checked.vanished.is_empty() && checked.new.is_empty());
        refused.cases.clear();
        assert_eq!(check(&baseline, &refused).vanished, ["switch linux@host tasks=0"]);
        let more = run(&[
            ("switch".to_owned(), Domain::Instructions, vec![41.0; 2]),
            ("switch".to_owned(), Domain::Instructions, vec![41.0; 2]),
        ]);
        let checked = check(&baseline, &more);
        assert_eq!(
            (checked.lines.len(), checked.new),
            (1, vec!["switch linux@host tasks=1".to_owned()])
        );
    }
}
