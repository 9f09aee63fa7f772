//! What a kernel must offer so that experiments can run on it: the traits that a port implements.
//!
//! [`Kernel`] and [`Tasks`] are the base. The other traits are capabilities: an experiment names those it
//! needs in its bounds, and a port that lacks one does not list the experiment; the lab then shows
//! *not offered by this kernel*.
//!
//! A kernel has up to three kinds of task, each a type that implements [`Tasks`]: threads (own
//! stack), coroutines (futures), processes (own address space). Every operation that may wait
//! returns a future. A coroutine's futures suspend; a thread's and a process's block inside `poll`
//! ([`task::Block`](crate::task::Block)), so the compiler leaves no state machine between two marks.

use crate::{arena::Arena, clock::Raw};

pub use crate::{
    clock::Clock,
    refusal::{Reason, Refusal},
};

/// How urgent a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// Runs when nothing else can.
    Idle,
    /// The kernel's default for work without a deadline.
    Ordinary,
    /// Real-time. A higher number pre-empts a lower one. Experiments use 1 to 8.
    Urgent(u8),
}

/// The kernel under test. One value serves the whole case.
pub trait Kernel: Clock + Sync + Sized + 'static {
    /// The kind of task that the experiment's own main function runs as. It sets up, waits while
    /// the measurement runs, and reports; its priority is [`Priority::Ordinary`].
    type Director: Tasks<Kernel = Self>;

    /// A counting semaphore, the same object for every kind of task and for handlers.
    type Semaphore: Sync + 'static;

    /// Where delays end with a tick: how many microseconds lie between two. 0: they end when they are due.
    const TICK_US: u64 = 0;

    /// Makes a semaphore. It is used only after it has been placed in the arena.
    ///
    /// # Errors
    /// [`Refusal`] when the kernel has no more of them.
    fn semaphore(&self, initial: u32) -> Result<Self::Semaphore, Refusal>;

    /// Adds one to the semaphore and wakes a waiting task. Never waits; handlers may call it.
    fn give(&self, semaphore: &'static Self::Semaphore);

    /// Told when the first sample of a series started, before its samples are sent, which does not tell that. A port that
    /// records what else happened can note it, so that the two can be laid beside each other.
    #[inline(always)]
    fn series_starts(&self, _name: &str, _first: Raw<Self>) {}

    /// Instructions that the processor has executed so far, all tasks and the kernel included. Differences
    /// count; the start is arbitrary. `None`: they are not counted here.
    fn instructions(&self) -> Option<u64> {
        None
    }
}

