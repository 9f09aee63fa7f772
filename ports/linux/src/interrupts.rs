//! Signals in place of interrupts: code that interrupts a thread at any instruction.
//!
//! - Software: the thread sends itself a signal (`tgkill`). Linux delivers it on the return from
//!   that call.
//! - Timer: a POSIX timer on CLOCK_MONOTONIC sends one to the thread. In a spinning thread it is
//!   delivered on the return from the timer's hardware interrupt.

use std::{ffi::c_int, io, mem, ptr, sync::OnceLock};

use chronoscope_suite::{
    Reason, Refusal,
    kernel::{Handler, Interrupts, Source},
};

use crate::{clock::timespec, executor::IN_HANDLER, kernel::Linux};

const SOFTWARE: c_int = libc::SIGUSR1;
const TIMER: c_int = libc::SIGALRM;

/// The handler of a signal. Written before the signal can arrive; reading it is one load.
static SOFTWARE_WIRE: OnceLock<Wire<()>> = OnceLock::new();
static TIMER_WIRE: OnceLock<Wire<Timer>> = OnceLock::new();

struct Wire<T> {
    handler: Handler,
    process: libc::pid_t,
    thread: libc::pid_t,
    timer: T,
}

struct Timer(libc::timer_t);

// SAFETY: the handle is a number, not a pointer that is followed; the kernel checks it.
unsafe impl Send for Timer {}
// SAFETY: as above.
unsafe impl Sync for Timer {}

impl Interrupts for Linux {
    fn attach(&'static self, source: Source, handler: Handler) -> Result<(), Refusal> {
        let again = Refusal::new(Reason::Invalid, "an interrupt has one handler in a case", "");
        // SAFETY: both take nothing and cannot fail.
        let (process, thread) = unsafe { (libc::getpid(), libc::gettid()) };
        match source {
            Source::Software => {
                SOFTWARE_WIRE
                    .set(Wire { handler, process, thread, timer: () })
                    .map_err(|_| again)?;
                catch(SOFTWARE)
            }
            Source::Timer => {
                let timer = timer_for(thread)?;
                TIMER_WIRE.set(Wire { handler, process, thread, timer }).map_err(|_| again)?;
                catch(TIMER)
            }
            Source::External => {
                Err(Refusal::not_offered("only the RTL bench raises a line from outside"))
            }
        }
    }

    #[inline]
    fn raise(&self) {
        if let Some(wire) = SOFTWARE_WIRE.get() {
            // SAFETY: tgkill takes three numbers. `raise` of the C library would block signals
            // around it.
            unsafe { libc::syscall(libc::SYS_tgkill, wire.process, wire.thread, SOFTWARE) };
        }
    }

    #[inline]
    fn arm(&self, due: u64) {
        if let Some(wire) = TIMER_WIRE.get() {
            let due = timespec(due);
            let once = libc::itimerspec {
                it_interval: libc::timespec { tv_sec: 0, tv_nsec: 0 },
                it_value: libc::timespec { tv_sec: due.tv_sec, tv_nsec: due.tv_nsec },
            };
            // SAFETY: the timer was made in `attach`, `once` is valid for the call, and no old
            // value is asked for.
            unsafe {
                libc::timer_settime(
                    wire.timer.0,
                    libc::TIMER_ABSTIME,
                    &raw const once,
                    ptr::null_mut(),
                )
            };
        }
    }
}

/// The signal handler. An experiment's handler only reads the clock, stores, and gives semaphores,
/// whose system calls do not change `errno`: nothing here locks or allocates.
extern "C" fn on_signal(signal: c_int) {
    // The interrupted thread may be the executor, during a change of its queues.
    let outer = IN_HANDLER.replace(true);
    let handler = match signal {
        SOFTWARE => SOFTWARE_WIRE.get().map(|wire| wire.handler),
        _ => TIMER_WIRE.get().map(|wire| wire.handler),
    };
    if let Some(handler) = handler {
        handler();
    }
    IN_HANDLER.set(outer);
}

fn catch(signal: c_int) -> Result<(), Refusal> {
    // SAFETY: sigaction is plain numbers, for which zero is valid; the function is safe to run in a
    // handler.
    let status = unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        action.sa_sigaction = on_signal as extern "C" fn(c_int) as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(signal, &raw const action, ptr::null_mut())
    };
    if status == 0 { Ok(()) } else { Err(failed("the kernel refused a signal handler")) }
}

fn timer_for(thread: libc::pid_t) -> Result<Timer, Refusal> {
    // SAFETY: sigevent is plain numbers and a pointer, for which zero is valid; both pointers are
    // valid for the call.
    unsafe {
        let mut event: libc::sigevent = mem::zeroed();
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = TIMER;
        event.sigev_notify_thread_id = thread;
        let mut timer = ptr::null_mut();
        match libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer) {
            0 => Ok(Timer(timer)),
            _ => Err(failed("the kernel refused a timer")),
        }
    }
}

fn failed(what: &'static str) -> Refusal {
    let code = io::Error::last_os_error().raw_os_error().unwrap_or(0);
    Refusal::new(Reason::Failed, what, "").with_code(code)
}
