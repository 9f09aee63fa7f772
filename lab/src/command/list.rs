//! `chronoscope list`: studies, experiments, parameters, targets.

use std::{fmt::Write, path::Path, time::Duration};

use anyhow::Result;
use chronoscope_suite::{
    EXPERIMENTS, Parameter, Spec, Values,
    spec::{Figure, Reading},
};

use crate::cli::List;
use chronoscope_base::console::print;
use chronoscope_engine::{case::Case, case::experiment, study, study::Overrides, study::Study};
use chronoscope_machine::Machines;
use chronoscope_report::{Screen, answer::reading, answer::sentence, text_table::fold};
use chronoscope_run::Target;
use chronoscope_store::{RunFilter, Store, default_place};
use chronoscope_units::rough_time;

/// Prints the experiments and targets, or one experiment; returns the exit status.
///
/// # Errors
/// The experiment is unknown, or a target's parameters cannot be read.
pub fn execute(list: &List) -> Result<u8> {
    if list.markdown {
        print(&markdown())?;
        return Ok(0);
    }
    let text = match &list.experiment {
        Some(name) => describe(experiment(name)?),
        None => overview()?,
    };
    print(&fold(&text, Screen::for_output(None, None).columns))?;
    Ok(0)
}

/// All studies, experiments, targets and forms of targets.
fn overview() -> Result<String> {
    let machines = Machines::default();
    let mut text = "Studies (chronoscope run STUDY)\n".to_owned();
    for name in study::names() {
        let study = study::find(Path::new(name))?;
        // A title may tell more after its question.
        let question = study.title.split_inclusive('?').next().unwrap_or_default();
        writeln!(text, "  {name:<20}{question} {}", length(name, &study, &machines)?)?;
    }
    text.push_str("\nExperiments\n");
    for spec in EXPERIMENTS {
        writeln!(text, "  {:<14}{}", spec.name, spec.summary)?;
    }
    text.push_str("\nTargets, and what may be set for all experiments there\n");
    let mut targets = machines
        .targets()
        .map(|target| settable(&machines, &target).map(|parameters| (target, parameters)))
        .collect::<Result<Vec<_>>>()?
        .into_iter()
        .peekable();
    while let Some((target, parameters)) = targets.next() {
        writeln!(text, "  {target}")?;
        // Successive targets with the same parameters share one list, below the last of them.
        if targets.peek().is_none_or(|(_, next)| *next != parameters) {
            text.push_str(&parameters);
        }
    }
    for (form, help) in machines.forms() {
        writeln!(text, "  {form}  {help}")?;
    }
    text.push_str("\n`chronoscope list EXPERIMENT` tells what one measures, and its parameters.\n");
    Ok(text)
}

/// The time that a study takes: as the last time, if the user's store has a whole run of it, or else as
/// its cases are expected to take one after the other, without set-up.
fn length(name: &str, study: &Study, machines: &Machines) -> Result<String> {
    if let Some(took) = last_time(name) {
        return Ok(format!("({} last time)", rough_time(took)));
    }
    let (cases, peers) = study.plan(machines, &Overrides::default())?;
    let once = |case: &Case| {
        let slowness = case.properties(machines)?.slowness;
        let repetitions = case
            .expected()
            .saturating_mul(slowness)
            .saturating_mul(u32::try_from(case.repeat.max(1))?);
        Ok(repetitions.max(case.duration.unwrap_or_default()))
    };
    let all = cases.iter().chain(peers.iter().map(|peer| &peer.case)).map(once);
    let all: Duration = all.sum::<Result<_>>()?;
    Ok(format!("(up to {})", rough_time(all)))
}

/// The time of the last whole run of a study in the user's store.
fn last_time(study: &str) -> Option<Duration> {
    let store = Store::open(&default_place().ok()?).ok()?;
    let filter = RunFilter { study: Some(study), ..RunFilter::default() };
    let newest = store.runs_of(&filter, 1).ok()?.pop().filter(|row| !row.interrupted)?;
    Duration::try_from_secs_f64(store.run(newest.run).ok()?.context.seconds).ok()
}

/// The parameters that a target takes for all experiments, one a line.
fn settable(machines: &Machines, target: &str) -> Result<String> {
    let parameters = machines.describe(&target.parse::<Target>()?)?.parameters;
    Ok(parameters
        .iter()
        .map(|(parameter, default)| format!("    {}\n", line(parameter, default)))
        .collect())
}

/// An experiment's description, as pairs of name and text.
fn facts(spec: &Spec) -> impl Iterator<Item = (&'static str, String)> {
    let reading = reading::find(spec.name);
    let asked = reading.map(|reading| [("question", asked(reading)), ("answer", answer(reading))]);
    let facts = [
        ("start", spec.start),
        ("end", spec.end),
        ("sample", spec.statistic),
        ("control", spec.control),
        ("evidence", spec.evidence),
        ("pin", spec.pin),
        ("source", spec.source),
    ];
    let facts = facts.into_iter().filter(|(_, fact)| !fact.is_empty());
    asked.into_iter().flatten().chain(facts.map(|(name, fact)| (name, fact.to_owned())))
}

