//! Time: the board's clock and alarm, and the timers of the tasks that wait.
//!
//! Times are in ticks of the board's clock, counted by [`now`].
//!
//! # How to write a clock
//! A program implements [`Driver`] for a type, installs that by
//! [`drive_time_with!`](crate::drive_time_with), and calls [`expire`] in the handler of its alarm.
//!
//! *The clock* has 64 bits and never wraps. A counter of 32 bits is extended by counting its wraps:
//!
//! ```no_run
//! use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
//! use tandem::time;
//!
//! struct Clock;
//! tandem::drive_time_with!(Clock);
//!
//! // SAFETY: the functions call nothing of the kernel.
//! unsafe impl time::Driver for Clock {
//!     const HERTZ: u64 = 1_000_000;
//!
//!     fn now() -> u64 {
//!         // Loads and stores are enough: `now` is called with interrupts masked.
//!         static HIGH: AtomicU32 = AtomicU32::new(0);
//!         static LAST: AtomicU32 = AtomicU32::new(0);
//!         let low = read_counter();
//!         let high = HIGH.load(Relaxed) + u32::from(low < LAST.load(Relaxed));
//!         HIGH.store(high, Relaxed);
//!         LAST.store(low, Relaxed);
//!         u64::from(high) << 32 | u64::from(low)
//!     }
//!
//!     fn arm(due: u64) {
//!         const LONGEST: u64 = 0xff_ffff; // of an alarm of 24 bits that counts the same ticks
//!         let left = due.saturating_sub(Self::now()).clamp(1, LONGEST);
//!         set_alarm(left as u32);
//!     }
//! }
//!
//! // The handler of the alarm's interrupt.
//! extern "C" fn on_alarm() {
//!     // clear the interrupt's cause
//!     time::expire();
//! }
//! # fn read_counter() -> u32 { 0 }
//! # fn set_alarm(_: u32) {}
//! # fn main() {}
//! ```
//!
//! `now` must be called at least once in each period of the counter (71 minutes for 32 bits of
//! microseconds). The kernel calls it when it sets the alarm, and when the alarm comes. A program
//! that may be without timers for so long enables an interrupt at the counter's wrap whose handler
//! calls [`now`].
//!
//! *The alarm* may come early, and more than once: [`expire`] then wakes nobody and sets it again.
//! A timer too narrow for `due` interrupts at the end of its range. The alarm may come at any time,
//! before [`start`](crate::start) too. A program with a periodic tick leaves `arm` empty and calls
//! `expire` at each tick. The alarm must not be lost: for a `due` that has passed, or that the
//! counter passes while it is set, the interrupt is raised at once.
//!
//! The boards in the repository's `tandem/examples` have clocks for STM32F4, nRF5x and RP2040.

// Timers are in 31 slots, by the highest bit in which their time differs from a common base, which
// is not in the future. A slot for a lower bit is due before one for a higher bit. In each slot,
// the timers form a ring whose head is due first, and behind it all others as they were set. So
// setting and cancelling a timer take constant time, and the first timer of all is the head of the
// nearest slot that is not empty. (The nearest slot has two bits, the farthest all from bit 31 on.)
//
// When the head of a slot with others is due, its time becomes the base, and a task (`filing`) files
// all of them anew, each in a masked window of its own: into nearer slots, so that they are sorted in
// the end. In the worst case, one tick has all timers filed anew: timers of similar times, set since
// the last tick that did.
//
// When the head of a slot with two others or more is cancelled, it is not known which of them is
// due first. The next of the ring becomes the head and *pretends* to be due when the cancelled one
// was, which is no later than any of them. When that time comes, it becomes the base, and all are
// filed anew. So whatever is set for later times and cancelled, each filing of a timer moves it to a
// nearer slot, or moves the base within the nearest: at most 32 times from the farthest but one. A
// timer that is set for a time no later than the base has those in the nearest slot filed once more.
// In the farthest slot, a timer is filed anew at most once in 2³¹ ticks.
//
// The alarm stays as it is when the first timer is cancelled, and is not set again for a later
// one: a time limit that does not come costs no access to the board's clock. The alarm then comes
// early once, and is set for the first timer there is.
//
// Soundness
//
// A timer is in the pinned future, on the stack of the thread that waits, or in a task's header. It
// stays in place until it has left its ring: `expire` removes it, the thread cancels it, or its
// drop does. A thread in a delay is in no queue, and the wakers of futures reach only threads in
// `block_on`, so that its timer alone wakes it. Links are followed only with interrupts masked, and
// each masked window leaves every timer that is set in one ring, its slot's or the unfiled
// one, and the bit of each ring as the ring is.

