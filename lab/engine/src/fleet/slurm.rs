//! Slurm as an engine: the shards are one array of jobs. The programs are Slurm's own, `sbatch`,
//! `squeue`, `scancel`, `sacct` and `scontrol`, of version 22.05 or later.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::AtomicBool,
    thread,
    time::{Duration, Instant},
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
    /// The last job of each shard that this lab has submitted, as `17_3`.
    jobs: BTreeMap<usize, String>,
}

/// The name of the jobs' script in the folder of the parts.
const SCRIPT: &str = "shard.sh";

/// The line of the script before the run's UUID.
const UUID: &str = "# run ";

/// The variable with a job's place in its array, which is the number of the shard.
const PLACE: &str = "$SLURM_ARRAY_TASK_ID";

/// The longest time for which a job that completes is asked for its end.
const PATIENCE: Duration = Duration::from_secs(20);

/// The longest time for which Slurm's answer to a question is waited for.
const QUESTION: Duration = Duration::from_secs(60);

/// The longest time that a submission or a cancellation may take: sbatch itself tries again for a while
/// where the controller is busy.
const ORDER: Duration = Duration::from_secs(300);

/// The parts of a shard's command that all shards share: the program, and the words after the
/// shard's own.
pub struct Words {
    /// The path of this program.
    pub program: PathBuf,
    /// The words of the command line after `run`.
    pub after: Vec<OsString>,
}

impl Slurm {
    /// Writes the script of the jobs into the folder of the parts. `uuid` is the run's; `options` are
    /// passed on to sbatch.
    ///
    /// # Errors
    /// If the script cannot be written.
    pub fn new(
        name: &str,
        uuid: &str,
        words: &Words,
        parts: &Parts,
        options: &[String],
    ) -> Result<Self> {
        let path = parts.folder.join(SCRIPT);
        if !parts.is_begun {
            fs::write(&path, script(uuid, words, parts))
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(Self {
            name: name.to_owned(),
            script: path,
            folder: parts.folder.clone(),
            options: options.to_vec(),
            jobs: BTreeMap::new(),
        })
    }

    fn log(&self, shard: usize) -> PathBuf {
        self.folder.join(format!("log-{shard}.txt"))
    }

    /// Slurm's own reason for the end of a shard. A job that still completes has none yet: it is asked for
    /// again, up to [`PATIENCE`].
    fn reason(&self, shard: usize, stop: &AtomicBool) -> Option<String> {
        let job = self.jobs.get(&shard)?;
        let start = Instant::now();
        loop {
            let reason = Self::reason_now(job, stop);
            let is_final = reason.as_ref().is_none_or(|reason| !is_passing(reason));
            if is_final || start.elapsed() > PATIENCE {
                return reason;
            }
            thread::sleep(Duration::from_millis(500));
        }
    }

    /// Slurm's reason as it is now: from the accounting, or from the controller, which remembers a job for
    /// some minutes.
    fn reason_now(job: &str, stop: &AtomicBool) -> Option<String> {
        let fields = "--format=State,ExitCode,Reason,NodeList";
        let words = ["--noheader", "--parsable2", "--allocations", fields, "--jobs", job];
        let counted = ask(Command::new("sacct").args(words), QUESTION, stop).ok();
        counted.and_then(|text| accounted(&text)).or_else(|| {
            let words = ["--oneliner", "show", "job", job];
            controlled(&ask(Command::new("scontrol").args(words), QUESTION, stop).ok()?)
        })
    }
}

/// The script of the jobs. It writes its own log: in a path that sbatch is given for it, `%` and `\`
/// have a meaning.
fn script(uuid: &str, words: &Words, parts: &Parts) -> Vec<u8> {
    let folder = quoted(parts.folder.as_os_str().as_bytes());
    let mut text = format!("#!/bin/sh\n{UUID}{uuid}\nexec >").into_bytes();
    text.extend(&folder);
    text.extend(format!("/log-{PLACE}.txt 2>&1\nexec ").bytes());
    text.extend(quoted(words.program.as_os_str().as_bytes()));
    text.extend(b" run --part ");
    text.extend(&folder);
    text.extend(format!("/part-{PLACE}.json --shard {PLACE}/{}", parts.of).bytes());
    for word in &words.after {
        text.push(b' ');
        text.extend(quoted(word.as_bytes()));
    }
    text.push(b'\n');
    text
}

/// The UUID of the run whose shards a lab has begun in this folder, if they are of the command with
/// these words, in as many shards.
pub fn begun(folder: &Path, words: &Words, of: usize) -> Option<String> {
    let text = fs::read(folder.join(SCRIPT)).ok()?;
    let line = text.split(|byte| *byte == b'\n').nth(1)?;
    let uuid = std::str::from_utf8(line).ok()?.strip_prefix(UUID)?;
    let parts = Parts { folder: folder.to_owned(), of, is_begun: true };
    (script(uuid, words, &parts) == text).then(|| uuid.to_owned())
}

/// Slurm's reason in a line of sacct: state, exit status and signal, reason, nodes.
fn accounted(text: &str) -> Option<String> {
    let mut fields = text.lines().next()?.split('|');
    let mut next = || fields.next().unwrap_or_default();
    let [state, exit, reason, nodes] = [next(), next(), next(), next()];
    sentence(state, reason, exit, nodes)
}

/// Slurm's reason in a line of `scontrol show job`, which has `NAME=VALUE` between blanks.
fn controlled(text: &str) -> Option<String> {
    let line = text.lines().next()?;
    let field = |name: &str| {
        let words = line.split(' ').filter_map(|word| word.split_once('='));
        words.into_iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value)
    };
    sentence(field("JobState"), field("Reason"), field("ExitCode"), field("NodeList"))
}

