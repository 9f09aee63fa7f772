//! The executor of coroutines: a thread that polls futures, most urgent first, in order of waking
//! within one priority. It knows neither the port's kernel nor its semaphores.
//!
//! ```text
//!   spawn ──► ready ──► polled ──► ended
//!               ▲          │ Pending
//!               └── woken ─┘
//! ```
//!
//! Linux has no coroutines of its own, so this is a minimal executor: an intrusive queue for each
//! priority, a heap of timers, and a stack for the tasks woken by other threads and signal
//! handlers. Waking from the executor's own thread costs a few loads and stores and no atomic
//! exchange.

use std::{
    cell::{Cell, UnsafeCell},
    cmp::Reverse,
    collections::{BinaryHeap, binary_heap::PeekMut},
    num::NonZeroU32,
    pin::Pin,
    ptr,
    sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering},
    task::{Context, Poll, RawWaker, RawWakerVTable, Waker},
};

use chronoscope_suite::Priority;
use rustix::thread::futex;

use crate::clock::{now, timespec};

type Body = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A coroutine. Never freed, so wakers stay valid for ever; the process lives for one case.
pub struct Task {
    executor: &'static Executor,
    /// The index of the task's ready queue; 0 is the most urgent.
    level: usize,
    /// `true` if another coroutine spawned the task and may reap it.
    child: bool,
    queued: AtomicBool,
    next: AtomicPtr<Task>,
    /// Accessed by the executor's thread only, as is `polls`.
    future: UnsafeCell<Option<Body>>,
    polls: Cell<u32>,
}

// SAFETY: other threads access `executor`, `queued` and `next` only; the cells belong to the
// executor's thread.
unsafe impl Sync for Task {}

/// The number of ready queues: Urgent(8) … Urgent(1), Ordinary, Idle.
const LEVELS: usize = 10;

fn level(priority: Priority) -> usize {
    match priority {
        Priority::Urgent(urgency) => 8 - usize::from(urgency.clamp(1, 8)),
        Priority::Ordinary => 8,
        Priority::Idle => 9,
    }
}

/// The state of the polling thread. A process has at most one.
pub struct Executor {
    /// The stack of tasks woken by other threads and by signal handlers, newest first.
    remote: AtomicPtr<Task>,
    /// A futex: 1 while the executor sleeps on it, or is about to.
    asleep: AtomicU32,
    local: UnsafeCell<Local>,
}

// SAFETY: `local` is accessed by the executor's thread only, see `Executor::local`.
unsafe impl Sync for Executor {}
// SAFETY: the pointers in `local` are to tasks, which are never freed.
unsafe impl Send for Executor {}

struct Local {
    heads: [*const Task; LEVELS],
    tails: [*const Task; LEVELS],
    /// Bit n is set while queue n is not empty.
    ready: u32,
    /// The task that is being polled.
    current: *const Task,
    /// The due time, the order of arrival among equals, and the waiting task. The earliest is on
    /// top.
    timers: BinaryHeap<Reverse<(u64, u64, *const Task)>>,
    arrivals: u64,
    /// The number of coroutines spawned by coroutines and not reaped; `ended` counts the ones among
    /// them that have ended.
    children: u32,
    ended: u32,
    reaper: Option<Waker>,
}

thread_local! {
    /// `true` on the executor's thread.
    static HERE: Cell<bool> = const { Cell::new(false) };
    /// `true` while a signal handler runs on this thread. The handler may have interrupted the
    /// executor during a change of its queues, so it must wake tasks like another thread.
    pub static IN_HANDLER: Cell<bool> = const { Cell::new(false) };
}

impl Executor {
    pub fn new() -> Self {
        Self {
            remote: AtomicPtr::new(ptr::null_mut()),
            asleep: AtomicU32::new(0),
            local: UnsafeCell::new(Local {
                heads: [ptr::null(); LEVELS],
                tails: [ptr::null(); LEVELS],
                ready: 0,
                current: ptr::null(),
                timers: BinaryHeap::with_capacity(1024),
                arrivals: 0,
                children: 0,
                ended: 0,
                reaper: None,
            }),
        }
    }