#[cfg_attr(not(target_os = "none"), path = "time/filing/host.rs")]
pub(crate) mod filing;

#[doc(hidden)]
pub use crate::clock::check_rate;
pub use crate::clock::{Driver, now};
use crate::{
    arch::{self, Mask, masked},
    clock::{_tandem_arm_from, _tandem_now, set_alarm},
    kernel::{self, assert_may_wait},
    lock,
    me::Me,
    paths::tasks,
    records::{
        KERNEL, Kernel, OFF, OWN_DUE, PRETENDS, SLOTS, Sleeper, TIMERS, Task, Timer, Timers,
        UNFILED,
    },
    shared::{Masked, Shared},
    trace::{self, Event},
};
use core::{
    mem::MaybeUninit,
    pin::Pin,
    ptr::NonNull,
    task::{Context, Poll},
};

/// Error of a wait with a time limit: the time came first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedOut;

/// The slots' numbers from the nearest to the farthest are 1 to 31. The nearest has the two lowest
/// bits.
const NEAREST_BITS: u32 = 3;

/// See [`crate::layout`].
#[cfg(layout)]
#[allow(missing_docs)]
pub mod layout {
    use super::{Timer, Timers};
    use core::mem::offset_of;

    pub const RINGS: usize = offset_of!(Timers, rings);
    pub const ARMED: usize = offset_of!(Timers, armed);
    pub const BASE: usize = offset_of!(Timers, base);
    pub const OCCUPIED: usize = offset_of!(Timers, occupied);
    pub const TASK: usize = offset_of!(Timer, task);
    pub const DUE: usize = offset_of!(Timer, due);
    pub const PLACE: usize = offset_of!(Timer, place);
    pub const NEXT: usize = offset_of!(Timer, next);
    pub const PREV: usize = offset_of!(Timer, prev);
    /// The size of a timer.
    pub const SIZE: usize = size_of::<Timer>();
}

/// The timer that a link leads to.
#[inline(always)]
fn at<'a>(_: Masked, link: NonNull<Timer>) -> &'a Timer {
    // SAFETY: links lead to timers in a ring. They stay in place until they are removed, which
    // needs interrupts masked, and callers use the reference only while they are masked.
    unsafe { link.as_ref() }
}

/// The timer to which a link of a timer in a ring leads.
#[inline(always)]
fn neighbour(m: Masked, link: &Shared<Option<NonNull<Timer>>>) -> NonNull<Timer> {
    let link = link.get(m);
    debug_assert!(link.is_some());
    // SAFETY: `file` sets both links of a timer, and callers pass links of timers in a ring.
    unsafe { link.unwrap_unchecked() }
}

impl Timer {
    #[cfg(any(test, feature = "processes"))]
    pub(crate) const fn new(task: Task) -> Self {
        Self::for_task(Some(task))
    }

    /// Makes a timer of a task in `place`, to be set before anything else. Writes only the field that
    /// setting it does not.
    #[inline(always)]
    pub(crate) fn in_place(place: &mut MaybeUninit<Self>, task: Task) -> &Self {
        let this = place.as_mut_ptr();
        // SAFETY: `place` is borrowed mutably. Of the fields left out, `waker` is read only without
        // a task, and `file` writes the others before they are read.
        unsafe {
            (&raw mut (*this).task).write(Shared::new(Some(task)));
            &*this
        }
    }

    /// Returns whether the timer is in a ring: set, and neither expired nor cancelled.
    #[inline(always)]
    pub(crate) fn is_set(&self, m: Masked) -> bool {
        self.place.get(m) != OFF
    }

    /// Like `is_set`, read without masking interrupts. `true` may be outdated; a timer that is not
    /// set stays so until its owner sets it.
    #[inline(always)]
    fn may_be_set(&self) -> bool {
        // SAFETY: a byte. An outdated `true` has the owner check again.
        unsafe { self.place.peek() != OFF }
    }

    #[cfg(any(test, feature = "embassy-time"))]
    pub(crate) fn due_if_set(&self, m: Masked) -> Option<u64> {
        self.is_set(m).then(|| self.own_due(m))
    }

