//! The smallest useful port, and the example of `docs/writing-a-port.md`: a kernel with coroutines
//! only, in one file, that runs on the build machine in virtual time. `main.rs` holds its tests,
//! which are the suite's integration tests.
//!
//! The kernel is a list of tasks and one rule: the most urgent ready task runs, and of several the
//! one that became ready first. There is one stack. A task that becomes ready and is more urgent
//! than the running one is polled on top of it, inside the call that woke it, until it waits; then
//! the running task goes on. With `preemption=none` it runs when the running one waits, as in most
//! kernels with coroutines.
//!
//! With `line=unmasked` the port breaks the contract: its timer interrupt has a level that the
//! kernel does not mask, and from which the kernel must not be called.
//!
//! Reading the clock, switching, entering a handler and logging take a fixed number of ticks each,
//! all else takes none, and while all tasks wait, the clock jumps to the next due time. Two runs
//! give the same bytes. Computation takes no time, so `ticks` and the transform of `pipeline` show
//! the cost of their marks only.

use std::{
    alloc::Layout,
    cell::{Cell, RefCell, UnsafeCell},
    cmp::Reverse,
    future::poll_fn,
    iter, mem,
    mem::MaybeUninit,
    pin::{Pin, pin},
    ptr::{self, NonNull},
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    task::{Context, Poll, Waker},
};

use chronoscope_suite::{
    Clock, Kernel, Priority, Reason, Refusal, Request, Tasks, Trial,
    arena::Arena,
    kernel::{Handler, Interrupts, Log, Messages, Native, PHASES, Source},
    trial::{self, Names, Sink},
    wire::Domain,
};

const NAMES: Names = Names { kernel: "small", release: "1" };

pub const HERTZ: u64 = 10_000_000;
/// The cost of a clock read, in ticks.
pub const READ: u64 = 1;
/// The ticks from the choice of a task to its first instruction.
pub const SWITCH: u64 = 10;
/// The ticks from an interrupt to its handler's first instruction.
pub const ENTRY: u64 = 5;

// The kernel

struct Small {
    time: Cell<u64>,
    preemption: bool,
    /// `true` if the experiments' timer interrupt has a level that the kernel does not mask.
    unmasked: bool,
    /// `true` while the kernel, in the middle of a switch, would have masked interrupts.
    switching: Cell<bool>,
    /// The port's own memory for tasks and queues, separate from the experiment's.
    arena: Arena,
    /// The head of the list of all tasks.
    newest: Cell<Option<&'static Task>>,
    director: &'static Task,
    running: Cell<Option<&'static Task>>,
    /// A counter of the tasks that have become ready, which orders them.
    turns: Cell<u64>,
    /// The handlers, indexed by source.
    handlers: [Cell<Option<Handler>>; 3],
    /// `true` while a handler runs; other interrupts and all tasks wait.
    handling: Cell<bool>,
    /// The due time of the timer interrupt.
    alarm: Cell<Option<u64>>,
    /// The time of the external line's next rise; `rose` is the time of its last one.
    line: Cell<Option<u64>>,
    rose: Cell<u64>,
    /// The state of the generator that chooses how late the line rises.
    chance: Cell<u32>,
    /// The number of logged bytes.
    logged: Cell<u64>,
}

// SAFETY: a kernel and its tasks live on the one thread that called `run_case`, as on a chip with
// one processor. Handlers run on it too, and only inside calls of the kernel.
unsafe impl Sync for Small {}

type Body = dyn Future<Output = ()>;

struct Task {
    older: Option<&'static Task>,
    parent: Cell<Option<&'static Task>>,
    priority: Cell<Priority>,
    state: Cell<State>,
    turn: Cell<u64>,
    switches: Cell<u32>,
    body: Cell<Option<NonNull<Body>>>,
    layout: Layout,
}

#[derive(Clone, Copy)]
enum State {
    Ready,
    Running,
    Sleeps(u64),
    Takes(&'static Semaphore),
    Reaps,
    Ended,
    Reaped,
}

/// A counting semaphore. It has no list of waiting tasks: each task knows the semaphore that it
/// waits for.
struct Semaphore(AtomicU32);

impl Task {
    fn new(older: Option<&'static Self>, layout: Layout) -> Self {
        Self {
            older,
            parent: Cell::new(None),
            priority: Cell::new(Priority::Ordinary),
            state: Cell::new(State::Ended),
            turn: Cell::new(0),
            switches: Cell::new(0),
            body: Cell::new(None),
            layout,
        }
    }

