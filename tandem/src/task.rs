//! What the kernel keeps of every task, thread or coroutine.

use crate::{
    arch::{Mask, Saved},
    kernel::KERNEL,
    mutex::Lock,
    shared::{Masked, Shared},
    trace,
    wait::Waiter,
};
use core::ptr::NonNull;

/// How urgent a task is: 0 to 31, a higher number pre-empts a lower one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Priority(u8);

impl Priority {
    pub const LOWEST: Self = Self(0);
    pub const HIGHEST: Self = Self(31);

    /// # Panics
    /// Above 31; in a constant, at compile time.
    #[must_use]
    pub const fn new(value: u8) -> Self {
        assert!(value <= 31, "a priority is 0 to 31");
        Self(value)
    }

    #[must_use]
    pub const fn value(self) -> u8 {
        self.0
    }

    /// The kernel's own scale, where 0 is the most urgent: what counting leading zeros yields.
    pub(crate) const fn level(self) -> Level {
        31 - self.0 as Level
    }

    pub(crate) const fn of_level(level: Level) -> Self {
        Self(31 - level as u8)
    }
}

pub(crate) type Level = u32;

/// The idle task's level, below every priority.
pub(crate) const IDLE_LEVEL: Level = 32;

pub(crate) type Task = &'static Header;

/// The kernel's record of a task. It is all zeros until the task is spawned, so that it lies in `.bss`.
///
/// The order matters to the assembly of `arch`, which moves two neighbours at once: stack and poll, next and level, level and bit.
#[repr(C)]
pub(crate) struct Header {
    /// The suspended context. A coroutine that is not in the middle of a poll has none.
    pub(crate) saved: Saved,
    /// Polls a coroutine.
    pub(crate) poll: Shared<Option<unsafe extern "C" fn(Task)>>,
    /// Ring of the tasks that are ready at one level. A task that is not ready is linked to itself.
    pub(crate) prev: Shared<Option<Task>>,
    pub(crate) next: Shared<Option<Task>>,
    /// The level that counts, after inheritance and ceilings.
    pub(crate) level: Shared<Level>,
    /// `1 << 31 - level`; 0 for a task that is not alive, so that no late waker makes it ready.
    pub(crate) bit: Shared<u32>,
    /// Where the head of its ring stands, by its level: arithmetic that costs a Cortex-M nothing takes two cycles here.
    #[cfg(target_arch = "riscv32")]
    pub(crate) head: Shared<Option<NonNull<Shared<Option<Task>>>>>,
    /// Its own level. A byte, as the next two, so that they share a word.
    base: Shared<u8>,
    /// Woken since its poll started: a coroutine is to be polled once more. Clear between two polls.
    pub(crate) again: Shared<bool>,
    pub(crate) life: Shared<Life>,
    /// How many ceilings it uses.
    #[cfg(feature = "time-slice")]
    pub(crate) ceilings: Shared<u8>,
    name: Shared<Option<&'static str>>,
    /// What the task waits for, if waiting in an order that depends on its level.
    pub(crate) waiter: Shared<Option<NonNull<Waiter>>>,
    /// The mutex it waits for.
    pub(crate) waits_for: Shared<Option<NonNull<Lock>>>,
    /// The mutexes it holds.
    pub(crate) held: Shared<Option<NonNull<Lock>>>,
    #[cfg(feature = "count")]
    pub(crate) switches: Shared<u32>,
    #[cfg(feature = "embassy-time")]
    pub(crate) alarm: crate::embassy_time::Alarm,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Life {
    /// Never spawned, or ended: it may be spawned. Zero, so that a new header lies in `.bss`.
    Over = 0,
    Alive = 1,
    /// A thread that waits in `block_on`, and only there may be woken by a waker.
    Awaiting = 2,
}

impl Header {
    pub(crate) const fn new() -> Self {
        Self {
            saved: Saved::new(),
            poll: Shared::new(None),
            prev: Shared::new(None),
            next: Shared::new(None),
            level: Shared::new(0),
            bit: Shared::new(0),
            #[cfg(target_arch = "riscv32")]
            head: Shared::new(None),
            base: Shared::new(0),
            again: Shared::new(false),
            life: Shared::new(Life::Over),
            #[cfg(feature = "time-slice")]
            ceilings: Shared::new(0),
            name: Shared::new(None),
            waiter: Shared::new(None),
            waits_for: Shared::new(None),
            held: Shared::new(None),
            #[cfg(feature = "count")]
            switches: Shared::new(0),
            #[cfg(feature = "embassy-time")]
            alarm: crate::embassy_time::Alarm::new(),
        }
    }

