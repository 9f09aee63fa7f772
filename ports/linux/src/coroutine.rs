//! Coroutines: futures polled by one thread, most urgent first, in order of waking within one
//! priority.
//!
//! ```text
//!   spawn ──► ready ──► polled ──► ended
//!               ▲          │ Pending
//!               └── woken ─┘
//! ```
//!
//! Linux has no coroutines of its own, so this is the plainest executor that does the job: an
//! intrusive queue for each priority, a heap of timers, and a stack on which other threads and
//! signal handlers leave what they wake. Waking from the executor's own thread costs a few loads
//! and stores and no atomic exchange.

use std::{
    cell::{Cell, UnsafeCell},
    cmp::Reverse,
    collections::{BinaryHeap, binary_heap::PeekMut},
    future::poll_fn,
    num::NonZeroU32,
    pin::Pin,
    ptr,
    sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering},
    task::{Context, Poll, RawWaker, RawWakerVTable, Waker},
};

use chronoscope_suite::{Clock, Priority, Refusal, Tasks};
use rustix::thread::futex;

use crate::{clock::timespec, kernel::Linux, semaphore::Semaphore, thread::Thread};

pub enum Coroutine {}

/// A coroutine. Never freed, so wakers stay valid for ever; the process lives for one case.
pub struct Task {
    executor: &'static Executor,
    /// Index of its ready queue; 0 is the most urgent.
    level: usize,
    /// Spawned by another coroutine, which may reap it.
    child: bool,
    queued: AtomicBool,
    next: AtomicPtr<Task>,
    /// Touched by the executor's thread only, as is `polls`.
    future: UnsafeCell<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>,
    polls: Cell<u32>,
}

// SAFETY: other threads touch `executor`, `queued` and `next` only; the cells belong to the
// executor's thread.
unsafe impl Sync for Task {}

/// Ready queues: Urgent(8) … Urgent(1), Ordinary, Idle.
const LEVELS: usize = 10;

fn level(priority: Priority) -> usize {
    match priority {
        Priority::Urgent(urgency) => 8 - usize::from(urgency.clamp(1, 8)),
        Priority::Ordinary => 8,
        Priority::Idle => 9,
    }
}

/// The thread that polls. A process has at most one.
pub struct Executor {
    /// Tasks woken from elsewhere, newest first.
    remote: AtomicPtr<Task>,
    /// 1 while the executor sleeps on it, or is about to.
    asleep: AtomicU32,
    local: UnsafeCell<Local>,
}

// SAFETY: `local` is touched by the executor's thread only, see `Executor::local`.
unsafe impl Sync for Executor {}
// SAFETY: the pointers in `local` are to tasks, which are never freed.
unsafe impl Send for Executor {}

struct Local {
    heads: [*const Task; LEVELS],
    tails: [*const Task; LEVELS],
    /// Bit n is set while queue n holds something.
    ready: u32,
    /// Who is being polled.
    current: *const Task,
    /// Due time, order of arrival among equals, who waits. The earliest is on top.
    timers: BinaryHeap<Reverse<(u64, u64, *const Task)>>,
    arrivals: u64,
    /// Coroutines spawned by coroutines: not reaped yet, and those of them that have ended.
    children: u32,
    ended: u32,
    reaper: Option<Waker>,
}

thread_local! {
    /// Whether this thread is the executor's.
    static HERE: Cell<bool> = const { Cell::new(false) };
    /// Whether a signal handler runs on this thread. It may have interrupted the executor in the
    /// middle of its queues, so it must wake as another thread does.
    pub static IN_HANDLER: Cell<bool> = const { Cell::new(false) };
}

