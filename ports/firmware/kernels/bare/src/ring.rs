//! The ring of threads that want the processor. A thread that gives way switches to the next in the
//! ring; a thread that waits leaves the ring.

#[cfg_attr(target_arch = "arm", path = "ring/cortex_m.rs")]
#[cfg_attr(target_arch = "riscv32", path = "ring/riscv.rs")]
mod arch;

use core::{cell::Cell, ptr};

pub use arch::{ALIGNMENT, LEFT};

/// The saved state of a thread that does not run.
pub struct Context {
    /// The address at which its stack ends: the resume address is there.
    stack: Cell<usize>,
    /// The neighbours in the ring.
    next: Cell<&'static Context>,
    previous: Cell<&'static Context>,
    switches: Cell<u32>,
}

/// Shared by all threads, which do not pre-empt each other. A handler may resume a thread while no
/// other thread is leaving the ring.
struct Scheduler {
    current: Cell<&'static Context>,
}

// SAFETY: there is one processor, threads switch only in calls of this module, and a handler's call
// of `resume` interrupts no `suspend`.
unsafe impl Sync for Scheduler {}
// SAFETY: as for `Scheduler`.
unsafe impl Sync for Context {}

static MAIN: Context = Context::new();

impl Context {
    /// A thread outside of the ring.
    pub const fn new() -> Self {
        Self {
            stack: Cell::new(0),
            next: Cell::new(&MAIN),
            previous: Cell::new(&MAIN),
            switches: Cell::new(0),
        }
    }

    /// Sets the address at which the stack ends. [`LEFT`] bytes of it hold the address to go on at.
    #[inline(always)]
    pub fn set_stack(&self, top: usize) {
        self.stack.set(top);
    }

    /// True if no other thread is in the ring.
    #[inline(always)]
    pub fn is_alone(&'static self) -> bool {
        ptr::eq(self.next.get(), self)
    }

    /// Switches to this thread so far.
    #[inline(always)]
    pub fn switches(&self) -> u32 {
        self.switches.get()
    }
}

static SCHEDULER: Scheduler = Scheduler { current: Cell::new(&MAIN) };

#[inline(always)]
pub fn current() -> &'static Context {
    SCHEDULER.current.get()
}

/// Puts a thread at the end of the ring: it runs after one turn of all others.
#[inline(always)]
pub fn resume(thread: &'static Context) {
    let current = current();
    let last = current.previous.get();
    last.next.set(thread);
    thread.previous.set(last);
    thread.next.set(current);
    current.previous.set(thread);
}

/// Takes the calling thread out of the ring and switches to the next one. Returns after another
/// thread has resumed it. Panics if no other thread is in the ring.
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
pub fn give_way() {
    let current = current();
    switch(current, current.next.get());
}

/// Switches from the calling thread to another.
#[inline(always)]
fn switch(from: &'static Context, to: &'static Context) {
    SCHEDULER.current.set(to);
    to.switches.set(to.switches.get().wrapping_add(1));
    // SAFETY: this function or Thread::spawn has prepared the stack of `to`.
    unsafe { arch::switch(&from.stack, &to.stack) };
}
