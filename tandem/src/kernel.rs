//! The kernel: which task runs, and how it gives way to another.
//!
//! # One stack for all coroutines
//! A poll never waits, so a coroutine needs a stack only while it is polled. All polls share one.
//! *Invariant:* of the polls on the shared stack, from the bottom up, each is strictly more urgent than
//! the one below, and each one's task is ready. *Hence* the top one is always the first to go on,
//! and no poll that could run lies buried. `docs/tandem.md` proves it; [`check_order`] checks it in debug builds.

use crate::{
    arch::{self, Mask},
    ready::Ready,
    shared::{Masked, Shared},
    task::{Header, IDLE_LEVEL, Info, Life, Task},
    trace::{self, Event},
};

/// The assembly of `arch` knows this layout: see `arch::offset`.
#[repr(C)]
pub(crate) struct Kernel {
    pub(crate) ready: Ready,
    current: Shared<Option<Task>>,
    /// The task of the top poll on the shared stack; the idle task when there is none, for it lives at the bottom.
    top: Shared<Option<Task>>,
    /// What a handler has made the most urgent, for the switch that follows it.
    #[cfg(target_arch = "riscv32")]
    pub(crate) wanted: Shared<Option<Task>>,
    /// The high end of the handlers' stack: what the main program leaves free of its own. 0 before there are handlers.
    #[cfg(target_arch = "riscv32")]
    pub(crate) handlers: Shared<usize>,
    #[cfg(target_arch = "arm")]
    pub(crate) literals: Shared<arch::Literals>,
    idle: Header,
}

pub(crate) static KERNEL: Kernel = Kernel::new();

pub(crate) use crate::task::masked;

impl Kernel {
    #[cfg(target_os = "none")]
    pub(crate) const CURRENT: usize = core::mem::offset_of!(Kernel, current);
    #[cfg(target_os = "none")]
    pub(crate) const TOP: usize = core::mem::offset_of!(Kernel, top);
    #[cfg(target_arch = "riscv32")]
    pub(crate) const WANTED: usize = core::mem::offset_of!(Kernel, wanted);
    #[cfg(target_arch = "riscv32")]
    pub(crate) const HANDLERS: usize = core::mem::offset_of!(Kernel, handlers);

    const fn new() -> Self {
        Self {
            ready: Ready::new(),
            current: Shared::new(None),
            top: Shared::new(None),
            #[cfg(target_arch = "riscv32")]
            wanted: Shared::new(None),
            #[cfg(target_arch = "riscv32")]
            handlers: Shared::new(0),
            #[cfg(target_arch = "arm")]
            literals: Shared::new([0; _]),
            idle: Header::new(),
        }
    }

    #[inline(always)]
    pub(crate) fn current(&'static self, m: Masked) -> Task {
        debug_assert!(self.current.get(m).is_some(), "the kernel has not been started");
        // SAFETY: set by `start` before anything else can run, and to a task ever after.
        unsafe { self.current.get(m).unwrap_unchecked() }
    }

    /// The same, at any time: the idle task before the kernel has been started.
    pub(crate) fn current_or_idle(&'static self, m: Masked) -> Task {
        self.current.get(m).unwrap_or(&self.idle)
    }

    pub(crate) fn runs(&'static self, m: Masked, task: Task) -> bool {
        self.current.get(m).is_some_and(|current| current.is(task))
    }

    #[cfg(any(test, target_os = "none"))]
    pub(crate) fn is_idle(&'static self, m: Masked) -> bool {
        self.current(m).is(&self.idle)
    }

    /// Begins the life of a coroutine: it shares the stack of the idle task.
    pub(crate) fn share_stack(&'static self, m: Masked, task: Task) {
        task.saved.share_stack_of(m, &self.idle.saved);
        task.saved.clear(m);
    }
}

/// The stack on which every coroutine is polled, and the idle task sleeps. `SIZE` in bytes.
#[repr(C, align(32))]
pub struct SharedStack<const SIZE: usize> {
    guard: core::cell::UnsafeCell<core::mem::MaybeUninit<[u8; arch::GUARD]>>,
    room: core::cell::UnsafeCell<core::mem::MaybeUninit<[u8; SIZE]>>,
}

