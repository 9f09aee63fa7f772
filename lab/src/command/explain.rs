//! `chronoscope explain`: the words of the screen and the page, and the names of experiments, of
//! studies and of parameters.

use std::{collections::BTreeSet, path::Path};

use anyhow::{Result, bail};
use chronoscope_suite::{EXPERIMENTS, Parameter, experiments};

use super::list;
use crate::cli;
use chronoscope_base::console;
use chronoscope_engine::study;
use chronoscope_machine::Machines;
use chronoscope_report::{
    Screen, answer::explain::glossary, answer::explain::term, text_table::fold,
};
use chronoscope_units::{printable, words};

/// Prints the explanation of a word, or all words; returns the exit status.
///
/// # Errors
/// The word is unknown; the message names the nearest ones.
pub fn execute(arguments: &cli::Explain) -> Result<u8> {
    let Some(word) = arguments.word.as_deref() else {
        let names: Vec<&str> = glossary().map(|(name, _)| name).collect();
        console::print(&format!(
            "chronoscope explain WORD, of these, or the name of an experiment, a study or a \
             parameter:\n\n{}\n",
            names.join("\n")
        ))?;
        return Ok(0);
    };
    let parameters = Parameters::all();
    let Some(text) = explanation(word, &parameters)? else {
        let near = words::nearest_three(word, known(&parameters).into_iter());
        bail!(
            "there is no word `{}`: did you mean {near}? `chronoscope explain` lists all",
            printable(word)
        );
    };
    console::print(&fold(&text, Screen::for_output(None, None).columns))?;
    Ok(0)
}

/// The meanings of a word: in the glossary, as an experiment, as a study and as a parameter, in this
/// order; `None` for an unknown word.
fn explanation(word: &str, parameters: &Parameters) -> Result<Option<String>> {
    let study = match study::named(word) {
        Some(name) => Some(format!(
            "{name}: a study\n\n{}\n`chronoscope run {name}` runs it\n",
            study::find(Path::new(name))?.title
        )),
        None => None,
    };
    let parts: Vec<String> =
        [term(word), experiments::find(word).map(list::describe), study, parameters.about(word)]
            .into_iter()
            .flatten()
            .collect();
    Ok((!parts.is_empty()).then(|| parts.join("\n")))
}

/// All words that have an explanation, each once.
fn known(parameters: &Parameters) -> BTreeSet<&'static str> {
    let terms = glossary().flat_map(|(name, _)| name.split(", "));
    let experiments = EXPERIMENTS.iter().map(|spec| spec.name);
    let parameters = parameters.0.iter().map(|(_, parameter)| parameter.name);
    terms.chain(experiments).chain(study::names()).chain(parameters).collect()
}

/// All parameters, each with the experiment that takes it, or with the target that takes it for all
/// experiments.
struct Parameters(Vec<(String, &'static Parameter)>);

impl Parameters {
    fn all() -> Self {
        let machines = Machines::default();
        let mut all: Vec<(String, &'static Parameter)> = Vec::new();
        for spec in EXPERIMENTS {
            let own = spec.parameters.iter();
            all.extend(own.map(|parameter| (spec.name.to_owned(), parameter)));
        }
        // A word has its explanation where a machine cannot be described, too.
        let described = machines.targets().filter_map(|target| {
            let own = machines.describe(&target.parse().ok()?).ok()?.parameters;
            Some((target, own))
        });
        for (target, own) in described {
            all.extend(own.into_iter().map(|(parameter, _)| (target.clone(), parameter)));
        }
        Self(all)
    }

    /// The meanings of a parameter's name to experiments and targets, each meaning on one line.
    fn about(&self, name: &str) -> Option<String> {
        let ours = || self.0.iter().filter(|(_, parameter)| parameter.name == name);
        let mut lines: Vec<(Vec<&str>, String)> = Vec::new();
        for (of, parameter) in ours() {
            let line = list::line(parameter, parameter.default);
            match lines.iter_mut().find(|(_, known)| *known == line) {
                Some((all, _)) => all.push(of),
                None => lines.push((vec![of], line)),
            }
        }
        let first = ours().next()?.1;
        let mut text = format!("{}: a parameter (--set {}=VALUE)\n", first.name, first.name);
        for (all, line) in lines {
            text.push_str(&format!("\n{}:\n  {line}\n", all.join(", ")));
        }
        Some(text)
    }
}