    /// Creates a ready task. Callable from any thread, but not from signal handlers: it allocates.
    pub fn spawn(&'static self, priority: Priority, body: Body) {
        let child = HERE.get();
        if child {
            self.local(|local| local.children += 1);
        }
        wake(Box::leak(Box::new(Task {
            executor: self,
            level: level(priority),
            child,
            queued: AtomicBool::new(false),
            next: AtomicPtr::new(ptr::null_mut()),
            future: UnsafeCell::new(Some(body)),
            polls: Cell::new(0),
        })));
    }

    /// Reaps a task that was spawned by a task and has ended; `false` if none is left. Called on
    /// the executor's thread, as are the next two.
    pub fn poll_reap(&self, context: &Context<'_>) -> Poll<bool> {
        self.local(|local| {
            if local.children == 0 {
                return Poll::Ready(false);
            }
            if local.ended == 0 {
                local.reaper = Some(context.waker().clone());
                return Poll::Pending;
            }
            local.ended -= 1;
            local.children -= 1;
            Poll::Ready(true)
        })
    }

    /// Sets a timer that wakes the current task at `due`, in ticks of the clock.
    #[inline]
    pub fn wake_at(&self, due: u64) {
        self.local(|local| {
            local.arrivals += 1;
            local.timers.push(Reverse((due, local.arrivals, local.current)));
        });
    }

    /// Returns how often the current task was polled.
    pub fn polls(&self) -> u32 {
        // SAFETY: a task calls this, so `current` is that task; tasks are never freed.
        self.local(|local| unsafe { &*local.current }.polls.get())
    }

    /// Runs `f` on the state that belongs to the executor's thread.
    #[inline(always)]
    fn local<T>(&self, f: impl FnOnce(&mut Local) -> T) -> T {
        debug_assert!(HERE.get() && !IN_HANDLER.get());
        // SAFETY: only the executor's thread calls this, never from a handler, and no `f` in this
        // file polls, wakes or calls `local`, so there is no second reference.
        f(unsafe { &mut *self.local.get() })
    }

    fn push(&self, task: &Task) {
        task.next.store(ptr::null_mut(), Ordering::Relaxed);
        self.local(|local| {
            let level = task.level;
            if local.ready & 1 << level == 0 {
                local.heads[level] = task;
                local.ready |= 1 << level;
            } else {
                // SAFETY: a non-empty queue has a tail, and tasks are never freed.
                let tail = unsafe { &*local.tails[level] };
                tail.next.store(ptr::from_ref(task).cast_mut(), Ordering::Relaxed);
            }
            local.tails[level] = task;
        });
    }

