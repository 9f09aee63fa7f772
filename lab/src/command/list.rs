//! `chronoscope list`: experiments, parameters, targets.

use anyhow::Result;
use chronoscope_suite::{EXPERIMENTS, Parameter, Spec, Values};

use crate::{
    case::{Target, experiment},
    cli::List,
    machine::{self, TARGETS},
};

pub fn execute(list: &List) -> Result<u8> {
    match &list.experiment {
        Some(name) => describe(experiment(name)?),
        None => overview(),
    }?;
    Ok(0)
}

fn overview() -> Result<()> {
    println!("Experiments");
    for spec in EXPERIMENTS {
        println!("  {:<14}{}", spec.name, spec.summary);
    }
    println!("\nTargets");
    for target in TARGETS {
        println!("  {target}");
        for (parameter, default) in machine::find(&target.parse::<Target>()?)?.parameters() {
            println!("    {}", line(parameter, &default));
        }
    }
    println!("\n`chronoscope list EXPERIMENT` tells what one measures and its parameters.");
    Ok(())
}

fn describe(spec: &Spec) -> Result<()> {
    println!("{}: {}\n", spec.name, spec.summary);
    let facts = [
        ("start", spec.start),
        ("end", spec.end),
        ("sample", spec.statistic),
        ("control", spec.control),
        ("evidence", spec.evidence),
        ("source", spec.source),
    ];
    for (name, text) in facts {
        println!("  {name:<10}{text}");
    }
    println!("\nParameters (--set NAME=VALUE[,VALUE…])");
    for parameter in spec.parameters {
        println!("  {}", line(parameter, parameter.default));
    }
    Ok(())
}

fn line(parameter: &Parameter, default: &str) -> String {
    let values = match parameter.values {
        Values::Number(low, high) => format!("{low}..{high}"),
        Values::Word(words) => words.join("|"),
    };
    let unit = if parameter.unit.is_empty() { String::new() } else { format!(" {}", parameter.unit) };
    format!("{:<14}{default}{unit}  {} [{values}]", parameter.name, parameter.help)
}
