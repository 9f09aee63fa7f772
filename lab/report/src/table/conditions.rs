//! The conditions of the machines during a run, over all cases: clock, load, steal, throttling,
//! timer slack, drift, and the origin of images.

use std::collections::BTreeSet;

use super::WIDTH;
use crate::text_table::wrap;
use chronoscope_base::digest::key;
use chronoscope_run::{
    CaseResult, Context, Domain, FigureResult, Run, names::BUILD, names::KERNEL_ORIGIN,
};
use chronoscope_units::{OneLine, digits, show};

/// The figures about its machine that a target reports with each case.
const CONDITIONS: [&str; 6] = [
    "steal",
    "thermal throttling",
    "load",
    "timer slack",
    "reference loop before",
    "reference loop after",
];

/// Relative spread of the reference loop's times above which the machine counts as noisy.
const NOISE_LIMIT: f64 = 0.1;

/// Returns whether a figure describes the machine rather than the case.
pub fn is_condition(figure: &FigureResult) -> bool {
    CONDITIONS.contains(&figure.name.as_str())
}

/// The section of conditions as text: a paragraph for each target, and the size of the run.
pub fn section(run: &Run) -> String {
    let paragraph = |(target, items): (&str, Vec<String>)| {
        let indent = target.chars().count() + 2;
        format!("{target}: {}\n", wrap(&items, indent, WIDTH))
    };
    machines(run).into_iter().map(paragraph).collect::<String>() + &size(run) + "\n"
}

/// The conditions on each target that has any, in the order of their names.
pub fn machines(run: &Run) -> Vec<(&str, Vec<String>)> {
    let mut targets: Vec<&str> = run.cases.iter().map(|case| case.target.as_str()).collect();
    targets.sort_unstable();
    targets.dedup();
    let machines = targets.into_iter().map(|target| {
        let cases: Vec<&CaseResult> =
            run.cases.iter().filter(|case| case.target == target).collect();
        (target, machine(&cases))
    });
    machines.filter(|(_, items)| !items.is_empty()).collect()
}

/// The number of cases, their duration, and a remark on a debug build.
pub fn size(run: &Run) -> String {
    let mut size = extent(run);
    if run.context.build == "debug" {
        size.push_str(" · a debug build: the code around the kernel is slow");
    }
    size
}

/// The number of cases, and their duration, which is unknown for an imported run.
pub fn extent(run: &Run) -> String {
    match run.context.imported.is_some() {
        true => run_size(run),
        false => format!("{} in {}", run_size(run), length(&run.context)),
    }
}

/// The duration of a run, and the sum of its cases' durations if it is known. A run of peers alone has
/// no case.
fn length(context: &Context) -> String {
    let sum = context.case_seconds.filter(|sum| *sum > 0.0);
    let sum = sum.map(|sum| format!("; their times add up to {} s", digits(sum)));
    format!("{} s{}", digits(context.seconds), sum.unwrap_or_default())
}

/// The size of a run, as `5 cases`, `5 cases and 1 peer` or `6 peers`.
fn run_size(run: &Run) -> String {
    let number =
        |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    match (run.cases.len(), run.peers.len()) {
        (cases, 0) => number(cases, "case"),
        (0, peers) => number(peers, "peer"),
        (cases, peers) => format!("{} and {}", number(cases, "case"), number(peers, "peer")),
    }
}

/// The conditions during a target's cases.
fn machine(cases: &[&CaseResult]) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    if let Some(clock) = cases.iter().find_map(|case| case.clock.as_ref()) {
        items.push(match clock.domain {
            Domain::Wall => {
                let steps: Vec<f64> =
                    cases.iter().filter_map(|case| case.clock.as_ref()).map(step).collect();
                format!("wall clock, steps of {}", range(&steps, |ns| show(ns, "ns")))
            }
            domain => format!("{domain} clock"),
        });
    }
    let figures = |names: &[&str]| -> Vec<&FigureResult> {
        cases.iter().flat_map(|case| names.iter().filter_map(|name| case.figure(name))).collect()
    };
    let ends = |figures: &[&FigureResult]| {
        figures.iter().flat_map(|figure| [figure.min, figure.max]).collect()
    };
    let load: Vec<f64> = ends(&figures(&["load"]));
    if !load.is_empty() {
        items.push(format!("load {}", range(&load, digits)));
    }
    let steal = figures(&["steal"]);
    if !steal.is_empty() {
        let stolen = steal.iter().filter(|figure| figure.max > 0.0).count();
        let most = steal.iter().map(|figure| figure.max).fold(0.0, f64::max);
        items.push(match stolen {
            0 => "no time stolen by a hypervisor".to_owned(),
            stolen => {
                let most = show(most * 1e6, "ns");
                format!("up to {most} stolen by the hypervisor from a repetition, in {stolen} of {} cases", steal.len())
            }
        });
    }
    let throttled = figures(&["thermal throttling"]);
    let hot = throttled.iter().filter(|figure| figure.max > 0.0).count();
    if hot > 0 {
        items.push(format!(
            "the processor was slowed by heat, in {hot} of {} cases",
            throttled.len()
        ));
    }
    let slack: Vec<f64> = ends(&figures(&["timer slack"]));
    if !slack.is_empty() {
        items.push(format!(
            "timer slack {} (none for real-time tasks)",
            range(&slack, |ns| show(ns, "ns"))
        ));
    }
    let reference: Vec<f64> = ends(&figures(&["reference loop before", "reference loop after"]));
    items.extend(reference_spread(&reference));
    items.extend(provenance(cases));
    items
}

/// The versions of emulator, simulator, core and kernel, and a key of the whole identity; the full
/// identity is in the run's JSON.
fn provenance(cases: &[&CaseResult]) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    for identity in cases.iter().map(|case| &case.identity).filter(|identity| !identity.is_empty())
    {
        // Each fact begins with a name and a version, or is a file's name.
        let facts = ["emulator", "simulator", "core's source", KERNEL_ORIGIN]
            .iter()
            .filter_map(|name| identity.get(*name));
        let short =
            |fact: &OneLine| fact.split([',', '(']).next().unwrap_or_default().trim().to_owned();
        items.extend(facts.map(short).chain([format!("identity {}", key(identity))]));
        // Commas are part of how a kernel was compiled, and the whole of it decides the figures.
        items.extend(identity.get(BUILD).map(|build| format!("built with {build}")));
    }
    let mut known = BTreeSet::new();
    items.retain(|item| known.insert(item.clone()));
    items
}

/// The smallest step of a wall clock, in ns.
fn step(clock: &chronoscope_run::Clock) -> f64 {
    clock.resolution as f64 * 1e9 / clock.hertz as f64
}

fn range(values: &[f64], show: impl Fn(f64) -> String) -> String {
    let low = show(values.iter().copied().fold(f64::INFINITY, f64::min));
    let high = show(values.iter().copied().fold(f64::NEG_INFINITY, f64::max));
    if low == high { low } else { format!("{low} to {high}") }
}

/// The relative spread of a reference loop's times; `None` without positive times.
fn reference_spread(times: &[f64]) -> Option<String> {
    let low = times.iter().copied().reduce(f64::min).filter(|low| *low > 0.0)?;
    let spread = times.iter().copied().fold(low, f64::max) / low - 1.0;
    let percent = digits((spread * 100.0).round());
    Some(match spread > NOISE_LIMIT {
        true => format!("reference loop times vary by {percent} %: the machine was noisy"),
        false => format!("reference loop times vary by {percent} %"),
    })
}
