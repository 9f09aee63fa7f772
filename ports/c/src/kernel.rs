//! A kernel written in C, as the suite sees it.

use core::{ffi::c_void, ptr::NonNull};

use chronoscope_suite::{
    Clock, Priority, Reason, Refusal, Request, Tasks,
    arena::Arena,
    kernel::{Log, Messages, Mutexes, ProcessorTime, Protocol},
    task::{Block, block_on},
    wire::Domain,
};

use crate::{
    memory,
    port::{self, Object},
    slot::{Raw, Slot},
    target::Target,
};

pub struct Kernel {
    domain: Domain,
    hertz: u64,
    tick_us: u64,
}

impl Kernel {
    /// # Errors
    /// [`Refusal`] for a clock that cannot measure, for keys that the experiment does not know, and
    /// for primitives that only Linux has.
    pub fn new(target: &Target, request: &Request<'_>) -> Result<Self, Refusal> {
        accept(request)?;
        check_clock(target.hertz)?;
        let domain = match target.domain {
            0 => Domain::Wall,
            1 => Domain::Instructions,
            _ => Domain::Cycles,
        };
        Ok(Self { domain, hertz: target.hertz, tick_us: target.tick_us.into() })
    }
}

fn accept(request: &Request<'_>) -> Result<(), Refusal> {
    if request.pairs().any(|(key, _)| !request.knows(key)) {
        let what = "this port has no parameters of its own";
        return Err(Refusal::new(Reason::Invalid, what, "leave them out"));
    }
    match request.given("primitive") {
        None | Some("yield" | "semaphore" | "queue") => Ok(()),
        Some("native") => Err(Refusal::not_offered(
            "ports in C have semaphores; freertos-notify has FreeRTOS's task notifications",
        )),
        Some(_) => Err(Refusal::not_offered("that primitive is one of Linux's")),
    }
}

/// Checks that the clock counts, and that its two reads are of one counter.
fn check_clock(hertz: u64) -> Result<(), Refusal> {
    /// Reads of the clock, of which one must differ from the first.
    const READS: u32 = 1_000_000;
    let wrong = |what| Err(Refusal::new(Reason::Invalid, what, "mend the port's clock"));
    if hertz == 0 {
        return wrong("the port says that its clock has 0 ticks a second");
    }
    let start = now();
    if (0..READS).all(|_| now() == start) {
        return wrong("chrono_clock_now() stands still");
    }
    let (before, raw, after) = (now(), port::clock(), now());
    let since = |time: u64| raw.wrapping_sub(time as Raw);
    if since(before) > (after - before) as Raw {
        return wrong("a mark's clock and the low bits of chrono_clock_now() are not one counter");
    }
    Ok(())
}

fn now() -> u64 {
    // SAFETY: the call has no conditions.
    unsafe { port::chrono_clock_now() }
}

impl Clock for Kernel {
    type Slot = Slot;
    const DOMAIN: Domain = Domain::Cycles;

    #[inline(always)]
    fn read(&self) -> Raw {
        port::clock()
    }

    #[inline(always)]
    fn now(&self) -> u64 {
        now()
    }

    fn domain(&self) -> Domain {
        self.domain
    }

    fn hertz(&self) -> u64 {
        self.hertz
    }

    #[cfg(feature = "pins")]
    #[inline(always)]
    fn drive(&self, pin: u8, high: bool) {
        // SAFETY: the call has no conditions.
        unsafe { port::chrono_pin(pin, high) };
    }
}

/// An object of the kernel: a semaphore, a queue, a mutex.
pub struct Handle(NonNull<c_void>);

// SAFETY: the kernel guards its objects against its own tasks.
unsafe impl Sync for Handle {}
// SAFETY: as above.
unsafe impl Send for Handle {}

impl Handle {
    fn new(object: Object, refusal: Refusal) -> Result<Self, Refusal> {
        NonNull::new(object).map(Self).ok_or(refusal)
    }

    #[inline(always)]
    fn object(&self) -> Object {
        self.0.as_ptr()
    }
}

impl chronoscope_suite::Kernel for Kernel {
    type Director = Thread;
    type Semaphore = Handle;
    /// The body of an ended task keeps its memory: see [`memory::alloc`].
    const HAS_PAST: bool = false;

    fn tick_us(&self) -> u64 {
        self.tick_us
    }

    #[inline(always)]
    fn has_ticks(&self) -> bool {
        self.tick_us != 0 && port::has("ticks")
    }

    fn tick_after(&self, time: u64) -> u64 {
        if port::has("ticks") {
            // SAFETY: called by a task, and the port has the function.
            unsafe { port::chrono_tick_after(time) }
        } else {
            time
        }
    }

    fn semaphore(&self, initial: u32) -> Result<Handle, Refusal> {
        // SAFETY: called by the director.
        Handle::new(unsafe { port::chrono_semaphore(initial) }, Refusal::full())
    }

    #[inline(always)]
    fn give(&self, semaphore: &'static Handle) {
        // SAFETY: a semaphore of the port's, given by a task.
        unsafe { port::chrono_give(semaphore.object()) };
    }

    #[inline(always)]
    fn give_from_handler(&self, semaphore: &'static Handle) {
        // SAFETY: a semaphore of the port's, given by a handler.
        unsafe { port::chrono_give_from_handler(semaphore.object()) };
    }
}

