//! `chronoscope explain`: the words of the screen and the page, and the names of experiments, studies,
//! parameters, kernels, machines and chips.

use std::{collections::BTreeSet, path::Path};

use anyhow::{Result, bail};
use chronoscope_suite::{EXPERIMENTS, Parameter, experiments};

use super::list;
use crate::cli;
use chronoscope_base::console;
use chronoscope_chips::Table;
use chronoscope_engine::study;
use chronoscope_machine::Machines;
use chronoscope_report::{
    Screen, answer::explain::glossary, answer::explain::term, text_table::fold,
};
use chronoscope_units::{printable, words};

/// Prints the explanations of words, or lists all words; returns the exit status.
///
/// # Errors
/// A word is unknown; the message names the nearest ones, and nothing is printed.
pub fn execute(arguments: &cli::Explain) -> Result<u8> {
    if arguments.words.is_empty() {
        let names: Vec<&str> = glossary().map(|(name, _)| name).collect();
        console::print(&format!(
            "chronoscope explain WORD, of these, or the name of an experiment, a study, a parameter, a \
             kernel, a machine or a chip:\n\n{}\n",
            names.join("\n")
        ))?;
        return Ok(0);
    }
    let named = Named::read();
    let explained = |word: &String| {
        let singular = word.strip_suffix('s').unwrap_or(word);
        for form in [word, singular] {
            if let Some(text) = named.explanation(form)? {
                return Ok(text);
            }
        }
        let near = words::nearest_three(word, named.known().into_iter());
        bail!(
            "there is no word `{}`: did you mean {near}? `chronoscope explain` lists all",
            printable(word)
        )
    };
    let texts = arguments.words.iter().map(explained).collect::<Result<Vec<_>>>()?;
    console::print(&fold(&texts.join("\n"), Screen::for_output(None, None).columns))?;
    Ok(0)
}

/// The names beside the glossary's that have an explanation.
struct Named {
    parameters: Parameters,
    targets: Vec<String>,
}

impl Named {
    fn read() -> Self {
        let machines = Machines::default();
        let targets: Vec<String> = machines.targets().collect();
        Self { parameters: Parameters::new(&machines, &targets), targets }
    }

    /// The meanings of a word: in the glossary, as an experiment, a study, a parameter, a part of a target
    /// and a chip, in this order; `None` for an unknown word.
    fn explanation(&self, word: &str) -> Result<Option<String>> {
        let study = match study::named(word) {
            Some(name) => Some(format!(
                "{name}: a study\n\n{}\n`chronoscope run {name}` runs it\n",
                study::find(Path::new(name))?.title
            )),
            None => None,
        };
        let parts: Vec<String> = [
            term(word),
            experiments::find(word).map(list::describe),
            study,
            self.parameters.about(word),
            self.part_of_targets(word),
            chip(word),
        ]
        .into_iter()
        .flatten()
        .collect();
        Ok((!parts.is_empty()).then(|| parts.join("\n")))
    }

    /// All words that have an explanation, each once.
    fn known(&self) -> BTreeSet<&str> {
        let terms = glossary().flat_map(|(name, _)| name.split(", "));
        let experiments = EXPERIMENTS.iter().map(|spec| spec.name);
        let parameters = self.parameters.0.iter().map(|(_, parameter)| parameter.name);
        let parts = self.targets.iter().flat_map(|target| target.split('@'));
        let mut all: BTreeSet<&str> =
            terms.chain(experiments).chain(study::names()).chain(parameters).collect();
        all.extend(parts);
        all
    }

    /// The targets with this kernel or on this machine.
    fn part_of_targets(&self, word: &str) -> Option<String> {
        let word = word.to_lowercase();
        let [of_kernel, on_machine] = [0, 1].map(|part| {
            let has = |target: &&String| target.split('@').nth(part) == Some(&*word);
            self.targets.iter().filter(has).cloned().collect::<Vec<_>>().join(", ")
        });
        match (&*of_kernel, &*on_machine) {
            ("", "") => None,
            ("", targets) => Some(format!("{word}: a machine\n\nTargets: {targets}\n")),
            (targets, _) => Some(format!("{word}: a kernel\n\nTargets: {targets}\n")),
        }
    }
}

/// The chip whose time is modelled.
fn chip(word: &str) -> Option<String> {
    let word = word.to_lowercase();
    let table = Table::read();
    let part = table.parts.iter().find(|part| part.name == word)?;
    let megahertz = part.hertz / 1_000_000;
    Some(format!(
        "{word}: a chip\n\n{} at up to {megahertz} MHz, by a model: --chip {word}:{megahertz}MHz with a \
         target on {}\n",
        part.core,
        part.runs.join(" or ")
    ))
}

/// All parameters, each with the experiment that takes it, or with the target that takes it for all
/// experiments.
struct Parameters(Vec<(String, &'static Parameter)>);

impl Parameters {
    fn new(machines: &Machines, targets: &[String]) -> Self {
        let mut all: Vec<(String, &'static Parameter)> = Vec::new();
        for spec in EXPERIMENTS {
            let own = spec.parameters.iter();
            all.extend(own.map(|parameter| (spec.name.to_owned(), parameter)));
        }
        // A word has its explanation where a machine cannot be described, too.
        let described = targets.iter().filter_map(|target| {
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
