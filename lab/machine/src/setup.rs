//! Runs steps of set-up: downloads, builds and boots. A step that takes more than a second is shown
//! with its own time, which does not count as the measurement's. A step that failed leaves a log.

use std::{
    fs,
    path::Path,
    sync::mpsc::{self, RecvTimeoutError::Timeout},
    thread,
    time::{Duration, Instant},
};

use chronoscope_base::console;
use chronoscope_units::rough_time;

/// The time after which a step is shown, and the period at which its time is updated.
const MOMENT: Duration = Duration::from_secs(1);

/// The time between two lines of a step, if there is no progress bar.
const PAUSE: Duration = Duration::from_secs(30);

/// Runs `work`, the step `what` of set-up. A step longer than [`MOMENT`] is shown in the progress
/// bar, or without a bar as a line at once and every 30 s. Its time is printed at its end.
pub(super) fn step<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let (done, wait) = mpsc::channel::<()>();
    let outcome = thread::scope(|scope| {
        scope.spawn(move || {
            let mut next = Duration::ZERO;
            while wait.recv_timeout(MOMENT) == Err(Timeout) {
                let taken = start.elapsed();
                let is_first = next.is_zero();
                if console::show_in_bar(&format!("set-up: {what}, {}", rough_time(taken))) {
                    next = PAUSE;
                } else if is_first || taken >= next {
                    let so_far = format!("{what}: {} so far", rough_time(taken));
                    console::note(if is_first { what } else { &so_far });
                    next = taken + PAUSE;
                }
            }
        });
        let outcome = work();
        drop(done);
        outcome
    });
    if start.elapsed() >= MOMENT {
        console::note(&format!("{what}: took {}", rough_time(start.elapsed())));
    }
    outcome
}

/// The end of a failed step's message: the path of its log, and the command `retry` that does the
/// step again. Writes `words` to the log, a file in `folder` named after the step. A log that
/// cannot be written is not named.
pub(super) fn remedy(folder: &Path, what: &str, words: &[u8], retry: &str) -> String {
    let sign = |sign: char| if sign.is_ascii_alphanumeric() || sign == '.' { sign } else { '-' };
    let log = folder.join(what.chars().map(sign).collect::<String>() + ".log");
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(&log, words));
    match written {
        Ok(()) => format!("log: {}; try again: {retry}", log.display()),
        Err(_) => format!("try again: {retry}"),
    }
}

#[cfg(test)]
mod tests {
    use std::{env, process};

    use super::*;

    #[test]
    fn a_failed_step_leaves_its_log() {
        let folder = env::temp_dir().join(format!("chronoscope-step-{}", process::id()));
        let said = remedy(&folder, "building a/b..c", b"words\n", "make it");
        let log = folder.join("building-a-b..c.log");
        assert_eq!(said, format!("log: {}; try again: make it", log.display()));
        assert_eq!(fs::read(&log).unwrap(), b"words\n");
        assert_eq!(remedy(&log, "x", b"", "make it"), "try again: make it");
        fs::remove_dir_all(folder).unwrap();
    }
}
