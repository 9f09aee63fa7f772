//! Why a case grew: after a comparison in turn of two exact targets, the rounds of the case that grew
//! most, by role.

use std::sync::atomic::AtomicBool;

use super::why;
use crate::cli;
use chronoscope_engine::variant::Pair;
use chronoscope_report::comparison::{Finding, Line};
use chronoscope_run::Target;
use chronoscope_statistics::Test;
use chronoscope_suite::{experiments::worst::SPEC, spec::Values};
use chronoscope_units::words::quoted;

/// The parameter of `worst` that names the experiment of the round.
const OF: &str = "of";

/// Why the case that grew most grew; empty where no case did whose rounds can be looked at. `lines` are
/// the comparison of `pairs`.
pub(super) fn reason(pairs: &[Pair], lines: &[Line], stop: &AtomicBool) -> String {
    let Some(pair) = most(pairs, lines) else { return String::new() };
    let arguments = cli::Why {
        a: word(&pair.a.target),
        b: word(&pair.b.target),
        experiment: pair.b.spec.name.to_owned(),
        set: passed(pair),
        full: false,
        output: None,
    };
    match why::text(&arguments, Some(&command(&arguments)), stop) {
        Ok(text) => format!("\n{text}"),
        Err(error) => format!("\nnote: why it grew is not known: {error:#}\n"),
    }
}

/// The command that shows the functions, too.
fn command(arguments: &cli::Why) -> String {
    let cli::Why { a, b, experiment, set, .. } = arguments;
    let set: String = set.iter().map(|setting| format!(" --set {}", quoted(setting))).collect();
    format!("chronoscope why {} {} {experiment}{set} --full", quoted(a), quoted(b))
}

/// The pair whose exact figure grew by most.
fn most<'a>(pairs: &'a [Pair], lines: &[Line]) -> Option<&'a Pair> {
    let grown = lines.iter().filter(|line| line.finding == Finding::Regression);
    let grown = grown.filter_map(|line| {
        let figures = line.figures.filter(|figures| figures.test == Test::Exact)?;
        let pair = pairs.iter().find(|pair| is_of(line, pair))?;
        Some((figures.b? - figures.a?, pair))
    });
    let looked_at = grown.filter(|(_, pair)| has_rounds(pair));
    looked_at.max_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, pair)| pair)
}

fn is_of(line: &Line, pair: &Pair) -> bool {
    *line.experiment == *pair.b.spec.name && *line.case == *pair.label
}

/// Returns whether both sides are kernels, not settings, whose rounds `worst` knows.
fn has_rounds(pair: &Pair) -> bool {
    let known = SPEC.parameters.iter().any(|parameter| match parameter.values {
        Values::Word(words) => parameter.name == OF && words.contains(&pair.b.spec.name),
        _ => false,
    });
    known && pair.a.target != pair.b.target && pair.a.parameters == pair.b.parameters
}

/// The settings of the case that its round has, too.
fn passed(pair: &Pair) -> Vec<String> {
    let is_known = |name: &str| name != OF && SPEC.parameters.iter().any(|one| one.name == name);
    let set = pair.b.parameters.iter().filter(|(name, _)| is_known(name));
    set.map(|(name, value)| format!("{name}={value}")).collect()
}

/// A target as it is typed.
fn word(target: &Target) -> String {
    match &target.image {
        Some(image) => format!("{}={}@{}", target.kernel, image.display(), target.machine),
        None => target.to_string(),
    }
}
