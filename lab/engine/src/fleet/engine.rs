//! Runs the shards of a plan by an engine, such as a cluster's scheduler: submits them, waits for
//! their parts, and submits again those that were lost. It knows no engine.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};

/// A place that runs shards. Each shard's command writes its part at its end, or nothing.
pub trait Engine {
    /// Submits these shards, each of which is not under way.
    ///
    /// # Errors
    /// If the engine does not take them.
    fn submit(&mut self, shards: &[usize]) -> Result<()>;

    /// The shards that wait or run. All others have ended, or were lost. The question is given up when `stop`
    /// becomes true.
    ///
    /// # Errors
    /// If the engine does not answer.
    fn under_way(&mut self, stop: &AtomicBool) -> Result<BTreeMap<usize, State>>;

    /// Ends all shards. One that cannot be ended is left to the engine.
    fn cancel(&mut self);

    /// The reason why a shard ended without a part, if the engine has one. The question is given up when
    /// `stop` becomes true.
    fn complaint(&self, shard: usize, stop: &AtomicBool) -> Option<String>;
}

/// The state of a shard that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The engine has not started the shard.
    Waiting,
    /// The shard runs.
    Running,
}

/// The parts of shards in a folder that all machines share.
pub struct Parts {
    /// The folder.
    pub folder: PathBuf,
    /// The number of shards.
    pub of: usize,
    /// Another lab has begun them: some parts may be there, and some shards under way.
    pub is_begun: bool,
}

impl Parts {
    /// The file of a shard's part.
    pub fn path(&self, shard: usize) -> PathBuf {
        self.folder.join(format!("part-{shard}.json"))
    }

    fn is_there(&self, shard: usize) -> bool {
        // Reading the folder makes a network file system look for new files.
        let _ = self.folder.read_dir();
        self.path(shard).is_file()
    }
}

/// The number of times that a shard is submitted.
const TRIES: usize = 3;

/// How long an engine may be silent.
const PATIENCE: Duration = Duration::from_secs(300);

/// The state of all shards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Shards whose part is there.
    pub complete: usize,
    /// Shards that run.
    pub running: usize,
    /// Shards that wait for a machine.
    pub waiting: usize,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { complete, running, waiting } = self;
        let all = complete + running + waiting;
        write!(f, "{complete} of {all} shards are complete, {running} run, {waiting} wait")
    }
}

/// The pace at which an engine is watched.
#[derive(Clone, Copy)]
pub struct Pace {
    /// The time between two questions to the engine.
    pub look: Duration,
    /// The time that a part may take to appear after its shard has ended: a network file system shows
    /// other machines' files late.
    pub late: Duration,
}

/// Runs all shards, and returns when all parts are there. Of shards that another lab has begun, only
/// those are submitted that are neither there nor under way. A shard that ended without a part is
/// submitted again, up to twice. `show` gets each change of the counts. When `stop` becomes true,
/// all shards are ended.
///
/// # Errors
/// If the engine refuses the shards at first or for five minutes, is silent for five minutes, or lost
/// a shard three times; or if `stop` becomes true. All shards are ended then, and existing parts stay.
/// If the engine does not answer the first question about shards that another lab has begun, they go
/// on.
pub fn gather(
    engine: &mut dyn Engine,
    parts: &Parts,
    pace: Pace,
    stop: &AtomicBool,
    show: &mut dyn FnMut(Counts),
) -> Result<()> {
    let begun = if parts.is_begun { engine.under_way(stop) } else { Ok(BTreeMap::new()) };
    if begun.is_err() && stop.load(Ordering::Relaxed) {
        engine.cancel();
    }
    // An engine that cannot say which shards are under way has ended none of them.
    let begun = begun?;
    let open = |shard: &usize| !begun.contains_key(shard) && !parts.is_there(*shard);
    let open: Vec<usize> = (1..=parts.of).filter(open).collect();
    let mut repeated = false;
    let outcome = wait(engine, parts, &open, pace, stop, show, &mut repeated);
    // A shard that was thought lost may go on beside its repetition.
    if repeated || outcome.is_err() {
        engine.cancel();
    }
    outcome
}