    /// The place that has the time for which the timer is set, if it pretends.
    #[inline(always)]
    fn behind(&self, m: Masked) -> Option<&'static Shared<u64>> {
        let place = self.place.get(m);
        (place & PRETENDS != 0).then(|| &OWN_DUE[usize::from(place & !PRETENDS) % SLOTS])
    }

    /// The time for which the timer is set.
    #[cfg(any(test, feature = "embassy-time"))]
    fn own_due(&self, m: Masked) -> u64 {
        self.behind(m).unwrap_or(&self.due).get(m)
    }

    /// Has the timer, which becomes the head of its slot and has others there, be due at an earlier
    /// time for them all.
    fn pretend(&self, m: Masked, due: u64) {
        self.place.set(m, self.place.get(m) | PRETENDS);
        if let Some(own) = self.behind(m) {
            own.set(m, self.due.get(m));
        }
        self.due.set(m, due);
    }

    /// Has the timer be due at its own time.
    #[inline(always)]
    fn end_pretence(&self, m: Masked) {
        if let Some(own) = self.behind(m) {
            self.due.set(m, own.get(m));
            self.place.set(m, self.place.get(m) & !PRETENDS);
        }
    }

    /// The bit of the level of the timer's task. 0 for a foreign waker: see
    /// [`Timers::file_for_anyone`].
    #[inline(always)]
    fn level(&self, m: Masked) -> u32 {
        let task = self.task.get(m);
        debug_assert!(task.is_some());
        // SAFETY: a timer that is filed has a task, or nobody.
        unsafe { task.unwrap_unchecked() }.bit.get(m)
    }

    /// Restores interrupts for a moment, before the running task waits for the timer. It may be raised
    /// meanwhile, and then has the timer filed at its new level.
    pub(crate) fn let_interrupts_in(&self, m: Masked, mask: Mask) -> Masked {
        let before = self.level(m);
        let m = arch::open_window(mask).1;
        if let Some(task) = self.as_task(m).filter(|task| task.bit.get(m) > before) {
            lock::raise_timers(m, task);
        }
        m
    }

    pub(crate) fn cancel(&self, m: Masked) {
        self.discard(m);
        self.place.set(m, OFF);
    }

    /// Cancels the timer, which is not used again.
    #[inline(always)]
    pub(crate) fn discard(&self, m: Masked) {
        let number = self.place.get(m);
        if number != OFF {
            TIMERS.remove(m, self, number.into());
        }
    }
}

/// The bit of level 0.
const MOST_URGENT: u32 = 0x8000_0000;

/// The slot for times that differ from the base in these bits.
#[inline(always)]
fn slot_of(difference: u64) -> usize {
    let low = if difference >> 32 == 0 { difference as u32 | NEAREST_BITS } else { u32::MAX };
    31 - arch::leading_zeros(low) as usize
}

/// The bit of a ring in [`Timers::occupied`].
#[inline(always)]
fn bit(number: usize) -> u32 {
    0x8000_0000 >> number
}

/// Returns whether the bit of a ring is set. (One instruction fewer than a comparison of the bit.)
#[inline(always)]
fn has(occupied: u32, number: usize) -> bool {
    (occupied << number).cast_signed() < 0
}

