//! Signals that end the program: the first asks it to stop and keep all complete repetitions, later
//! ones may end it at once. The module knows nothing of the stopped work.

use std::{
    io, process,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use chronoscope_units::file::within;

/// The exit status of an interrupted run.
pub const INTERRUPTED: u8 = 130;

/// The time after the first signal within which a second one changes nothing. `timeout` signals its
/// child and then its group, a terminal's user presses Ctrl-C twice: neither means to lose results,
/// which are stored within these seconds.
const GRACE: Duration = Duration::from_secs(5);

/// True once a signal has asked the program to stop. One flag: signals reach a whole process.
static STOP: AtomicBool = AtomicBool::new(false);

/// The flag that becomes true when a signal asks the program to stop and keep its complete
/// repetitions. Stays false until [`watch`] is called.
pub fn stop() -> &'static AtomicBool {
    &STOP
}

/// Installs the handler: the first SIGINT, SIGTERM or SIGHUP makes [`stop`] true. A second signal
/// changes nothing; a third within 5 s of the first, or any after these 5 s, ends the program at
/// once with the status [`INTERRUPTED`]. A second call changes nothing.
///
/// # Errors
/// If the handler cannot be installed.
pub fn watch() -> io::Result<&'static AtomicBool> {
    let mut signals = Received::default();
    let installed = ctrlc::set_handler(move || match signals.react(Instant::now()) {
        Reaction::Stop => STOP.store(true, Ordering::Relaxed),
        Reaction::Ignore => {}
        Reaction::End => process::exit(INTERRUPTED.into()),
    });
    match installed {
        Ok(()) | Err(ctrlc::Error::MultipleHandlers) => Ok(stop()),
        Err(error) => Err(within("cannot watch for signals")(io::Error::other(error))),
    }
}

/// The reaction to a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reaction {
    Stop,
    Ignore,
    End,
}

/// The signals so far.
#[derive(Debug, Default)]
struct Received {
    first: Option<Instant>,
    second: bool,
}

impl Received {
    /// Counts a signal that arrived at `now`.
    fn react(&mut self, now: Instant) -> Reaction {
        match self.first {
            None => {
                self.first = Some(now);
                Reaction::Stop
            }
            Some(first) if !self.second && now.duration_since(first) < GRACE => {
                self.second = true;
                Reaction::Ignore
            }
            Some(_) => Reaction::End,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reactions(seconds: &[f64]) -> Vec<Reaction> {
        let (mut signals, start) = (Received::default(), Instant::now());
        seconds.iter().map(|&after| signals.react(start + Duration::from_secs_f64(after))).collect()
    }

    #[test]
    fn the_second_signal_changes_nothing_and_the_third_ends() {
        use Reaction::{End, Ignore, Stop};
        assert_eq!(reactions(&[0.0, 0.0, 0.1]), [Stop, Ignore, End]);
        assert_eq!(reactions(&[0.0, 4.9, 4.95]), [Stop, Ignore, End]);
        assert_eq!(reactions(&[0.0, 5.0]), [Stop, End]);
        assert_eq!(reactions(&[0.0, 1.0, 60.0]), [Stop, Ignore, End]);
    }
}
