//! Starts children with the parent-death signal set. One thread, which lives as long as the
//! process, starts them all: the signal fires when the thread that started the child ends
//! (prctl(2)).
//!
//! # Soundness
//! `pre_exec` runs its closure in the forked child, where only async-signal-safe calls are allowed:
//! other threads' locks may be held for ever there. The closure makes two system calls, `prctl` and
//! `getppid`, through rustix, which issues them directly, without locks or memory allocation.

use std::{
    io, mem,
    os::unix::process::CommandExt,
    process::{Child, Command},
    sync::{
        Mutex, OnceLock, PoisonError,
        mpsc::{Sender, channel},
    },
    thread,
};

use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};

/// A command to start, and the channel on which it returns together with the child.
type Request = (Command, Sender<(Command, io::Result<Child>)>);

/// Starts `command` in a process group of its own and returns the child. The child is killed when
/// this process ends. A Ctrl-C on the terminal reaches only this process, and not the child.
///
/// # Errors
/// The errors of [`Command::spawn`].
pub(crate) fn spawn(command: &mut Command) -> io::Result<Child> {
    let (answer, answered) = channel();
    let owned = mem::replace(command, Command::new(""));
    let gone = || io::Error::other("the thread that starts children has ended");
    let sent = {
        let spawner = spawner().lock().unwrap_or_else(PoisonError::into_inner);
        spawner.send((owned, answer))
    };
    sent.map_err(|_| gone())?;
    let (owned, child) = answered.recv().map_err(|_| gone())?;
    *command = owned;
    child
}

fn spawner() -> &'static Mutex<Sender<Request>> {
    static SPAWNER: OnceLock<Mutex<Sender<Request>>> = OnceLock::new();
    SPAWNER.get_or_init(|| {
        let (sender, requests) = channel::<Request>();
        thread::spawn(move || {
            for (mut command, answer) in requests {
                let child = start(&mut command);
                // A caller that no longer waits has panicked.
                let _ = answer.send((command, child));
            }
        });
        Mutex::new(sender)
    })
}

#[allow(unsafe_code)]
fn start(command: &mut Command) -> io::Result<Child> {
    let parent = getpid();
    // SAFETY: The closure only makes system calls that are async-signal-safe; see the module's
    // head.
    unsafe {
        command.pre_exec(move || {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // The parent may have ended before the signal was set.
            if getppid() == Some(parent) { Ok(()) } else { Err(rustix::io::Errno::SRCH.into()) }
        });
    }
    command.process_group(0).spawn()
}