impl Timers {
    /// The kernel's record, by the address in `Near`.
    #[inline(always)]
    fn kernel(&self, _m: Masked) -> &'static Kernel {
        #[cfg(target_arch = "arm")]
        return self.near.get(_m).kernel;
        #[cfg(not(target_arch = "arm"))]
        &KERNEL
    }

    /// Sets a timer, which is not set, for `due`. Interrupts are masked before and after. If the
    /// alarm has been set for it, which takes a while, they are restored for a moment. Constant
    /// time.
    pub(crate) fn set(&self, m: Masked, mask: Mask, timer: &Timer, due: u64) -> Masked {
        if !self.set_in_window(m, timer, due) {
            return m;
        }
        timer.let_interrupts_in(m, mask)
    }

    /// Sets a timer, which is not set, for `due`. Returns whether the alarm has been set for it.
    #[inline(always)]
    pub(crate) fn set_in_window(&self, m: Masked, timer: &Timer, due: u64) -> bool {
        timer.as_task(m).inspect(|task| trace::emit(Event::TimerSet, task));
        let is_first = due < self.armed.get(m);
        if is_first {
            self.set_first(m, timer, due);
        } else {
            self.file(m, timer, due);
        }
        is_first
    }

    /// Sets a timer that is due before all others, and perhaps has been for long, and the alarm.
    #[inline(never)]
    fn set_first(&self, m: Masked, timer: &Timer, due: u64) {
        let due = due.max(self.base.get(m));
        self.file(m, timer, due);
        set_alarm(m, due);
    }

    #[inline(always)]
    fn ring(&self, number: usize) -> &Shared<Option<NonNull<Timer>>> {
        debug_assert!(number < SLOTS);
        // SAFETY: the number is a timer's place, which `file` has computed, or counts the leading
        // zeros of a word that is not 0.
        unsafe { self.rings.get_unchecked(number) }
    }

    #[inline(always)]
    fn levels_of(&self, number: usize) -> &Shared<u32> {
        debug_assert!(number < SLOTS);
        // SAFETY: as for `ring`.
        unsafe { self.levels.get_unchecked(number) }
    }

    /// The levels of a slot, by the place of its head: one offset, where the number would take more
    /// instructions.
    #[inline(always)]
    fn levels_behind(&self, slot: &Shared<Option<NonNull<Timer>>>) -> &Shared<u32> {
        let bytes = core::ptr::from_ref(slot).addr() - core::ptr::from_ref(&self.rings).addr();
        self.levels_of(bytes / size_of::<Option<NonNull<Timer>>>())
    }

    /// Puts a timer, which is in no ring, into the ring of its slot. `due` is no earlier than the
    /// base.
    #[inline(always)]
    fn file(&self, m: Masked, timer: &Timer, due: u64) {
        debug_assert!(due >= self.base.get(m));
        let number = slot_of(due ^ self.base.get(m));
        timer.due.set(m, due);
        timer.place.set(m, number as u8);
        let (this, slot) = (NonNull::from(timer), self.ring(number));
        arch::breach("file");
        let occupied = self.occupied.get(m);
        if has(occupied, number) {
            return self.file_behind(m, timer, slot, at(m, self.head(m, number)));
        }
        timer.next.set(m, Some(this));
        timer.prev.set(m, Some(this));
        slot.set(m, Some(this));
        self.occupied.set(m, occupied | bit(number));
        self.levels_of(number).set(m, timer.level(m));
    }

    /// Puts a timer into a ring with others, behind them unless it is due first.
    #[inline(never)]
    fn file_behind(
        &self,
        m: Masked,
        timer: &Timer,
        slot: &Shared<Option<NonNull<Timer>>>,
        head: &Timer,
    ) {
        let levels = self.levels_behind(slot);
        levels.set(m, levels.get(m) | timer.level(m));
        let this = NonNull::from(timer);
        let last = neighbour(m, &head.prev);
        timer.next.set(m, Some(NonNull::from(head)));
        timer.prev.set(m, Some(last));
        at(m, last).next.set(m, Some(this));
        head.prev.set(m, Some(this));
        if timer.due.get(m) < head.due.get(m) {
            head.end_pretence(m);
            slot.set(m, Some(this)); // the last of a ring becomes its head
        }
    }

    /// Takes a timer with this place out of its ring. It must be filed again or marked as off.
    #[inline(always)]
    fn remove(&self, m: Masked, timer: &Timer, place: usize) {
        arch::breach("remove");
        let is_alone = neighbour(m, &timer.next) == NonNull::from(timer);
        // The bit of `UNFILED` is the sign: no timer is unfiled.
        if is_alone && self.occupied.get(m).cast_signed() > 0 {
            self.clear(m, place);
        } else {
            self.remove_among(m, timer, place & !usize::from(PRETENDS));
        }
    }

    /// Takes a timer, which was filed in this slot, out of any ring.
    #[cold]
    #[inline(never)]
    fn remove_among(&self, m: Masked, timer: &Timer, number: usize) {
        let this = NonNull::from(timer);
        let (next, prev) = (neighbour(m, &timer.next), neighbour(m, &timer.prev));
        let is_head = self.any_head(m, number) == Some(this);
        if next == this {
            self.clear(m, if is_head { number } else { UNFILED });
            return;
        }
        at(m, prev).next.set(m, Some(next));
        at(m, next).prev.set(m, Some(prev));
        if is_head {
            self.ring(number).set(m, Some(next));
        } else if self.any_head(m, UNFILED) == Some(this) {
            self.ring(UNFILED).set(m, Some(next));
        }
        if next == prev {
            at(m, next).end_pretence(m);
        } else if is_head {
            at(m, next).pretend(m, timer.due.get(m));
        }
    }

    /// Empties a ring. Returns the bits of the others.
    #[inline(always)]
    fn clear(&self, m: Masked, number: usize) -> u32 {
        let others = self.occupied.get(m) & !bit(number);
        self.occupied.set(m, others);
        others
    }

    /// The next step of [`expire`], if no timer is unfiled.
    #[inline(always)]
    fn next_step(&self, m: Masked) -> Step {
        let occupied = self.occupied.get(m);
        if occupied.cast_signed() <= 0 {
            // The bit of `UNFILED` is the sign.
            return if occupied == 0 { Step::None } else { Step::Rest };
        }
        self.first_step(m, occupied)
    }

    /// The step for the slots with these bits, of which there is one.
    #[inline(always)]
    fn first_step(&self, m: Masked, occupied: u32) -> Step {
        let number = arch::leading_zeros(occupied) as usize;
        let timer = self.head(m, number);
        Step::Take(number, timer, at(m, timer).due.get(m))
    }

    /// The bits of the slots with timers.
    fn slots(&self, m: Masked) -> u32 {
        self.occupied.get(m) & !bit(UNFILED)
    }

    /// The time of the first timer, by the bits of the slots with timers.
    #[inline(always)]
    fn first(&self, m: Masked, occupied: u32) -> Option<u64> {
        debug_assert!(!has(occupied, UNFILED));
        match occupied {
            0 => None,
            occupied => {
                let head = self.head(m, arch::leading_zeros(occupied) as usize);
                Some(at(m, head).due.get(m))
            }
        }
    }

    /// The head of a ring, if that has timers.
    fn any_head(&self, m: Masked, number: usize) -> Option<NonNull<Timer>> {
        has(self.occupied.get(m), number).then(|| self.head(m, number))
    }

    /// The head of a ring that has timers.
    #[inline(always)]
    fn head(&self, m: Masked, number: usize) -> NonNull<Timer> {
        let head = self.ring(number).get(m);
        debug_assert!(head.is_some());
        // SAFETY: the bit of a ring is set only while it has timers: `file` and `spread` store the
        // head before they set it. Callers pass the number of a bit that is set.
        unsafe { head.unwrap_unchecked() }
    }

    /// Leaves the timers of the nearest slot, whose head is due, unfiled, in front of those that are so
    /// already: of two of one time, these are later. The head's time becomes the base.
    #[inline(always)]
    fn spread(&self, m: Masked, number: usize) {
        let head = self.head(m, number);
        self.base.set(m, at(m, head).due.get(m));
        at(m, head).end_pretence(m);
        self.clear(m, number);
        let (levels, unfiled) = (self.take_levels(m, number), self.levels_of(UNFILED));
        if let Some(first) = self.any_head(m, UNFILED) {
            let last = neighbour(m, &at(m, first).prev);
            let end = neighbour(m, &at(m, head).prev);
            at(m, last).next.set(m, Some(head));
            at(m, head).prev.set(m, Some(last));
            at(m, end).next.set(m, Some(first));
            at(m, first).prev.set(m, Some(end));
            unfiled.set(m, unfiled.get(m) | levels);
        } else {
            self.occupied.set(m, self.occupied.get(m) | bit(UNFILED));
            unfiled.set(m, levels);
        }
        self.ring(UNFILED).set(m, Some(head));
    }

    /// The bits of the levels of a slot with timers, which is about to lose them all.
    #[inline(always)]
    fn take_levels(&self, m: Masked, number: usize) -> u32 {
        let (levels, raised_in) = (self.levels_of(number).get(m), self.raised_in.get(m));
        if !has(raised_in, number) {
            return levels;
        }
        self.raised_in.set(m, raised_in & !bit(number));
        levels | self.raised.get(m)
    }

    /// Files the first unfiled timer, or takes and returns it if its time has come.
    #[cfg(any(test, target_os = "none"))]
    #[inline(always)]
    fn refile(&self, m: Masked) -> Option<NonNull<Timer>> {
        let pointer = self.any_head(m, UNFILED)?;
        let timer = at(m, pointer);
        let (next, due) = (neighbour(m, &timer.next), timer.due.get(m));
        if next == pointer {
            self.clear(m, UNFILED);
        } else {
            let prev = neighbour(m, &timer.prev);
            at(m, prev).next.set(m, Some(next));
            at(m, next).prev.set(m, Some(prev));
            self.ring(UNFILED).set(m, Some(next));
        }
        if due <= self.base.get(m) {
            timer.place.set(m, OFF);
            return Some(pointer);
        }
        self.file(m, timer, due);
        // Foreign wakers have the most urgent bit, too.
        if self.levels_of(UNFILED).get(m).cast_signed() < 0 {
            self.file_for_anyone(m, timer);
        }
        None
    }

    /// Notes that a timer, which is in a slot, may wake the most urgent of all tasks, if it has a
    /// foreign waker.
    #[cold]
    #[inline(never)]
    fn file_for_anyone(&self, m: Masked, timer: &Timer) {
        if timer.as_task(m).is_none() {
            let levels = self.levels_of((timer.place.get(m) & !PRETENDS).into());
            levels.set(m, levels.get(m) | MOST_URGENT);
        }
    }

    /// Checks all rings, and returns the time of the first timer.
    #[cfg(test)]
    pub(crate) fn check(&self, m: Masked) -> Option<u64> {
        let ring = |head: Option<NonNull<Timer>>| {
            let mut all = Vec::new();
            let mut link = head;
            while let Some(timer) = link.map(|link| at(m, link)) {
                assert!(timer.is_set(m) && at(m, neighbour(m, &timer.next)).prev.get(m) == link);
                all.push(timer);
                link = Some(neighbour(m, &timer.next)).filter(|next| Some(*next) != head);
            }
            all
        };
        let mut dues: Vec<u64> = Vec::new();
        for number in (0..SLOTS).rev() {
            let timers = ring(self.any_head(m, number));
            if number == UNFILED {
                dues.extend(timers.iter().map(|timer| timer.own_due(m)));
                continue;
            }
            for timer in &timers {
                let due = timer.own_due(m);
                assert!(self.base.get(m) <= due && slot_of(due ^ self.base.get(m)) == number);
                assert_eq!(usize::from(timer.place.get(m) & !PRETENDS), number);
                let is_head = core::ptr::eq(*timer, timers[0]);
                assert!(is_head && timers.len() > 1 || timer.behind(m).is_none());
                // The head is due first, or pretends to be, and so is a nearer slot.
                assert!(timers[0].due.get(m) <= due && self.base.get(m) <= timers[0].due.get(m));
                assert!(dues.iter().all(|farther| due <= *farther));
            }
            dues.extend(timers.iter().map(|timer| timer.own_due(m)));
        }
        let first = dues.into_iter().min();
        assert!(self.base.get(m) <= self.armed.get(m));
        assert!(first.is_none_or(|first| self.armed.get(m) <= first));
        first
    }

    /// Forgets all timers.
    #[cfg(test)]
    pub(crate) fn reset(&self, m: Masked) {
        self.rings.iter().for_each(|ring| ring.set(m, None));
        self.occupied.set(m, 0);
        self.raised_in.set(m, 0);
        self.filer.set(m, None);
        self.base.set(m, 0);
        self.armed.set(m, u64::MAX);
    }
}

