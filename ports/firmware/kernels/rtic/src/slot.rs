//! What the declared tasks run. RTIC makes no task at run time, so the suite's `spawn` lends a declared one the body that
//! it is to run: a declared task polls whatever stands in its [`Slot`].
//!
//! A task written for RTIC alone holds its body itself, and the compiler makes one function of the interrupt's handler and
//! all of its tasks. A call through a pointer stands between the two here, with the registers that it saves. To keep
//! it to that, the waker is made anew beyond the call, where the compiler sees what it does as it would in RTIC's own
//! poll. By `examples/direct.rs` that is 4 to 26 instructions a step, and 5 or 6 more for counting; docs/machines/qemu.md
//! has the table.

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

use crate::{
    app::{SIZES, TASKS},
    device::NVIC_PRIO_BITS,
    levels::LEVELS,
    semaphore::Semaphore,
};

/// Polls the body at an address, with a waker that calls the function. Tells whether it has ended.
type Run = unsafe fn(*mut (), fn()) -> bool;

/// What the port keeps of a declared task.
pub struct Slot {
    run: Cell<Run>,
    /// Stays when the task has ended: the next body of the same type takes its place, as it does in RTIC's own storage.
    body: Cell<*mut ()>,
    kind: Cell<Option<TypeId>>,
    /// This slot in the free slots of its level.
    bit: Cell<u32>,
    parent: Cell<Option<&'static Slot>>,
    /// Tasks that this one has spawned and not reaped.
    pub children: Cell<u32>,
    /// Given by each of them when it ends.
    pub ended: Semaphore,
    /// Times that RTIC has polled this task.
    pub polls: Cell<u32>,
}

// SAFETY: a slot is written by the task that has claimed it, before it starts the slot's own task; and by that.
unsafe impl Sync for Slot {}

impl Slot {
    const fn new() -> Self {
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

    fn hold<F: Future<Output = ()> + 'static>(&self, body: F) -> Result<(), Refusal> {
        if self.kind.get() != Some(TypeId::of::<F>()) {
            self.body.set(place(UnsafeCell::new(MaybeUninit::<F>::uninit()))?.get().cast());
            self.run.set(run::<F>);
            self.kind.set(Some(TypeId::of::<F>()));
        }
        // SAFETY: the memory is for this type, and what was there has ended. Bodies need not be dropped.
        unsafe { self.body.get().cast::<F>().write(body) };
        Ok(())
    }
}

/// # Safety
/// At `body` is an `F`, which stays there, and which nobody else polls.
unsafe fn run<F: Future<Output = ()>>(body: *mut (), wake: fn()) -> bool {
    // What RTIC makes before it polls. Which executor is asked makes no difference to the waker.
    let waker = AsyncTaskExecutor::<Ready<()>>::new().waker(wake);
    // SAFETY: as promised.
    let body = unsafe { Pin::new_unchecked(&mut *body.cast::<F>()) };
    body.poll(&mut Context::from_waker(&waker)).is_ready()
}

const fn starts() -> [usize; LEVELS + 1] {
    let mut starts = [0; LEVELS + 1];
    let mut level = 0;
    while level < LEVELS {
        starts[level + 1] = starts[level] + SIZES[level];
        level += 1;
    }
    starts
}

/// Where the slots of each level start.
const STARTS: [usize; LEVELS + 1] = starts();

static SLOTS: [Slot; STARTS[LEVELS]] = [const { Slot::new() }; STARTS[LEVELS]];

/// The free slots of each level, a bit for each.
static FREE: [Mutex<Cell<u32>>; LEVELS] = [const { Mutex::new(Cell::new(0)) }; LEVELS];

/// The slot whose task each level polls, or has polled last.
static CURRENT: [AtomicPtr<Slot>; LEVELS] = [const { AtomicPtr::new(ptr::null_mut()) }; LEVELS];

static MEMORY: Mutex<RefCell<Option<Arena>>> = Mutex::new(RefCell::new(None));

/// Once, before the first task.
pub fn start() {
    const BYTES: usize = 24 * 1024;
    static mut REGION: [MaybeUninit<u8>; BYTES] = [MaybeUninit::uninit(); BYTES];
    let region = &raw mut REGION;
    // SAFETY: this function is called once, and nothing else names REGION.
    let region: &'static mut [MaybeUninit<u8>] = unsafe { &mut *region };
    critical_section::with(|token| {
        MEMORY.borrow(token).replace(Some(Arena::new(region)));
        for (free, size) in FREE.iter().zip(SIZES) {
            free.borrow(token).set(u32::MAX >> (32 - size));
        }
    });
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

/// Starts a declared task of this level with this body.
///
/// # Errors
/// [`Refusal`] when all of the level run, or memory is full.
#[inline]
pub fn spawn<F>(level: usize, body: F, parent: Option<&'static Slot>) -> Result<(), Refusal>
where
    F: Future<Output = ()> + 'static,
{
    // The first that is free: a handler polls its tasks in this order.
    let bit = critical_section::with(|token| {
        let free = FREE[level].borrow(token);
        let bit = free.get() & free.get().wrapping_neg();
        free.set(free.get() ^ bit);
        bit
    });
    if bit == 0 {
        return Err(Refusal::full());
    }
    let place = bit.trailing_zeros() as usize;
    let slot = &SLOTS[STARTS[level] + place];
    slot.bit.set(bit);
    slot.parent.set(parent);
    // RTIC refuses a task that has given its slot back and not yet returned, which only a more urgent one can meet.
    let started =
        slot.hold(body).and_then(|()| TASKS[level][place](slot).map_err(|_| Refusal::full()));
    if started.is_err() {
        release(level, bit);
    }
    started
}

#[inline(always)]
fn release(level: usize, bit: u32) {
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

/// The level whose handler runs this: RTIC decides which interrupt a priority gets, and sets that one's priority.
#[inline]
fn level() -> Option<usize> {
    let VectActive::Interrupt { irqn } = SCB::vect_active() else { return None };
    // SAFETY: these registers may be read at any time.
    let urgency = unsafe { &*NVIC::PTR }.ipr[usize::from(irqn)].read() >> (8 - NVIC_PRIO_BITS);
    // RTIC's priority 1 is level 0.
    Some((1 << NVIC_PRIO_BITS) - 1 - usize::from(urgency))
}
