//! `chronoscope compare`: is B slower than A? A and B are stored runs, or variants, which are
//! measured in turn. The module gathers both sides; `chronoscope_report::comparison` judges them.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    sync::atomic::AtomicBool,
};

use anyhow::{Result, bail};
use chronoscope_suite::experiments;

use super::in_turn::in_turn;
use super::{
    earlier, grown, run, session::Measured, session::Session, trace, until_sure::UntilSure,
};
use crate::cli;
use crate::revision::REVISION;
use chronoscope_base::{console, signals, signals::INTERRUPTED};
use chronoscope_engine::{
    case::Case, case::experiment, journal::Header, runner, runner::RunOptions, study::Overrides,
    study::Study, variant, variant::Variant,
};
use chronoscope_machine::Machines;
use chronoscope_report::{
    self as report, answer::compared::subjects, comparison, comparison::CompareOptions,
    comparison::Comparison, comparison::History, comparison::Line, comparison::Pair,
    comparison::Pairing, comparison::Side, comparison::StatisticChoice, comparison::conditions,
    format::ComparisonWriter,
};
use chronoscope_run::history::CaseRow;
use chronoscope_run::{CaseResult, Context, Run, Status};
use chronoscope_statistics as statistics;
use chronoscope_store::{Store, reference, reference::Reference};

/// The default number of repetitions of each side. Ten repetitions find a difference of 10 % in
/// noise of 2 %. In a comparison of a single case, they find a doubled p99 more often than not
/// (`docs/compare.md`).
const REPEAT: usize = 10;

/// The number of newest runs with the experiment whose figures a page of two runs shows.
const SHOWN: u32 = 20;

/// A comparison with the runs that it needed.
struct Outcome {
    comparison: Comparison,
    /// The runs that were measured for the comparison, before they are stored; `None` for a
    /// comparison of existing runs.
    measured: Option<Measured>,
    /// Why the case that grew most grew, for a reader; may be empty.
    reason: String,
}

/// Compares two sides, or several runs with the first, and writes the comparison; returns the exit
/// status.
///
/// # Errors
/// The arguments do not fit together, a run cannot be read or measured, or the result cannot be
/// written or stored.
pub fn execute(arguments: &cli::Compare) -> Result<u8> {
    threshold(arguments.threshold)?;
    report::check(arguments.print.output.as_deref())?;
    let machines = Machines::default();
    // A word after the first two is an experiment's name or one more run; the name takes
    // precedence.
    let is_more =
        |word: &&String| experiments::find(word).is_none() && word.parse::<Reference>().is_ok();
    let (more, experiments): (Vec<&String>, Vec<&String>) =
        arguments.experiments.iter().partition(is_more);
    for name in experiments {
        experiment(name)?;
    }
    if !more.is_empty() {
        return compare_many(
            &machines,
            arguments,
            &more.iter().map(OsStr::new).collect::<Vec<_>>(),
        );
    }
    let outcome = match (reference::is_run(&arguments.a), reference::is_run(&arguments.b)) {
        (true, true) => Some(compare_runs(&machines, arguments, &arguments.b)?),
        (false, false) => compare_variants(&machines, arguments, signals::watch()?)?,
        (true, false) => bail!("{}", mixed(&arguments.a, &arguments.b)),
        (false, true) => bail!("{}", mixed(&arguments.b, &arguments.a)),
    };
    let Some(Outcome { comparison, measured, reason }) = outcome else {
        console::remark("interrupted: nothing is compared");
        return Ok(INTERRUPTED);
    };
    let history = history(arguments, &comparison)?;
    // Both are tried even if one fails, so that measurements are not lost.
    let written = report::write_comparison(
        &comparison,
        &history,
        arguments.print.format(),
        arguments.print.output.as_deref(),
    );
    let stored = measured.map_or(Ok(None), |mut measured| measured.store());
    written?;
    stored?;
    console::print(&reason)?;
    Ok(comparison.verdict.exit_code())
}

/// Converts the value of `--threshold` from percent to a fraction.
///
/// # Errors
/// The value is not between 0 and 1000.
pub(super) fn threshold(percent: f64) -> Result<f64> {
    if !(0.0..=1000.0).contains(&percent) {
        bail!("`--threshold {percent}`: it is a percentage from 0 to 1000");
    }
    Ok(percent / 100.0)
}

