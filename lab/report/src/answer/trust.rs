//! The trust line of an answer: how far its figures hold, with at most three reasons, the cases
//! without a measurement, and whether anything was judged. `docs/report.md` has the rules.

use super::{
    arrivals::{from_states, is_exhaustive, states},
    list,
    rule::machine,
    span,
};
use chronoscope_run::{CaseResult, Domain, Limit, Run, SeriesResult, Status};
use chronoscope_units::{digits, show};

/// The load of a processor from which other programs may have run in the place of a measured task.
const BUSY: f64 = 0.5;

/// The relative difference of reference loops above which the machine's speed varied.
const DRIFT: f64 = 0.05;

/// The share of series whose medians must agree for medians to be trusted.
const MOST: f64 = 0.9;

/// The fewest repetitions that can be trusted by themselves.
const FEWEST: usize = 5;

/// The first words of the sentence where nothing was judged.
pub const NO_LIMITS: &str = "No limits were set";

/// A verdict on the figures of one kind of clock.
pub struct Verdict {
    /// Nothing speaks against the figures.
    pub good: bool,
    /// The first words, as `Trust magnitudes, not digits`.
    pub head: String,
    /// The reasons, in one sentence; may be empty.
    pub reasons: String,
}

impl Verdict {
    /// One miss of a limit is enough, whatever the machine did.
    pub fn enough() -> Self {
        Self {
            good: true,
            head: "Decided".to_owned(),
            reasons: "one miss is enough, a pass needs more".to_owned(),
        }
    }
}

/// The trust in a run.
pub struct Trust {
    /// One verdict for each kind of clock.
    pub verdicts: Vec<Verdict>,
    /// Further sentences: the cases without a measurement, and the limits judged.
    pub rest: Vec<String>,
}

impl Trust {
    /// Judges the figures of a run by its conditions and repetitions.
    pub fn from_run(run: &Run) -> Self {
        let asked: Vec<&CaseResult> =
            run.cases.iter().filter(|case| case.verdict.status != Status::NotOffered).collect();
        let proven: Vec<&CaseResult> =
            asked.iter().copied().filter(|case| case.is_proven()).collect();
        let nothing = asked.len() - proven.len();
        // Bytes of an image have no clock, and nothing to trust but the evidence.
        let clocked = proven.iter().copied().filter(|case| case.clock.is_some());
        let (exact, times): (Vec<_>, Vec<_>) = clocked.partition(|case| case.is_deterministic());
        let mut verdicts = Vec::new();
        if 3 * nothing > asked.len() {
            verdicts.push(Verdict::bad("Trust nothing yet", &[]));
        } else if let Some(imported) = &run.context.imported {
            let when = format!("measured {}, {}", run.context.date, imported.dated);
            let checked = "only its file was checked".to_owned();
            verdicts.push(Verdict::bad(format!("As {} says", imported.tool), &[when, checked]));
        } else {
            verdicts.extend(exactly(&exact, !times.is_empty()));
            verdicts.extend(of_times(&times, run, !exact.is_empty()));
        }
        let mut rest = Vec::new();
        if nothing > 0 {
            let all = span::count(asked.len(), "case");
            rest.push(format!("{nothing} of {all} measured nothing."));
        }
        rest.extend(judged(run));
        if run.context.interrupted {
            rest.push("The run was interrupted.".to_owned());
        }
        Self { verdicts, rest }
    }
}

impl Verdict {
    pub(crate) fn good(head: impl Into<String>, reasons: &str) -> Self {
        Self { good: true, head: head.into(), reasons: reasons.to_owned() }
    }

    pub(super) fn bad(head: impl Into<String>, reasons: &[String]) -> Self {
        Self { good: false, head: head.into(), reasons: reasons.join("; ") }
    }
}

