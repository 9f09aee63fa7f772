//! Transports: the ways of a call to a server process and back. One file each; `transaction`
//! measures them.
//!
//! | word | there and back |
//! |---|---|
//! | `binder`, `hwbinder` | Android's drivers, by their own protocol |
//! | `unix`, `seqpacket` | a pair of sockets |
//! | `pipe` | a pipe each way |
//! | `tcp` | a connection over the loopback device |
//! | `mq` | a POSIX message queue each way |
//! | `futex`, `eventfd` | shared memory; a semaphore made of one of these rings |
//! | `process_vm` | read from the other's memory by `process_vm_readv`; a futex rings |
//! | `passthrough` | a call of a function: no server |
//!
//! A message is copied into the transport, and the answer is read in place.

mod binder;
mod descriptors;
mod memory;
mod passthrough;

pub use binder::{Binder, Hwbinder, Through};
pub use descriptors::{Descriptors, Mq, Pipe, Seqpacket, Tcp, Unix};
pub use memory::{Eventfd, Futex, Memory, ProcessVm};
pub use passthrough::Passthrough;

use std::{io, ptr};

/// The time, in seconds, that a server may take for a call.
const PATIENCE_S: u32 = 3;

/// The timeout of a client's calls. A timer interrupts the client's waits once a second; answered
/// calls have no cost for it. Each client process has one.
pub struct Patience {
    interruptions: u32,
}

impl Patience {
    /// Starts the timer: from now on, waits of this process end with `EINTR` once a second.
    pub fn new() -> Self {
        extern "C" fn nothing(_: libc::c_int) {}
        let second = libc::timeval { tv_sec: 1, tv_usec: 0 };
        let every_second = libc::itimerval { it_interval: second, it_value: second };
        // SAFETY: the handler does nothing; without SA_RESTART, which signal(3) would set, system
        // calls end. All pointers are to values of this frame.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = nothing as *const () as usize;
            libc::sigaction(libc::SIGALRM, &raw const action, ptr::null_mut());
            libc::setitimer(libc::ITIMER_REAL, &raw const every_second, ptr::null_mut());
        }
        Self { interruptions: 0 }
    }

    /// Returns `true` if the client may go on waiting. Called after a wait was interrupted.
    pub fn go_on(&mut self) -> bool {
        self.interruptions += 1;
        self.interruptions <= PATIENCE_S
    }

    /// Restarts the timeout. Called after an answer has arrived.
    #[inline(always)]
    pub fn answered(&mut self) {
        self.interruptions = 0;
    }
}

fn last_error() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}
