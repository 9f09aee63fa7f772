//! The port contract: the traits through which experiments use a kernel.
//!
//! Every port implements [`Kernel`] and [`Tasks`]. The other traits are capabilities: an experiment
//! names those that it needs in its bounds and in its row of the table, a port names those that it
//! has in [`offers!`](crate::offers), and the lab shows *not offered by this kernel* for the rest.
//!
//! A kernel has up to three kinds of task, each a type that implements [`Tasks`]: threads (own
//! stack), coroutines (futures), processes (own address space). Every operation that may wait
//! returns a future. The futures of a coroutine suspend. The futures of a thread or process block
//! inside `poll` ([`task::Block`](crate::task::Block)), so no state machine is left between two
//! marks.

use crate::{arena::Arena, clock::Raw, random::Random};

pub use crate::{
    clock::Clock,
    refusal::{Reason, Refusal},
};

/// The priority of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// Runs when no other task is ready.
    Idle,
    /// The kernel's default for work without deadlines.
    Ordinary,
    /// Real-time: a higher number pre-empts a lower one. Experiments use 1 to 8.
    Urgent(u8),
}

/// The kernel under test. One value exists per case.
pub trait Kernel: Clock + Sync + Sized + 'static {
    /// The kind of the director: the task that sets up the experiment, waits while it runs, and
    /// reports. Its priority is [`Priority::Ordinary`].
    type Director: Tasks<Kernel = Self>;

    /// A counting semaphore, shared by all kinds of task and by interrupt handlers.
    type Semaphore: Sync + 'static;

    /// The period of the kernel's tick in microseconds, if delays end with a tick; 0 if they end
    /// when they are due.
    const TICK_US: u64 = 0;

    /// Returns the period of the kernel's tick, like [`TICK_US`](Self::TICK_US). A port that learns
    /// it only at run time overrides this.
    #[inline(always)]
    fn tick_us(&self) -> u64 {
        Self::TICK_US
    }

    /// Returns `true` if delays end with a tick and [`tick_after`](Self::tick_after) tells which. A
    /// port that learns its tick only at run time overrides this.
    #[inline(always)]
    fn has_ticks(&self) -> bool {
        Self::TICK_US != 0
    }

    /// Returns the time of the kernel's first tick at or after `time`. Periodic tasks then begin
    /// with a tick and delays end with one, as users of such a kernel write them. By default, and
    /// for a kernel whose delays end when they are due, returns `time` itself.
    #[inline(always)]
    fn tick_after(&self, time: u64) -> u64 {
        time
    }

    /// `true` if the director may create tasks and wait before an experiment begins, and the kernel
    /// has all its memory back once they have ended: see [`vary`](crate::vary).
    const HAS_PAST: bool = true;

    /// Creates a semaphore. The caller moves it into the arena before its first use.
    ///
    /// # Errors
    /// [`Refusal`] when the kernel has no more semaphores.
    fn semaphore(&self, initial: u32) -> Result<Self::Semaphore, Refusal>;

    /// Adds one to the semaphore and wakes a waiting task. Never waits; callable from interrupt
    /// handlers. A woken task of higher priority runs before this returns, unless the kernel cannot
    /// pre-empt.
    fn give(&self, semaphore: &'static Self::Semaphore);

    /// Gives a semaphore like [`give`](Self::give), as an interrupt handler. A kernel that has
    /// another call for handlers overrides this; experiments' handlers give by nothing else.
    #[inline(always)]
    fn give_from_handler(&self, semaphore: &'static Self::Semaphore) {
        self.give(semaphore);
    }

    /// Receives the time of the first sample of a series, before the samples are sent; the stream
    /// holds no absolute times. A port that records a trace notes it to align the two.
    #[inline(always)]
    fn series_starts(&self, _name: &str, _first: Raw<Self>) {}

    /// Changes the state in which an experiment begins, by numbers from `random`, where the suite's
    /// own steps do not reach it, as in other processes. See [`vary`](crate::vary).
    fn vary(&'static self, _random: &mut Random) {}

    /// `true` if [`pages`](Self::pages) returns some.
    const HAS_PAGES: bool = false;

    /// Returns memory of whole pages, each with a translation of its own, which every task can read
    /// at the same addresses: by reading them an experiment fills a TLB.
    fn pages(&self) -> &'static [[u8; 4096]] {
        &[]
    }

    /// Returns the number of instructions executed by the processor, all tasks and the kernel
    /// included, from an arbitrary start; `None` if nothing counts them.
    fn instructions(&self) -> Option<u64> {
        None
    }
}