fn wait(
    engine: &mut dyn Engine,
    parts: &Parts,
    open: &[usize],
    pace: Pace,
    stop: &AtomicBool,
    show: &mut dyn FnMut(Counts),
    repeated: &mut bool,
) -> Result<()> {
    let mut tries: BTreeMap<usize, usize> = (1..=parts.of).map(|shard| (shard, 1)).collect();
    let mut ended: BTreeMap<usize, Instant> = BTreeMap::new();
    let mut shown = Counts::default();
    let mut heard = Instant::now();
    // The time since which the engine takes no shards.
    let mut refused: Option<Instant> = None;
    if !open.is_empty() {
        engine.submit(open)?;
    }
    loop {
        if stop.load(Ordering::Relaxed) {
            bail!("interrupted");
        }
        tries.retain(|shard, _| !parts.is_there(*shard));
        if tries.is_empty() {
            show(Counts { complete: parts.of, ..Counts::default() });
            return Ok(());
        }
        match engine.under_way(stop) {
            Ok(under_way) => {
                heard = Instant::now();
                ended.retain(|shard, _| !under_way.contains_key(shard));
                let running = tries.keys().filter(|shard| {
                    under_way.get(shard).is_some_and(|state| *state == State::Running)
                });
                let (complete, running) = (parts.of - tries.len(), running.count());
                let counts = Counts { complete, running, waiting: tries.len() - running };
                if counts != shown {
                    shown = counts;
                    show(counts);
                }
                let gone = tries.keys().filter(|shard| !under_way.contains_key(shard)).copied();
                let lost: Vec<usize> = gone
                    .filter(|&shard| {
                        ended.entry(shard).or_insert_with(Instant::now).elapsed() >= pace.late
                            && !parts.is_there(shard)
                    })
                    .collect();
                check_tries(engine, &tries, &lost, stop)?;
                let submitted = if lost.is_empty() { Ok(()) } else { engine.submit(&lost) };
                match submitted {
                    Ok(()) => {
                        refused = None;
                        *repeated |= !lost.is_empty();
                        lost.iter().for_each(|shard| *tries.entry(*shard).or_default() += 1);
                        ended.retain(|shard, _| !lost.contains(shard));
                    }
                    Err(error) => {
                        if refused.get_or_insert_with(Instant::now).elapsed() >= PATIENCE {
                            return Err(error);
                        }
                    }
                }
            }
            Err(error) if heard.elapsed() >= PATIENCE => return Err(error),
            Err(_) => {}
        }
        pause(pace.look, stop);
    }
}

/// Checks that each lost shard may be submitted once more.
fn check_tries(
    engine: &dyn Engine,
    tries: &BTreeMap<usize, usize>,
    lost: &[usize],
    stop: &AtomicBool,
) -> Result<()> {
    let Some(shard) = lost.iter().find(|shard| tries.get(*shard) == Some(&TRIES)) else {
        return Ok(());
    };
    let why = engine.complaint(*shard, stop).map_or_else(String::new, |why| format!(": {why}"));
    bail!("shard {shard} ended {TRIES} times without its part{why}")
}

fn pause(time: Duration, stop: &AtomicBool) {
    const STEP: Duration = Duration::from_millis(50);
    let end = Instant::now() + time;
    while Instant::now() < end && !stop.load(Ordering::Relaxed) {
        thread::sleep(STEP.min(time));
    }
}

/// Writes a word of a command for the shell.
pub fn quoted(word: &[u8]) -> Vec<u8> {
    let mut text = vec![b'\''];
    for byte in word {
        match byte {
            b'\'' => text.extend_from_slice(b"'\\''"),
            byte => text.push(*byte),
        }
    }
    text.push(b'\'');
    text
}