/// Compares B and the runs `more` with A, a page for all; returns the exit status of the worst.
fn compare_many(machines: &Machines, arguments: &cli::Compare, more: &[&OsStr]) -> Result<u8> {
    let ComparisonWriter::Several(render) = arguments.print.format().writer else {
        bail!(
            "more than two runs are compared in a page only: write `-o FILE.html`, or name two runs"
        );
    };
    if let Some(variant) =
        [&arguments.a, &arguments.b].into_iter().find(|side| !reference::is_run(side))
    {
        bail!("{}", mixed(more[0], variant));
    }
    let runs = [arguments.b.as_os_str()].into_iter().chain(more.iter().copied());
    let comparisons: Vec<Comparison> = runs
        .map(|b| Ok(compare_runs(machines, arguments, b)?.comparison))
        .collect::<Result<_>>()?;
    report::emit(&render(&comparisons, &[]), arguments.print.output.as_deref())?;
    Ok(comparisons.iter().map(|comparison| comparison.verdict).max().map_or(0, Status::exit_code))
}

/// The message on a run and a variant, which cannot be compared.
fn mixed(run: &OsStr, variant: &OsStr) -> String {
    let (run, variant) = (run.display(), variant.to_string_lossy());
    let target = variant.split(',').next().unwrap_or_default();
    format!(
        "`{run}` is a run and `{variant}` a variant, which is run now: compare two runs (`chronoscope run --target {target}` \
         stores one) or two variants"
    )
}

/// Compares two existing runs: A, which the arguments name, and `b`.
fn compare_runs(machines: &Machines, arguments: &cli::Compare, b: &OsStr) -> Result<Outcome> {
    let live = [
        ("--study", arguments.study.is_some()),
        ("--repeat", arguments.repeat.is_some()),
        ("--vary", arguments.vary.is_some()),
        ("--until-sure", arguments.until_sure.is_some()),
        ("--set", !arguments.set.is_empty()),
    ];
    if let Some((flag, _)) = live.iter().find(|(_, given)| *given) {
        let (a, b) = (arguments.a.display(), b.display());
        bail!("`{flag}` is for variants, which are run now: `{a}` and `{b}` are runs");
    }
    let load = |word: &OsStr| -> Result<(Reference, Side, Run)> {
        let reference = Reference::try_from(word)?;
        let (found, run) =
            reference.clone().load(|| Store::open(&arguments.keep.store.place()?))?;
        let side = Side {
            name: found.to_string().into(),
            context: run.context.clone(),
            trace: trace::command(&run, word, &arguments.keep.store),
        };
        Ok((reference, side, run))
    };
    let ((a_reference, a_side, a), (b_reference, b_side, b)) = (load(&arguments.a)?, load(b)?);
    let named: Vec<&String> =
        arguments.experiments.iter().filter(|word| experiments::find(word).is_some()).collect();
    let wanted =
        |case: &CaseResult| named.is_empty() || named.iter().any(|name| case.experiment == **name);
    let pairing = Pairing::choose(arguments.pair.as_deref(), &a, &b)?;
    let (pairs, only_in_a, only_in_b) = comparison::match_cases(&a, &b, &pairing, wanted);
    if pairs.is_empty() && only_in_a.is_empty() && only_in_b.is_empty() {
        bail!("neither {} nor {} has such a case", a_side.name, b_side.name);
    }
    let in_store = [&a_reference, &b_reference].iter().any(|one| one.is_in_store());
    let history = match in_store && a.context.host == b.context.host {
        true => earlier::scatter(&Store::open(&arguments.keep.store.place()?)?, &[&a, &b])?,
        false => History::default(),
    };
    let options = CompareOptions {
        interleaved: false,
        threshold: arguments.threshold / 100.0,
        judge: &StatisticChoice::read(&arguments.judge.judge)?,
        history: &history,
        conditions: &conditions(&a.context, &b.context),
        look: None,
        in_turn: &|a, b| in_turn(machines, a, b),
    };
    let lines = comparison::compare(&pairs, &options);
    let mut notes = notes(&a.context, &b.context);
    notes.extend(pairing.note(&pairs));
    notes.extend(scatter(&lines));
    let comparison = Comparison::new([a_side, b_side], &options, lines);
    let subjects = subjects(&pairs);
    let comparison = Comparison { only_in_a, only_in_b, notes, subjects, ..comparison };
    Ok(Outcome {
        comparison: comparison.concluded(arguments.judge.strict),
        measured: None,
        reason: String::new(),
    })
}

