//! Runs deterministic cases on two revisions and compares their JSON: a change that should move no
//! figure is shown to move none.

mod compare;
mod list;
mod revision;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};

use self::{
    list::CaseSet,
    revision::{Measured, Revision},
};
use crate::{repository::target, say};

pub const USAGE: &str = "same BASE [--quick] [--base-checkout FOLDER] [FILTER…]  \
    measures deterministic cases on the commit BASE and on the working tree, and compares their \
    JSON; the filters choose sets of cases";

/// Differences of one case that are printed.
const SHOWN: usize = 3;

#[derive(Debug, Default, PartialEq)]
struct Options<'a> {
    base: &'a str,
    is_quick: bool,
    /// A folder with a checkout of the base.
    checkout: Option<PathBuf>,
    filters: Vec<&'a str>,
}

impl<'a> Options<'a> {
    fn parse(arguments: &[&'a str]) -> Result<Self> {
        let mut options = Self::default();
        let mut words = arguments.iter().copied();
        while let Some(word) = words.next() {
            match word {
                "--quick" => options.is_quick = true,
                "--base-checkout" => {
                    options.checkout = Some(words.next().context("--base-checkout FOLDER")?.into());
                }
                _ if word.starts_with('-') => bail!("usage: cargo xtask {USAGE}"),
                _ if options.base.is_empty() => options.base = word,
                _ => options.filters.push(word),
            }
        }
        if options.base.is_empty() {
            bail!("usage: cargo xtask {USAGE}");
        }
        Ok(options)
    }
}

pub fn run(arguments: &[&str]) -> Result<()> {
    let options = Options::parse(arguments)?;
    let sets = list::select(options.is_quick, &options.filters)?;
    let base = match &options.checkout {
        Some(folder) => Revision::from_checkout(options.base, folder)?,
        None => Revision::check_out(options.base)?,
    };
    let revisions = [base, Revision::working_tree()?];
    let known = [revisions[0].build()?, revisions[1].build()?];
    let folder = target()?.join("same/runs");
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let mut differences = 0;
    for set in &sets {
        let lines = differing(set, &revisions, &known, &folder)
            .unwrap_or_else(|error| vec![format!("{error:#}")]);
        lines.iter().for_each(|line| println!("{}: {line}", set.name));
        differences += lines.len();
    }
    if differences > 0 {
        bail!("{differences} differences from {}: {}", options.base, folder.display());
    }
    println!("all cases are equal to those of {}", options.base);
    Ok(())
}

/// Measures a set of cases on both revisions. Returns a line for each case that is not equal.
fn differing(
    set: &CaseSet,
    revisions: &[Revision; 2],
    known: &[Vec<String>; 2],
    folder: &Path,
) -> Result<Vec<String>> {
    let measure = |index: usize| {
        say(&format!("measuring {} on the {}", set.name, revisions[index].name));
        revisions[index].measure(set, &known[index], folder)
    };
    let [base, tree]: [Measured; 2] = [measure(0)?, measure(1)?];
    let compared = compare::runs(&base.run, &tree.run);
    let mut lines: Vec<String> = compared
        .iter()
        .filter_map(|one| Some(format!("{}: {}", one.name, one.outcome.line(SHOWN)?)))
        .collect();
    if base.status != tree.status {
        lines.push(format!("exit status {} → {}", base.status, tree.status));
    }
    say(&format!("{}: {} cases, {} differ", set.name, compared.len() - 1, lines.len()));
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_checked() {
        let parse = |text: &str| {
            let words: Vec<&str> = text.split(' ').filter(|word| !word.is_empty()).collect();
            Options::parse(&words)
                .map(|options| format!("{options:?}"))
                .map_err(|error| error.to_string())
        };
        let all = parse("5a571b3 --quick p3 --base-checkout /b vm").unwrap();
        assert!(
            all.contains(
                r#"base: "5a571b3", is_quick: true, checkout: Some("/b"), filters: ["p3", "vm"]"#
            ),
            "{all}"
        );
        for text in ["", "--quick", "5a571b3 --frob"] {
            assert!(parse(text).unwrap_err().contains("usage: cargo xtask same BASE"), "{text}");
        }
        assert!(parse("5a571b3 --base-checkout").is_err());
    }
}
