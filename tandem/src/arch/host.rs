//! A simulated processor, for tests on the host. It has coroutines only, and their polls nest on
//! the host's stack. Handlers run at the points where interrupts are unmasked, if the test has set
//! one.
//!
//! # Soundness
//! A host thread that masks interrupts has the only turn of the process until it unmasks them, so
//! threads that share the kernel's objects exclude each other. The simulated processor belongs to
//! one thread: its tests begin with `begin_test`.

use crate::{
    records::{KERNEL, Task},
    shared::Masked,
};
use std::{
    cell::{Cell, RefCell},
    ptr::NonNull,
    sync::{Mutex, MutexGuard, PoisonError},
};

type Handler = Box<dyn FnMut()>;

#[cfg(test)]
thread_local! {
    /// The call that is about to mask interrupts, or has just unmasked them.
    pub(crate) static WINDOW: Cell<Option<&'static core::panic::Location<'static>>> =
        const { Cell::new(None) };
    /// `true` if a handler that [`interrupts`] runs may itself be interrupted.
    pub(crate) static NEST: Cell<bool> = const { Cell::new(true) };
    /// The number of times that the idle task has slept.
    pub(crate) static SLEEPS: Cell<u32> = const { Cell::new(0) };
    /// The masked window that a test opens on purpose.
    pub(crate) static BREACH: Cell<&'static str> = const { Cell::new("") };
}

/// Unmasks interrupts in the middle of a masked window, if a test has named this one.
#[cfg(test)]
pub(crate) fn breach(window: &str) {
    if BREACH.get() == window && set_masked(false) {
        interrupts();
        set_masked(true);
    }
}

static TURN: Mutex<()> = Mutex::new(());

/// Masks or unmasks interrupts, and takes or ends the thread's turn. Returns the state before.
fn set_masked(masked: bool) -> bool {
    let before = MASKED.replace(masked);
    if before != masked {
        let turn = masked.then(|| TURN.lock().unwrap_or_else(PoisonError::into_inner));
        HAS_TURN.set(turn);
    }
    before
}

thread_local! {
    static MASKED: Cell<bool> = const { Cell::new(false) };
    /// Held while interrupts are masked.
    static HAS_TURN: Cell<Option<MutexGuard<'static, ()>>> = const { Cell::new(None) };
    static IN_HANDLER: Cell<bool> = const { Cell::new(false) };
    /// Makes the switch that is pending.
    static CATCH_UP: Cell<Option<fn(Masked)>> = const { Cell::new(None) };
    static PENDING: Cell<bool> = const { Cell::new(false) };
    /// The task that a handler has noted as the most urgent, as on RISC-V.
    static WANTED: Cell<Option<Task>> = const { Cell::new(None) };
    static HANDLER: RefCell<Option<Handler>> = const { RefCell::new(None) };
}

/// Unmasks interrupts and forgets what is pending, after a test that has failed on purpose. From
/// here on, `catch_up` makes the switches that are pending.
#[cfg(test)]
pub(crate) fn reset(catch_up: fn(Masked)) {
    CATCH_UP.set(Some(catch_up));
    HANDLER.with(|handler| handler.try_borrow_mut().map(|mut handler| *handler = None)).ok();
    set_masked(false);
    IN_HANDLER.set(false);
    PENDING.set(false);
}

#[cfg(test)]
/// Sets the handler to run whenever interrupts are unmasked.
pub(crate) fn set_handler(handler: Option<Handler>) {
    HANDLER.with_borrow_mut(|current| *current = handler);
}

/// Simulates an interrupt: runs the handler, then the switch that it has asked for.
#[cfg_attr(test, track_caller)]
fn interrupts() {
    if MASKED.get() || IN_HANDLER.get() {
        return;
    }
    #[cfg(test)]
    WINDOW.set(Some(core::panic::Location::caller()));
    IN_HANDLER.set(true);
    HANDLER.with_borrow_mut(|handler| handler.iter_mut().for_each(|handler| handler()));
    IN_HANDLER.set(false);
    while PENDING.take() {
        let m = mask();
        if let Some(wanted) = WANTED.take() {
            let is_right = KERNEL.ready.most_urgent(m).is(wanted);
            assert!(is_right || handlers_nest(), "handlers leave the most urgent task");
        }
        if let Some(catch_up) = CATCH_UP.get() {
            catch_up(m);
        }
        set_masked(false);
    }
}

/// Handlers nest in the simulation, as on Cortex-M, unless a test sets it otherwise, as on RISC-V.
pub(crate) fn handlers_nest() -> bool {
    #[cfg(test)]
    return NEST.get();
    #[cfg(not(test))]
    true
}

#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Mask(bool);

impl Mask {
    #[cfg_attr(test, track_caller)]
    pub(crate) fn set() -> (Self, Masked) {
        interrupts();
        let before = set_masked(true);
        // SAFETY: this thread has the only turn, and its handlers run only in `interrupts`, which
        // does nothing while the mask is set.
        (Self(before), unsafe { Masked::assume() })
    }

    #[cfg_attr(test, track_caller)]
    pub(crate) fn restore(self) {
        set_masked(self.0);
        interrupts();
    }

    pub(crate) fn is_open(self) -> bool {
        !self.0
    }

    pub(crate) fn is_open_and_none<T>(self, link: Option<NonNull<T>>) -> bool {
        self.is_open() && link.is_none()
    }

    pub(crate) fn allows_switch(self) -> bool {
        !self.0 && !IN_HANDLER.get()
    }
}

#[cfg_attr(test, track_caller)]
pub(crate) fn mask() -> Masked {
    interrupts();
    assert!(!set_masked(true), "masked twice");
    // SAFETY: as in `Mask::set`.
    unsafe { Masked::assume() }
}

/// Counts the sleep in the test's [`SLEEPS`].
#[cfg(test)]
pub(crate) fn wait_for_interrupt(_: Masked) {
    SLEEPS.set(SLEEPS.get() + 1);
}

/// Nothing: interrupts that are pending and have just been unmasked are taken.
#[inline(always)]
pub(crate) fn take_pending() {}

/// Masks interrupts where their state is to be that before an earlier `Mask::set` in the end.
#[cfg_attr(test, track_caller)]
pub(crate) fn mask_again() -> Masked {
    Mask::set().1
}

#[cfg_attr(test, track_caller)]
pub(crate) fn unmask(_: Masked) {
    assert!(set_masked(false), "let in twice");
    interrupts();
}

/// Returns whether interrupts are masked.
pub(crate) fn is_masked() -> bool {
    MASKED.get()
}

pub(crate) fn pend(_: Masked, next: Option<Task>) {
    PENDING.set(true);
    WANTED.set(next.filter(|_| IN_HANDLER.get()));
}

/// Has the switch that has been requested, if any, search for the most urgent task.
pub(crate) fn search_again(_: Masked) {
    WANTED.set(None);
}