/// A remark on the scatter between runs that is included in the intervals: in how many intervals it
/// is assumed, and in how many it is learned. `None` if no interval includes a scatter.
pub(super) fn scatter(lines: &[Line]) -> Option<String> {
    let known = || {
        let statistics = lines.iter().flat_map(|line| &line.statistics);
        statistics.filter(|one| one.figures.interval.is_some()).filter_map(|one| one.between_runs)
    };
    let assumed = known().filter(|between| between.runs.is_none()).count();
    let learned = known().count() - assumed;
    let central = statistics::ASSUMED * 100.0;
    let assumed = (assumed > 0).then(|| {
        format!(
            "stored runs: a scatter of {central:.0} % between runs is assumed in {assumed} intervals, and the tail is \
             not judged: the store has fewer than three earlier runs of the case on this machine; \
             variants in turn need none"
        )
    });
    let learned = (learned > 0).then(|| {
        let (low, high) = known()
            .filter(|between| between.runs.is_some())
            .map(|between| between.scatter * 100.0)
            .fold((f64::INFINITY, 0.0_f64), |(low, high), one| (low.min(one), high.max(one)));
        format!(
            "stored runs: the scatter between runs is learned from earlier runs in {learned} intervals: \
             {low:.1} … {high:.1} %"
        )
    });
    let both: Vec<String> = assumed.into_iter().chain(learned).collect();
    (!both.is_empty()).then(|| both.join("; "))
}

/// The newest stored runs of the same experiments, for a format that shows a comparison's history.
/// Empty for other formats, and if neither A nor B is in the store.
fn history(arguments: &cli::Compare, comparison: &Comparison) -> Result<Vec<CaseRow>> {
    let is_stored = |word: &OsString| {
        Reference::try_from(word.as_os_str()).is_ok_and(|reference| reference.is_in_store())
    };
    if !arguments.print.format().shows_several()
        || ![&arguments.a, &arguments.b].into_iter().any(is_stored)
    {
        return Ok(Vec::new());
    }
    let store = Store::open(&arguments.keep.store.place()?)?;
    let experiments: BTreeSet<&str> =
        comparison.lines.iter().map(|line| line.experiment.as_str()).collect();
    let rows: Vec<_> =
        experiments.iter().map(|name| store.cases(name, None, SHOWN)).collect::<Result<_>>()?;
    Ok(rows.concat())
}

/// The warnings about two runs as a whole.
pub(super) fn notes(a: &Context, b: &Context) -> Vec<String> {
    let mut notes = Vec::new();
    for (side, context) in [("A", a), ("B", b)] {
        if context.interrupted {
            notes.push(format!("{side} was interrupted: it has only what was complete"));
        }
    }
    if (&a.host, &a.processor) != (&b.host, &b.processor) {
        notes.push(format!(
            "A ran on {} ({}), B on {} ({})",
            a.host, a.processor, b.host, b.processor
        ));
    }
    notes
}