/// A kind of task. The [module](self) describes the behaviour of the futures.
pub trait Tasks: Sized + 'static {
    /// The kernel that runs the tasks.
    type Kernel: Kernel;
    /// `thread`, `coroutine` or `process`.
    const KIND: &'static str;

    /// Creates a ready task that runs `body` at `priority`. It may run before this returns. `body`
    /// may hold only numbers and references into the arena and to the kernel; it is not dropped.
    ///
    /// # Errors
    /// [`Refusal`] when there is no room for the task, or the priority is not permitted.
    fn spawn<F>(kernel: &'static Self::Kernel, priority: Priority, body: F) -> Result<(), Refusal>
    where
        F: Future<Output = ()> + Send + 'static;

    /// Waits until a task that the caller spawned has ended; returns `false` if none is left. The
    /// caller must be a task of this kind.
    fn reap(kernel: &'static Self::Kernel) -> impl Future<Output = bool> + Send;

    /// Puts the caller behind the ready tasks of its priority.
    fn yield_now(kernel: &'static Self::Kernel) -> impl Future<Output = ()> + Send;

    /// Waits until [`Clock::now`] has reached `due`; returns at once if it has.
    fn delay_until(kernel: &'static Self::Kernel, due: u64) -> impl Future<Output = ()> + Send;

    /// Subtracts one from the semaphore; waits while it is zero.
    fn take(
        kernel: &'static Self::Kernel,
        semaphore: &'static <Self::Kernel as Kernel>::Semaphore,
    ) -> impl Future<Output = ()> + Send;

    /// Returns how often the kernel has switched to the calling task, by the kernel's own count
    /// from an arbitrary start; `None` if the kernel does not count.
    fn switches(kernel: &'static Self::Kernel) -> Option<u32>;
}

/// Returns the number of switches to the calling task since [`Tasks::switches`] returned `before`;
/// 0 if the kernel does not count, so that evidence based on it fails.
pub fn switches_since<T: Tasks>(kernel: &'static T::Kernel, before: Option<u32>) -> u32 {
    T::switches(kernel).zip(before).map_or(0, |(after, before)| after.wrapping_sub(before))
}

/// The object by which the kernel's own users let one task or handler wake another: a signal, an
/// event, a notification. Cases with `primitive=native` take it in place of the semaphore, which
/// counts and is common to all kernels.
pub trait Native: Tasks {
    /// The kernel's own object for a wake-up.
    type Event: Sync + 'static;

    /// # Errors
    /// [`Refusal`] when the kernel has no more events.
    fn event(kernel: &'static Self::Kernel) -> Result<Self::Event, Refusal>;

    /// Wakes the task that waits for the event. Never waits; callable from interrupt handlers. The
    /// kernel may lose an event for which no task waits yet, and may merge several into one.
    fn signal(kernel: &'static Self::Kernel, event: &'static Self::Event);

    /// Waits for the event. One task at most waits for an event.
    fn signalled(
        kernel: &'static Self::Kernel,
        event: &'static Self::Event,
    ) -> impl Future<Output = ()> + Send;
}

/// The order of coroutines of different processes with the same priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// After each turn, another process runs.
    Alternate,
    /// After a turn of each coroutine that is ready, another process runs.
    Batched,
}

/// Coroutines within a process: the kernel runs the coroutines of all processes in one order of
/// priority.
pub trait Sets: Tasks {
    /// The memory of a coroutine, empty until [`add`](Self::add).
    type Place<F: Future<Output = ()> + 'static>: Send + 'static;
    /// The coroutines of the calling task.
    type Set;

    /// Returns empty memory for a coroutine.
    fn place<F: Future<Output = ()> + 'static>() -> Self::Place<F>;

    /// Opens the calling task's set, once in the life of the task. Panics a second time, or if the
    /// kernel has no memory for it.
    fn open(kernel: &'static Self::Kernel) -> Self::Set;

    /// Adds a coroutine, ready to run behind its equals. After a poll that returns `Pending` it is
    /// ready again, without a wake-up.
    fn add<F: Future<Output = ()> + 'static>(
        set: &Self::Set,
        priority: Priority,
        place: &'static mut Self::Place<F>,
        body: F,
    );

    /// Runs the coroutines of the set until all have ended.
    fn run(set: &Self::Set, order: Order);
}

/// Bounded first-in, first-out queues of 32-bit words, with one sender and one receiver.
pub trait Messages: Tasks {
    /// A queue of words.
    type Queue: Sync + 'static;

    /// # Errors
    /// [`Refusal`] when the kernel has no more queues, or none of this capacity.
    fn queue(kernel: &'static Self::Kernel, capacity: usize) -> Result<Self::Queue, Refusal>;

    /// Appends a word; waits while the queue is full.
    fn send(
        kernel: &'static Self::Kernel,
        queue: &'static Self::Queue,
        word: u32,
    ) -> impl Future<Output = ()> + Send;

    /// Removes the first word; waits while the queue is empty.
    fn receive(
        kernel: &'static Self::Kernel,
        queue: &'static Self::Queue,
    ) -> impl Future<Output = u32> + Send;
}

/// The protocol of a mutex against priority inversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// No protocol.
    None,
    /// Priority inheritance: the owner runs at the priority of the most urgent waiting task.
    Inheritance,
    /// Priority ceiling: the owner runs at the mutex's own priority, fixed at its creation.
    Ceiling(Priority),
}

/// Mutual exclusion.
pub trait Mutexes: Tasks {
    /// A mutex.
    type Mutex: Sync + 'static;

    /// Creates a mutex in place in the arena: a POSIX mutex must not move after its creation.
    ///
    /// # Errors
    /// [`Refusal`] when the kernel lacks the protocol, or the arena is full.
    fn mutex(
        kernel: &'static Self::Kernel,
        arena: &Arena,
        protocol: Protocol,
    ) -> Result<&'static Self::Mutex, Refusal>;

    /// Locks a mutex; waits while another task has it.
    fn lock(
        kernel: &'static Self::Kernel,
        mutex: &'static Self::Mutex,
    ) -> impl Future<Output = ()> + Send;

    /// Unlocks a mutex. The caller must be the task that locked it.
    fn unlock(kernel: &'static Self::Kernel, mutex: &'static Self::Mutex);
}

/// The source of an interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The program.
    Software,
    /// A timer of the processor or the chip.
    Timer,
    /// A line from outside the processor, which a bench raises at a time unknown to the program.
    External,
}

/// Code that runs in interrupt context. It may only read the clock, store marks and give
/// semaphores.
pub type Handler = &'static (dyn Fn() + Sync);

/// The length, in ticks, of the interval in which an external line rises at a random time.
pub const PHASES: u64 = 256;

/// Interrupts, or signals on Linux.
pub trait Interrupts: Kernel {
    /// `true` if a handler is a task that the kernel's own handler wakes: a driver in user mode.
    /// [`entered`](Self::entered) then tells when the latter was entered.
    const IS_DRIVEN: bool = false;

    /// Returns the time at which the kernel's own handler was last entered, where handlers are tasks.
    fn entered(&self) -> u64 {
        self.now()
    }

    /// `true` if there are levels of interrupts that the kernel never masks, and
    /// [`exempt`](Self::exempt) uses one.
    const HAS_EXEMPT: bool = false;

    /// Gives the lines of all sources a level that the kernel never masks, whose handlers must not
    /// call it. To be called before [`attach`](Self::attach).
    fn exempt(&self) {}

    /// Returns whether the kernel masks interrupts of other levels at this moment. For handlers of
    /// lines that are exempt.
    fn masks(&self) -> bool {
        false
    }

    /// Sets the handler of `source`, once in a case. The handler interrupts the calling task.
    ///
    /// The lines of all sources have the most urgent level from which the kernel may be called: the
    /// level of the interrupts that a program can use. A level above those that the kernel masks is
    /// wrong, because its handlers are never late. Where a kernel masks all levels, every level may
    /// call it, and the lines have the most urgent one.
    ///
    /// # Errors
    /// [`Refusal`] when the target lacks the source.
    fn attach(&'static self, source: Source, handler: Handler) -> Result<(), Refusal>;

    /// Raises the software interrupt. Returns after the handler, and after the more urgent tasks
    /// that it has woken.
    fn raise(&self);

    /// Sets the timer interrupt to fire once, when [`Clock::now`] reaches `due`; at once if it has.
    fn arm(&self, due: u64);

    /// Asks the bench to raise its line once, at a random time from `due` up to [`PHASES`] ticks
    /// later. Called only after [`Source::External`] was attached.
    fn stimulate(&self, _due: u64) {}

    /// Returns the time of the line's last rise, by this clock.
    fn stimulated(&self) -> u64 {
        0
    }
}

/// The kernel's accounting of processor time.
pub trait ProcessorTime: Tasks {
    /// Returns the processor time of the calling task, in ticks of the clock, by the kernel's
    /// accounting.
    fn processor_time(kernel: &'static Self::Kernel) -> u64;
}

/// The reason why a call to a server failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallFailure {
    /// The server has ended.
    Dead,
    /// The transport refused the call: it is too long, or there is no room for it.
    Refused,
    /// The server did not answer in time.
    TimedOut,
    /// The client could not connect for lack of a resource; with the system's error number.
    Unconnected(i32),
    /// Any other error, by the system's error number.
    Failed(i32),
}

/// A fault injected into a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The client frees no answer's memory.
    Hoard,
    /// The client has no free file descriptors when it connects.
    Descriptors,
    /// The client gets no memory when it connects.
    Memory,
}

/// Calls that carry bytes from a client to a server in another task, and back.
///
/// All services of a case are created together, so that each task can close the ends that are not
/// its own: clients notice a server's death only if no other task holds its end.
pub trait Transport: Sized + 'static {
    /// The kernel that runs the servers and clients.
    type Kernel: Kernel;
    /// The state that servers and clients share, in the arena.
    type Services: Sync + 'static;
    /// A client's connections to all services, owned by the client's task. Dropping it disconnects
    /// the client.
    type Client: Send;
    /// `true` if servers are tasks of their own; `false` if a call is a function call.
    const SERVED: bool = true;
    /// `true` if the transport can inject a [`Fault`] into a client.
    const FAULTS: bool = false;

    /// Creates all services. The director calls it before it creates the tasks. `largest` is the
    /// length of the longest message, in bytes.
    ///
    /// # Errors
    /// [`Refusal`] when the kernel lacks the transport, or denies it to this user.
    fn services(
        kernel: &'static Self::Kernel,
        arena: &Arena,
        services: usize,
        clients: usize,
        largest: usize,
    ) -> Result<&'static Self::Services, Refusal>;

    /// Closes the director's ends. The director calls it after it has created all tasks.
    fn release(_services: &'static Self::Services) {}

    /// Serves calls until all clients have disconnected. `answer` turns the message of a call into
    /// its answer, of the same length, in place; if it returns `false`, the server ends instead.
    ///
    /// # Errors
    /// [`CallFailure`]
    fn serve(
        services: &'static Self::Services,
        service: usize,
        answer: impl FnMut(&mut [u8]) -> bool,
    ) -> Result<(), CallFailure>;

    /// Connects a client to all services. Each client calls it once, in its own task.
    ///
    /// # Errors
    /// [`CallFailure`]
    fn connect(
        services: &'static Self::Services,
        client: usize,
    ) -> Result<Self::Client, CallFailure>;

    /// Connects a client like [`connect`](Self::connect), with an injected fault. Called only if
    /// [`FAULTS`](Self::FAULTS).
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

    /// Returns the number of calls of this client's task that a driver has carried, by the driver's
    /// own count; `None` without such a count.
    fn counted(_client: &Self::Client) -> Option<u32> {
        None
    }

    /// Calls a service and waits for the answer, which stays valid until the next call.
    ///
    /// # Errors
    /// [`CallFailure`]
    fn call<'a>(
        client: &'a mut Self::Client,
        service: usize,
        bytes: &[u8],
    ) -> Result<&'a [u8], CallFailure>;

    /// Releases the resources of a calling thread. A client with several threads calls it in each
    /// before the thread ends.
    fn end_thread(_client: &mut Self::Client) {}
}

/// The usual log of the kernel's users.
pub trait Log: Kernel {
    /// Writes a line with `round` and a clock value. It may wait for the line's output, but not for
    /// ever: a line that cannot be written is dropped whole.
    fn log(&self, round: u32, ticks: u64);

    /// Returns the number of bytes accepted by the log's transport. A dropped line does not change
    /// it.
    fn logged(&self) -> u64;
}
