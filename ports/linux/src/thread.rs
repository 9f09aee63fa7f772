//! Threads: POSIX threads of one process.

use std::{cell::RefCell, collections::VecDeque, thread::JoinHandle};

use chronoscope_suite::{
    Priority, Reason, Refusal, Tasks,
    task::{Block, block_on},
};
use rustix::thread::sched_yield;

use crate::{kernel::Linux, semaphore::Semaphore, sleeping::sleep_until};

pub enum Thread {}

/// The size of a thread's stack, in bytes: enough for a body and a signal handler. Small, because
/// hundreds of threads with locked memory must fit a small machine.
pub const STACK: usize = 64 * 1024;

thread_local! {
    /// The threads that this thread has spawned and not joined.
    static CHILDREN: RefCell<VecDeque<JoinHandle<()>>> = const { RefCell::new(VecDeque::new()) };
}

impl Tasks for Thread {
    type Kernel = Linux;
    const KIND: &'static str = "thread";

    fn spawn<F>(kernel: &'static Linux, priority: Priority, body: F) -> Result<(), Refusal>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        kernel.admit(priority)?;
        let past = kernel.pasts.next();
        let processor = kernel.next_processor();
        let child = std::thread::Builder::new()
            .stack_size(STACK)
            .spawn(move || {
                kernel.settle(processor);
                kernel.enter(priority);
                past.run(|| block_on(body));
            })
            .map_err(|error| {
                Refusal::new(
                    Reason::Exhausted,
                    "no more threads",
                    "raise `ulimit -u` or ask for fewer tasks",
                )
                .with_code(error.raw_os_error().unwrap_or(0))
            })?;
        CHILDREN.with_borrow_mut(|children| children.push_back(child));
        Ok(())
    }

    fn reap(_: &'static Linux) -> impl Future<Output = bool> + Send {
        Block(|| {
            let child = CHILDREN.with_borrow_mut(VecDeque::pop_front);
            child.map(JoinHandle::join).is_some()
        })
    }

    #[inline(always)]
    fn yield_now(_: &'static Linux) -> impl Future<Output = ()> + Send {
        Block(sched_yield)
    }

    #[inline(always)]
    fn delay_until(_: &'static Linux, due: u64) -> impl Future<Output = ()> + Send {
        Block(move || sleep_until(due))
    }

    #[inline(always)]
    fn take(_: &'static Linux, semaphore: &'static Semaphore) -> impl Future<Output = ()> + Send {
        Block(|| semaphore.take())
    }

    fn switches(_: &'static Linux) -> Option<u32> {
        Some(switches_of_thread())
    }
}

/// Returns the number of voluntary and involuntary switches of the calling thread.
pub fn switches_of_thread() -> u32 {
    let usage = usage_of_thread();
    (usage.ru_nvcsw + usage.ru_nivcsw) as u32
}

/// Returns the kernel's counts for the calling thread.
#[inline(always)]
pub fn usage_of_thread() -> libc::rusage {
    // SAFETY: rusage is plain numbers, for which zero is valid, and valid for writing.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
        usage
    }
}
