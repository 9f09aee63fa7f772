//! Timers that call a function, once or periodically.
//!
//! A task runs them: a thread by [`Callbacks::run`], or a coroutine by [`Callbacks::run_async`]. So
//! functions run at the priority of that task, with interrupts on. Starting or stopping a timer
//! notes the request and signals the task, in constant time; the task alone sorts its timers, with
//! interrupts on.
//!
//! # Soundness
//! Timers are static. All fields are accessed with interrupts masked, a few at a time; `next` and
//! `listed` only by the task that runs the functions, which `busy` makes the only one: a task sets
//! it before it first accesses them, and clears it after the last time.

use crate::{
    arch::masked,
    clock::_tandem_shortest,
    event::Event,
    info::current,
    me::Me,
    shared::{Masked, Shared},
    time::{delay_until, now},
};
use core::{future::poll_fn, pin::pin, task::Poll};

/// A timer that calls a function. For a `static`.
pub struct Callback {
    owner: &'static Callbacks,
    call: Call,
    /// The next time to call the function; `None` when the timer is stopped.
    due: Shared<Option<u64>>,
    /// The time between two calls; 0 for one call only.
    period: Shared<u64>,
    /// In the list of requests.
    requested: Shared<bool>,
    next_request: Shared<Option<&'static Callback>>,
    /// In the sorted list, for this time.
    listed: Shared<Option<u64>>,
    next: Shared<Option<&'static Callback>>,
}

/// The function of a timer.
#[derive(Clone, Copy)]
enum Call {
    Plain(fn()),
    #[cfg(feature = "raw")]
    Foreign(unsafe extern "C" fn(*mut core::ffi::c_void), *mut core::ffi::c_void),
}

impl Call {
    fn make(self) {
        match self {
            Self::Plain(function) => function(),
            #[cfg(feature = "raw")]
            // SAFETY: by the contract of `Callback::foreign`.
            Self::Foreign(function, argument) => unsafe { function(argument) },
        }
    }
}

// SAFETY: the fields are accessed with interrupts masked or never change, and the task that makes a
// foreign call may do so by the contract of `Callback::foreign`.
unsafe impl Sync for Callback {}

/// A set of [`Callback`]s that one task runs. For a `static`.
pub struct Callbacks {
    requests: Shared<Option<&'static Callback>>,
    changed: Event,
    /// The timers, sorted by time.
    first: Shared<Option<&'static Callback>>,
    busy: Shared<bool>,
}

/// The right to run a set of timers. Dropping it lets another task run them.
struct Turn<'a>(&'a Shared<bool>);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        masked(|m| self.0.set(m, false));
    }
}

impl Callback {
    /// A stopped timer that calls `function`, run by the task of `owner`.
    #[must_use]
    pub const fn new(owner: &'static Callbacks, function: fn()) -> Self {
        Self::calling(owner, Call::Plain(function))
    }

    /// A stopped timer that calls a function of another language with an argument.
    ///
    /// # Safety
    /// The function may be called with the argument at any time from the first start on, by the
    /// task that runs the timers of `owner`.
    #[cfg(feature = "raw")]
    #[must_use]
    pub const unsafe fn foreign(
        owner: &'static Callbacks,
        function: unsafe extern "C" fn(*mut core::ffi::c_void),
        argument: *mut core::ffi::c_void,
    ) -> Self {
        Self::calling(owner, Call::Foreign(function, argument))
    }

    const fn calling(owner: &'static Callbacks, call: Call) -> Self {
        Self {
            owner,
            call,
            due: Shared::new(None),
            period: Shared::new(0),
            requested: Shared::new(false),
            next_request: Shared::new(None),
            listed: Shared::new(None),
            next: Shared::new(None),
        }
    }

    /// Calls the function at `due`, in ticks of the board's clock, once. A timer that runs is set
    /// to the new time.
    ///
    /// Never waits. May be called anywhere, in the function too. Constant time.
    pub fn start_once(&'static self, due: u64) {
        self.request(Some(due), 0);
    }

    /// Calls the function at `due`, in ticks of the board's clock, and every `period` ticks from
    /// then on. A call that comes late does not move the later ones. If `due` is in the past by a
    /// period or more, the calls before the latest are left out.
    ///
    /// Never waits. May be called anywhere, in the function too. Constant time.
    ///
    /// # Panics
    /// If `period` is less than [`Driver::SHORTEST`](crate::time::Driver::SHORTEST).
    #[track_caller]
    pub fn start_periodic(&'static self, due: u64, period: u64) {
        let least = _tandem_shortest();
        assert!(
            period >= least,
            "task {}: a timer's period has at least {least} ticks of the clock",
            current().name()
        );
        let late = now().saturating_sub(due);
        let due = if late < period { due } else { due + late / period * period };
        self.request(Some(due), period);
    }

    /// Stops the timer. A call that has begun is completed; another does not begin.
    ///
    /// Never waits. May be called anywhere, in the function too. Constant time.
    pub fn stop(&'static self) {
        self.request(None, 0);
    }

