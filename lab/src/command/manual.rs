//! `chronoscope manual` and `chronoscope completions`: a manual page and completions for a shell,
//! made from the command line's own description.

use anyhow::Result;
use chronoscope_suite::EXPERIMENTS;
use clap::{Command, CommandFactory as _, builder::PossibleValuesParser};
use clap_complete::Shell;

use crate::cli::Cli;
use chronoscope_base::console;
use chronoscope_engine::study;
use chronoscope_machine::Machines;
use chronoscope_report::answer::explain::glossary;

/// Prints the manual page, in roff: the program, then each command. Returns the exit status.
///
/// # Errors
/// The page cannot be printed.
pub fn page() -> Result<u8> {
    let mut command = Cli::command();
    command.build();
    let mut text = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut text)?;
    for one in command.get_subcommands().filter(|one| !one.is_hide_set()) {
        let man = clap_mangen::Man::new(one.clone());
        text.extend(format!(".SH CHRONOSCOPE {}\n", one.get_name().to_uppercase()).bytes());
        man.render_description_section(&mut text)?;
        man.render_options_section(&mut text)?;
    }
    console::print(&String::from_utf8(text)?)?;
    Ok(0)
}

/// Prints the completions for a shell; returns the exit status.
///
/// # Errors
/// The completions cannot be printed.
pub fn completions(shell: Shell) -> Result<u8> {
    let mut text = Vec::new();
    let mut command = without_hidden(with_names(Cli::command()));
    clap_complete::generate(shell, &mut command, "chronoscope", &mut text);
    console::print(&String::from_utf8(text)?)?;
    Ok(0)
}

/// The command line with the names that a user types: experiments, studies, targets, parameters,
/// chips and words. The parser does not have them, since each of these takes other values too.
fn with_names(command: Command) -> Command {
    let machines = Machines::default();
    let experiments: Vec<&str> = EXPERIMENTS.iter().map(|spec| spec.name).collect();
    let studies: Vec<&str> = study::names().collect();
    let parameters = EXPERIMENTS.iter().flat_map(|spec| spec.parameters).map(|one| one.name);
    let mut parameters: Vec<String> = parameters.map(|name| format!("{name}=")).collect();
    parameters.sort();
    parameters.dedup();
    let targets: Vec<String> = machines.targets().collect();
    let chips: Vec<String> = machines.chips().map(str::to_owned).collect();
    let words: Vec<&str> = glossary().flat_map(|(name, _)| name.split(", ")).collect();
    let both = [&studies[..], &experiments[..]].concat();
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    // The commands and their arguments, by their names in the parser.
    let tables = [
        ("experiments", owned(&both)),
        ("experiment", owned(&experiments)),
        ("study", owned(&studies)),
        ("target", targets),
        ("set", parameters),
        ("chip", chips),
        ("words", owned(&words)),
    ];
    command.mut_subcommands(|one| {
        tables.iter().fold(one, |one, (name, values)| {
            let has = one.get_arguments().any(|argument| argument.get_id() == *name);
            if !has {
                return one;
            }
            let parser = PossibleValuesParser::new(values.clone());
            one.mut_arg(*name, |argument| argument.value_parser(parser))
        })
    })
}

/// The command line without the commands and flags that its help hides.
fn without_hidden(command: Command) -> Command {
    let shown = |command: &Command| {
        let arguments = command.get_arguments().filter(|one| !one.is_hide_set()).cloned();
        let about = command.get_about().cloned().unwrap_or_default();
        Command::new(command.get_name().to_owned())
            .about(about)
            .disable_help_flag(command.is_disable_help_flag_set())
            .args(arguments.collect::<Vec<_>>())
    };
    let inner = |command: &Command| {
        let all = command.get_subcommands().filter(|one| !one.is_hide_set());
        all.map(shown).collect::<Vec<_>>()
    };
    let all = command.get_subcommands().filter(|one| !one.is_hide_set());
    let all: Vec<Command> = all.map(|one| shown(one).subcommands(inner(one))).collect();
    shown(&command).subcommands(all)
}
