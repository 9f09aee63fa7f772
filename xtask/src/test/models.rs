//! Models of tandem in Promela: Debian's `spin` checks each in all its states, and finds an error in each
//! of its mutants. `tandem/models/NAME.pml` says what of the kernel it models.

use std::{path::Path, process::Command};

use anyhow::{Result, bail};

use crate::{
    command, packages,
    repository::{self, TemporaryFolder, root, target},
};

/// A model, and the names by which its source is changed to one that is wrong.
struct Model {
    name: &'static str,
    /// The changes, of which each must give a violated assertion.
    wrong: &'static [&'static str],
}

static MODELS: [Model; 2] = [
    Model { name: "shared_stack", wrong: &["EQUAL", "UNREADY", "BEHIND"] },
    // The order of the waiters is no property of the code: docs/tandem.md, Models.
    Model { name: "visit", wrong: &["STAYS", "ONCE", "FRONT", "ORDER"] },
];

/// Checks all models and their mutants.
pub fn check() -> Result<()> {
    packages::need(&["spin"], "test")?;
    for Model { name, wrong } in &MODELS {
        match search(name, None)? {
            Search { violated: false, states } => println!("{name}: no error in {states} states"),
            Search { states, .. } => bail!("{name}: an assertion fails, after {states} states"),
        }
        for wrong in *wrong {
            match search(name, Some(wrong))? {
                Search { violated: true, states } => {
                    println!("{name}: {wrong} is found, after {states} states");
                }
                Search { states, .. } => bail!("{name}: {wrong} is not found in {states} states"),
            }
        }
    }
    Ok(())
}

/// The outcome of a search through a model's states.
struct Search {
    /// An assertion does not hold; the search has ended there.
    violated: bool,
    states: u64,
}

/// Searches all states of a model, or of one with a change.
///
/// # Errors
/// A program failed, or the search was cut short: that is no proof.
fn search(name: &str, wrong: Option<&str>) -> Result<Search> {
    let folder = target()?.join("models").join(format!("{name}-{}", wrong.unwrap_or("whole")));
    let folder = TemporaryFolder::new(folder)?;
    repository::copy(
        &root().join(format!("tandem/models/{name}.pml")),
        &folder.0.join("model.pml"),
    )?;
    let run = |program: &Path, arguments: &[&str]| {
        let mut program = Command::new(program);
        command::output(program.args(arguments).current_dir(&folder.0))
    };
    let define = wrong.map(|wrong| format!("-D{wrong}"));
    let defines: Vec<&str> = define.iter().map(String::as_str).collect();
    run(Path::new("spin"), &[&["-a"], &defines[..], &["model.pml"]].concat())?;
    run(Path::new("gcc"), &["-O2", "-w", "-DSAFETY", "-DMEMLIM=2048", "-o", "pan", "pan.c"])?;
    let told = command::text(&run(&folder.0.join("pan"), &["-m100000"])?);
    let violated = told.contains("assertion violated");
    let is_whole =
        !told.contains("Search not completed") && !told.contains("search depth too small");
    let states = told.split_once(" states, stored").and_then(|(head, _)| {
        head.rsplit_once('\n').map_or(head, |(_, line)| line).trim().parse().ok()
    });
    match states {
        Some(states) if violated || is_whole && told.contains("errors: 0") => {
            Ok(Search { violated, states })
        }
        _ => bail!("{name}: {told}"),
    }
}