    fn is_child_of(&self, parent: &Self) -> bool {
        self.parent.get().is_some_and(|own| ptr::eq(own, parent))
    }

    /// The task with the highest rank runs first.
    fn rank(&self) -> (Priority, Reverse<u64>) {
        (self.priority.get(), Reverse(self.turn.get()))
    }

    fn due(&self) -> Option<u64> {
        if let State::Sleeps(due) = self.state.get() { Some(due) } else { None }
    }
}

impl Small {
    /// Creates the kernel from the port's own keys. Refuses unknown keys, and values that only
    /// other kernels have.
    fn new(request: &Request<'_>, arena: Arena) -> Result<Self, Refusal> {
        let invalid = |what| {
            Refusal::new(Reason::Invalid, what, "this port knows counter, preemption and line")
        };
        // The counter wraps early in every case, which reveals code that does not expect it.
        let mut counter = u64::from(u32::MAX) - 1000;
        let (mut preemption, mut unmasked) = (true, false);
        for (key, value) in request.pairs() {
            match (key, value) {
                ("counter", _) => {
                    counter = value.parse().map_err(|_| invalid("counter is not a number"))?
                }
                ("preemption", "nested") => preemption = true,
                ("preemption", "none") => preemption = false,
                ("line", "masked") => unmasked = false,
                ("line", "unmasked") => unmasked = true,
                ("primitive", "futex" | "eventfd" | "pipe") => {
                    return Err(Refusal::not_offered("a primitive of Linux"));
                }
                _ if request.knows(key) => {}
                _ => {
                    return Err(invalid(
                        "neither the experiment nor the port knows a key or its value",
                    ));
                }
            }
        }
        let director = arena.place(Task::new(None, Layout::new::<()>()))?;
        Ok(Self {
            time: Cell::new(counter),
            preemption,
            unmasked,
            switching: Cell::new(false),
            arena,
            newest: Cell::new(Some(director)),
            director,
            running: Cell::new(None),
            turns: Cell::new(0),
            handlers: Default::default(),
            handling: Cell::new(false),
            alarm: Cell::new(None),
            line: Cell::new(None),
            rose: Cell::new(0),
            chance: Cell::new(1),
            logged: Cell::new(0),
        })
    }

    /// Runs the director, and every other task, until the director ends.
    fn run(&self, director: Pin<&mut (dyn Future<Output = ()> + '_)>) {
        // SAFETY: this erases a lifetime. The director is pinned for longer than the loop below,
        // which polls it.
        let director = unsafe {
            mem::transmute::<Pin<&mut (dyn Future<Output = ()> + '_)>, NonNull<Body>>(director)
        };
        self.start(self.director, Priority::Ordinary, director);
        loop {
            self.dispatch();
            if let State::Ended = self.director.state.get() {
                break;
            }
            let next = self
                .tasks()
                .filter_map(Task::due)
                .chain(self.alarm.get())
                .chain(self.line.get())
                .min();
            let next = next.expect("all tasks wait, and nothing is due that could wake one");
            self.time.set(next.max(self.time.get()));
            self.pass(0);
        }
    }

    fn tasks(&self) -> impl Iterator<Item = &'static Task> {
        iter::successors(self.newest.get(), |task| task.older)
    }

    fn current(&self) -> &'static Task {
        self.running.get().expect("only tasks call this")
    }

    fn make_ready(&self, task: &Task) {
        self.turns.set(self.turns.get() + 1);
        task.turn.set(self.turns.get());
        task.state.set(State::Ready);
    }

    /// Runs the tasks that are more urgent than the running one until each of them waits.
    fn dispatch(&self) {
        let interrupted = self.running.get();
        while let Some(task) = self.most_urgent_above(interrupted) {
            task.state.set(State::Running);
            self.switch_to(Some(task));
            self.pass_masked(SWITCH);
            let mut body = task.body.get().expect("a ready task has been started");
            // SAFETY: nothing moves a body before it has ended, and the body is not being polled:
            // such a task is not ready, since a task yields or waits as the last action of a poll.
            let body = unsafe { Pin::new_unchecked(body.as_mut()) };
            if body.poll(&mut Context::from_waker(Waker::noop())).is_ready() {
                self.end(task);
            }
        }
        self.switch_to(interrupted);
    }

