//! Models of tandem in Promela: Debian's `spin` checks each in all its states, and finds an error in each
//! of its mutants. `tandem/models/NAME.pml` says what of the kernel it models.

use std::{path::Path, process::Command, thread};

use anyhow::{Result, bail};

use crate::{
    command, packages,
    repository::{self, TemporaryFolder, root, target},
};

/// A model, and the names by which its source is changed. A change is one name, or several that are
/// separated by spaces.
struct Model {
    name: &'static str,
    /// The changes to a model without an error. `WHOLE` changes nothing.
    right: &'static [&'static str],
    /// The changes, of which each must give a violated assertion.
    wrong: &'static [&'static str],
}

static MODELS: [Model; 4] = [
    Model { name: "shared_stack", right: &["WHOLE"], wrong: &["EQUAL", "UNREADY", "BEHIND"] },
    // Of `visit` and `timers` the strict order, and of `page` the plain yield, are no properties of the
    // code: docs/tandem.md, Models.
    Model { name: "visit", right: &["WHOLE"], wrong: &["STAYS", "ONCE", "FRONT", "ORDER"] },
    Model {
        name: "timers",
        right: &["WHOLE", "WIDE", "NESTLESS FAR", "LEVELS"],
        wrong: &[
            "HONEST",
            "LIAR",
            "EARLY",
            "PLACE",
            "PAST",
            "BEHIND",
            "EXACT",
            "FORGETS",
            "ASLEEP",
            "LEVELS LOW",
            "LEVELS ALONE",
            "LEVELS SLOW",
            "LEVELS ASIDE",
            "ORDER",
        ],
    },
    Model {
        name: "page",
        right: &["WHOLE"],
        wrong: &["BLIND", "STALE", "HASTY", "DEAF", "QUIET", "UNCAPPED", "LOOKED", "PLAIN"],
    },
];

/// Checks all models and their mutants, each model in a thread of its own.
pub fn check() -> Result<()> {
    packages::need(&["spin"], "test")?;
    thread::scope(|scope| {
        let checks: Vec<_> = MODELS.iter().map(|model| scope.spawn(|| model.check())).collect();
        checks.into_iter().try_for_each(|check| {
            check.join().unwrap_or_else(|_| bail!("the check of a model has panicked"))
        })
    })
}

impl Model {
    fn check(&self) -> Result<()> {
        let name = self.name;
        for change in self.right {
            match search(name, change, "-O2")? {
                Search { violated: false, states } => {
                    println!("{name} {change}: no error in {states} states");
                }
                Search { states, .. } => {
                    bail!("{name} {change}: an assertion fails, after {states} states")
                }
            }
        }
        for change in self.wrong {
            match search(name, change, "-O0")? {
                Search { violated: true, states } => {
                    println!("{name}: {change} is found, after {states} states");
                }
                Search { states, .. } => bail!("{name}: {change} is not found in {states} states"),
            }
        }
        Ok(())
    }
}

/// The outcome of a search through a model's states.
struct Search {
    /// An assertion does not hold; the search has ended there.
    violated: bool,
    states: u64,
}

/// Searches all states of a model with a change, by a program that GCC compiles with `optimization`: an
/// error is found in less time than GCC takes for `-O2`.
///
/// # Errors
/// A program failed, or the search was cut short: that is no proof.
fn search(name: &str, change: &str, optimization: &str) -> Result<Search> {
    let folder = target()?.join("models").join(format!("{name} {change}").replace(' ', "-"));
    let folder = TemporaryFolder::new(folder)?;
    repository::copy(
        &root().join(format!("tandem/models/{name}.pml")),
        &folder.0.join("model.pml"),
    )?;
    let run = |program: &Path, arguments: &[&str]| {
        let mut program = Command::new(program);
        command::output(program.args(arguments).current_dir(&folder.0))
    };
    let defines: Vec<String> = change.split_whitespace().map(|name| format!("-D{name}")).collect();
    let defines: Vec<&str> = defines.iter().map(String::as_str).collect();
    run(Path::new("spin"), &[&["-a"], &defines[..], &["model.pml"]].concat())?;
    run(
        Path::new("gcc"),
        &[optimization, "-w", "-DSAFETY", "-DMEMLIM=2048", "-o", "pan", "pan.c"],
    )?;
    let told = command::text(&run(&folder.0.join("pan"), &["-m1000000"])?);
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