/// Returns whether Slurm's sentence has a state that another follows.
fn is_passing(sentence: &str) -> bool {
    const PASSING: [&str; 3] = ["COMPLETING", "RUNNING", "SIGNALING"];
    PASSING.iter().any(|state| sentence.starts_with(state))
}

fn sentence(state: &str, reason: &str, exit: &str, nodes: &str) -> Option<String> {
    let is_given = |word: &str| !matches!(word, "" | "None" | "None assigned" | "(null)" | "0:0");
    let named = [("", state), ("reason ", reason), ("exit ", exit), ("on ", nodes)];
    let named = named.into_iter().filter(|(_, word)| is_given(word));
    let words: Vec<String> =
        named.map(|(name, word)| format!("{name}{}", printable(word))).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

/// Runs a program of Slurm that a signal does not stop: a submission that was cut short may have been taken,
/// and the jobs are cancelled after a signal.
///
/// # Errors
/// As [`ask`].
fn order(command: &mut Command) -> Result<String> {
    ask(command, ORDER, &AtomicBool::new(false))
}

/// Runs a program of Slurm and returns its output.
///
/// # Errors
/// The program is missing, fails, has not ended within `limit`, or `stop` becomes true.
fn ask(command: &mut Command, limit: Duration, stop: &AtomicBool) -> Result<String> {
    let program = command.get_program().display().to_string();
    let answer = child::output_within(command, limit.into(), stop);
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
        let mut sbatch = Command::new("sbatch");
        // A shard that was lost is submitted again by the lab.
        sbatch.args(["--parsable", "--no-requeue", "--output=/dev/null"]);
        sbatch.arg(format!("--job-name={}", self.name));
        sbatch.arg(format!("--array={}", numbers.join(",")));
        let answer = order(sbatch.args(&self.options).arg(&self.script))?;
        // The answer is the job's number, and in a federation the cluster's name after a semicolon.
        let number: String = answer.chars().take_while(char::is_ascii_digit).collect();
        self.jobs.extend(shards.iter().map(|shard| (*shard, format!("{number}_{shard}"))));
        Ok(())
    }

    fn under_way(&mut self, stop: &AtomicBool) -> Result<BTreeMap<usize, State>> {
        let mut squeue = Command::new("squeue");
        squeue.args(["--noheader", "--array", "--format=%K %T"]);
        let text = ask(squeue.arg(format!("--name={}", self.name)), QUESTION, stop)?;
        Ok(states(&text))
    }

    fn cancel(&mut self) {
        // The jobs' name is in the message of the error that led here.
        let _ = order(Command::new("scancel").arg(format!("--name={}", self.name)));
    }

    fn complaint(&self, shard: usize, stop: &AtomicBool) -> Option<String> {
        let said = last_line(&self.log(shard)).map(|line| printable(&line));
        let reason = self.reason(shard, stop).map(|reason| format!("Slurm says {reason}"));
        let both: Vec<String> = said.into_iter().chain(reason).collect();
        (!both.is_empty()).then(|| both.join("; "))
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
    fn a_program_that_hangs_is_given_up() {
        let ask = |limit, is_stopped| {
            let stop = AtomicBool::new(is_stopped);
            ask(Command::new("sleep").arg("1000"), limit, &stop).unwrap_err().to_string()
        };
        let error = ask(Duration::from_millis(100), false);
        assert!(error.starts_with("the watchdog ended sleep after"), "{error}");
        assert_eq!(ask(QUESTION, true), "interrupted");
    }

    #[test]
    fn the_script_starts_the_shard_s_command() {
        let folder = child::Folder::new().unwrap();
        let place = folder.as_ref();
        let parts = Parts { folder: place.to_owned(), of: 8, is_begun: false };
        let words = Words { program: "/a b/lab".into(), after: vec!["it's".into()] };
        let slurm = Slurm::new("chronoscope-1", "1-2", &words, &parts, &[]).unwrap();
        let shown = place.display();
        assert_eq!(
            fs::read_to_string(&slurm.script).unwrap(),
            format!(
                "#!/bin/sh\n# run 1-2\nexec >'{shown}'/log-{PLACE}.txt 2>&1\n\
                 exec '/a b/lab' run --part '{shown}'/part-{PLACE}.json --shard {PLACE}/8 'it'\\''s'\n"
            )
        );
        // The same command goes on with it, and no other.
        assert_eq!(begun(place, &words, 8).as_deref(), Some("1-2"));
        assert_eq!(begun(place, &words, 7), None);
        let other = Words { after: vec!["its".into()], ..words };
        assert_eq!(begun(place, &other, 8), None);
    }

    #[test]
    fn reasons_are_read() {
        let line = "NODE_FAIL|0:0|None|n1\n";
        assert_eq!(accounted(line).as_deref(), Some("NODE_FAIL, on n1"));
        let line = "CANCELLED by 0|0:15|None|None assigned\n";
        assert_eq!(accounted(line).as_deref(), Some("CANCELLED by 0, exit 0:15"));
        assert_eq!(accounted(""), None);
        let line = "JobId=3 ArrayTaskId=1 JobName=x JobState=FAILED Reason=NonZeroExitCode \
                    ExitCode=2:0 Partition=all NodeList=n2 Command=/a=b c\n";
        let told = "FAILED, reason NonZeroExitCode, exit 2:0, on n2";
        assert_eq!(controlled(line).as_deref(), Some(told));
        assert_eq!(controlled("slurm_load_jobs error"), None);
        let completes = accounted("COMPLETING|0:15|None|n1").unwrap();
        assert!(
            is_passing(&completes) && !is_passing("CANCELLED by 0") && !is_passing("COMPLETED")
        );
    }
}