/// A step of [`expire`].
enum Step {
    /// There are unfiled timers.
    Rest,
    /// The first timer is the head of this slot, and due at this time. If it has others in its slot,
    /// they may be due first, but none before this time.
    Take(usize, NonNull<Timer>, u64),
    /// There is no timer.
    None,
}

/// Stores `due` or the end of the running slice, whichever is earlier, as the time for which the
/// alarm is set, and returns it, if any. The caller sets the alarm. To be called once the alarm may
/// have been raised.
#[inline(always)]
fn next_alarm(m: Masked, due: Option<u64>) -> Option<u64> {
    #[cfg(feature = "time-slice")]
    let due = Some(due.unwrap_or(u64::MAX).min(crate::slice::end(m))).filter(|due| *due < u64::MAX);
    TIMERS.armed.set(m, due.unwrap_or(u64::MAX));
    due
}

/// Wakes the task whose time has come, and sets the alarm for the next timer, at once if that is due.
/// To be called by the alarm's handler; harmless anywhere else, and before [`start`](crate::start).
///
/// Constant time. Where timers that were set for similar times share a slot, a task of the kernel
/// files them anew, at the priority of the most urgent task whose timer is among them.
#[inline]
pub fn expire() {
    let (mask, m) = Mask::set();
    let now = _tandem_now();
    #[cfg(feature = "time-slice")]
    crate::slice::expire(m, now);
    let step = TIMERS.next_step(m);
    arch::breach("expire");
    match step {
        Step::None => set_next_alarm(m, now, None),
        Step::Take(_, _, due) if due > now => set_next_alarm(m, now, Some(due)),
        Step::Take(number, pointer, _) => {
            let timer = at(m, pointer);
            let is_alone = neighbour(m, &timer.next) == pointer;
            if !is_alone {
                return file_slot(m, mask, number, now);
            }
            // The frequent case.
            let occupied = TIMERS.clear(m, number);
            timer.place.set(m, OFF);
            // A timer that is due by now has an alarm of its own, at once: a comparison with the
            // clock here would cost each tick 8 instructions on a Cortex-M4.
            set_next_alarm(m, now, TIMERS.first(m, occupied));
            wake(m, mask, pointer);
        }
        Step::Rest => return expire_beside_unfiled(m, mask, now),
    }
    mask.restore();
}