    /// Begins a life, unless one is being lived.
    #[inline(never)]
    pub(crate) fn claim(
        &'static self,
        name: &'static str,
        priority: Priority,
    ) -> Result<(), StillAlive> {
        masked(|m| {
            if self.life.get(m) != Life::Over {
                return Err(StillAlive);
            }
            self.life.set(m, Life::Alive);
            self.name.set(m, Some(name));
            self.next.set(m, Some(self));
            self.prev.set(m, Some(self));
            self.again.set(m, false);
            self.set_base(m, priority.level());
            self.set_level(m, priority.level());
            trace::emit(trace::Event::Created, self);
            Ok(())
        })
    }

    #[inline(always)]
    pub(crate) fn set_level(&self, m: Masked, level: Level) {
        self.level.set(m, level);
        self.bit.set(m, 0x8000_0000_u32.unbounded_shr(level));
        #[cfg(target_arch = "riscv32")]
        self.head.set(m, Some(NonNull::from(KERNEL.ready.head(level))));
    }

    /// The kernel's own task is never given one.
    pub(crate) fn name(&self, m: Masked) -> &'static str {
        self.name.get(m).unwrap_or("idle")
    }

    pub(crate) fn base(&self, m: Masked) -> Level {
        Level::from(self.base.get(m))
    }

    /// Notes that it begins, or ends, to use a ceiling.
    #[inline(always)]
    pub(crate) fn use_ceiling(&'static self, m: Masked, begins: bool) {
        trace::emit(if begins { trace::Event::Lock } else { trace::Event::Unlock }, self);
        #[cfg(feature = "time-slice")]
        self.ceilings
            .set(m, if begins { self.ceilings.get(m) + 1 } else { self.ceilings.get(m) - 1 });
        let _ = m;
    }

    pub(crate) fn set_base(&self, m: Masked, level: Level) {
        self.base.set(m, level as u8);
    }

    /// Whether it is running or suspended: of a coroutine, whether its poll has started and not returned.
    pub(crate) fn is_open(&'static self, m: Masked) -> bool {
        self.saved.exists(m) || KERNEL.runs(m, self)
    }

    #[inline(always)]
    pub(crate) fn is(&self, other: Task) -> bool {
        core::ptr::eq(self, other)
    }
}

/// The task is running or waiting already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StillAlive;

/// What can be asked about a task.
#[derive(Clone, Copy)]
pub struct Info(pub(crate) Task);

impl Info {
    /// The name given when it was spawned; `idle` for the kernel's own.
    #[must_use]
    pub fn name(self) -> &'static str {
        masked(|m| self.0.name(m))
    }

    /// The priority that counts now, after inheritance and ceilings; once it has ended, its own. `None` for the idle task.
    #[must_use]
    pub fn priority(self) -> Option<Priority> {
        let level = masked(|m| {
            if self.0.life.get(m) != Life::Over { self.0.level.get(m) } else { self.0.base(m) }
        });
        (level < IDLE_LEVEL).then(|| Priority::of_level(level))
    }

    /// Tells tasks apart: where its record lies. For traces.
    #[must_use]
    pub fn id(self) -> usize {
        core::ptr::from_ref(self.0).addr()
    }

    /// Whether it has been spawned and has not ended.
    #[must_use]
    pub fn is_alive(self) -> bool {
        masked(|m| self.0.life.get(m) != Life::Over)
    }

    /// How often the kernel has switched to it. Wraps.
    #[cfg(feature = "count")]
    #[must_use]
    pub fn switches(self) -> u32 {
        masked(|m| self.0.switches.get(m))
    }
}

/// Runs `body` with interrupts masked.
#[inline(always)]
pub(crate) fn masked<R>(body: impl FnOnce(Masked) -> R) -> R {
    let (mask, m) = Mask::set();
    let result = body(m);
    mask.restore();
    result
}
