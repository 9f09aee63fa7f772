//! Starts other programs and waits for them.

use std::{
    os::unix::process::CommandExt,
    process::{Command, Output},
};

use anyhow::{Context, Result, anyhow, ensure};

/// Runs a command to its end.
///
/// # Errors
/// The command does not start, or does not end with success.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| cannot_start(command))?;
    ensure!(status.success(), "{} ended with {status}", name(command));
    Ok(())
}

/// Runs a command to its end and returns its output.
///
/// # Errors
/// The command does not start, or does not end with success. The message has all that it printed.
pub fn output(command: &mut Command) -> Result<Output> {
    let output = command.output().with_context(|| cannot_start(command))?;
    let status = output.status;
    ensure!(status.success(), "{} ended with {status}: {}", name(command), text(&output));
    Ok(output)
}

/// The longest time that a program may take. Processor time is the real limit, which a busy machine
/// does not change; the wall clock ends a program that waits for ever.
pub struct Limit {
    processor_seconds: u32,
}

/// Wall-clock time by processor time: enough for a machine whose cores have six tasks each.
const PATIENCE: u32 = 6;

impl Limit {
    pub const fn minutes(minutes: u32) -> Self {
        Self { processor_seconds: 60 * minutes }
    }
}

/// A command that ends when it has taken the time of the limit. Each of its processes may take the
/// processor time.
pub fn limited(limit: Limit, program: &str) -> Command {
    let mut command = Command::new("timeout");
    command.arg((PATIENCE * limit.processor_seconds).to_string());
    command.args(["prlimit", &format!("--cpu={}", limit.processor_seconds), program]);
    command
}

/// Becomes `command`: the process goes on as that program, with its exit status.
///
/// # Errors
/// The program does not start.
pub fn become_command(mut command: Command) -> Result<()> {
    let error = command.exec();
    Err(anyhow!(error).context(cannot_start(&command)))
}

/// Returns whether a command starts and ends with success.
pub fn succeeds(command: &mut Command) -> bool {
    command.status().is_ok_and(|status| status.success())
}

/// Everything that a program has printed: standard output, then standard error.
pub fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&*output.stdout, &*output.stderr].concat()).into_owned()
}

fn cannot_start(command: &Command) -> String {
    format!("cannot start {}", name(command))
}

fn name(command: &Command) -> String {
    command.get_program().display().to_string()
}