/// Sets the alarm for `due`, if any. `now`: the clock, read in this masked window.
#[inline(always)]
fn set_next_alarm(m: Masked, now: u64, due: Option<u64>) {
    if let Some(due) = next_alarm(m, due) {
        _tandem_arm_from(now, due);
    }
}

/// Has the timers of the nearest slot filed, whose head is due and has others. Then does the rest of
/// [`expire`].
#[cold]
#[inline(never)]
fn file_slot(m: Masked, mask: Mask, number: usize, now: u64) {
    let others = TIMERS.slots(m) & !bit(number);
    set_next_alarm(m, now, TIMERS.first(m, others));
    arch::breach("spread");
    TIMERS.spread(m, number);
    let m = if arch::handlers_nest() { arch::open_window(mask).1 } else { m };
    filing::begin(m, mask);
    mask.restore();
}

/// Does the work of [`expire`] where timers are unfiled.
#[cold]
#[inline(never)]
fn expire_beside_unfiled(m: Masked, mask: Mask, now: u64) {
    let slots = TIMERS.slots(m);
    if slots != 0
        && let Step::Take(number, head, due) = TIMERS.first_step(m, slots)
        && due <= now
    {
        if neighbour(m, &at(m, head).next) != head {
            return file_slot(m, mask, number, now);
        }
        TIMERS.clear(m, number);
        at(m, head).place.set(m, OFF);
        set_next_alarm(m, now, TIMERS.first(m, TIMERS.slots(m)));
        wake(m, mask, head);
    } else {
        set_next_alarm(m, now, TIMERS.first(m, slots));
    }
    mask.restore();
}

