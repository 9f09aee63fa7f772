//! One semaphore for threads, processes, coroutines and signal handlers, made of a futex, an
//! eventfd or a pipe.

use std::{
    os::fd::OwnedFd,
    ptr,
    sync::atomic::{AtomicPtr, AtomicU32, Ordering},
    task::{Context, Poll},
};

use chronoscope_suite::{Reason, Refusal};
use rustix::{
    event::{EventfdFlags, eventfd},
    io::{Errno, read, write},
    pipe::{PipeFlags, fcntl_setpipe_size, pipe_with},
    thread::futex,
};

use crate::executor::{Task, wake};

/// A counting semaphore. Any number of threads and processes may wait on it, but at most one
/// coroutine at a time, which suffices for the suite.
pub struct Semaphore {
    means: Means,
    /// The waiting coroutine, or null.
    coroutine: AtomicPtr<Task>,
}

enum Means {
    Futex { count: AtomicU32, waiters: AtomicU32, flags: futex::Flags },
    Eventfd(OwnedFd),
    Pipe { reader: OwnedFd, writer: OwnedFd },
}

/// The primitive that a semaphore is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Primitive {
    Futex,
    Eventfd,
    Pipe,
}

impl Semaphore {
    /// # Errors
    /// [`Reason::Exhausted`] when there are no file descriptors left.
    pub fn new(primitive: Primitive, shared: bool, initial: u32) -> Result<Self, Refusal> {
        let no_descriptor = |error: rustix::io::Errno| {
            Refusal::new(
                Reason::Exhausted,
                "no file descriptor left for a semaphore",
                "raise `ulimit -n`",
            )
            .with_code(error.raw_os_error())
        };
        let means = match primitive {
            Primitive::Futex => Means::Futex {
                count: AtomicU32::new(initial),
                waiters: AtomicU32::new(0),
                flags: if shared { futex::Flags::empty() } else { futex::Flags::PRIVATE },
            },
            Primitive::Eventfd => {
                let flags = EventfdFlags::SEMAPHORE | EventfdFlags::CLOEXEC;
                Means::Eventfd(eventfd(initial, flags).map_err(no_descriptor)?)
            }
            Primitive::Pipe => {
                let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).map_err(no_descriptor)?;
                // Small, because hundreds of pipes must not exhaust the user's limit; but two
                // pages, because a write takes a page, and emptying a full pipe wakes its writers,
                // which costs 38 ns more.
                let _ = fcntl_setpipe_size(&writer, 2 * 4096);
                for _ in 0..initial {
                    write(&writer, &[0]).map_err(no_descriptor)?;
                }
                Means::Pipe { reader, writer }
            }
        };
        Ok(Self { means, coroutine: AtomicPtr::new(ptr::null_mut()) })
    }

    /// Adds one and wakes a waiting task. Safe in a signal handler: atomics and one system call.
    #[inline]
    pub fn give(&self) {
        match &self.means {
            Means::Futex { count, waiters, flags } => {
                // SeqCst: either this sees the waiter, or the waiter sees the new count.
                count.fetch_add(1, Ordering::SeqCst);
                if waiters.load(Ordering::SeqCst) > 0 {
                    let _ = futex::wake(count, *flags, 1);
                }
            }
            // These writes fail only after 2^64 (eventfd) or 8192 (pipe) gives without a take.
            Means::Eventfd(fd) => drop(write(fd, &1_u64.to_ne_bytes())),
            Means::Pipe { writer, .. } => drop(write(writer, &[0])),
        }
        if !self.coroutine.load(Ordering::SeqCst).is_null() {
            let task = self.coroutine.swap(ptr::null_mut(), Ordering::SeqCst);
            // SAFETY: tasks are never freed, and the pointer was stored by `poll_take`.
            if let Some(task) = unsafe { task.as_ref() } {
                wake(task);
            }
        }
    }

    /// Subtracts one; blocks the calling thread while the count is 0.
    #[inline]
    pub fn take(&self) {
        self.take_while(|| true);
    }

    /// Subtracts one and returns `true`; blocks the calling thread while the count is 0. Returns
    /// `false` if a signal has interrupted the wait and `go_on` returns `false`.
    #[inline]
    pub fn take_while(&self, mut go_on: impl FnMut() -> bool) -> bool {
        match &self.means {
            Means::Futex { count, waiters, flags } => {
                while !take_one(count) {
                    waiters.fetch_add(1, Ordering::SeqCst);
                    // The call returns at once if the count is not 0, and at a signal. The loop
                    // checks the count again.
                    let outcome = futex::wait(count, *flags, 0, None);
                    waiters.fetch_sub(1, Ordering::SeqCst);
                    if outcome == Err(Errno::INTR) && !go_on() {
                        return false;
                    }
                }
                true
            }
            // Reads block until there is data; the buffers have the size of a write.
            Means::Eventfd(fd) => read_while(fd, &mut [0; 8], go_on),
            Means::Pipe { reader, .. } => read_while(reader, &mut [0; 1], go_on),
        }
    }

    /// Subtracts one for the coroutine that is being polled, or registers it as the waiting one.
    ///
    /// # Panics
    /// Panics if the semaphore is made of a descriptor: coroutines of this port wait on futexes
    /// only.
    #[inline]
    pub fn poll_take(&self, context: &Context<'_>) -> Poll<()> {
        let Means::Futex { count, .. } = &self.means else {
            unreachable!(
                "the port refuses coroutines with descriptors before it makes the semaphore"
            )
        };
        if take_one(count) {
            return Poll::Ready(());
        }
        self.coroutine.store(context.waker().data().cast::<Task>().cast_mut(), Ordering::SeqCst);
        // A give before the store has not seen the waiter, so check the count again.
        if take_one(count) {
            self.coroutine.store(ptr::null_mut(), Ordering::SeqCst);
            return Poll::Ready(());
        }
        Poll::Pending
    }
}

#[inline(always)]
fn read_while(fd: &OwnedFd, buffer: &mut [u8], mut go_on: impl FnMut() -> bool) -> bool {
    loop {
        match read(fd, &mut *buffer) {
            Err(Errno::INTR) if go_on() => {}
            outcome => return outcome.is_ok(),
        }
    }
}

#[inline(always)]
fn take_one(count: &AtomicU32) -> bool {
    count.try_update(Ordering::SeqCst, Ordering::SeqCst, |count| count.checked_sub(1)).is_ok()
}
