//! Slots, through which declared tasks run bodies that are chosen at run time. RTIC creates no
//! tasks, so `spawn` lends a declared one its body: a declared task polls the body in its [`Slot`].
//!
//! In a program for RTIC alone the task holds its body, and the compiler makes one function of the
//! interrupt handler and all of its tasks. Here they are separated by a call through a pointer. The
//! waker is made on the far side of the call, where the compiler sees its effect as in RTIC's own
//! poll. docs/machines/qemu.md has the cost, measured by `examples/direct.rs`.

use core::{
    any::TypeId,
    cell::{Cell, RefCell, UnsafeCell},
    future::Ready,
    mem::MaybeUninit,
    pin::Pin,
    ptr,
    sync::atomic::{AtomicPtr, Ordering::Relaxed},
    task::{Context, Poll},
};

use chronoscope_suite::{Refusal, arena::Arena};
use cortex_m::peripheral::{NVIC, SCB, scb::VectActive};
use critical_section::Mutex;
use rtic::export::executor::AsyncTaskExecutor;

use crate::{device::NVIC_PRIO_BITS, semaphore::Semaphore};

/// The number of RTIC's priorities that have tasks: one for each interrupt line of the kernel.
pub const LEVELS: usize = 9;

/// Polls the body at an address, with a waker that calls the function. Tells whether it has ended.
type Run = unsafe fn(*mut (), fn()) -> bool;

/// The port's data of a declared task.
pub struct Slot {
    run: Cell<Run>,
    /// Stays when the task has ended: the next body of the same type takes its place, as it does in
    /// RTIC's own storage.
    body: Cell<*mut ()>,
    kind: Cell<Option<TypeId>>,
    /// The slot's bit in the set of free slots of its level.
    pub bit: Cell<u32>,
    pub parent: Cell<Option<&'static Slot>>,
    /// Tasks that this one has spawned and not reaped.
    pub children: Cell<u32>,
    /// Given once by each child that ends.
    pub ended: Semaphore,
    /// Times that RTIC has polled this task.
    pub polls: Cell<u32>,
}

// SAFETY: a slot is written by the task that has claimed it, before it starts the slot's own task;
// and by that.
unsafe impl Sync for Slot {}

impl Slot {
    pub const fn new() -> Self {
        Self {
            run: Cell::new(|_, _| true),
            body: Cell::new(ptr::null_mut()),
            kind: Cell::new(None),
            bit: Cell::new(0),
            parent: Cell::new(None),
            children: Cell::new(0),
            ended: Semaphore::new(0),
            polls: Cell::new(0),
        }
    }

    pub fn hold<F: Future<Output = ()> + 'static>(&self, body: F) -> Result<(), Refusal> {
        if self.kind.get() != Some(TypeId::of::<F>()) {
            self.body.set(place(UnsafeCell::new(MaybeUninit::<F>::uninit()))?.get().cast());
            self.run.set(run::<F>);
            self.kind.set(Some(TypeId::of::<F>()));
        }
        // SAFETY: the memory is for this type, and its last body has ended. Bodies need no drop.
        unsafe { self.body.get().cast::<F>().write(body) };
        Ok(())
    }
}

/// # Safety
/// An `F` must be at `body` and stay there, and no other code may poll it.
unsafe fn run<F: Future<Output = ()>>(body: *mut (), wake: fn()) -> bool {
    // What RTIC makes before it polls. Which executor is asked makes no difference to the waker.
    let waker = AsyncTaskExecutor::<Ready<()>>::new().waker(wake);
    // SAFETY: as promised.
    let body = unsafe { Pin::new_unchecked(&mut *body.cast::<F>()) };
    body.poll(&mut Context::from_waker(&waker)).is_ready()
}

/// The free slots of each level, a bit for each.
pub static FREE: [Mutex<Cell<u32>>; LEVELS] = [const { Mutex::new(Cell::new(0)) }; LEVELS];

/// The slot whose task each level polls, or has polled last.
static CURRENT: [AtomicPtr<Slot>; LEVELS] = [const { AtomicPtr::new(ptr::null_mut()) }; LEVELS];

static MEMORY: Mutex<RefCell<Option<Arena>>> = Mutex::new(RefCell::new(None));

/// Sets up the port's memory. Called once, before the first task.
pub fn start() {
    const BYTES: usize = 24 * 1024;
    static mut REGION: [MaybeUninit<u8>; BYTES] = [MaybeUninit::uninit(); BYTES];
    let region = &raw mut REGION;
    // SAFETY: this function is called once, and nothing else names REGION.
    let region: &'static mut [MaybeUninit<u8>] = unsafe { &mut *region };
    critical_section::with(|token| MEMORY.borrow(token).replace(Some(Arena::new(region))));
}

/// Moves `value` into the port's memory.
///
/// # Errors
/// [`Refusal`] when that is full.
pub fn place<T: 'static>(value: T) -> Result<&'static T, Refusal> {
    critical_section::with(|token| {
        MEMORY.borrow_ref(token).as_ref().ok_or(Refusal::full())?.place(value)
    })
}

#[inline(always)]
pub fn release(level: usize, bit: u32) {
    critical_section::with(|token| {
        let free = FREE[level].borrow(token);
        free.set(free.get() | bit);
    });
}

/// All that a declared task does: polls the body in its slot.
pub struct Body<const PRIORITY: usize> {
    pub slot: &'static Slot,
    /// Wakes this task, as RTIC's own waker does.
    pub wake: fn(),
}

impl<const PRIORITY: usize> Future for Body<PRIORITY> {
    type Output = ();

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        let (slot, level) = (self.slot, const { PRIORITY - 1 });
        // RTIC polls a task when it was woken, and at no other time: this is the switch to it.
        if cfg!(feature = "counted") {
            slot.polls.set(slot.polls.get().wrapping_add(1));
            CURRENT[level].store(ptr::from_ref(slot).cast_mut(), Relaxed);
        }
        // SAFETY: the body was put there before the task was started, and this task alone polls it.
        if !unsafe { slot.run.get()(slot.body.get(), self.wake) } {
            return Poll::Pending;
        }
        release(level, slot.bit.get());
        slot.parent.get().inspect(|parent| parent.ended.give());
        Poll::Ready(())
    }
}

/// The calling task's slot; `None` outside of tasks, and where polls are not counted.
#[inline]
pub fn current() -> Option<&'static Slot> {
    let current = CURRENT.get(level()?)?.load(Relaxed);
    // SAFETY: it is null, or one of SLOTS.
    unsafe { current.as_ref() }
}

/// The level whose handler runs this: RTIC decides which interrupt a priority gets, and sets that
/// one's priority.
#[inline]
fn level() -> Option<usize> {
    let VectActive::Interrupt { irqn } = SCB::vect_active() else { return None };
    // SAFETY: these registers may be read at any time.
    let urgency = unsafe { &*NVIC::PTR }.ipr[usize::from(irqn)].read() >> (8 - NVIC_PRIO_BITS);
    // RTIC's priority 1 is level 0.
    Some((1 << NVIC_PRIO_BITS) - 1 - usize::from(urgency))
}