/// The verdict on figures of deterministic targets; `None` without such figures. `beside` is true
/// if the run has times as well.
fn exactly(cases: &[&CaseResult], beside: bool) -> Option<Verdict> {
    let has = |domain| {
        cases.iter().any(|case| case.clock.as_ref().is_some_and(|clock| clock.domain == domain))
    };
    if !cases.is_empty() && cases.iter().all(|case| is_exhaustive(case)) {
        let from = from_states(states(cases));
        let what = if has(Domain::Modelled) { "modelled cycles" } else { "nothing is sampled" };
        let what = format!("every arrival in this round, of these builds, from {from}; {what}");
        return Some(Verdict::good("Exhaustive", &what));
    }
    if has(Domain::Modelled) {
        let bounds = "for these builds and starts; the bounds: --full";
        return Some(match has(Domain::Instructions) || has(Domain::Cycles) {
            true => Verdict::good("Exact paths; the time of a chip is by a model", bounds),
            false => Verdict::good("Exact paths, modelled cycles", bounds),
        });
    }
    let what = match (has(Domain::Instructions), has(Domain::Cycles)) {
        (true, true) => "instructions, emulated, and cycles, simulated",
        (true, false) => "instructions, emulated",
        (false, true) => "cycles, simulated",
        (false, false) => return None,
    };
    Some(match (beside, what.split(',').next()) {
        (true, Some(first)) if !what.contains("and") => {
            let mut name = first.to_owned();
            name[..1].make_ascii_uppercase();
            Verdict::good(format!("{name} are exact for these builds"), "")
        }
        (true, _) => Verdict::good("Instructions and cycles are exact for these builds", ""),
        (false, _) => Verdict::good(exact_of(cases), what),
    })
}

/// The builds and starts of which an exact figure holds, in words: others may give another figure.
fn exact_of(cases: &[&CaseResult]) -> &'static str {
    match cases.iter().all(|case| case.target == cases[0].target) {
        true => "Exact for this build and start",
        false => "Exact for these builds and starts",
    }
}

/// The verdict on times, and on cycles of boards; `None` without any.
fn of_times(cases: &[&CaseResult], run: &Run, beside: bool) -> Option<Verdict> {
    let on_this_host = cases.iter().any(|case| machine(case) == "host");
    let all = cases.iter().flat_map(|case| case.measured());
    let all: Vec<&SeriesResult> = all.filter(|series| series.summary.p50.is_some()).collect();
    if cases.is_empty() {
        return None;
    }
    let apart = all.iter().filter(|series| !span::agrees(series)).count();
    let mut reasons = Vec::new();
    let loose = all.is_empty() || apart as f64 > (1.0 - MOST) * all.len() as f64;
    if all.is_empty() {
        reasons.push("no series has a median".to_owned());
    } else if loose {
        reasons.push(format!(
            "medians differ by over 10\u{a0}% between repetitions in {apart} of {} series",
            all.len()
        ));
    }
    let load = loads(cases).chain(run.context.load.first().copied().filter(|_| on_this_host));
    let load = load.fold(0.0, f64::max);
    let processors = run.context.processors.max(1);
    let is_idle = |load: f64| load < BUSY * processors as f64;
    let mut noisy = false;
    if on_this_host && !is_idle(load) {
        noisy = true;
        reasons.push(format!("load {} on {}", digits(load), span::count(processors, "CPU")));
    }
    let stolen: Vec<f64> = cases.iter().filter_map(|case| steal(case)).collect();
    if let Some(most) = stolen.iter().copied().reduce(f64::max) {
        noisy = true;
        let most = show(most * 1e6, "ns");
        reasons.push(format!("up to {most} stolen in {} (*)", span::count(stolen.len(), "case")));
    }
    if let Some(apart) = reference(cases).filter(|apart| *apart > DRIFT) {
        noisy = true;
        reasons.push(format!("reference loops {:.0}\u{a0}% apart", apart * 100.0));
    }
    let fewest = cases.iter().map(|case| case.repetitions).min().unwrap_or(0);
    if fewest < FEWEST {
        reasons.push(span::count(fewest, "repetition"));
    }
    reasons.truncate(3);
    // A board has no load that is known, and its host's is not its own. A guest may not know what its
    // hypervisor took.
    let is_known = |case: &&CaseResult| match machine(case) {
        "host" => case.figure("load").is_some() || !run.context.load.is_empty(),
        "vm" => {
            case.figure("steal").is_some()
                && run.context.load.first().is_some_and(|load| is_idle(*load))
        }
        _ => case.figure("steal").is_some(),
    };
    let agree = match cases.iter().all(is_known) {
        true => "a quiet machine; repetitions agree",
        false => "repetitions agree",
    };
    let times =
        |head: &str| if beside { format!("Times: {}", lower(head)) } else { head.to_owned() };
    Some(match (loose, noisy || fewest < FEWEST) {
        (true, _) => Verdict::bad(times("Trust magnitudes, not digits"), &reasons),
        (false, true) => Verdict::bad(times("Trust the medians, not the worst cases"), &reasons),
        (false, false) => Verdict::good(times("Trust it"), agree),
    })
}

