//! `chronoscope report --demo`: recorded runs in a store of their own, and the commands that show
//! them. Nothing is measured.

use std::{fs, io::Read as _, path::Path};

use anyhow::{Context as _, Result, bail};
use clap::Parser as _;
use lzma_rust2::XzReader;

use crate::cli::Cli;
use chronoscope_base::console;
use chronoscope_run::Run;
use chronoscope_store::{Place, Store};

/// The recorded runs: a list of JSON, packed. Runs 1 to 5 are alike; run 6 is of ordinary tasks.
const RUNS: &[u8] = include_bytes!("runs.json.xz");

/// Makes the folder with a store, a page and a comparison, and prints an answer and a history.
/// Prints each command of the program that does so. Returns the exit status.
///
/// # Errors
/// A file is there already, or cannot be written.
pub fn execute(folder: &Path) -> Result<u8> {
    let [store, page, comparison] =
        ["runs.sqlite", "page.html", "compare.html"].map(|name| folder.join(name));
    if let Some(file) = [&store, &page, &comparison].into_iter().find(|file| file.exists()) {
        bail!(
            "--demo: {}: is there already: remove it, or name another folder (--demo=FOLDER)",
            file.display()
        );
    }
    fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let runs = runs()?;
    Store::create(&Place::read(&store)?)?.add(&runs.iter().collect::<Vec<_>>())?;
    let [store, page, comparison] =
        [store, page, comparison].map(|path| path.display().to_string());
    let commands: [&[&str]; 4] = [
        &["report", "5", "-o", &page],
        &["compare", "5", "6", "period", "--pair", "policy", "-o", &comparison],
        &["history", "period"],
        &["report", "5"],
    ];
    for words in commands {
        let words = [words, &["--store", &store]].concat();
        console::print(&format!("$ chronoscope {}\n", words.join(" ")))?;
        let command = Cli::try_parse_from([&["chronoscope"], &words[..]].concat())?;
        super::execute(command)?;
        console::print("\n")?;
    }
    console::print(&format!("open {page} and {comparison} in a browser\n"))?;
    Ok(0)
}

/// The recorded runs.
fn runs() -> Result<Vec<Run>> {
    let mut text = String::new();
    XzReader::new(RUNS, false).read_to_string(&mut text)?;
    Ok(serde_json::from_str(&text)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use chronoscope_run::Status;

    #[test]
    fn recorded_runs_are_of_this_version_and_name_no_machine() {
        let runs = runs().unwrap();
        assert_eq!(runs.len(), 6);
        for run in runs {
            assert_eq!((run.schema, run.status()), (chronoscope_run::SCHEMA, Status::Pass));
            assert_eq!((&*run.context.host, &*run.study), ("desk", "demo"));
            assert!(run.cases.iter().all(|case| !case.series[0].histogram.is_empty()));
        }
    }
}