/// Calls the foreign waker of a timer that has expired. The timer may be gone on return, so it is a
/// pointer: an argument that is a reference must stay valid until the function returns.
#[cold]
#[inline(never)]
fn expire_without_task(m: Masked, mask: Mask, timer: NonNull<Timer>) {
    // SAFETY: a timer that is set and has no task has a foreign waker.
    unsafe { at(m, timer).waker.get(m).assume_init() }.call(m);
    kernel::reschedule_if_started(m, mask);
}

/// Wakes the task of a timer that has been removed, or calls its foreign waker. The timer may be gone
/// on return.
#[inline(always)]
fn wake(m: Masked, mask: Mask, timer: NonNull<Timer>) {
    let task = at(m, timer).task.get(m);
    debug_assert!(task.is_some());
    // SAFETY: a timer that has been set has a task, or nobody.
    let task = unsafe { task.unwrap_unchecked() };
    if cfg!(events) && !is_nobody(task) {
        trace::emit(Event::TimerExpired, task);
    }
    #[cfg(feature = "embassy-time")]
    if task.alarm.is(at(m, timer)) {
        return crate::waker::wake_future(m, mask, task);
    }
    // On a Cortex-M, a task that is woken is usually the most urgent: nobody never is.
    #[cfg(target_arch = "arm")]
    {
        let crate::records::Near { kernel, switch } = TIMERS.near.get(m);
        if kernel.wake(m, task) {
            return switch.make(m);
        }
    }
    if is_nobody(task) {
        return expire_without_task(m, mask, timer);
    }
    #[cfg(not(target_arch = "arm"))]
    tasks::wake_and_preempt(m, mask, task);
}

/// Returns whether the task stands for a foreign waker.
#[inline(always)]
fn is_nobody(task: Task) -> bool {
    task.is(KERNEL.nobody())
}

impl Me<'_> {
    /// Blocks the thread until `due`, in ticks of the board's clock. Returns at once if `due` has
    /// come and the alarm has not.
    ///
    /// Constant time.
    ///
    /// # Panics
    /// If it must wait in a critical section.
    #[track_caller]
    pub fn delay_until(&self, due: u64) {
        let (mask, m) = Mask::set();
        // If the alarm comes first and this time has come, the alarm is about to.
        while due < TIMERS.armed.get(m) || !mask.is_open() {
            let now = _tandem_now();
            if due <= now {
                return mask.restore();
            }
            assert_may_wait(mask, "Me::delay_until");
            TIMERS.armed.set(m, due);
            _tandem_arm_from(now, due);
            // The alarm may be raised, or set for another timer, before the thread has its own.
            arch::unmask(m);
            arch::take_pending();
            arch::mask();
        }
        sleep(m, due);
    }
}