fn lower(text: &str) -> String {
    let mut text = text.to_owned();
    text[..1].make_ascii_lowercase();
    text
}

/// The time that the hypervisor took from a repetition of a case, in ms; `None` if it took none.
pub fn steal(case: &CaseResult) -> Option<f64> {
    case.figure("steal").map(|steal| steal.max).filter(|most| *most > 0.0)
}

fn loads(cases: &[&CaseResult]) -> impl Iterator<Item = f64> {
    cases.iter().filter_map(|case| Some(case.figure("load")?.max))
}

/// The relative difference of the reference loops' times.
fn reference(cases: &[&CaseResult]) -> Option<f64> {
    let names = ["reference loop before", "reference loop after"];
    let figures = cases.iter().flat_map(|case| names.iter().filter_map(|name| case.figure(name)));
    let ends = figures.flat_map(|figure| [figure.min, figure.max]);
    let (low, high) =
        ends.fold((f64::INFINITY, 0.0_f64), |(low, high), one| (low.min(one), high.max(one)));
    (low > 0.0 && high > 0.0).then(|| high / low - 1.0)
}

/// The limits of a run: those that hold, and all that apply.
pub fn limits(run: &Run) -> (usize, usize) {
    let proven = run.cases.iter().filter(|case| case.is_proven());
    let all: Vec<(&CaseResult, &Limit)> = proven
        .flat_map(|case| case.limits.iter().map(move |limit| (case, limit)))
        .filter(|(case, limit)| limit.applies(case))
        .collect();
    let held = all.iter().filter(|(case, limit)| limit.missed(case).is_empty()).count();
    (held, all.len())
}

/// The samples of these series that missed their deadline, and all that had one; `None` if none had one.
pub fn misses_in<'a>(series: impl Iterator<Item = &'a SeriesResult>) -> Option<(u64, u64)> {
    let counts = series.filter_map(|series| series.misses);
    let sum = counts.fold((0_u64, 0_u64), |(misses, samples), one| {
        (misses.saturating_add(one.misses), samples.saturating_add(one.samples))
    });
    (sum.1 > 0).then_some(sum)
}

/// The samples of a run with evidence that missed their deadline, and all that had one; `None` if none
/// had one.
pub fn misses(run: &Run) -> Option<(u64, u64)> {
    let proven = run.cases.iter().filter(|case| case.is_proven());
    misses_in(proven.flat_map(CaseResult::counted))
}

/// The sentence on limits and deadlines; `None` if no case was measured.
fn judged(run: &Run) -> Option<String> {
    let deadline = misses(run).map(|(missed, samples)| match missed {
        0 => format!("None of {} samples missed the deadline.", span::grouped(samples as f64)),
        _ => format!("{} missed the deadline.", span::share_of(missed, samples)),
    });
    let is_measured = run.peers.is_empty() && run.cases.iter().any(CaseResult::is_proven);
    let clocks = run.cases.iter().filter_map(|case| case.clock.as_ref());
    // A study's limits count instructions; they are left out where a chip is asked for.
    let mut clocks = clocks.peekable();
    let is_modelled = is_measured
        && clocks.peek().is_some()
        && clocks.all(|clock| clock.domain == Domain::Modelled);
    let unit = if is_modelled { " in µs" } else { "" };
    let nothing = || is_measured.then(|| format!("{NO_LIMITS}{unit}: nothing is judged."));
    on_limits(run).or(deadline).or_else(nothing)
}