    fn pop(&self) -> Option<&'static Task> {
        self.local(|local| {
            let level = local.ready.trailing_zeros() as usize;
            if level >= LEVELS {
                return None;
            }
            // SAFETY: a non-empty queue has a head, and tasks are never freed.
            let task: &'static Task = unsafe { &*local.heads[level] };
            local.heads[level] = task.next.load(Ordering::Relaxed);
            if local.heads[level].is_null() {
                local.ready &= !(1 << level);
            }
            Some(task)
        })
    }

    /// Moves the tasks on the stack to the ready queues, oldest first.
    fn collect(&self) {
        if self.remote.load(Ordering::Relaxed).is_null() {
            return;
        }
        let mut newest = self.remote.swap(ptr::null_mut(), Ordering::Acquire);
        let mut oldest = ptr::null_mut::<Task>();
        // SAFETY: the stack holds tasks only, and tasks are never freed. A task on the stack is
        // marked as queued, so no other code links it.
        while let Some(task) = unsafe { newest.as_ref() } {
            newest = task.next.swap(oldest, Ordering::Relaxed);
            oldest = ptr::from_ref(task).cast_mut();
        }
        // SAFETY: as above.
        while let Some(task) = unsafe { oldest.as_ref() } {
            oldest = task.next.load(Ordering::Relaxed);
            self.push(task);
        }
    }

    /// Wakes the tasks whose timers are due.
    fn expire(&self) {
        if self.local(|local| local.timers.is_empty()) {
            return;
        }
        let now = now();
        let next_due = |local: &mut Local| {
            let timer = local.timers.peek_mut().filter(|timer| timer.0.0 <= now)?;
            Some(PeekMut::pop(timer).0.2)
        };
        while let Some(task) = self.local(next_due) {
            // SAFETY: tasks are never freed.
            wake(unsafe { &*task });
        }
    }

    /// Polls tasks until the process ends.
    pub fn run(&self) -> ! {
        HERE.set(true);
        loop {
            self.collect();
            self.expire();
            match self.pop() {
                Some(task) => self.poll(task),
                None => self.sleep(),
            }
        }
    }

    fn poll(&self, task: &'static Task) {
        self.local(|local| local.current = task);
        task.polls.set(task.polls.get().wrapping_add(1));
        // Stored before the poll, so that a wake-up during the poll queues the task again.
        task.queued.store(false, Ordering::Release);
        let waker = waker(task);
        // SAFETY: the future is touched here only, on the executor's thread, and polls do not nest.
        let future = unsafe { &mut *task.future.get() };
        let Some(running) = future else { return };
        if running.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
            *future = None;
            let reaper = self.local(|local| {
                local.ended += u32::from(task.child);
                local.reaper.take()
            });
            reaper.inspect(Waker::wake_by_ref);
        }
    }

    /// Sleeps until a wake-up by another thread, or until the next timer.
    fn sleep(&self) {
        let due = self.local(|local| local.timers.peek().map(|Reverse((due, ..))| *due));
        if due.is_some_and(|due| due <= now()) {
            return;
        }
        self.asleep.store(1, Ordering::SeqCst);
        if self.remote.load(Ordering::SeqCst).is_null() {
            // The timeout is absolute, on CLOCK_MONOTONIC. The call returns at once if a waker has
            // already cleared the flag.
            let due = due.map(timespec);
            let _ = futex::wait_bitset(
                &self.asleep,
                futex::Flags::PRIVATE,
                1,
                due.as_ref(),
                NonZeroU32::MAX,
            );
        }
        self.asleep.store(0, Ordering::SeqCst);
    }
}

/// Makes a task ready. Callable from any thread and from signal handlers.
pub fn wake(task: &Task) {
    if task.queued.swap(true, Ordering::AcqRel) {
        return;
    }
    let executor = task.executor;
    if HERE.get() && !IN_HANDLER.get() {
        executor.push(task);
        return;
    }
    let this = ptr::from_ref(task).cast_mut();
    executor.remote.update(Ordering::SeqCst, Ordering::Relaxed, |top| {
        task.next.store(top, Ordering::Relaxed);
        this
    });
    if executor.asleep.swap(0, Ordering::SeqCst) == 1 {
        let _ = futex::wake(&executor.asleep, futex::Flags::PRIVATE, 1);
    }
}

static WAKER: RawWakerVTable = RawWakerVTable::new(
    |task| RawWaker::new(task, &WAKER),
    // SAFETY: a waker's data is a task, and tasks are never freed.
    |task| wake(unsafe { &*task.cast::<Task>() }),
    // SAFETY: as above.
    |task| wake(unsafe { &*task.cast::<Task>() }),
    |_| {},
);

fn waker(task: &'static Task) -> Waker {
    // SAFETY: the table's functions keep the contract: the data lives for ever, waking is
    // thread-safe.
    unsafe { Waker::from_raw(RawWaker::new(ptr::from_ref(task).cast(), &WAKER)) }
}