/// A task of the kernel.
pub enum Thread {}

/// The first code of a task: runs the body at `body`.
unsafe extern "C" fn enter<F: Future<Output = ()>>(body: *mut c_void) {
    // SAFETY: `spawn` has written the body there, for this task alone.
    block_on(unsafe { body.cast::<F>().read() });
}

/// The number of a priority in the header.
const fn level(priority: Priority) -> u8 {
    match priority {
        Priority::Idle => 0,
        Priority::Ordinary => 1,
        Priority::Urgent(urgency) if urgency < 8 => 1 + urgency,
        Priority::Urgent(_) => 9,
    }
}

impl Tasks for Thread {
    type Kernel = Kernel;
    const KIND: &'static str = "thread";

    fn spawn<F>(_: &'static Kernel, priority: Priority, body: F) -> Result<(), Refusal>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        const { assert!(align_of::<F>() <= 16, "memory is aligned to 16 bytes") };
        let place = memory::alloc(size_of::<F>())?;
        // SAFETY: the memory is as large and as aligned as a body, and nothing else uses it.
        unsafe { place.cast::<F>().write(body) };
        // SAFETY: the entry fits the body at the address.
        let is_made = unsafe { port::chrono_spawn(enter::<F>, place, level(priority)) };
        if is_made { Ok(()) } else { Err(Refusal::full()) }
    }

    fn reap(_: &'static Kernel) -> impl Future<Output = bool> + Send {
        // SAFETY: called by a task, if the port has the function.
        Block(|| port::has("reaping") && unsafe { port::chrono_reap() })
    }

    #[inline(always)]
    fn yield_now(_: &'static Kernel) -> impl Future<Output = ()> + Send {
        // SAFETY: called by a task.
        Block(|| unsafe { port::chrono_yield() })
    }

    fn delay_until(_: &'static Kernel, due: u64) -> impl Future<Output = ()> + Send {
        // SAFETY: called by a task.
        Block(move || unsafe { port::chrono_delay_until(due) })
    }

    #[inline(always)]
    fn take(_: &'static Kernel, semaphore: &'static Handle) -> impl Future<Output = ()> + Send {
        // SAFETY: a semaphore of the port's, taken by a task.
        Block(|| unsafe { port::chrono_take(semaphore.object()) })
    }

    fn switches(_: &'static Kernel) -> Option<u32> {
        // SAFETY: called by a task.
        Some(unsafe { port::chrono_switches() }).filter(|count| *count != u32::MAX)
    }
}

impl Messages for Thread {
    type Queue = Handle;

    fn queue(_: &'static Kernel, capacity: usize) -> Result<Handle, Refusal> {
        let capacity = u32::try_from(capacity).map_err(|_| Refusal::full())?;
        // SAFETY: called by the director.
        Handle::new(unsafe { port::chrono_queue(capacity) }, Refusal::full())
    }

    #[inline(always)]
    fn send(
        _: &'static Kernel,
        queue: &'static Handle,
        word: u32,
    ) -> impl Future<Output = ()> + Send {
        // SAFETY: a queue of the port's, used by a task.
        Block(move || unsafe { port::chrono_send(queue.object(), word) })
    }

    #[inline(always)]
    fn receive(_: &'static Kernel, queue: &'static Handle) -> impl Future<Output = u32> + Send {
        // SAFETY: a queue of the port's, used by a task.
        Block(|| unsafe { port::chrono_receive(queue.object()) })
    }
}

impl Mutexes for Thread {
    type Mutex = Handle;

    fn mutex(
        _: &'static Kernel,
        arena: &Arena,
        protocol: Protocol,
    ) -> Result<&'static Handle, Refusal> {
        let (number, ceiling) = match protocol {
            Protocol::None => (0, 0),
            Protocol::Inheritance => (1, 0),
            Protocol::Ceiling(priority) => (2, level(priority)),
        };
        let refusal = Refusal::not_offered("this kernel has no mutexes of that protocol");
        // SAFETY: called by the director.
        arena.place(Handle::new(unsafe { port::chrono_mutex(number, ceiling) }, refusal)?)
    }

    #[inline(always)]
    fn lock(_: &'static Kernel, mutex: &'static Handle) -> impl Future<Output = ()> + Send {
        // SAFETY: a mutex of the port's, locked by a task.
        Block(|| unsafe { port::chrono_lock(mutex.object()) })
    }

    #[inline(always)]
    fn unlock(_: &'static Kernel, mutex: &'static Handle) {
        // SAFETY: unlocked by the task that has locked it.
        unsafe { port::chrono_unlock(mutex.object()) };
    }
}

impl ProcessorTime for Thread {
    fn processor_time(_: &'static Kernel) -> u64 {
        // SAFETY: called by a task.
        unsafe { port::chrono_processor_time() }
    }
}

impl Log for Kernel {
    #[inline(always)]
    fn log(&self, round: u32, ticks: u64) {
        // SAFETY: called by a task.
        unsafe { port::chrono_log(round, ticks) };
    }

    fn logged(&self) -> u64 {
        // SAFETY: called by a task.
        unsafe { port::chrono_logged() }
    }
}