/// The question of an experiment.
fn asked(reading: &Reading) -> String {
    sentence::capital(reading.question)
}

/// The figure that answers the question, which titles and rankings compare, and the one beside it.
fn answer(reading: &Reading) -> String {
    let statistic = |name: &str| match name {
        "p50" => "the median".to_owned(),
        "max" => "the worst".to_owned(),
        other => other.to_owned(),
    };
    let words = |figure: Figure| match figure {
        Figure::First(name) => statistic(name),
        Figure::Last(name) => format!("{} of the last series", statistic(name)),
        Figure::Of(series, "max") => series.to_owned(),
        Figure::Of(series, name) => format!("{} of {series}", statistic(name)),
        Figure::Named(name) => format!("`{name}`"),
    };
    match reading::figures(reading) {
        (figure, Some(beside)) => format!("{}; beside it {}", words(figure), words(beside)),
        (figure, None) => words(figure),
    }
}

/// One experiment: its facts and its parameters.
pub(super) fn describe(spec: &Spec) -> String {
    let mut text = format!("{}: {}\n\n", spec.name, spec.summary);
    for (name, fact) in facts(spec) {
        text += &format!("  {name:<10}{fact}\n");
    }
    text += "\nParameters (--set NAME=VALUE[,VALUE…])\n";
    for parameter in spec.parameters {
        text += &format!("  {}\n", line(parameter, parameter.default));
    }
    text
}

/// A parameter with its default, help and values.
pub(super) fn line(parameter: &Parameter, default: &str) -> String {
    let unit =
        if parameter.unit.is_empty() { String::new() } else { format!(" {}", parameter.unit) };
    format!("{:<14}{default}{unit}  {} [{}]", parameter.name, parameter.help, values(parameter))
}

/// The accepted values, in words.
fn values(parameter: &Parameter) -> String {
    match parameter.values {
        Values::Number(low, high) => format!("{low} to {high}"),
        Values::Word(words) | Values::Extra(words) => words.join(", "),
        Values::Text(kind) => kind.to_owned(),
    }
}

/// The introduction of `docs/experiments.md`, up to the first experiment.
const INTRODUCTION: &str = "\
# The experiments

For each experiment: its start and end events, its control, its evidence and its parameters.
`./chronoscope list --markdown` makes this page from the tables in `suite/src/experiments/`. The
documentation of each module there describes how the experiment is built, and how it differs from
its sources.

## Two instruments: marks and pins

Figures come from **marks**: clock values that the program stores. Where the image drives **pins**
(feature `pins` of the microcontrollers' images), a logic analyser measures the same intervals. The
two never agree to the cycle, because each costs its own instructions:

- A pin is set *outside* of the marks: it rises and then the start is marked; the end is marked and
  then it falls. The marks therefore give the same values as in an image without pins. The pulse is
  longer by the code between pin and mark: one store to the pin, one clock read, one store of a
  mark, and whatever the compiler places there. On the bench's Ibex, `wakeup` of tandem is 218
  cycles by its marks and 227 by D0, and `message` is 189 and 198. The end of an `interrupt` is in a
  handler that reads two words between the mark and the pin: 79 and 96.
- Where one mark ends an interval and starts the next (`switch`, the control, `period`), the pin
  changes its level right after each mark. Edge to edge is as long as mark to mark, but *both*
  contain the cost of driving the pin: `switch` takes 275 cycles without pins, and 284 by either
  instrument with them. Setting and clearing a pin may differ by a cycle.
- An edge is the moment at which the store reaches the pin. A real analyser rounds it to its sample
  period; a mark is not rounded.
- A due time is no event on a pin, and neither is a start that another task has read. Such a series
  names no pin; the text of its experiment says what D0 shows instead.

A series names its pin only where the pin shows exactly its samples. D0 to D4: measured series, with
tasks or series in their order; D6: a block of work; D7: the control.
";

/// The text of `docs/experiments.md`.
fn markdown() -> String {
    let mut text = INTRODUCTION.to_owned();
    for spec in EXPERIMENTS {
        text += &format!("\n## {}\n\n{}.\n\n", spec.name, sentence::capital(spec.summary));
        for (name, fact) in facts(spec) {
            text += &format!("- **{}**: {fact}\n", sentence::capital(name));
        }
        text += &format!(
            "- **Specification**: [`{0}.rs`](../suite/src/experiments/{0}.rs)\n",
            spec.name
        );
        text += "\n| parameter | default | values | |\n|---|---|---|---|\n";
        for parameter in spec.parameters {
            let default = format!("{} {}", parameter.default, parameter.unit);
            text += &format!(
                "| `{}` | {} | {} | {} |\n",
                parameter.name,
                default.trim(),
                values(parameter),
                parameter.help
            );
        }
    }
    text
}
