//! Labels of runs, from the command line and from the environment of a CI system.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail};

use chronoscope_units::OneLine;

/// The labels that are taken from the environment of a CI system, each from the first of its
/// variables that is set: GitHub's, GitLab's, Buildkite's, Jenkins'.
const VARIABLES: [(&str, [&str; 4]); 3] = [
    ("commit", ["GITHUB_SHA", "CI_COMMIT_SHA", "BUILDKITE_COMMIT", "GIT_COMMIT"]),
    ("branch", ["GITHUB_REF_NAME", "CI_COMMIT_REF_NAME", "BUILDKITE_BRANCH", "GIT_BRANCH"]),
    ("build", ["GITHUB_RUN_ID", "CI_PIPELINE_ID", "BUILDKITE_BUILD_ID", "BUILD_ID"]),
];

/// The variable that every CI system sets.
const SIGN: &str = "CI";

/// The longest name of a label, and the longest name of a machine, in characters.
const LONGEST: usize = 100;

/// The labels of `--label` and of the CI system; the former take precedence.
///
/// # Errors
/// A label is not `NAME=VALUE`, or is given twice.
pub fn labels(
    given: &[String],
    variable: impl Fn(&str) -> Option<String>,
) -> Result<BTreeMap<OneLine, OneLine>> {
    let mut labels = BTreeMap::new();
    for text in given {
        let (label, value) = text
            .split_once('=')
            .filter(|(label, value)| is_name(label) && !value.is_empty())
            .with_context(|| format!("`--label {text}`: write NAME=VALUE, as --label board=7"))?;
        if labels.insert(label.into(), value.into()).is_some() {
            bail!("`--label {text}`: the label `{label}` is given twice");
        }
    }
    if variable(SIGN).is_some() {
        for (label, variables) in VARIABLES {
            let value = variables.iter().find_map(|name| variable(name));
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                labels.entry(label.into()).or_insert_with(|| value.into());
            }
        }
    }
    Ok(labels)
}

/// The name of a machine that `--as` gives.
///
/// # Errors
/// The name has other characters than letters, digits, `-`, `_` and `.`.
pub fn machine(name: &str) -> Result<OneLine> {
    if !is_name(name) {
        bail!("`--as {name}`: write a name of letters, digits, `-`, `_` and `.`, as --as bench-3");
    }
    Ok(name.into())
}

fn is_name(text: &str) -> bool {
    let is_sound = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    (1..=LONGEST).contains(&text.chars().count()) && text.chars().all(is_sound)
}