    fn most_urgent_above(&self, running: Option<&Task>) -> Option<&'static Task> {
        if let State::Ended = self.director.state.get() {
            return None;
        }
        let ready = self.tasks().filter(|task| matches!(task.state.get(), State::Ready));
        let above = ready.filter(|task| {
            running.is_none_or(|running| task.priority.get() > running.priority.get())
        });
        above.max_by_key(|task| task.rank())
    }

    /// Makes a task the running one, and counts a switch to it unless it was the running one
    /// already.
    fn switch_to(&self, task: Option<&'static Task>) {
        let before = self.running.replace(task);
        if let Some(task) = task
            && before.is_none_or(|before| !ptr::eq(before, task))
        {
            task.switches.set(task.switches.get() + 1);
        }
    }

    /// Runs more urgent tasks after a change of readiness, but not inside a handler: tasks that a
    /// handler has woken run after its return.
    fn preempt(&self) {
        if self.preemption && !self.handling.get() {
            self.dispatch();
        }
    }

    /// Advances the clock, and fires the interrupts that fall due.
    fn pass(&self, ticks: u64) {
        let now = self.time.get() + ticks;
        self.time.set(now);
        let sleeper = || self.tasks().filter(|task| task.due().is_some_and(|due| due <= now));
        while let Some(task) = sleeper().min_by_key(|task| (task.due(), task.turn.get())) {
            self.make_ready(task);
        }
        if !self.handling.get() && self.alarm.get().is_some_and(|due| due <= now) {
            self.alarm.set(None);
            self.interrupt(Source::Timer);
        }
        if !self.handling.get()
            && let Some(rises) = self.line.get().filter(|rises| *rises <= now)
        {
            self.line.set(None);
            self.rose.set(rises);
            self.interrupt(Source::External);
        }
        self.preempt();
    }

    /// Advances the clock while interrupts are masked. A timer interrupt of an unmasked level fires
    /// in between, when it is due.
    fn pass_masked(&self, ticks: u64) {
        let end = self.time.get() + ticks;
        if self.unmasked
            && !self.handling.get()
            && let Some(due) = self.alarm.get().filter(|due| *due <= end)
        {
            self.switching.set(true);
            self.time.set(due.max(self.time.get()));
            self.alarm.set(None);
            self.interrupt(Source::Timer);
            self.switching.set(false);
        }
        self.pass(end.saturating_sub(self.time.get()));
    }

    fn interrupt(&self, source: Source) {
        let handler = self.handlers[source as usize]
            .get()
            .expect("a handler is attached before its source is used");
        self.handling.set(true);
        self.pass(ENTRY);
        handler();
        self.handling.set(false);
        self.preempt();
    }

    /// Makes a task ready to run `body`, as a child of the running task.
    fn start(&self, task: &Task, priority: Priority, body: NonNull<Body>) {
        task.priority.set(priority);
        task.body.set(Some(body));
        task.parent.set(self.running.get());
        self.make_ready(task);
    }

    fn end(&self, task: &Task) {
        task.state.set(State::Ended);
        let parent = task.parent.get().filter(|parent| matches!(parent.state.get(), State::Reaps));
        if let Some(parent) = parent {
            self.make_ready(parent);
        }
    }
}

// The suite's traits

impl Clock for Small {
    type Slot = AtomicU32;
    const DOMAIN: Domain = Domain::Instructions;

    #[expect(clippy::cast_possible_truncation, reason = "the counter has 32 bits")]
    fn read(&self) -> u32 {
        self.now() as u32
    }

    fn now(&self) -> u64 {
        let now = self.time.get();
        self.pass(READ);
        now
    }

    fn hertz(&self) -> u64 {
        HERTZ
    }

    /// Records the edge. Driving a pin takes no time here.
    fn drive(&self, pin: u8, high: bool) {
        EDGES.with_borrow_mut(|edges| edges.push((self.time.get(), pin, high)));
    }
}

thread_local! {
    /// The edges of all pins in this thread's case: time, pin, and level.
    pub static EDGES: RefCell<Vec<(u64, u8, bool)>> = const { RefCell::new(Vec::new()) };
}

impl Kernel for Small {
    type Director = Coroutine;
    type Semaphore = Semaphore;

