//! `chronoscope list`: experiments, parameters, targets.

use anyhow::Result;
use chronoscope_suite::{EXPERIMENTS, Parameter, Spec, Values};

use crate::{
    case::{Target, experiment},
    cli::List,
    machine::{self, TARGETS},
    report,
};

pub fn execute(list: &List) -> Result<u8> {
    report::print(&match &list.experiment {
        Some(name) => describe(experiment(name)?),
        None => overview()?,
    })?;
    Ok(0)
}

fn overview() -> Result<String> {
    let mut text = String::from("Experiments\n");
    for spec in EXPERIMENTS {
        text.push_str(&format!("  {:<14}{}\n", spec.name, spec.summary));
    }
    text.push_str("\nTargets\n");
    for target in TARGETS {
        text.push_str(&format!("  {target}\n"));
        for (parameter, default) in machine::find(&target.parse::<Target>()?)?.parameters() {
            text.push_str(&format!("    {}\n", line(parameter, &default)));
        }
    }
    text.push_str("\n`chronoscope list EXPERIMENT` tells what one measures and its parameters.\n");
    Ok(text)
}

fn describe(spec: &Spec) -> String {
    let mut text = format!("{}: {}\n\n", spec.name, spec.summary);
    let facts = [
        ("start", spec.start),
        ("end", spec.end),
        ("sample", spec.statistic),
        ("control", spec.control),
        ("evidence", spec.evidence),
        ("source", spec.source),
    ];
    for (name, fact) in facts {
        text.push_str(&format!("  {name:<10}{fact}\n"));
    }
    text.push_str("\nParameters (--set NAME=VALUE[,VALUE…])\n");
    for parameter in spec.parameters {
        text.push_str(&format!("  {}\n", line(parameter, parameter.default)));
    }
    text
}

fn line(parameter: &Parameter, default: &str) -> String {
    let values = match parameter.values {
        Values::Number(low, high) => format!("{low}..{high}"),
        Values::Word(words) => words.join("|"),
    };
    let unit = if parameter.unit.is_empty() { String::new() } else { format!(" {}", parameter.unit) };
    format!("{:<14}{default}{unit}  {} [{values}]", parameter.name, parameter.help)
}
