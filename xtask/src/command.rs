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

/// The wall-clock limit of [`limited`] as a multiple of its processor time: enough for a machine whose
/// cores have six tasks each.
const PATIENCE: u32 = 6;

/// A command that is ended when one of its processes has taken these minutes of processor time, which
/// a busy machine does not change; or, since it may wait for ever, when six times as much has passed.
pub fn limited(minutes: u32, program: &str) -> Command {
    limited_to(60 * minutes, program)
}

fn limited_to(seconds: u32, program: &str) -> Command {
    let mut command = Command::new("timeout");
    command.arg((PATIENCE * seconds).to_string());
    command.args(["prlimit", &format!("--cpu={seconds}"), program]);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limited_command_keeps_its_status_and_its_output() {
        let mut shell = limited(1, "sh");
        let output = shell.args(["-c", "echo out; ulimit -t; exit 7"]).output().unwrap();
        assert_eq!((output.status.code(), &*text(&output)), (Some(7), "out\n60\n"));
    }

    #[test]
    fn a_command_that_computes_for_ever_is_ended() {
        let mut shell = limited_to(1, "sh");
        let status = shell.args(["-c", "while :; do :; done"]).status().unwrap();
        assert!(!status.success(), "{status}");
    }
}