    fn semaphore(&self, initial: u32) -> Result<Semaphore, Refusal> {
        Ok(Semaphore(AtomicU32::new(initial)))
    }

    /// A woken task takes when it runs. If another task takes before it, it waits on.
    fn give(&self, semaphore: &'static Semaphore) {
        if self.switching.get() {
            // The switch goes on with the state that it has read before, so the give is lost.
            return;
        }
        semaphore.0.store(semaphore.0.load(Relaxed) + 1, Relaxed);
        let waits = |task: &Task| match task.state.get() {
            State::Takes(awaited) => ptr::eq(awaited, semaphore),
            _ => false,
        };
        let first = self.tasks().filter(|task| waits(task)).max_by_key(|task| task.rank());
        if let Some(task) = first {
            self.make_ready(task);
            self.preempt();
        }
    }
}

/// The only kind of task.
enum Coroutine {}

impl Tasks for Coroutine {
    type Kernel = Small;
    const KIND: &'static str = "coroutine";

    fn spawn<F>(kernel: &'static Small, priority: Priority, body: F) -> Result<(), Refusal>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        // The experiment `spawn` creates thousands of tasks in sequence, so the memory of a reaped
        // task is reused.
        let layout = Layout::new::<F>();
        let reaped =
            |task: &&Task| task.layout == layout && matches!(task.state.get(), State::Reaped);
        let (task, memory) = match kernel.tasks().find(reaped) {
            Some(task) => (task, task.body.get().expect("it has run").cast::<F>()),
            None => {
                let memory = kernel.arena.place(UnsafeCell::new(MaybeUninit::<F>::uninit()))?;
                let task = kernel.arena.place(Task::new(kernel.newest.get(), layout))?;
                kernel.newest.set(Some(task));
                (task, NonNull::from_ref(memory).cast::<F>())
            }
        };
        // SAFETY: the memory has the layout of F and no other owner: it is new, or of a body that
        // has ended. (That body need not be dropped, because bodies hold only references.)
        unsafe { memory.write(body) };
        kernel.start(task, priority, memory);
        kernel.preempt();
        Ok(())
    }

    fn reap(kernel: &'static Small) -> impl Future<Output = bool> + Send {
        poll_fn(|_| {
            let parent = kernel.current();
            let children = || kernel.tasks().filter(|task| task.is_child_of(parent));
            if let Some(ended) = children().find(|task| matches!(task.state.get(), State::Ended)) {
                ended.state.set(State::Reaped);
                return Poll::Ready(true);
            }
            if children().all(|task| matches!(task.state.get(), State::Reaped)) {
                return Poll::Ready(false);
            }
            parent.state.set(State::Reaps);
            Poll::Pending
        })
    }

    fn yield_now(kernel: &'static Small) -> impl Future<Output = ()> + Send {
        let mut yielded = false;
        poll_fn(move |_| {
            if mem::replace(&mut yielded, true) {
                return Poll::Ready(());
            }
            kernel.make_ready(kernel.current());
            Poll::Pending
        })
    }

    fn delay_until(kernel: &'static Small, due: u64) -> impl Future<Output = ()> + Send {
        poll_fn(move |_| {
            if kernel.time.get() >= due {
                return Poll::Ready(());
            }
            kernel.current().state.set(State::Sleeps(due));
            Poll::Pending
        })
    }

    fn take(
        kernel: &'static Small,
        semaphore: &'static Semaphore,
    ) -> impl Future<Output = ()> + Send {
        poll_fn(move |_| match semaphore.0.load(Relaxed).checked_sub(1) {
            Some(left) => {
                semaphore.0.store(left, Relaxed);
                Poll::Ready(())
            }
            None => {
                kernel.current().state.set(State::Takes(semaphore));
                Poll::Pending
            }
        })
    }

    fn switches(kernel: &'static Small) -> Option<u32> {
        Some(kernel.current().switches.get())
    }
}

/// A ring of words, with a semaphore for each end.
struct Queue {
    words: &'static [AtomicU32],
    sent: AtomicU32,
    received: AtomicU32,
    free: Semaphore,
    filled: Semaphore,
}

impl Queue {
    /// Returns the place of word number `count`, and increments the count.
    fn next(&self, count: &AtomicU32) -> &AtomicU32 {
        let number = count.load(Relaxed);
        count.store(number.wrapping_add(1), Relaxed);
        &self.words[number as usize % self.words.len()]
    }
}

