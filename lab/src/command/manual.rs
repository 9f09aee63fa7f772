//! `chronoscope manual` and `chronoscope completions`: a manual page and completions for a shell,
//! made from the command line's own description.

use anyhow::Result;
use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::cli::Cli;
use chronoscope_base::console;

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
    clap_complete::generate(shell, &mut Cli::command(), "chronoscope", &mut text);
    console::print(&String::from_utf8(text)?)?;
    Ok(0)
}
