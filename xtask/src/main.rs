//! Builds the images of targets and checks the repository: everything that cargo alone cannot do.
//!
//! `./chronoscope test` runs it, the lab calls it for the images it needs, and `cargo xtask` runs
//! it by hand. This file only chooses a subcommand: each is one module and one row of the table.

mod bench;
mod bill;
mod c_kit;
mod changelog;
mod command;
mod compiler;
mod example;
mod firmware;
mod fresh;
mod guest;
mod images;
mod kernel;
mod package;
mod packages;
mod plugin;
mod python;
mod repository;
mod rust;
mod same;
mod site;
mod test;

use std::{env, process::ExitCode};

use anyhow::{Result, bail};

struct Subcommand {
    name: &'static str,
    /// The name and the arguments, two blanks, and one sentence.
    usage: &'static str,
    run: fn(&[&str]) -> Result<()>,
}

static SUBCOMMANDS: [Subcommand; 16] = [
    Subcommand { name: "images", usage: images::USAGE, run: images::run },
    Subcommand { name: "firmware", usage: firmware::USAGE, run: firmware::run },
    Subcommand { name: "guest", usage: guest::USAGE, run: guest::run },
    Subcommand { name: "plugin", usage: plugin::USAGE, run: plugin::run },
    Subcommand { name: "bench", usage: bench::USAGE, run: bench::run },
    Subcommand { name: "c-kit", usage: c_kit::USAGE, run: c_kit::run },
    Subcommand { name: "kernel", usage: kernel::USAGE, run: kernel::run },
    Subcommand { name: "packages", usage: packages::USAGE, run: packages::run },
    Subcommand { name: "example", usage: example::USAGE, run: example::run },
    Subcommand { name: "package", usage: package::USAGE, run: package::run },
    Subcommand { name: "site", usage: site::USAGE, run: site::run },
    Subcommand { name: "changelog", usage: changelog::USAGE, run: changelog::run },
    Subcommand { name: "test", usage: test::USAGE, run: test::run },
    Subcommand { name: "same", usage: same::USAGE, run: same::run },
    Subcommand { name: "tandem", usage: test::TANDEM_USAGE, run: test::tandem },
    Subcommand { name: "step", usage: test::STEP_USAGE, run: test::step },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => match error.downcast_ref() {
            Some(packages::NotInstalled { status }) => {
                u8::try_from(*status).map_or(ExitCode::FAILURE, ExitCode::from)
            }
            None => {
                eprintln!("chronoscope: {error:#}");
                ExitCode::FAILURE
            }
        },
    }
}

fn dispatch(arguments: &[&str]) -> Result<()> {
    if compiler::is_called(arguments) {
        return compiler::run(arguments);
    }
    let Some((name, rest)) = arguments.split_first() else {
        let usages: Vec<&str> = SUBCOMMANDS.iter().map(|subcommand| subcommand.usage).collect();
        bail!("say what to do, as in cargo xtask …\n    {}", usages.join("\n    "));
    };
    let Some(subcommand) = SUBCOMMANDS.iter().find(|subcommand| subcommand.name == *name) else {
        let names: Vec<&str> = SUBCOMMANDS.iter().map(|subcommand| subcommand.name).collect();
        bail!("xtask has no `{name}`: there is {}", names.join(", "));
    };
    (subcommand.run)(rest)
}

/// Prints a message on standard error. The lab shows such lines to its user.
fn say(text: &str) {
    eprintln!("chronoscope: {text}");
}