    /// The time of the next call; `None` if the timer is stopped. May be called anywhere.
    #[must_use]
    pub fn due(&self) -> Option<u64> {
        masked(|m| self.due.get(m))
    }

    fn request(&'static self, due: Option<u64>, period: u64) {
        masked(|m| {
            self.due.set(m, due);
            self.period.set(m, period);
            if !self.requested.get(m) {
                self.requested.set(m, true);
                self.next_request.set(m, self.owner.requests.get(m));
                self.owner.requests.set(m, Some(self));
            }
        });
        self.owner.changed.signal(1);
    }

    /// Ends one call's time: the timer's next is a period later, if it has a period.
    fn advance(&self, m: Masked, due: u64) {
        let period = self.period.get(m);
        self.due.set(m, (period > 0).then(|| due.saturating_add(period)));
    }
}

impl Default for Callbacks {
    fn default() -> Self {
        Self::new()
    }
}

impl Callbacks {
    /// A set without timers.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            requests: Shared::new(None),
            changed: Event::new(),
            first: Shared::new(None),
            busy: Shared::new(false),
        }
    }

    /// Runs the timers in this thread, for ever. A step for each earlier timer at each start of a
    /// timer and each period.
    ///
    /// # Panics
    /// If another task runs them.
    #[track_caller]
    pub fn run(&self, me: &Me) -> ! {
        let _turn = self.begin();
        loop {
            match self.work() {
                None => _ = self.changed.wait(me),
                Some(due) => _ = self.changed.wait_until(me, due),
            }
        }
    }

    /// Runs the timers in this coroutine, for ever. Once the future is dropped, any task may run
    /// them: it makes the calls late that have become due meanwhile.
    ///
    /// # Panics
    /// If another task runs them.
    pub async fn run_async(&self) {
        let _turn = self.begin();
        loop {
            let due = self.work();
            let mut changed = pin!(self.changed.signalled());
            let mut time = pin!(due.map(delay_until));
            poll_fn(|context| {
                let is_due = |time: core::pin::Pin<&mut crate::time::Delay>,
                              context: &mut core::task::Context| {
                    time.poll(context).is_ready()
                };
                if changed.as_mut().poll(context).is_ready()
                    || time.as_mut().as_pin_mut().is_some_and(|time| is_due(time, context))
                {
                    Poll::Ready(())
                } else {
                    Poll::Pending
                }
            })
            .await;
        }
    }

    #[track_caller]
    fn begin(&self) -> Turn<'_> {
        let was_busy = masked(|m| {
            let was = self.busy.get(m);
            self.busy.set(m, true);
            was
        });
        assert!(!was_busy, "task {}: another task runs these timers", current().name());
        Turn(&self.busy)
    }

    /// Carries out requests, and calls the functions that are due. Returns the next time.
    fn work(&self) -> Option<u64> {
        loop {
            while let Some(timer) = self.next_request() {
                self.remove(timer);
                self.insert(timer);
            }
            let (timer, listed) = self.first()?;
            if listed > now() {
                return Some(listed);
            }
            self.remove(timer);
            // A request since then counts: it may have stopped the timer, or changed its time.
            let is_due = masked(|m| {
                let is_due = timer.due.get(m) == Some(listed);
                if is_due {
                    timer.advance(m, listed);
                }
                is_due
            });
            if is_due {
                timer.call.make();
            }
            self.remove(timer);
            self.insert(timer);
        }
    }

    fn next_request(&self) -> Option<&'static Callback> {
        masked(|m| {
            let timer = self.requests.get(m)?;
            self.requests.set(m, timer.next_request.get(m));
            timer.requested.set(m, false);
            Some(timer)
        })
    }

    /// The first timer and its time.
    fn first(&self) -> Option<(&'static Callback, u64)> {
        masked(|m| {
            let first = self.first.get(m)?;
            Some((first, first.listed.get(m)?))
        })
    }

    /// The link that leads to `timer`, or to the first timer later than `due`, or to the end.
    fn find(
        &self,
        until: impl Fn(Masked, &Callback) -> bool,
    ) -> &Shared<Option<&'static Callback>> {
        let mut link = &self.first;
        while let Some(timer) = masked(|m| link.get(m).filter(|timer| !until(m, timer))) {
            link = &timer.next;
        }
        link
    }

    fn insert(&self, timer: &'static Callback) {
        let Some(due) = timer.due() else { return };
        let link = self.find(|m, other| other.listed.get(m).is_none_or(|listed| listed > due));
        masked(|m| {
            timer.listed.set(m, Some(due));
            timer.next.set(m, link.get(m));
            link.set(m, Some(timer));
        });
    }

    fn remove(&self, timer: &'static Callback) {
        if masked(|m| timer.listed.get(m)).is_none() {
            return;
        }
        let link = self.find(|_, other| core::ptr::eq(other, timer));
        masked(|m| {
            timer.listed.set(m, None);
            link.set(m, timer.next.get(m));
        });
    }
}
