//! Threads: stacks in a ring. Who gives way hands the processor to the next in the ring; who waits leaves the ring.

#[cfg_attr(target_arch = "arm", path = "thread/cortex_m.rs")]
#[cfg_attr(target_arch = "riscv32", path = "thread/riscv.rs")]
mod arch;

use core::{cell::Cell, future::Future, mem::MaybeUninit, ptr};

use board::{alarm, clock, wfi};
use chronoscope_suite::{
    Priority, Refusal, Tasks,
    arena::Arena,
    task::{Block, block_on},
};

use crate::{kernel::Bare, semaphore::Semaphore};

pub enum Thread {}

/// What is kept of a thread while it does not run.
pub struct Context {
    /// Where its stack ends; on it lies the address to go on at.
    stack: Cell<usize>,
    /// Neighbours in the ring.
    next: Cell<&'static Context>,
    previous: Cell<&'static Context>,
    switches: Cell<u32>,
}

/// Shared by all threads. They do not pre-empt each other, and no handler touches it.
struct Scheduler {
    current: Cell<&'static Context>,
    memory: Cell<Option<Arena>>,
}

// SAFETY: there is one processor, threads give way where they call this module only, and handlers do not call it.
unsafe impl Sync for Scheduler {}
// SAFETY: as above.
unsafe impl Sync for Context {}

static MAIN: Context = Context {
    stack: Cell::new(0),
    next: Cell::new(&MAIN),
    previous: Cell::new(&MAIN),
    switches: Cell::new(0),
};

static SCHEDULER: Scheduler = Scheduler { current: Cell::new(&MAIN), memory: Cell::new(None) };

/// Of each thread, in words: room for what experiments call, and for a handler on top.
const STACK: usize = 192;

/// A thread's stack, and what it runs.
#[repr(C)]
struct Place<F> {
    context: Context,
    body: Cell<Option<F>>,
    stack: [Cell<usize>; STACK],
}

/// Once, before the first thread.
pub fn start() {
    const MEMORY: usize = 28 * 1024;
    static mut REGION: [MaybeUninit<u8>; MEMORY] = [MaybeUninit::uninit(); MEMORY];
    let region = &raw mut REGION;
    // SAFETY: this function is called once, and nothing else names REGION.
    let region: &'static mut [MaybeUninit<u8>] = unsafe { &mut *region };
    SCHEDULER.memory.set(Some(Arena::new(region)));
}

#[inline(always)]
pub fn current() -> &'static Context {
    SCHEDULER.current.get()
}

/// Puts a thread at the end of the ring: it runs when all others have had their turn.
#[inline(always)]
pub fn resume(thread: &'static Context) {
    let current = current();
    let last = current.previous.get();
    last.next.set(thread);
    thread.previous.set(last);
    thread.next.set(current);
    current.previous.set(thread);
}

/// Takes the calling thread out of the ring and hands over to the next. Returns when somebody has resumed it.
#[inline(always)]
pub fn suspend() {
    let current = current();
    let next = current.next.get();
    if ptr::eq(next, current) {
        panic!("all threads wait");
    }
    next.previous.set(current.previous.get());
    current.previous.get().next.set(next);
    switch(current, next);
}

#[inline(always)]
fn give_way() {
    let current = current();
    switch(current, current.next.get());
}

/// Hands the processor from the calling thread to another.
#[inline(always)]
fn switch(from: &'static Context, to: &'static Context) {
    SCHEDULER.current.set(to);
    to.switches.set(to.switches.get().wrapping_add(1));
    // SAFETY: `to` lies where this same function, or Thread::spawn, has left it.
    unsafe { arch::switch(&from.stack, &to.stack) };
}

/// A thread's first code.
extern "C" fn enter<F: Future<Output = ()> + 'static>() -> ! {
    // SAFETY: spawn() has made this function the start of a thread whose context is the first field of a `Place<F>`.
    let place: &'static Place<F> = unsafe { &*ptr::from_ref(current()).cast() };
    if let Some(body) = place.body.take() {
        block_on(body);
    }
    // Nobody resumes a thread that has ended.
    loop {
        suspend();
    }
}

impl Tasks for Thread {
    type Kernel = Bare;
    const KIND: &'static str = "thread";

    fn spawn<F>(_: &'static Bare, _: Priority, body: F) -> Result<(), Refusal>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let memory = SCHEDULER.memory.take().ok_or(Refusal::full())?;
        let place = memory.place(Place {
            context: Context {
                stack: Cell::new(0),
                next: Cell::new(&MAIN),
                previous: Cell::new(&MAIN),
                switches: Cell::new(0),
            },
            body: Cell::new(Some(body)),
            stack: [const { Cell::new(0) }; STACK],
        });
        SCHEDULER.memory.set(Some(memory));
        let place = place?;
        let top = place.stack.as_ptr_range().end.expose_provenance() / arch::ALIGNMENT
            * arch::ALIGNMENT
            - arch::LEFT;
        let index = (top - place.stack.as_ptr().addr()) / size_of::<usize>();
        place.stack[index].set(enter::<F> as *const () as usize);
        place.context.stack.set(top);
        resume(&place.context);
        Ok(())
    }

    async fn reap(_: &'static Bare) -> bool {
        false
    }

    #[inline(always)]
    fn yield_now(_: &'static Bare) -> impl Future<Output = ()> + Send {
        Block(give_way)
    }

    /// Sleeps if nobody else is there, or gives way until it is time.
    fn delay_until(_: &'static Bare, due: u64) -> impl Future<Output = ()> + Send {
        Block(move || {
            while clock::now() < due {
                if ptr::eq(current().next.get(), current()) {
                    // Masked, or the alarm might have been before the processor sleeps.
                    critical_section::with(|_| {
                        alarm::KERNEL.set(due);
                        wfi();
                    });
                } else {
                    give_way();
                }
            }
        })
    }

    #[inline(always)]
    fn take(_: &'static Bare, semaphore: &'static Semaphore) -> impl Future<Output = ()> + Send {
        Block(|| semaphore.take())
    }

    fn switches(_: &'static Bare) -> Option<u32> {
        Some(current().switches.get())
    }
}

#[unsafe(no_mangle)]
extern "C" fn ALARM() {
    alarm::KERNEL.stop();
}