/// The last line of a log, if there is one.
pub fn last_line(path: &Path) -> Option<String> {
    let text = std::fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().rev().find(|line| !line.trim().is_empty())?;
    Some(line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, env, fs, process};

    use super::*;

    /// An engine in which each shard runs for two looks, and then writes its part, or is lost.
    struct Scripted {
        folder: PathBuf,
        /// How often each shard is still lost.
        losses: BTreeMap<usize, usize>,
        under_way: BTreeMap<usize, usize>,
        submitted: Vec<Vec<usize>>,
        /// How many submissions are refused, after the first.
        refusals: usize,
        is_silent: bool,
        is_cancelled: bool,
    }

    impl Engine for Scripted {
        fn submit(&mut self, shards: &[usize]) -> Result<()> {
            if !self.submitted.is_empty() && self.refusals > 0 {
                self.refusals -= 1;
                bail!("the engine is busy");
            }
            self.submitted.push(shards.to_vec());
            self.under_way.extend(shards.iter().map(|shard| (*shard, 0)));
            Ok(())
        }

        fn under_way(&mut self, _: &AtomicBool) -> Result<BTreeMap<usize, State>> {
            if self.is_silent {
                bail!("the engine does not answer");
            }
            self.under_way.values_mut().for_each(|looks| *looks += 1);
            let ended: BTreeSet<usize> = self
                .under_way
                .iter()
                .filter_map(|(shard, looks)| (*looks > 2).then_some(*shard))
                .collect();
            for shard in ended {
                self.under_way.remove(&shard);
                match self.losses.get_mut(&shard).filter(|losses| **losses > 0) {
                    Some(losses) => *losses -= 1,
                    None => fs::write(self.folder.join(format!("part-{shard}.json")), "{}")?,
                }
            }
            Ok(self.under_way.keys().map(|shard| (*shard, State::Running)).collect())
        }

        fn cancel(&mut self) {
            self.is_cancelled = true;
        }

        fn complaint(&self, _: usize, _: &AtomicBool) -> Option<String> {
            Some("no room".to_owned())
        }
    }

    fn run(name: &str, losses: &[(usize, usize)], stop: bool) -> (Scripted, Result<Vec<Counts>>) {
        run_begun(name, losses, stop, None)
    }

    /// Gathers three shards. With `begun`, another lab has the part of the first shard of it, and the
    /// second is under way.
    fn run_begun(
        name: &str,
        losses: &[(usize, usize)],
        stop: bool,
        begun: Option<[usize; 2]>,
    ) -> (Scripted, Result<Vec<Counts>>) {
        let folder = env::temp_dir().join(format!("chronoscope-engine-{name}-{}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        let mut engine = Scripted {
            folder: folder.clone(),
            losses: losses.iter().copied().collect(),
            under_way: begun.iter().map(|[_, going]| (*going, 0)).collect(),
            submitted: Vec::new(),
            refusals: 2,
            is_silent: false,
            is_cancelled: false,
        };
        let parts = Parts { folder: folder.clone(), of: 3, is_begun: begun.is_some() };
        if let Some([there, _]) = begun {
            fs::write(parts.path(there), "{}").unwrap();
        }
        let pace = Pace { look: Duration::from_millis(1), late: Duration::from_millis(3) };
        let mut counts = Vec::new();
        let show = &mut |count| counts.push(count);
        let outcome = gather(&mut engine, &parts, pace, &AtomicBool::new(stop), show);
        fs::remove_dir_all(folder).unwrap();
        (engine, outcome.map(|()| counts))
    }

    /// Two submissions are refused on the way, which costs no try.
    #[test]
    fn lost_shards_are_submitted_again() {
        let (engine, counts) = run("lost", &[(2, 2)], false);
        assert_eq!(engine.submitted, [vec![1, 2, 3], vec![2], vec![2]]);
        let counts = counts.unwrap();
        assert_eq!(counts[0].to_string(), "0 of 3 shards are complete, 3 run, 0 wait");
        assert_eq!(counts.last().unwrap().complete, 3);
        // A shard that was thought lost may still run.
        assert!(engine.is_cancelled);
        let (engine, counts) = run("whole", &[], false);
        assert_eq!((engine.submitted.len(), counts.is_ok(), engine.is_cancelled), (1, true, false));
    }

    #[test]
    fn a_killed_lab_s_parts_and_jobs_are_used() {
        let (engine, counts) = run_begun("begun", &[], false, Some([2, 1]));
        assert_eq!(engine.submitted, [vec![3]]);
        assert_eq!(counts.unwrap()[0].to_string(), "1 of 3 shards are complete, 2 run, 0 wait");
    }

    #[test]
    fn a_killed_lab_s_jobs_go_on_if_the_engine_does_not_answer_unless_it_is_stopped() {
        for is_stopped in [false, true] {
            let folder = env::temp_dir();
            let mut engine = Scripted {
                folder: folder.clone(),
                losses: BTreeMap::new(),
                under_way: BTreeMap::from([(1, 0)]),
                submitted: Vec::new(),
                refusals: 0,
                is_silent: true,
                is_cancelled: false,
            };
            let parts = Parts { folder, of: 3, is_begun: true };
            let pace = Pace { look: Duration::from_millis(1), late: Duration::from_millis(3) };
            let stop = AtomicBool::new(is_stopped);
            let error = gather(&mut engine, &parts, pace, &stop, &mut |_| {}).unwrap_err();
            assert_eq!(error.to_string(), "the engine does not answer");
            assert_eq!((engine.is_cancelled, engine.submitted.is_empty()), (is_stopped, true));
        }
    }

    #[test]
    fn a_shard_that_is_always_lost_ends_the_run() {
        let (engine, counts) = run("always", &[(3, 9)], false);
        let error = counts.unwrap_err().to_string();
        assert_eq!(error, "shard 3 ended 3 times without its part: no room");
        assert!(engine.is_cancelled);
    }

    #[test]
    fn a_stop_ends_all_shards() {
        let (engine, counts) = run("stop", &[], true);
        assert_eq!(counts.unwrap_err().to_string(), "interrupted");
        assert!(engine.is_cancelled);
    }

    #[test]
    fn words_are_quoted_for_the_shell() {
        assert_eq!(quoted(b"it's $HOME"), b"'it'\\''s $HOME'");
    }
}