/// An event without memory: signalled while no task waits, it is lost, as the contract permits.
struct Event(Semaphore);

impl Native for Coroutine {
    type Event = Event;

    fn event(kernel: &'static Small) -> Result<Event, Refusal> {
        kernel.semaphore(0).map(Event)
    }

    fn signal(kernel: &'static Small, event: &'static Event) {
        let waits = |task: &Task| match task.state.get() {
            State::Takes(awaited) => ptr::eq(awaited, &event.0),
            _ => false,
        };
        if kernel.tasks().any(waits) {
            kernel.give(&event.0);
        }
    }

    fn signalled(kernel: &'static Small, event: &'static Event) -> impl Future<Output = ()> + Send {
        Self::take(kernel, &event.0)
    }
}

impl Messages for Coroutine {
    type Queue = Queue;

    fn queue(kernel: &'static Small, capacity: usize) -> Result<Queue, Refusal> {
        Ok(Queue {
            words: kernel.arena.fill(capacity, |_| Ok(AtomicU32::new(0)))?,
            sent: AtomicU32::new(0),
            received: AtomicU32::new(0),
            free: kernel.semaphore(u32::try_from(capacity).map_err(|_| Refusal::full())?)?,
            filled: kernel.semaphore(0)?,
        })
    }

    async fn send(kernel: &'static Small, queue: &'static Queue, word: u32) {
        Self::take(kernel, &queue.free).await;
        queue.next(&queue.sent).store(word, Relaxed);
        kernel.give(&queue.filled);
    }

    async fn receive(kernel: &'static Small, queue: &'static Queue) -> u32 {
        Self::take(kernel, &queue.filled).await;
        let word = queue.next(&queue.received).load(Relaxed);
        kernel.give(&queue.free);
        word
    }
}

impl Interrupts for Small {
    fn attach(&'static self, source: Source, handler: Handler) -> Result<(), Refusal> {
        self.handlers[source as usize].set(Some(handler));
        Ok(())
    }

    fn raise(&self) {
        self.interrupt(Source::Software);
    }

    fn arm(&self, due: u64) {
        self.alarm.set(Some(due));
    }

    fn stimulate(&self, due: u64) {
        self.chance.set(self.chance.get().wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
        self.line.set(Some(due + u64::from(self.chance.get() >> 16) % PHASES));
    }

    fn stimulated(&self) -> u64 {
        self.rose.get()
    }
}

impl Log for Small {
    /// Logs to a modelled line that carries a byte in each tick.
    fn log(&self, round: u32, ticks: u64) {
        let bytes = format!("round {round} at {ticks}\n").len() as u64;
        self.logged.set(self.logged.get() + bytes);
        self.pass(bytes);
    }

    fn logged(&self) -> u64 {
        self.logged.get()
    }
}

// The offers, and main

chronoscope_suite::offers! {
    kernel Small: interrupts masking log;
    kind "coroutine" Coroutine: delays reaping messages;
    pair "coroutine-coroutine" Coroutine, Coroutine;
    native Coroutine;
    otherwise "this port does not offer the experiment for these kinds of task";
}

/// Runs a case: the counterpart of a chip's `main`, where the request comes from a mailbox, the
/// region is a `static`, and the sink writes to a UART.
pub fn run_case(request: &str, region: &'static mut [MaybeUninit<u8>], sink: &mut dyn Sink) {
    let (request, kernel, arena) = match begin(request, region) {
        Ok(begun) => begun,
        Err(refusal) => return trial::refuse(sink, NAMES, request, refusal),
    };
    // The director's future is not created by `spawn`, because it is neither `Send` nor `'static`.
    kernel.run(pin!(async {
        let mut trial = Trial::new(kernel, &arena, request, sink, NAMES);
        let outcome = run(&mut trial).await;
        trial.end(outcome);
    }));
}

fn begin<'a>(
    request: &'a str,
    region: &'static mut [MaybeUninit<u8>],
) -> Result<(Request<'a>, &'static Small, Arena), Refusal> {
    let request = Request::parse(request)?;
    let (for_case, for_kernel) = region.split_at_mut(region.len() / 2);
    let arena = Arena::new(for_case);
    let kernel = arena.place(Small::new(&request, Arena::new(for_kernel))?)?;
    Ok((request, kernel, arena))
}