/// The sentence on limits; `None` without limits.
fn on_limits(run: &Run) -> Option<String> {
    let (held, checked) = limits(run);
    let unchecked = list::all_limits(run).saturating_sub(checked);
    let sentence = match (held, checked) {
        (_, 0) if unchecked == 0 => return None,
        (_, 0) => return Some(format!("None of {} was checked.", span::count(unchecked, "limit"))),
        (1, 1) => "1 of 1 limit holds.".to_owned(),
        _ if held == checked => format!("{held} of {checked} limits hold."),
        _ => format!("{} of {} missed.", checked - held, span::count(checked, "limit")),
    };
    Some(match unchecked {
        0 => sentence,
        1 => format!("{sentence} 1 limit more was not checked."),
        more => format!("{sentence} {more} limits more were not checked."),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Answer;
    use chronoscope_run::{self as run, sample};
    use chronoscope_statistics::tail::MissRate;

    fn heads(run: &Run) -> Vec<String> {
        Trust::from_run(run).verdicts.iter().map(|verdict| verdict.head.clone()).collect()
    }

    /// A run of one case on a quiet machine.
    fn quiet() -> Run {
        let mut run = sample::run();
        run.cases.truncate(1);
        run.context.load = vec![0.1, 0.1, 0.1];
        run
    }

    #[test]
    fn trust_follows_from_the_machine_and_the_repetitions() {
        let mut run = quiet();
        assert_eq!(heads(&run), ["Trust it"]);
        run.context.load = vec![1.0, 0.0, 0.0];
        assert_eq!(heads(&run), ["Trust the medians, not the worst cases"]);
        assert_eq!(Trust::from_run(&run).verdicts[0].reasons, "load 1 on 2 CPUs");
        run.cases[0].series[0].p50_interval.as_mut().unwrap().high *= 2.0;
        assert_eq!(heads(&run), ["Trust magnitudes, not digits"]);
        // A series of a few samples has no median, which cannot differ; without any, digits are few.
        run.cases[0].series[0].summary.p50 = None;
        assert_eq!(
            Trust::from_run(&run).verdicts[0].reasons,
            "no series has a median; load 1 on 2 CPUs"
        );
        let other = quiet().cases[0].series[0].clone();
        run.cases[0].series.push(other);
        assert_eq!(Trust::from_run(&run).verdicts[0].reasons, "load 1 on 2 CPUs");
        run.cases[0].evidence.clear();
        assert_eq!(heads(&run), ["Trust nothing yet"]);
        assert_eq!(Trust::from_run(&run).rest, ["1 of 1 case measured nothing."]);
    }

    #[test]
    fn the_load_counts_where_one_of_several_machines_is_this_host() {
        let mut run = quiet();
        let board = CaseResult { target: "linux@board:nucleo".into(), ..run.cases[0].clone() };
        run.cases.push(board);
        run.context.load = vec![1.0, 0.0, 0.0];
        assert_eq!(heads(&run), ["Trust the medians, not the worst cases"]);
        run.cases.remove(0);
        assert_eq!(heads(&run), ["Trust it"]);
    }

    #[test]
    fn a_machine_is_quiet_where_its_load_is_known() {
        let mut run = quiet();
        let reasons = |run: &Run| Trust::from_run(run).verdicts[0].reasons.clone();
        assert_eq!(reasons(&run), "a quiet machine; repetitions agree");
        run.context.load.clear();
        assert_eq!(reasons(&run), "repetitions agree");
        // A guest's time is taken by the machine below it, which it may not see.
        run.cases[0].target = "linux@vm".into();
        assert_eq!(reasons(&run), "repetitions agree");
        run.context.load = vec![8.0, 8.0, 8.0];
        assert_eq!(reasons(&run), "repetitions agree");
        run.context.load = vec![0.1, 0.1, 0.1];
        assert_eq!(reasons(&run), "a quiet machine; repetitions agree");
        run.cases[0].figures.clear();
        assert_eq!(reasons(&run), "repetitions agree");
    }

    #[test]
    fn kernels_tried_from_several_numbers_of_states_say_so() {
        let case = |kernel: &str, label: &str| {
            let mut case = sample::case("worst", label);
            case.target = format!("{kernel}@cortex-m4").into();
            case.clock.as_mut().unwrap().domain = Domain::Instructions;
            case
        };
        let mut run = quiet();
        let reasons = |run: &Run| Trust::from_run(run).verdicts[0].reasons.clone();
        run.cases = vec![case("tandem", "tasks=2"), case("tandem", "tasks=10")];
        assert!(reasons(&run).ends_with(", from 2 states each; nothing is sampled"));
        run.cases.push(case("freertos", "tasks=2"));
        assert!(reasons(&run).ends_with(", from 1 to 2 states; nothing is sampled"));
    }

    #[test]
    fn stolen_time_and_drift_are_reasons() {
        let mut run = quiet();
        run.cases[0].figures = vec![
            sample::figure("reference loop before", "ns", 80_000.0),
            sample::figure("reference loop after", "ns", 90_000.0),
            run::FigureResult { max: 20.0, ..sample::figure("steal", "ms", 0.0) },
        ];
        let trust = Trust::from_run(&run);
        assert_eq!(
            trust.verdicts[0].reasons,
            "up to 20 ms stolen in 1 case (*); reference loops 12\u{a0}% apart"
        );
        assert_eq!(trust.rest, ["No limits were set: nothing is judged."]);
    }

    #[test]
    fn a_deadline_is_judged_and_its_misses_are_counted() {
        let mut run = quiet();
        let rest = |run: &Run| Trust::from_run(run).rest.join(" ").replace('\u{202f}', " ");
        run.cases[0].series[0].misses = Some(MissRate::new(0, 5000));
        assert_eq!(rest(&run), "None of 5 000 samples missed the deadline.");
        run.cases[0].series[0].misses = Some(MissRate::new(256, 20_000));
        assert_eq!(rest(&run), "256 of 20 000 samples missed the deadline.");
        assert!(Answer::from_run(&run).title.starts_with("256 of 20"));
        // A file may hold any number.
        let most = MissRate { misses: u64::MAX, samples: u64::MAX, ..MissRate::new(1, 1) };
        run.cases[0].series[0].misses = Some(most);
        run.cases.push(run.cases[0].clone());
        assert_eq!(misses(&run), Some((u64::MAX, u64::MAX)));
    }

    #[test]
    fn exact_clocks_are_trusted_apart_from_times() {
        let mut run = quiet();
        let mut emulated = run.cases[0].clone();
        emulated.target = "tandem@cortex-m4".into();
        emulated.clock.as_mut().unwrap().domain = Domain::Instructions;
        run.cases.push(emulated);
        assert_eq!(heads(&run), ["Instructions are exact for these builds", "Times: trust it"]);
        run.cases.remove(0);
        assert_eq!(heads(&run), ["Exact for this build and start"]);
        let bound = |bound| Limit {
            statistic: "p50".into(),
            series: None,
            at_most: Some(run::Quantity(bound)),
            at_least: None,
            exhaustive: false,
        };
        run.cases[0].limits = vec![bound(1e9), bound(1.0)];
        assert_eq!(Trust::from_run(&run).rest, ["1 of 2 limits missed."]);
        run.cases[0].limits.pop();
        assert_eq!(Trust::from_run(&run).rest, ["1 of 1 limit holds."]);
        // A percentile of too few samples is not compared with its limit.
        let limit = run.cases[0].limits[0].clone();
        run.cases[0].limits.push(Limit { statistic: "p99.99".into(), ..limit });
        assert_eq!(
            Trust::from_run(&run).rest,
            ["1 of 1 limit holds. 1 limit more was not checked."]
        );
        run.cases[0].limits.remove(0);
        assert_eq!(Trust::from_run(&run).rest, ["None of 1 limit was checked."]);
    }
}