// SAFETY: only the kernel touches it, as a stack.
unsafe impl<const SIZE: usize> Sync for SharedStack<SIZE> {}

impl<const SIZE: usize> SharedStack<SIZE> {
    #[must_use]
    pub const fn new() -> Self {
        assert!(SIZE.is_multiple_of(8) && SIZE >= 128, "a multiple of 8 bytes, at least 128");
        Self {
            guard: core::cell::UnsafeCell::new(core::mem::MaybeUninit::uninit()),
            room: core::cell::UnsafeCell::new(core::mem::MaybeUninit::uninit()),
        }
    }
}

impl<const SIZE: usize> Default for SharedStack<SIZE> {
    fn default() -> Self {
        Self::new()
    }
}

/// Starts the kernel: runs `set_up`, which spawns the first tasks, then the most urgent of them. The
/// calling code becomes the idle task, which sleeps.
///
/// # Panics
/// When the kernel runs already.
pub fn start<const SIZE: usize>(stack: &'static SharedStack<SIZE>, set_up: impl FnOnce()) -> ! {
    let m = arch::mask();
    assert!(KERNEL.current.get(m).is_none(), "the kernel runs already");
    let (low, high) = (stack.guard.get() as usize, stack.room.get() as usize + SIZE);
    KERNEL.ready.set_idle(m, &KERNEL.idle);
    KERNEL.current.set(m, Some(&KERNEL.idle));
    KERNEL.top.set(m, Some(&KERNEL.idle));
    arch::set_up(m, &KERNEL.idle, low);
    set_up();
    // SAFETY: the stack is aligned by its type and, as the kernel is started once, used here alone.
    unsafe { arch::become_idle(m, &KERNEL.idle, low, high) }
}

/// The running task; in a handler, the one it interrupted. For panic handlers and traces.
#[must_use]
pub fn current() -> Info {
    masked(|m| Info(KERNEL.current_or_idle(m)))
}

/// Makes a task ready. `true` when it should run at once: then call [`preempt`].
#[inline(always)]
pub(crate) fn wake(m: Masked, task: Task) -> bool {
    #[cfg(feature = "trace")]
    if task.bit.get(m) != 0 && !KERNEL.ready.contains(m, task) {
        trace::emit(Event::Ready, task);
    }
    let urgent = KERNEL.ready.insert(m, task);
    #[cfg(feature = "time-slice")]
    if !urgent && let Some(current) = KERNEL.current.get(m) {
        crate::slice::begin_if_shared(m, current);
    }
    urgent
}

/// Lets a task that has just become the most urgent run: at once, or when the handler or critical section ends.
#[inline(always)]
pub(crate) fn preempt(m: Masked, mask: Mask, task: Task) {
    if mask.allows_switch() {
        switch(m, KERNEL.current(m), task);
    } else {
        arch::pend(m, Some(task));
    }
}

/// Wakes a task from anywhere, with whatever follows.
#[inline(always)]
pub(crate) fn wake_and_preempt(_: Masked, mask: Mask, task: Task) {
    // SAFETY: interrupts are masked.
    unsafe { arch::wake(task, mask) }
}

/// What `arch::wake` does, in Rust.
///
/// # Safety
/// Interrupts are masked.
#[cfg(any(not(target_arch = "arm"), feature = "trace", feature = "time-slice"))]
pub(crate) unsafe extern "C" fn wake_here(task: Task, mask: Mask) {
    // SAFETY: by the caller's word.
    let m = unsafe { Masked::assume() };
    if wake(m, task) {
        preempt(m, mask, task);
    }
}

