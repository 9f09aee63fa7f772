//! A load of the user's own: a command that runs beside the cases of a run.

use std::{
    process::Command,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
    time::Duration,
};

use anyhow::{Result, bail};

use chronoscope_base::console;
use chronoscope_child as child;
use chronoscope_run::Status;

/// The time after which a command that still runs is taken for a load.
const START: Duration = Duration::from_millis(300);

/// The time after which a load is ended anyway: the longest soak.
const LONGEST: Duration = Duration::from_secs(366 * 86_400);

/// Becomes true when the value is dropped, by a panic too.
struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Measures while the shell runs `command`, whose whole process group is killed afterwards. Returns the
/// exit status of `measure`, but for a pass beside a load that ended earlier: inconclusive.
///
/// # Errors
/// The command ends at once, or `measure` fails.
pub(super) fn run(command: Option<&str>, measure: impl FnOnce() -> Result<u8>) -> Result<u8> {
    let Some(command) = command else { return measure() };
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let load = scope.spawn(|| {
            let mut shell = Command::new("sh");
            let ended = child::run::<child::Error>(
                shell.args(["-c", command]),
                "the load",
                LONGEST.into(),
                &stop,
                &mut |_| Ok(()),
            );
            ended.map_or_else(|error| error.to_string(), |()| "the load has ended".to_owned())
        });
        let ending = Ending(&stop);
        thread::sleep(START);
        if load.is_finished() {
            let why = load.join().unwrap_or_default();
            bail!("`--load`: {why}: give a command that runs until it is stopped");
        }
        let status = measure();
        let has_ended = load.is_finished();
        drop(ending);
        let why = load.join().unwrap_or_default();
        if has_ended {
            console::remark(&format!("`--load`: {why} before the run: a part ran without it"));
        }
        let pass = Status::Pass.exit_code();
        Ok(match status? {
            status if status == pass && has_ended => Status::Inconclusive.exit_code(),
            status => status,
        })
    })
}
