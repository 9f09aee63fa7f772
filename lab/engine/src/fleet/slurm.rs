//! Slurm as an engine: the shards are one array of jobs. The programs are Slurm's own, `sbatch`,
//! `squeue` and `scancel`, of version 22.05 or later.

use std::{
    collections::BTreeMap, ffi::OsString, fs, os::unix::ffi::OsStrExt, path::PathBuf,
    process::Command, sync::atomic::AtomicBool,
};

use anyhow::{Context, Result, anyhow, bail};

use super::engine::{Engine, Parts, State, last_line, quoted};
use chronoscope_child as child;
use chronoscope_units::printable;

/// A run's shards in Slurm, as jobs of one name.
pub struct Slurm {
    /// The name of the jobs, which no other jobs have.
    name: String,
    script: PathBuf,
    folder: PathBuf,
    options: Vec<String>,
}

/// The variable with a job's place in its array, which is the number of the shard.
const PLACE: &str = "$SLURM_ARRAY_TASK_ID";

/// The parts of a shard's command that all shards share: the program, and the words after the
/// shard's own.
pub struct Words {
    /// The path of this program.
    pub program: PathBuf,
    /// The words of the command line after `run`.
    pub after: Vec<OsString>,
}

impl Slurm {
    /// Writes the script of the jobs into the folder of the parts. `options` are passed on to
    /// sbatch.
    ///
    /// # Errors
    /// If the script cannot be written.
    pub fn new(name: &str, words: &Words, parts: &Parts, options: &[String]) -> Result<Self> {
        let mut text = b"#!/bin/sh\nexec ".to_vec();
        text.extend(quoted(words.program.as_os_str().as_bytes()));
        text.extend(b" run --part ");
        text.extend(quoted(parts.folder.as_os_str().as_bytes()));
        text.extend(format!("/part-{PLACE}.json --shard {PLACE}/{}", parts.of).bytes());
        for word in &words.after {
            text.push(b' ');
            text.extend(quoted(word.as_bytes()));
        }
        text.push(b'\n');
        let script = parts.folder.join("shard.sh");
        fs::write(&script, text).with_context(|| format!("cannot write {}", script.display()))?;
        Ok(Self {
            name: name.to_owned(),
            script,
            folder: parts.folder.clone(),
            options: options.to_vec(),
        })
    }

    fn log(&self, shard: &str) -> PathBuf {
        self.folder.join(format!("log-{shard}.txt"))
    }
}

/// Runs a program of Slurm and returns its output. It is not stopped by a signal: it takes moments,
/// and ends the jobs after one.
fn ask(program: &str, arguments: &[String]) -> Result<String> {
    let answer = child::output(Command::new(program).args(arguments), &AtomicBool::new(false));
    let answer = answer.map_err(|error| match error.is_missing() {
        true => {
            anyhow!("{program} is not installed: run this on a machine that submits jobs to Slurm")
        }
        false => error.into(),
    })?;
    if !answer.status.success() {
        let said = String::from_utf8_lossy(&answer.stderr);
        let said = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("no reason given");
        bail!("{program} failed: {}", printable(said));
    }
    Ok(String::from_utf8_lossy(&answer.stdout).into_owned())
}

impl Engine for Slurm {
    fn submit(&mut self, shards: &[usize]) -> Result<()> {
        let numbers: Vec<String> = shards.iter().map(usize::to_string).collect();
        let mut arguments = vec![
            "--parsable".to_owned(),
            // A shard that was lost is submitted again by the lab.
            "--no-requeue".to_owned(),
            format!("--job-name={}", self.name),
            format!("--array={}", numbers.join(",")),
            format!("--output={}", self.log("%a").display()),
        ];
        arguments.extend(self.options.iter().cloned());
        arguments.push(self.script.display().to_string());
        ask("sbatch", &arguments).map(drop)
    }

    fn under_way(&mut self) -> Result<BTreeMap<usize, State>> {
        let name = format!("--name={}", self.name);
        let words = ["--noheader", "--array", "--format=%K %T"].map(str::to_owned);
        let text = ask("squeue", &[&words[..], &[name]].concat())?;
        Ok(states(&text))
    }

    fn cancel(&mut self) {
        // The jobs' name is in the message of the error that led here.
        let _ = ask("scancel", &[format!("--name={}", self.name)]);
    }

    fn complaint(&self, shard: usize) -> Option<String> {
        last_line(&self.log(&shard.to_string())).map(|line| printable(&line))
    }
}

/// The states in lines of place and state. A job that completes has ended.
fn states(text: &str) -> BTreeMap<usize, State> {
    const ENDED: [&str; 13] = [
        "BOOT_FAIL",
        "CANCELLED",
        "COMPLETED",
        "COMPLETING",
        "DEADLINE",
        "FAILED",
        "LAUNCH_FAILED",
        "NODE_FAIL",
        "OUT_OF_MEMORY",
        "PREEMPTED",
        "RECONFIG_FAIL",
        "REVOKED",
        "TIMEOUT",
    ];
    let line = |line: &str| {
        let (place, state) = line.trim().split_once(' ')?;
        let state = match state.trim() {
            "RUNNING" | "SUSPENDED" | "STOPPED" | "STAGE_OUT" | "SIGNALING" => State::Running,
            // Not a state's name.
            state if !state.starts_with(|first: char| first.is_ascii_uppercase()) => return None,
            state if ENDED.contains(&state.split(' ').next().unwrap_or_default()) => return None,
            // A state that is not known here is no reason to submit the shard twice.
            _ => State::Waiting,
        };
        Some((place.parse().ok()?, state))
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_read() {
        let text = "1 PENDING\n2 RUNNING\n3 COMPLETING\n4 CANCELLED by 0\n5 REQUEUE_HOLD\n\
                    N/A RUNNING\n\n12 CONFIGURING\n";
        let wanted =
            [(1, State::Waiting), (2, State::Running), (5, State::Waiting), (12, State::Waiting)];
        assert_eq!(states(text), BTreeMap::from(wanted));
    }

    #[test]
    fn the_script_starts_the_shard_s_command() {
        let folder = child::Folder::new().unwrap();
        let parts = Parts { folder: folder.as_ref().to_owned(), of: 8 };
        let words = Words { program: "/a b/lab".into(), after: vec!["it's".into()] };
        let slurm = Slurm::new("chronoscope-1", &words, &parts, &[]).unwrap();
        let place = folder.as_ref().display();
        assert_eq!(
            fs::read_to_string(&slurm.script).unwrap(),
            format!(
                "#!/bin/sh\nexec '/a b/lab' run --part '{place}'/part-{PLACE}.json --shard {PLACE}/8 \
                 'it'\\''s'\n"
            )
        );
    }
}