/// As `wake_and_preempt`, and lets interrupts in as they were. On RV32, where a function that calls others keeps a frame for what is left
/// to do, it is a function that does all of it, to be called last.
#[inline(always)]
pub(crate) fn wake_and_restore(m: Masked, mask: Mask, task: Task) {
    #[cfg(not(target_arch = "riscv32"))]
    wake_and_preempt(m, mask, task);
    #[cfg(not(target_arch = "riscv32"))]
    mask.restore();
    let _ = m;
    #[cfg(target_arch = "riscv32")]
    // SAFETY: interrupts are masked.
    unsafe {
        wake_here_and_restore(task, mask);
    }
}

/// # Safety
/// Interrupts are masked.
#[cfg(target_arch = "riscv32")]
#[inline(never)]
pub(crate) unsafe extern "C" fn wake_here_and_restore(task: Task, mask: Mask) {
    // SAFETY: by the caller's word.
    let m = unsafe { Masked::assume() };
    if !wake(m, task) {
        mask.restore();
    } else if mask.allows_switch() {
        // SAFETY: interrupts are masked, and what was woken is suspended, or a coroutine between two polls.
        unsafe { arch::switch_and_unmask(KERNEL.current(m), task) };
    } else {
        arch::pend(m, Some(task)); // where they were masked
    }
}

#[inline(always)]
pub(crate) fn switch(_: Masked, from: Task, to: Task) {
    // SAFETY: interrupts are masked, and `to` is ready: suspended, or a coroutine between two polls.
    unsafe { arch::switch(from, to) };
}

/// The running thread lets the next of its ring run, if there is another.
///
/// # Safety
/// This is a thread.
#[cfg(not(target_arch = "riscv32"))]
#[inline(always)]
pub(crate) unsafe fn give_way() {
    let m = arch::mask();
    let me = KERNEL.current(m);
    let next = KERNEL.ready.rotate(m, me);
    if !next.is(me) {
        switch(m, me, next);
    }
    arch::unmask(m);
}

/// `task` runs from here on: what is to be done at a switch, besides counting. The assembly of `arch` calls it if there is anything.
#[cfg(any(feature = "trace", feature = "time-slice", not(target_arch = "arm")))]
pub(crate) extern "C" fn on_run(task: Task) {
    trace::emit(Event::Run, task);
    #[cfg(feature = "time-slice")]
    masked(|m| crate::slice::begin(m, task));
}

/// The running thread, `me`, waits until it is woken.
#[inline(always)]
pub(crate) fn block(m: Masked, me: Task) {
    let next = leave(m, me);
    switch(m, me, next);
}

/// The running task stops being ready. Returns the one that is most urgent now.
#[inline(always)]
pub(crate) fn leave(m: Masked, me: Task) -> Task {
    trace::emit(Event::Blocked, me);
    KERNEL.ready.remove_head(m, me)
}

/// Ends the running thread.
pub(crate) fn end_thread() -> ! {
    let m = arch::mask();
    bury(m, KERNEL.current(m));
    // SAFETY: interrupts are masked, and a ready task is suspended or a coroutine between two polls.
    unsafe { arch::load(KERNEL.ready.most_urgent(m)) }
}

/// Takes a task that has ended out of everything. With no bit for a level, no late waker can make it ready.
fn bury(m: Masked, task: Task) {
    KERNEL.ready.remove(m, task);
    task.bit.set(m, 0);
    task.life.set(m, Life::Over);
    trace::emit(Event::Ended, task);
}

/// If a ready task is more urgent than the running one, as after a priority was lowered, lets it run.
pub(crate) fn reschedule(m: Masked, mask: Mask) {
    let (me, next) = (KERNEL.current(m), KERNEL.ready.most_urgent(m));
    if !next.is(me) {
        preempt(m, mask, next);
    }
}

/// Ends a coroutine, within its own poll, which then returns at once. Leaves interrupts masked.
///
/// What follows a poll looks only at `again`, and at `next` and `level` to turn the ring. So the task that has left every
/// ring turns the one that is next to run: it stands as if it had stood before its head.
#[cold]
#[inline(never)]
pub(crate) fn end_coroutine(task: Task) {
    let (_, m) = Mask::set();
    bury(m, task);
    let next = KERNEL.ready.most_urgent(m);
    task.next.set(m, Some(next));
    task.set_level(m, next.level.get(m));
    task.bit.set(m, 0);
    task.again.set(m, true);
}