/// Measures two variants in turn and compares them. `None` if the user interrupted the measurement;
/// the complete repetitions are then stored.
fn compare_variants(
    machines: &Machines,
    arguments: &cli::Compare,
    stop: &AtomicBool,
) -> Result<Option<Outcome>> {
    let variant = |word: &OsString| word.to_string_lossy().parse::<Variant>();
    let (a, b) = (variant(&arguments.a)?, variant(&arguments.b)?);
    if arguments.pair.is_some() {
        bail!("`--pair` is for stored runs: variants are paired by their cases");
    }
    let judge = StatisticChoice::read(&arguments.judge.judge)?;
    let mut study = run::chosen_study(arguments.study.as_deref(), &arguments.experiments)?;
    let left_out = match arguments.experiments.as_slice() {
        [] => variant::leave_out(machines, &mut study, &a, &b)?,
        _ => Vec::new(),
    };
    let vary = run::vary(arguments.vary.as_deref())?;
    let overrides = Overrides {
        experiments: arguments.experiments.clone(),
        settings: run::set(Vec::new(), &arguments.set)?,
        repeat: Some(arguments.repeat.unwrap_or(vary.unwrap_or_default().repetitions(REPEAT))),
        vary,
        ..Overrides::default()
    };
    let pairs = variant::pairs(machines, &study, &a, &b, &overrides)?;
    if pairs.is_empty() {
        bail!("there is nothing to run: `{}` has no case with what the variants set", study.name);
    }
    let history = History::default();
    let limit = arguments.until_sure.as_deref();
    let limit = limit.map(|time| run::duration("--until-sure", time)).transpose()?;
    let options = CompareOptions {
        interleaved: true,
        threshold: arguments.threshold / 100.0,
        judge: &judge,
        history: &history,
        conditions: &[],
        look: None,
        in_turn: &|a, b| in_turn(machines, a, b),
    };
    let mut until_sure = limit.map(|limit| UntilSure::new(&pairs, options, limit));
    let mut measured = take_turns(machines, &pairs, &study, arguments, until_sure.as_mut(), stop)?;
    let [a, b] = measured.runs.as_slice() else { bail!("two variants make two runs") };
    if a.context.interrupted {
        measured.store()?;
        return Ok(None);
    }
    let in_pairs = pairs.iter().zip(a.cases.iter().zip(&b.cases));
    let results: Vec<Pair<'_>> =
        in_pairs.map(|(pair, (a, b))| Pair { label: pair.label.clone(), a, b }).collect();
    let (lines, looks) = match until_sure {
        Some(until_sure) => {
            let (lines, note) = until_sure.finish();
            (lines, Some(note))
        }
        None => (comparison::compare(&results, &options), None),
    };
    let side = |name: &OsString, run: &Run| Side {
        name: name.to_string_lossy().into_owned().into(),
        context: run.context.clone(),
        trace: None,
    };
    let sides = [side(&arguments.a, a), side(&arguments.b, b)];
    let mut comparison = Comparison::new(sides, &options, lines);
    comparison.subjects = subjects(&results);
    comparison.notes.extend(looks);
    if !left_out.is_empty() {
        comparison.notes.push(format!(
            "left out, for want of a parameter that is set: {}",
            left_out.join(", ")
        ));
    }
    let comparison = comparison.concluded(arguments.judge.strict);
    let reason = match arguments.print.is_for_reading() {
        true => grown::reason(&pairs, &comparison.lines, stop),
        false => String::new(),
    };
    Ok(Some(Outcome { comparison, measured: Some(measured), reason }))
}

/// Measures both sides of all pairs. The runner goes through its list forwards and backwards in
/// turn, so the sides of a pair run as A B, B A, A B …. If the user interrupts the measurement,
/// both runs hold the complete repetitions.
fn take_turns(
    machines: &Machines,
    pairs: &[variant::Pair],
    study: &Study,
    arguments: &cli::Compare,
    until_sure: Option<&mut UntilSure<'_>>,
    stop: &AtomicBool,
) -> Result<Measured> {
    let cases: Vec<Case> = pairs.iter().flat_map(|pair| [pair.a.clone(), pair.b.clone()]).collect();
    let title = |variant: &OsString| format!("{} ({})", study.title, variant.display()).into();
    let titles = [&arguments.a, &arguments.b].map(title).to_vec();
    let header = Header {
        study: study.name.clone(),
        notes: study.notes.clone(),
        answering: study.answering.clone(),
        ..Header::new(runner::context::now(REVISION), titles, &cases)
    };
    let session = Session::open(&arguments.keep, header, arguments.print.quiet)?;
    let options = RunOptions { keep_samples: false, jobs: arguments.jobs.count() };
    session.measure(|_, progress, journal| match until_sure {
        Some(until_sure) => {
            let goals = &mut |results: &[CaseResult]| until_sure.look(results);
            runner::run_until(machines, &cases, options, progress, stop, journal, goals)
        }
        None => runner::run(machines, &cases, options, progress, stop, journal),
    })
}
