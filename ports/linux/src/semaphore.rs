//! One semaphore for threads, processes, coroutines and signal handlers, made of a futex, an
//! eventfd, a pipe, or a signal that tasks wait for.

use std::{
    mem::MaybeUninit,
    os::fd::OwnedFd,
    ptr,
    sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicUsize, Ordering},
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
    Signal(Signal),
}

/// A real-time signal that all threads block: the kernel queues it until one waits for it.
struct Signal {
    number: i32,
    /// The thread that waits for it, which the first wait makes known; 0 before.
    waiter: AtomicUsize,
}

/// The number of signals that semaphores have taken, from the first real-time one on.
static TAKEN_SIGNALS: AtomicI32 = AtomicI32::new(0);

/// The primitive that a semaphore is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Primitive {
    Futex,
    Eventfd,
    Pipe,
    Signal,
}

impl Semaphore {
    /// # Errors
    /// [`Reason::Exhausted`] when there are no file descriptors, or no signals, left.
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
            Primitive::Signal => {
                let signal = Signal::new()?;
                (0..initial).for_each(|_| signal.send());
                Means::Signal(signal)
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
            Means::Signal(signal) => signal.send(),
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
            Means::Signal(signal) => signal.wait_while(go_on),
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

impl Signal {
    /// Takes the next signal and blocks it in the calling thread, and in all that it starts from then on.
    ///
    /// # Errors
    /// [`Reason::Exhausted`] when all real-time signals are taken.
    fn new() -> Result<Self, Refusal> {
        let number = libc::SIGRTMIN() + TAKEN_SIGNALS.fetch_add(1, Ordering::Relaxed);
        if number > libc::SIGRTMAX() {
            return Err(Refusal::new(
                Reason::Exhausted,
                "no real-time signal left for a semaphore",
                "ask for fewer tasks",
            ));
        }
        let set = set_of(number);
        // SAFETY: the set is initialised, and no earlier mask is asked for.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, ptr::null_mut()) };
        Ok(Self { number, waiter: AtomicUsize::new(0) })
    }

    /// Sends the signal to the thread that waits for it, as a C program does, or to the process before one
    /// did.
    #[inline(always)]
    fn send(&self) {
        let waiter = self.waiter.load(Ordering::Relaxed);
        // SAFETY: the thread of a semaphore lives as long as the case. The signal is blocked in all threads
        // of the process, so it ends nothing.
        unsafe {
            match waiter {
                0 => libc::kill(libc::getpid(), self.number),
                thread => libc::pthread_kill(thread as libc::pthread_t, self.number),
            }
        };
    }

    #[inline(always)]
    fn wait_while(&self, mut go_on: impl FnMut() -> bool) -> bool {
        if self.waiter.load(Ordering::Relaxed) == 0 {
            // SAFETY: pthread_self takes no arguments.
            self.waiter.store(unsafe { libc::pthread_self() } as usize, Ordering::Relaxed);
        }
        let set = set_of(self.number);
        loop {
            // SAFETY: the set is initialised, and no information is asked for.
            let outcome = unsafe { libc::sigwaitinfo(&raw const set, ptr::null_mut()) };
            if outcome == self.number || !go_on() {
                return outcome == self.number;
            }
        }
    }
}

/// The set of one signal.
fn set_of(number: i32) -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigemptyset initialises the set before a signal is added.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), number);
        set.assume_init()
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
