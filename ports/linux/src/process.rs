//! Processes: forked from the director, with a shared arena.

use std::io;

use chronoscope_suite::{
    Priority, Reason, Refusal, Tasks,
    task::{Block, block_on},
};

use crate::{kernel::Linux, semaphore::Semaphore, thread::Thread};

pub enum Process {}

impl Tasks for Process {
    type Kernel = Linux;
    const KIND: &'static str = "process";

    fn spawn<F>(kernel: &'static Linux, priority: Priority, body: F) -> Result<(), Refusal>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        kernel.admit(priority)?;
        let past = kernel.pasts.next();
        let processor = kernel.next_processor();
        // SAFETY: cases with processes have no other thread, so the child may use all memory of the
        // parent. It ends with `_exit` and never returns into the parent's code.
        match unsafe { libc::fork() } {
            -1 => {
                let error = io::Error::last_os_error().raw_os_error().unwrap_or(0);
                Err(Refusal::new(
                    Reason::Exhausted,
                    "no more processes",
                    "raise `ulimit -u` or ask for fewer tasks",
                )
                .with_code(error))
            }
            0 => {
                // The child dies with the case, however the case ends. SAFETY: PR_SET_PDEATHSIG
                // takes one number; `_exit` does not return.
                unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
                if priority > Priority::Ordinary {
                    // The parent was permitted to lock its memory, so the child is; otherwise its
                    // first samples include page faults. Locking takes ten times as long as the
                    // fork, and a task without a deadline does not need it.
                    let _ = kernel.settings.lock();
                }
                kernel.settle(processor);
                kernel.enter(priority);
                past.run(|| block_on(body));
                // SAFETY: as above.
                unsafe { libc::_exit(0) }
            }
            _ => Ok(()),
        }
    }

    fn reap(_: &'static Linux) -> impl Future<Output = bool> + Send {
        Block(reap_child)
    }

    #[inline(always)]
    fn yield_now(kernel: &'static Linux) -> impl Future<Output = ()> + Send {
        Thread::yield_now(kernel)
    }

    #[inline(always)]
    fn delay_until(kernel: &'static Linux, due: u64) -> impl Future<Output = ()> + Send {
        Thread::delay_until(kernel, due)
    }

    #[inline(always)]
    fn take(
        kernel: &'static Linux,
        semaphore: &'static Semaphore,
    ) -> impl Future<Output = ()> + Send {
        Thread::take(kernel, semaphore)
    }

    fn switches(kernel: &'static Linux) -> Option<u32> {
        Thread::switches(kernel)
    }
}

/// Waits for the end of a child of this process; `false` if there is none.
pub fn reap_child() -> bool {
    loop {
        // SAFETY: a null status pointer is allowed.
        if unsafe { libc::wait(std::ptr::null_mut()) } > 0 {
            return true;
        }
        if io::Error::last_os_error().raw_os_error() == Some(libc::ECHILD) {
            return false;
        }
    }
}