impl Executor {
    fn new() -> Self {
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

    /// Runs `f` on what belongs to the executor's thread.
    #[inline(always)]
    fn local<T>(&self, f: impl FnOnce(&mut Local) -> T) -> T {
        debug_assert!(HERE.get() && !IN_HANDLER.get());
        // SAFETY: only the executor's thread comes here, never from a handler, and no `f` in this
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
                // SAFETY: a queue that holds something has a tail, and tasks are never freed.
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
            // SAFETY: a queue that holds something has a head, and tasks are never freed.
            let task: &'static Task = unsafe { &*local.heads[level] };
            local.heads[level] = task.next.load(Ordering::Relaxed);
            if local.heads[level].is_null() {
                local.ready &= !(1 << level);
            }
            Some(task)
        })
    }

    /// Moves what others have woken to the ready queues, oldest first.
    fn collect(&self) {
        if self.remote.load(Ordering::Relaxed).is_null() {
            return;
        }
        let mut newest = self.remote.swap(ptr::null_mut(), Ordering::Acquire);
        let mut oldest = ptr::null_mut::<Task>();
        // SAFETY: everything on the stack is a task, and tasks are never freed. A task on the stack
        // is marked as queued, so nobody else links it.
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

    /// Wakes whoever's timer is due.
    fn expire(&self, kernel: &Linux) {
        if self.local(|local| local.timers.is_empty()) {
            return;
        }
        let now = kernel.now();
        let next_due = |local: &mut Local| {
            let timer = local.timers.peek_mut().filter(|timer| timer.0.0 <= now)?;
            Some(PeekMut::pop(timer).0.2)
        };
        while let Some(task) = self.local(next_due) {
            // SAFETY: tasks are never freed.
            wake(unsafe { &*task });
        }
    }

    /// Polls until the process ends.
    fn run(&self, kernel: &Linux) -> ! {
        HERE.set(true);
        loop {
            self.collect();
            self.expire(kernel);
            match self.pop() {
                Some(task) => self.poll(task),
                None => self.sleep(kernel),
            }
        }
    }

    fn poll(&self, task: &'static Task) {
        self.local(|local| local.current = task);
        task.polls.set(task.polls.get().wrapping_add(1));
        // Before the poll: a wake-up during it must queue the task again.
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

    /// Waits for a wake-up from elsewhere or for the next timer.
    fn sleep(&self, kernel: &Linux) {
        let due = self.local(|local| local.timers.peek().map(|Reverse((due, ..))| *due));
        if due.is_some_and(|due| due <= kernel.now()) {
            return;
        }
        self.asleep.store(1, Ordering::SeqCst);
        if self.remote.load(Ordering::SeqCst).is_null() {
            // Absolute, on CLOCK_MONOTONIC. Returns at once when a waker has already cleared the
            // flag.
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

/// Starts the executor's thread, in the class of the first coroutine's priority.
fn start(kernel: &'static Linux, priority: Priority) -> Result<&'static Executor, Refusal> {
    let executor: &'static Executor = Box::leak(Box::new(Executor::new()));
    Thread::spawn(kernel, priority, async { executor.run(kernel) })?;
    Ok(executor)
}

impl Tasks for Coroutine {
    type Kernel = Linux;
    const KIND: &'static str = "coroutine";

    fn spawn<F>(kernel: &'static Linux, priority: Priority, body: F) -> Result<(), Refusal>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let executor = match kernel.executor.get() {
            Some(executor) => executor,
            None => {
                let executor = start(kernel, priority)?;
                kernel.executor.get_or_init(|| executor)
            }
        };
        let child = HERE.get();
        if child {
            executor.local(|local| local.children += 1);
        }
        wake(Box::leak(Box::new(Task {
            executor,
            level: level(priority),
            child,
            queued: AtomicBool::new(false),
            next: AtomicPtr::new(ptr::null_mut()),
            future: UnsafeCell::new(Some(Box::pin(body))),
            polls: Cell::new(0),
        })));
        Ok(())
    }

    fn reap(kernel: &'static Linux) -> impl Future<Output = bool> + Send {
        poll_fn(move |context| {
            here(kernel).local(|local| {
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
        })
    }

    #[inline]
    fn yield_now(_: &'static Linux) -> impl Future<Output = ()> + Send {
        let mut yielded = false;
        poll_fn(move |context| {
            if yielded {
                return Poll::Ready(());
            }
            yielded = true;
            context.waker().wake_by_ref();
            Poll::Pending
        })
    }

    #[inline]
    fn delay_until(kernel: &'static Linux, due: u64) -> impl Future<Output = ()> + Send {
        let mut queued = false;
        poll_fn(move |_| {
            if queued {
                // Timers wake their task when they are due, and nothing else wakes it meanwhile.
                return Poll::Ready(());
            }
            queued = true;
            here(kernel).local(|local| {
                local.arrivals += 1;
                local.timers.push(Reverse((due, local.arrivals, local.current)));
            });
            Poll::Pending
        })
    }

    #[inline]
    fn take(_: &'static Linux, semaphore: &'static Semaphore) -> impl Future<Output = ()> + Send {
        poll_fn(|context| semaphore.poll_take(context))
    }

    fn switches(kernel: &'static Linux) -> Option<u32> {
        // SAFETY: a coroutine asks, so `current` is the task being polled; tasks are never freed.
        Some(here(kernel).local(|local| unsafe { &*local.current }.polls.get()))
    }
}

/// The executor, from within one of its coroutines.
#[inline(always)]
fn here(kernel: &'static Linux) -> &'static Executor {
    kernel.executor.get().expect("a coroutine runs, so there is an executor")
}