/// Called on the shared stack when the poll of `task` has ended: polls every coroutine that is the most urgent
/// next, until the most urgent is a suspended context. Returns that one, to be resumed, with interrupts masked.
/// `below` is the task of the poll that lies suspended underneath. On the Cortex-M, assembly does the same.
#[cfg(not(target_arch = "arm"))]
pub(crate) unsafe extern "C" fn after_poll(mut task: Task, below: Task) -> Task {
    loop {
        let (_, m) = Mask::set();
        let next = put_away(m, task);
        if next.saved.exists(m) {
            KERNEL.top.set(m, Some(below));
            return next;
        }
        task = next;
        // SAFETY: interrupts are masked.
        unsafe { check_order(task, below) };
        KERNEL.current.set(m, Some(task));
        KERNEL.top.set(m, Some(task));
        on_run(task);
        #[cfg(feature = "count")]
        task.switches.set(m, task.switches.get(m).wrapping_add(1));
        poll(m, task);
    }
}

/// Takes a coroutine that has been polled out of the ready set, unless it is to be polled again. Returns the most urgent task.
#[cfg(not(target_arch = "arm"))]
#[inline(always)]
fn put_away(m: Masked, task: Task) -> Task {
    task.saved.clear(m);
    if task.again.get(m) {
        task.again.set(m, false);
        return KERNEL.ready.rotate(m, task);
    }
    trace::emit(Event::Blocked, task);
    KERNEL.ready.remove_head(m, task)
}

/// Polls a coroutine, with interrupts let in.
#[cfg(not(target_arch = "arm"))]
#[inline(always)]
fn poll(m: Masked, task: Task) {
    let poll = task.poll.get(m);
    debug_assert!(poll.is_some());
    // SAFETY: what is ready and has no context is a coroutine, and spawning one sets `poll`.
    let poll = unsafe { poll.unwrap_unchecked() };
    arch::unmask(m);
    // SAFETY: the function belongs to this task's storage, and no one else polls it meanwhile.
    unsafe { poll(task) }
}

/// Makes the calling test the idle task of a kernel that is its thread's alone while it runs.
#[cfg(test)]
pub(crate) fn begin_test() -> std::sync::MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let turn = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let (mask, m) = Mask::set();
    KERNEL.ready.set_idle(m, &KERNEL.idle);
    KERNEL.current.set(m, Some(&KERNEL.idle));
    KERNEL.top.set(m, Some(&KERNEL.idle));
    mask.restore();
    turn
}

/// What the switch does in assembly where there is no assembly: polls `task` on top of the running poll.
#[cfg(not(target_os = "none"))]
pub(crate) fn poll_above(m: Masked, task: Task) -> Task {
    let below = KERNEL.top.get(m).unwrap_or(&KERNEL.idle);
    // SAFETY: interrupts are masked.
    unsafe { check_order(task, below) };
    KERNEL.current.set(m, Some(task));
    KERNEL.top.set(m, Some(task));
    on_run(task);
    poll(m, task);
    // SAFETY: the poll has just ended.
    let next = unsafe { after_poll(task, below) };
    KERNEL.current.set(m, Some(next));
    on_run(next);
    next
}

/// The invariant of the shared stack, as far as the next poll and the one below it go.
///
/// # Safety
/// Interrupts are masked, or this is PendSV, where handlers come between that only add to the ready set.
pub(crate) unsafe extern "C" fn check_order(task: Task, below: Task) {
    // SAFETY: by the caller's word.
    let m = unsafe { Masked::assume() };
    let (upper, lower) = (task.level.get(m), below.level.get(m));
    debug_assert!(upper < lower, "polls on the shared stack rise in urgency");
    debug_assert!(
        lower == IDLE_LEVEL || KERNEL.ready.contains(m, below),
        "a poll waits only for more urgent tasks"
    );
}