/// One kind of task. See the [module](self) for how the futures behave.
pub trait Tasks: Sized + 'static {
    type Kernel: Kernel;
    /// `thread`, `coroutine` or `process`.
    const KIND: &'static str;

    /// Creates a task that runs `body` at `priority`. `body` may hold only references into the arena
    /// and to the kernel.
    ///
    /// # Errors
    /// [`Refusal`] when there is no room, or the priority is not permitted.
    fn spawn<F>(kernel: &'static Self::Kernel, priority: Priority, body: F) -> Result<(), Refusal>
    where
        F: Future<Output = ()> + Send + 'static;

    /// Waits until one task that the caller spawned has ended; `false` when none is left.
    /// The caller must be a task of this same kind.
    fn reap(kernel: &'static Self::Kernel) -> impl Future<Output = bool> + Send;

    /// Lets the next ready task of the same priority run.
    fn yield_now(kernel: &'static Self::Kernel) -> impl Future<Output = ()> + Send;

    /// Waits until [`Clock::now`] has reached `due`.
    fn delay_until(kernel: &'static Self::Kernel, due: u64) -> impl Future<Output = ()> + Send;

    /// Takes one from the semaphore; waits while it is zero.
    fn take(
        kernel: &'static Self::Kernel,
        semaphore: &'static <Self::Kernel as Kernel>::Semaphore,
    ) -> impl Future<Output = ()> + Send;

    /// How often the kernel has switched to the calling task so far, by the kernel's own count.
    /// Differences count; the start is arbitrary. `None`: this kernel does not count.
    fn switches(kernel: &'static Self::Kernel) -> Option<u32>;
}

/// Switches to the calling task since [`Tasks::switches`] said `before`; 0 where the kernel does not count, so that
/// evidence made of it fails.
pub fn switches_since<T: Tasks>(kernel: &'static T::Kernel, before: Option<u32>) -> u32 {
    T::switches(kernel).zip(before).map_or(0, |(after, before)| after.wrapping_sub(before))
}

/// Messages of one 32-bit word, in order, through a bounded queue.
pub trait Messages: Tasks {
    type Queue: Sync + 'static;

    /// # Errors
    /// [`Refusal`] when the kernel has no more of them.
    fn queue(kernel: &'static Self::Kernel, capacity: usize) -> Result<Self::Queue, Refusal>;

    /// Waits while the queue is full.
    fn send(
        kernel: &'static Self::Kernel,
        queue: &'static Self::Queue,
        word: u32,
    ) -> impl Future<Output = ()> + Send;

    /// Waits while the queue is empty.
    fn receive(
        kernel: &'static Self::Kernel,
        queue: &'static Self::Queue,
    ) -> impl Future<Output = u32> + Send;
}

/// What a mutex does about priority inversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Nothing.
    None,
    /// The owner runs at the priority of the most urgent task that waits.
    Inheritance,
    /// The owner runs at the mutex's own priority, fixed when it is made.
    Ceiling(Priority),
}

/// Mutual exclusion.
pub trait Mutexes: Tasks {
    type Mutex: Sync + 'static;

    /// Makes a mutex in the arena, where it stays: a POSIX mutex may not move once it is made.
    ///
    /// # Errors
    /// [`Refusal`] when the kernel lacks the protocol, or the arena is full.
    fn mutex(
        kernel: &'static Self::Kernel,
        arena: &Arena,
        protocol: Protocol,
    ) -> Result<&'static Self::Mutex, Refusal>;

    fn lock(
        kernel: &'static Self::Kernel,
        mutex: &'static Self::Mutex,
    ) -> impl Future<Output = ()> + Send;

    /// Called by the task that locked it.
    fn unlock(kernel: &'static Self::Kernel, mutex: &'static Self::Mutex);
}

/// What raises an interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The program itself.
    Software,
    Timer,
    /// A line from outside the processor, that a bench raises when the program cannot know.
    External,
}

/// Code in interrupt context. It may read the clock, store marks and give semaphores.
pub type Handler = &'static (dyn Fn() + Sync);

/// The ticks among which chance chooses when an external line rises.
pub const PHASES: u64 = 256;

/// Interrupts, or what the kernel has in their place (signals on Linux).
pub trait Interrupts: Kernel {
    /// Sets the handler of `source`, once in a case. It runs on top of the task that calls this.
    ///
    /// # Errors
    /// [`Refusal`] when the source is not to be had.
    fn attach(&'static self, source: Source, handler: Handler) -> Result<(), Refusal>;

    /// Raises the software interrupt. The handler has run when this returns.
    fn raise(&self);

    /// Sets the timer interrupt to fire once, when [`Clock::now`] reaches `due`.
    fn arm(&self, due: u64);

    /// Has the bench raise its line once: at `due`, or up to [`PHASES`] ticks later, as chance has it. Called only where
    /// [`Source::External`] is to be had.
    fn stimulate(&self, _due: u64) {}

    /// When the line rose last, by the clock.
    fn stimulated(&self) -> u64 {
        0
    }
}

/// Processor time of the calling task.
pub trait ProcessorTime: Tasks {
    /// Ticks that the calling task has run, by the kernel's own account.
    fn processor_time(kernel: &'static Self::Kernel) -> u64;
}

/// Why a call to a server came to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallFailure {
    /// The server is no more.
    Dead,
    /// What carries the call would not take it: it is too long, or there is no room for it.
    Refused,
    /// The server did not answer in time.
    TimedOut,
    /// The client has no connection, for want of what a connection needs; with the system's error number.
    Unconnected(i32),
    /// Any other error of the system's, by its number.
    Failed(i32),
}

/// What a client is made to lack or to do, to see what becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It gives back no answer's memory.
    Hoard,
    /// It may open no more files when it connects.
    Descriptors,
    /// It may have no more memory when it connects.
    Memory,
}

/// Calls that carry bytes from a client to a server in another task, and back.
///
/// All services of a case are made together, so that each task can let go of those ends that are not its own. A server that
/// dies is noticed by its clients only if nobody else holds its end.
pub trait Transport: Sized + 'static {
    type Kernel: Kernel;
    /// What servers and clients must know of each other; in the arena.
    type Services: Sync + 'static;
    /// A client's ways to all services, kept by the client's task. When it is dropped, the services learn that
    /// this client has left.
    type Client: Send;
    /// The server is a task of its own. If not, a call is a call of a function.
    const SERVED: bool = true;
    /// Clients can be made to have a [`Fault`].
    const FAULTS: bool = false;

    /// Called by the director before it creates the tasks. `largest`: of all messages, in bytes.
    ///
    /// # Errors
    /// [`Refusal`] when the kernel has no such transport, or not for this user.
    fn services(
        kernel: &'static Self::Kernel,
        arena: &Arena,
        services: usize,
        clients: usize,
        largest: usize,
    ) -> Result<&'static Self::Services, Refusal>;

    /// Called by the director when all tasks have been created: it lets go of its own ends.
    fn release(_services: &'static Self::Services) {}

    /// The life of a server: answers calls until all clients have left. `answer` makes the message of a call into its answer,
    /// of the same length; when it says `false`, the server ends instead.
    ///
    /// # Errors
    /// [`CallFailure`]
    fn serve(
        services: &'static Self::Services,
        service: usize,
        answer: impl FnMut(&mut [u8]) -> bool,
    ) -> Result<(), CallFailure>;

    /// Called once by each client, in its own task.
    ///
    /// # Errors
    /// [`CallFailure`]
    fn connect(
        services: &'static Self::Services,
        client: usize,
    ) -> Result<Self::Client, CallFailure>;

    /// As [`connect`](Self::connect), but to have this fault; asked for only with [`FAULTS`](Self::FAULTS).
    ///
    /// # Errors
    /// [`CallFailure`]
    fn connect_with(
        services: &'static Self::Services,
        client: usize,
        _: Fault,
    ) -> Result<Self::Client, CallFailure> {
        Self::connect(services, client)
    }

    /// How many calls of this client's task a driver has carried so far, by the driver's own account, where it has one.
    fn counted(_client: &Self::Client) -> Option<u32> {
        None
    }

    /// One call. Returns when the answer is there, which stays until the next call.
    ///
    /// # Errors
    /// [`CallFailure`]
    fn call<'a>(
        client: &'a mut Self::Client,
        service: usize,
        bytes: &[u8],
    ) -> Result<&'a [u8], CallFailure>;

    /// Called by a thread of the client's that has called, before it ends, if the client has several.
    fn end_thread(_client: &mut Self::Client) {}
}

/// The kernel's usual way to log.
pub trait Log: Kernel {
    /// Writes one line: `round` and a clock value, formatted as the kernel's users would. It may wait for the
    /// line to leave, but not without end: a line that cannot be written is refused whole.
    fn log(&self, round: u32, ticks: u64);

    /// Bytes accepted so far by what carries the log. A refused line leaves it as it was.
    fn logged(&self) -> u64;
}
