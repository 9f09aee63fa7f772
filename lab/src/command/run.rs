//! `chronoscope run`: cases from a study or from the command line, run, judged, shown.

use std::{
    path::Path,
    sync::{Arc, atomic::AtomicBool},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};

use crate::{
    case::{Settings, Target, experiment},
    cli, peer, report,
    run::{Context, Run, SCHEMA},
    runner,
    study::{self, Overrides, Study},
};

/// What `run` does when it is told nothing.
const QUICK: &str = include_str!("../../../studies/quick.toml");

pub fn execute(arguments: &cli::Run) -> Result<u8> {
    let overrides = overrides(arguments)?;
    let study = chosen_study(arguments)?;
    let cases = study.cases(&overrides)?;
    let peers = study.peers(&overrides)?;
    if cases.is_empty() && peers.is_empty() {
        bail!("there is nothing to run: `{}` has no such case", study.name);
    }
    report::check(&arguments.output)?;
    let stop = stop_on_signal()?;
    let mut progress = report::progress::new(arguments.output.quiet);
    let start = Instant::now();
    let mut context = Context::now();
    let outcome = runner::run(&cases, arguments.samples, progress.as_mut(), &stop)?;
    let beside = peer::run(&peers, progress.as_mut(), &stop)?;
    context.interrupted = outcome.interrupted || beside.interrupted;
    context.seconds = start.elapsed().as_secs_f64();
    let run = Run {
        schema: SCHEMA,
        context,
        study: study.name,
        title: study.title,
        notes: study.notes,
        cases: outcome.results,
        peers: beside.results,
    };
    report::write(&run, &arguments.output)?;
    if run.context.interrupted {
        let (complete, all) = (run.cases.len() + run.peers.len(), cases.len() + peers.len());
        report::remark(&format!("chronoscope: interrupted: {complete} of {all} cases are complete"));
        return Ok(130);
    }
    Ok(run.status().exit_code())
}

/// The study that the command line names, or the quick one; or just the experiments, if it names any and no study.
fn chosen_study(arguments: &cli::Run) -> Result<Study> {
    match &arguments.study {
        Some(path) => study::load(Path::new(path)),
        None if arguments.experiments.is_empty() => study::parse(QUICK),
        None => {
            let entries = arguments.experiments.iter().map(|name| Ok(study::Entry::of(experiment(name)?)));
            Ok(Study::of(entries.collect::<Result<_>>()?))
        }
    }
}

fn overrides(arguments: &cli::Run) -> Result<Overrides> {
    for name in &arguments.experiments {
        experiment(name)?;
    }
    Ok(Overrides {
        experiments: arguments.experiments.clone(),
        targets: arguments.target.iter().map(|target| target.parse()).collect::<Result<Vec<Target>>>()?,
        settings: settings(arguments)?,
        repeat: arguments.repeat,
        loops: arguments.loops,
        duration: arguments.duration.as_deref().map(duration).transpose()?,
        deadline: arguments.deadline.map(|us| us as f64 * 1e3),
    })
}

fn settings(arguments: &cli::Run) -> Result<Settings> {
    let mut settings = Settings::new();
    for setting in &arguments.set {
        let (name, values) = setting.split_once('=').with_context(|| format!("`--set {setting}`: write NAME=VALUE"))?;
        settings.insert(name.to_owned(), values.split(',').map(str::to_owned).collect());
    }
    let flags = [
        ("priority", arguments.priority.map(u64::from)),
        ("interval_us", arguments.interval),
        ("cpu", arguments.affinity.map(u64::from)),
        ("tasks", arguments.tasks.map(u64::from)),
    ];
    settings
        .extend(flags.iter().filter_map(|(name, value)| Some(((*name).to_owned(), vec![value.as_ref()?.to_string()]))));
    if arguments.mlock {
        settings.insert("mlock".to_owned(), vec!["yes".to_owned()]);
    }
    Ok(settings)
}

/// `90`, `90s`, `5m`, `1h`, `2d`, as cyclictest takes them.
fn duration(text: &str) -> Result<Duration> {
    let (number, scale) = match text.as_bytes().last() {
        Some(b's') => (&text[..text.len() - 1], 1),
        Some(b'm') => (&text[..text.len() - 1], 60),
        Some(b'h') => (&text[..text.len() - 1], 3600),
        Some(b'd') => (&text[..text.len() - 1], 86400),
        _ => (text, 1),
    };
    match number.parse::<u64>() {
        Ok(number) if (1..=365 * 86400 / scale).contains(&number) => Ok(Duration::from_secs(number * scale)),
        _ => bail!("`-D {text}`: write a number and s, m, h or d, up to a year"),
    }
}

/// Becomes true on the first interrupt, hang-up or termination; a second one ends the program.
fn stop_on_signal() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    ctrlc::set_handler(move || {
        if flag.swap(true, std::sync::atomic::Ordering::Relaxed) {
            std::process::exit(130);
        }
    })
    .context("cannot watch for signals")?;
    Ok(stop)
}