/// Blocks the running thread until `due`, which is no earlier than the alarm, and unmasks
/// interrupts.
#[inline(always)]
fn sleep(m: Masked, due: u64) {
    let me = TIMERS.kernel(m).current(m);
    let mut place = MaybeUninit::uninit();
    let timer = Timer::in_place(&mut place, me);
    me.waiter.set(m, None);
    TIMERS.file(m, timer, due);
    trace::emit(Event::TimerSet, me);
    tasks::block(m, me);
    debug_assert!(!timer.is_set(m), "its timer alone wakes a thread that sleeps");
    arch::unmask(m);
}

/// Completes at `due`, in ticks of the board's clock; at once if `due` has come. Dropping the future
/// cancels its timer. It may move to another task or waker between two polls.
#[inline]
pub fn delay_until(due: u64) -> Delay {
    Delay { due, timer: None }
}

/// The future of [`delay_until`].
#[must_use = "futures do nothing unless awaited"]
pub struct Delay {
    due: u64,
    timer: Option<Timer>,
}

impl Future for Delay {
    type Output = ();

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, context: &mut Context) -> Poll<()> {
        // SAFETY: the timer is not moved out of the pinned future.
        let this = unsafe { self.get_unchecked_mut() };
        if let Some(timer) = &this.timer {
            if timer.may_be_set() {
                timer.follow(Sleeper::behind(context));
                return Poll::Pending;
            }
            return Poll::Ready(());
        }
        let (mask, m) = Mask::set();
        let late = this.due <= _tandem_now();
        if !late {
            let timer = this.timer.insert(Timer::for_task(None));
            let sleeper = Sleeper::behind(context);
            timer.set_sleeper(m, sleeper.keep());
            let m = TIMERS.set(m, mask, timer, this.due);
            if sleeper.is_foreign() && timer.is_set(m) {
                TIMERS.file_for_anyone(m, timer);
            }
        }
        mask.restore();
        if late { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Timer {
    #[inline(always)]
    fn set_sleeper(&self, m: Masked, sleeper: Sleeper) {
        self.task.set(m, Some(sleeper.as_task().unwrap_or(KERNEL.nobody())));
        if sleeper.is_foreign() {
            self.waker.set(m, MaybeUninit::new(sleeper));
        }
    }

    /// The task, unless the timer has a foreign waker, or has never been set.
    #[inline(always)]
    fn as_task(&self, m: Masked) -> Option<Task> {
        self.task.get(m).filter(|task| !is_nobody(task))
    }

    /// The task or waker of a future's timer, which has been set.
    fn sleeper(&self, m: Masked) -> Sleeper {
        match self.as_task(m) {
            Some(task) => Sleeper::task(task),
            // SAFETY: with nobody for a task, `set_sleeper` has stored the waker.
            None => unsafe { self.waker.get(m).assume_init() },
        }
    }

    /// Has the timer of a future wake the sleeper of this poll from here on.
    #[cold]
    #[inline(never)]
    fn follow(&self, sleeper: Sleeper) {
        let old = masked(|m| self.sleeper(m));
        if !old.is(sleeper) {
            let new = sleeper.keep();
            masked(|m| {
                self.set_sleeper(m, new);
                // The new one may be more urgent.
                if self.is_set(m) {
                    TIMERS.file_for_anyone(m, self);
                }
            });
            old.release();
            if !self.may_be_set() {
                // It has expired just now, perhaps for the other.
                sleeper.wake();
            }
        }
    }

    /// Cancels the timer of a future, and drops a foreign waker.
    #[inline(always)]
    fn end(&self) {
        // SAFETY: a word, which is changed by the future alone.
        if self.may_be_set() || unsafe { self.task.peek() }.is_none_or(is_nobody) {
            self.give_up();
        }
    }

    #[cold]
    #[inline(never)]
    fn give_up(&self) {
        let sleeper = masked(|m| {
            self.cancel(m);
            self.sleeper(m)
        });
        sleeper.release();
    }
}

impl Drop for Delay {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(timer) = &self.timer {
            timer.end();
        }
    }
}
