//! Every interleaving of small scenarios with at most two interrupts.
//!
//! The simulated processor offers an interrupt wherever interrupts are about to be masked or have
//! just been unmasked; between two such points no handler can run. Each scenario is repeated with
//! every choice of at most two interrupts and of what their handlers do. At the end every task must
//! have ended, and nothing may be lost.
//!
//! The scenarios pass every masked window of the calls of coroutines, wakers, timers and handlers.
//! Threads do not exist on the host: the image `windows` interrupts their calls at every instruction
//! on the emulated chips.

mod objects;

use super::{ARMED, NOW};
use crate::{
    Ceiling, Coroutine, Event, Priority, Queue, Semaphore,
    arch::{self, BREACH, WINDOW, masked},
    delay_until,
    records::{KERNEL, TIMERS},
    tests::{begin_test, reset},
    time,
};
use std::{
    cell::{Cell, RefCell},
    collections::BTreeSet,
    future::{Future, poll_fn},
    pin::{Pin, pin},
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    },
    task::{Context, Poll, Waker},
};

/// The variable that names a window to be opened in its middle.
const OPEN: &str = "TANDEM_TEST_OPENS_WINDOW";

/// The runs of one scenario: under Miri, which is slow, the first.
const RUNS: usize = if cfg!(miri) { 1 } else { usize::MAX };

thread_local! {
    /// A task has seen something wrong. A poll cannot panic: it is called by a function that cannot
    /// unwind.
    static WRONG: Cell<bool> = const { Cell::new(false) };
}

fn must(condition: bool) {
    WRONG.set(WRONG.get() | !condition);
}

fn leak<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// The choices of one run, each with the number of its options.
#[derive(Default)]
struct Choices {
    made: Vec<(usize, usize)>,
    next: usize,
}

impl Choices {
    fn pick(&mut self, options: usize) -> usize {
        if self.next == self.made.len() {
            self.made.push((0, options));
        }
        let (chosen, known) = self.made[self.next];
        assert_eq!(known, options, "a run is determined by its choices");
        self.next += 1;
        chosen
    }

    /// Goes on to the next run. Returns `false` after the last one.
    fn advance(&mut self) -> bool {
        self.next = 0;
        while let Some((chosen, options)) = self.made.pop() {
            if chosen + 1 < options {
                self.made.push((chosen + 1, options));
                return true;
            }
        }
        false
    }
}

/// One run: its tasks, its handlers' actions, and the condition that must hold at the end.
struct Run {
    /// The number of interrupts.
    interrupts: usize,
    tasks: Vec<crate::Info>,
    actions: Vec<Box<dyn FnMut()>>,
    /// Gives the tasks whatever they still wait for.
    finish: Box<dyn FnMut()>,
    check: Box<dyn Fn()>,
}

/// A call that masks or unmasks interrupts: the end of its file's path, and the line.
type Site = (&'static str, u32);

/// Runs a scenario in every interleaving. Returns the number of runs, and the windows at which a
/// handler has run.
fn explore(scenario: Scenario) -> (usize, BTreeSet<Site>) {
    let choices = Rc::new(RefCell::new(Choices::default()));
    let sites = Rc::new(RefCell::new(BTreeSet::new()));
    let mut runs = 0;
    loop {
        reset();
        WRONG.set(false);
        NOW.set(0);
        ARMED.set(u64::MAX);
        let mut run = Run {
            interrupts: 2,
            tasks: Vec::new(),
            actions: Vec::new(),
            finish: Box::new(|| ()),
            check: Box::new(|| ()),
        };
        // The handlers' actions are known once the scenario has begun, so the scenario spawns its
        // tasks in `finish`'s first call.
        scenario(&mut run);
        let mut actions = std::mem::take(&mut run.actions);
        let (left, chance, seen) =
            (Cell::new(run.interrupts), Rc::clone(&choices), Rc::clone(&sites));
        arch::set_handler(Some(Box::new(move || {
            if left.get() == 0 {
                return;
            }
            let site = WINDOW.get().unwrap();
            let chosen = chance.borrow_mut().pick(actions.len() + 1);
            if chosen > 0 {
                left.set(left.get() - 1);
                let file = SOURCES.iter().find(|(file, _)| site.file().ends_with(file));
                seen.borrow_mut().extend(file.map(|&(file, _)| (file, site.line())));
                actions[chosen - 1]();
            }
        })));
        for _ in 0..3 {
            (run.finish)();
        }
        arch::set_handler(None);
        for _ in 0..8 {
            (run.finish)();
        }
        assert!(run.tasks.iter().all(|task| !task.is_alive()), "every task has ended");
        masked(|m| assert!(KERNEL.ready.most_urgent(m).is(KERNEL.current(m))));
        (run.check)();
        assert!(!WRONG.take(), "no task has seen anything wrong");
        runs += 1;
        if runs == RUNS || !choices.borrow_mut().advance() {
            return (runs, Rc::try_unwrap(sites).unwrap().into_inner());
        }
    }
}

fn spawn<F: Future<Output = ()> + 'static>(run: &mut Run, priority: u8, body: F) -> Start {
    struct Local<F>(F);
    // SAFETY: a test has one thread.
    unsafe impl<F> Send for Local<F> {}
    impl<F: Future<Output = ()>> Local<F> {
        async fn run(self) {
            let Self(body) = self;
            body.await;
        }
    }
    // SAFETY: as above.
    struct Sendable<F>(F);
    // SAFETY: as above.
    unsafe impl<F> Send for Sendable<F> {}
    impl<F: Future<Output = ()>> Future for Sendable<F> {
        type Output = ();
        fn poll(self: Pin<&mut Self>, context: &mut Context) -> Poll<()> {
            // SAFETY: the field is pinned as the whole is.
            unsafe { self.map_unchecked_mut(|whole| &mut whole.0) }.poll(context)
        }
    }
    let task = leak(Coroutine::<4096>::new());
    run.tasks.push(task.info());
    let body = Sendable(Local(body).run());
    Box::new(move || task.spawn(Priority::new(priority), "task", body).unwrap())
}

type Start = Box<dyn FnOnce()>;

/// Has the first call of `finish` start the tasks, and the others call `finish`.
fn begin(run: &mut Run, starts: Vec<Start>, mut finish: impl FnMut() + 'static) {
    let mut starts = Some(starts);
    run.finish = Box::new(move || match starts.take() {
        Some(starts) => starts.into_iter().for_each(|start| start()),
        None => finish(),
    });
}

fn semaphores(run: &mut Run) {
    let (semaphore, given, taken) =
        (leak(Semaphore::new(0)), leak(AtomicU32::new(0)), leak(AtomicU32::new(0)));
    let give = || {
        given.fetch_add(1, Relaxed);
        semaphore.give();
    };
    let take = |times| async move {
        for _ in 0..times {
            semaphore.taken().await;
            taken.fetch_add(1, Relaxed);
        }
    };
    // One gives up, whether served or not.
    let gives_up = async move {
        taken.fetch_add(semaphore.try_take().into(), Relaxed);
        let mut future = pin!(Some(semaphore.taken()));
        let served = once(future.as_mut()).await.is_ready();
        crate::yield_now().await;
        taken.fetch_add(served.into(), Relaxed);
    };
    let starts = vec![spawn(run, 2, take(2)), spawn(run, 3, take(1)), spawn(run, 2, gives_up)];
    run.actions.push(Box::new(give));
    let tasks = run.tasks.clone();
    begin(run, starts, move || {
        // No unit is left while a task waits.
        masked(|_| must(!tasks.iter().any(|task| task.is_alive()) || !semaphore.try_take()));
        give();
    });
    run.check = Box::new(|| {
        let mut rest = 0;
        while semaphore.try_take() {
            rest += 1;
        }
        assert_eq!(given.load(Relaxed), taken.load(Relaxed) + rest);
    });
}

/// A semaphore's count stays within its maximum, and no unit that was accepted is lost.
fn maxima(run: &mut Run) {
    let (semaphore, given, taken) =
        (leak(Semaphore::new(0)), leak(AtomicU32::new(0)), leak(AtomicU32::new(0)));
    let give = || {
        given.fetch_add(semaphore.give_up_to(1).is_ok().into(), Relaxed);
        must(semaphore.count() <= 1);
    };
    let take = async {
        for _ in 0..2 {
            semaphore.taken().await;
            taken.fetch_add(1, Relaxed);
        }
    };
    let starts = vec![
        spawn(run, 1, take),
        spawn(run, 2, async move {
            give();
            give();
        }),
    ];
    run.actions.push(Box::new(give));
    begin(run, starts, give);
    run.check =
        Box::new(|| assert_eq!(given.load(Relaxed), taken.load(Relaxed) + semaphore.count()));
}

/// A look at a queue shows the message that is received next, and changes nothing.
fn looks(run: &mut Run) {
    const LAST: u32 = 4;
    let (queue, sent, received) =
        (leak(Queue::<u32, 2>::new()), leak(AtomicU32::new(0)), leak(AtomicU32::new(0)));
    let look = || must(queue.len() <= 2 && queue.peek().is_none_or(|message| message <= LAST));
    let receive = || {
        let (first, len) = (queue.peek(), queue.len());
        must(queue.is_full() == (len == queue.capacity()) && queue.is_empty() == (len == 0));
        must(queue.peek() == first && queue.try_receive() == first);
        if let Some(message) = first {
            must(received.fetch_max(message, Relaxed) < message);
        }
    };
    let send = move |next: u32| {
        if next <= LAST && queue.try_send(next).is_ok() {
            sent.store(next, Relaxed);
        }
    };
    let starts = vec![
        spawn(run, 2, async move {
            let message = queue.received().await;
            must(message <= LAST);
            received.fetch_max(message, Relaxed);
            look();
        }),
        spawn(run, 1, async move {
            for _ in 0..2 {
                masked(|_| send(sent.load(Relaxed) + 1));
                look();
            }
        }),
    ];
    run.actions = vec![Box::new(move || send(sent.load(Relaxed) + 1)), Box::new(receive)];
    begin(run, starts, move || masked(|_| send(sent.load(Relaxed) + 1)));
}

fn events(run: &mut Run) {
    let (event, seen) = (leak(Event::new()), leak(AtomicU32::new(0)));
    let listen = async move {
        while seen.load(Relaxed) != 7 {
            let mut future = pin!(Some(event.signalled()));
            // Given up at first, and waited for then.
            if let Poll::Ready(flags) = once(future.as_mut()).await {
                seen.fetch_or(flags, Relaxed);
            }
            future.set(None);
            seen.fetch_or(event.try_wait(), Relaxed);
            seen.fetch_or(event.signalled().await, Relaxed);
        }
    };
    let starts = vec![spawn(run, 2, listen), spawn(run, 1, async { event.signal(4) })];
    run.actions = vec![Box::new(|| event.signal(1)), Box::new(|| event.signal(2))];
    let tasks = run.tasks.clone();
    begin(run, starts, move || {
        masked(|_| must(!tasks[0].is_alive() || event.try_wait() == 0));
        event.signal(7);
    });
}

fn queues(run: &mut Run) {
    let (queue, sent, received) =
        (leak(Queue::<Box<u32>, 1>::new()), leak(AtomicU32::new(0)), leak(AtomicU32::new(0)));
    let send = async move {
        for _ in 0..2 {
            queue.sent(Box::new(1)).await;
            sent.fetch_add(1, Relaxed);
        }
    };
    let receive = |times| async move {
        for _ in 0..times {
            received.fetch_add(*queue.received().await, Relaxed);
        }
    };
    let try_send = || _ = sent.fetch_add(queue.try_send(Box::new(1)).is_ok().into(), Relaxed);
    let try_receive = || _ = received.fetch_add(queue.try_receive().map_or(0, |one| *one), Relaxed);
    let starts = vec![spawn(run, 3, receive(1)), spawn(run, 2, send), spawn(run, 1, receive(1))];
    run.actions = vec![Box::new(try_send), Box::new(try_receive)];
    let (turn, tasks) = (Cell::new(false), run.tasks.clone());
    begin(run, starts, move || {
        let waits = || tasks[0].is_alive() || tasks[2].is_alive();
        masked(|_| must(!waits() || queue.try_receive().is_none()));
        if turn.replace(!turn.get()) { try_send() } else { try_receive() }
    });
    run.check = Box::new(|| {
        let rest = queue.try_receive().map_or(0, |one| *one);
        assert_eq!(sent.load(Relaxed), received.load(Relaxed) + rest);
    });
}

/// Receivers and senders give up. Every message is dropped once.
fn messages_given_up(run: &mut Run) {
    struct Message(&'static AtomicU32);
    impl Drop for Message {
        fn drop(&mut self) {
            must(self.0.fetch_sub(1, Relaxed) > 0);
        }
    }
    let (queue, alive) = (leak(Queue::<Message, 1>::new()), leak(AtomicU32::new(0)));
    let message = || {
        alive.fetch_add(1, Relaxed);
        Message(alive)
    };
    let receive = async { drop(queue.received().await) };
    let give_up_receiving = async {
        let mut future = pin!(Some(queue.received()));
        let _ = once(future.as_mut()).await;
        crate::yield_now().await;
        future.set(None);
    };
    let give_up_sending = async move {
        queue.sent(message()).await;
        let mut future = pin!(Some(queue.sent(message())));
        let _ = once(future.as_mut()).await;
        crate::yield_now().await;
        future.set(None);
    };
    let starts = vec![
        spawn(run, 2, give_up_receiving),
        spawn(run, 1, receive),
        spawn(run, 3, give_up_sending),
    ];
    run.actions =
        vec![Box::new(move || _ = queue.try_send(message())), Box::new(|| _ = queue.try_receive())];
    let tasks = run.tasks.clone();
    begin(run, starts, move || {
        if tasks[1].is_alive() {
            masked(|_| must(queue.try_receive().is_none()));
            let _ = queue.try_send(message());
        } else {
            drop(queue.try_receive());
        }
    });
    run.check = Box::new(|| {
        drop(queue.try_receive());
        assert_eq!(alive.load(Relaxed), 0);
    });
}

/// Polls a future once.
async fn once<F: Future>(mut future: Pin<&mut Option<F>>) -> Poll<F::Output> {
    poll_fn(|context| Poll::Ready(future.as_mut().as_pin_mut().unwrap().poll(context))).await
}

fn timers(run: &mut Run) {
    let tick = || {
        NOW.set(NOW.get() + 1);
        super::tick();
    };
    let sleep = |times: &'static [u64]| async move {
        for &due in times {
            delay_until(due).await;
            must(time::now() >= due);
        }
    };
    // One is cancelled.
    let cancels = async {
        let mut delay = pin!(delay_until(7));
        let _late = poll_fn(|context| Poll::Ready(delay.as_mut().poll(context))).await;
        crate::yield_now().await;
    };
    let starts = vec![
        spawn(run, 2, sleep(&[8])),
        spawn(run, 3, sleep(&[4])), // in one slot with the next
        spawn(run, 1, sleep(&[5, 6])),
        spawn(run, 1, cancels),
    ];
    let late = || {
        NOW.set(NOW.get() + 5);
        super::tick();
    };
    run.actions = vec![Box::new(tick), Box::new(late)];
    begin(run, starts, move || {
        let (first, armed, now) = masked(|m| (TIMERS.check(m), ARMED.get(), NOW.get()));
        // Without an alarm, nothing would wake the tasks.
        assert!(first.is_none_or(|first| armed <= first.max(now)), "{first:?} {armed} {now}");
        NOW.set(NOW.get() + 1);
        tick();
    });
}

/// Time limits that do not come: the first timer of a slot is cancelled beside others.
fn limits(run: &mut Run) {
    let tick = |ticks: u64| {
        NOW.set(NOW.get() + ticks);
        super::tick();
    };
    let sleep = |due| async move {
        delay_until(due).await;
        must(time::now() >= due);
    };
    let limited = async {
        for due in [8, 10] {
            let mut limit = pin!(delay_until(due));
            let _late = poll_fn(|context| Poll::Ready(limit.as_mut().poll(context))).await;
            crate::yield_now().await;
        }
    };
    let starts = vec![
        spawn(run, 1, sleep(13)),
        spawn(run, 1, sleep(12)),
        spawn(run, 2, limited),
        spawn(run, 1, sleep(3)),
    ];
    run.actions = vec![Box::new(move || tick(8)), Box::new(move || tick(1))];
    begin(run, starts, move || {
        let (first, armed, now) = masked(|m| (TIMERS.check(m), ARMED.get(), NOW.get()));
        assert!(first.is_none_or(|first| armed <= first.max(now)), "{first:?} {armed} {now}");
        tick(2);
    });
}

fn ceilings(run: &mut Run) {
    let (ceiling, uses, gate) = (
        leak(Ceiling::new(Priority::new(4), 0_u32)),
        leak(AtomicU32::new(0)),
        leak(Semaphore::new(0)),
    );
    let user = || async {
        gate.taken().await;
        ceiling.with(|value| *value += 1);
        uses.fetch_add(1, Relaxed);
    };
    let starts = vec![spawn(run, 2, user()), spawn(run, 3, user())];
    run.actions = vec![
        Box::new(|| gate.give()),
        Box::new(|| {
            _ = uses.fetch_add(ceiling.try_with(|value| *value += 1).is_some().into(), Relaxed)
        }),
    ];
    begin(run, starts, || gate.give());
    run.check = Box::new(|| assert_eq!(ceiling.with(|value| *value), uses.load(Relaxed)));
}

/// Units that nobody waits for are counted.
fn units(run: &mut Run) {
    let semaphore = leak(Semaphore::new(0));
    let given = leak(AtomicU32::new(0));
    let give = || {
        given.fetch_add(1, Relaxed);
        semaphore.give();
    };
    let starts = vec![spawn(run, 1, async move { give() }), spawn(run, 2, async move { give() })];
    run.actions.push(Box::new(give));
    begin(run, starts, || ());
    run.check = Box::new(|| {
        let rest = std::iter::from_fn(|| semaphore.try_take().then_some(())).count();
        assert_eq!(given.load(Relaxed) as usize, rest);
    });
}

/// Waits begin under foreign wakers, end there or go on in the coroutine, or are given up. Each
/// foreign waker is dropped as often as it was cloned.
fn moves(run: &mut Run) {
    struct Count;
    impl std::task::Wake for Count {
        fn wake(self: Arc<Self>) {}
    }
    let (semaphore, event, queue) =
        (leak(Semaphore::new(0)), leak(Event::new()), leak(Queue::<u32, 1>::new()));
    let count = Arc::new(Count);
    let body = {
        let count = Arc::clone(&count);
        async move {
            let foreign = Waker::from(count);
            let mut other = Context::from_waker(&foreign);
            let (mut taken, mut signalled) = (pin!(semaphore.taken()), pin!(event.signalled()));
            let mut received = pin!(queue.received());
            let mut delay = pin!(delay_until(3));
            if taken.as_mut().poll(&mut other).is_pending()
                && taken.as_mut().poll(&mut other).is_pending()
            {
                taken.await;
            }
            if signalled.as_mut().poll(&mut other).is_pending()
                && signalled.as_mut().poll(&mut other).is_pending()
            {
                signalled.await;
            }
            if received.as_mut().poll(&mut other).is_pending() {
                must(received.await == 1);
            }
            if delay.as_mut().poll(&mut other).is_pending() {
                delay.await;
            }
            must(NOW.get() >= 3);
            {
                let mut given_up = pin!(semaphore.taken());
                let _ = given_up.as_mut().poll(&mut other);
                let mut given_up = pin!(event.signalled());
                let _ = given_up.as_mut().poll(&mut other);
                let mut given_up = pin!(delay_until(4));
                let _ = given_up.as_mut().poll(&mut other);
            }
            // Two messages fill the queue, so the second waits.
            let _ = queue.try_send(1);
            let mut sent = pin!(queue.sent(1));
            if sent.as_mut().poll(&mut other).is_pending() {
                sent.await;
            }
        }
    };
    run.interrupts = 1;
    let starts = vec![spawn(run, 2, body)];
    let tick = || {
        NOW.set(NOW.get() + 1);
        super::tick();
    };
    let give = || {
        semaphore.give();
        event.signal(1);
        let _ = queue.try_send(1);
    };
    run.actions = vec![Box::new(give), Box::new(tick)];
    let (turn, task) = (Cell::new(false), run.tasks[0]);
    begin(run, starts, move || {
        tick();
        if turn.replace(!turn.get()) && task.is_alive() {
            let _ = queue.try_receive();
        } else {
            give();
        }
    });
    run.check = Box::new(move || {
        assert_eq!(Arc::strong_count(&count), 1, "every clone of the waker has been dropped");
    });
}

/// A coroutine polls two waits by wakers of its own, as combinators do.
fn combinators(run: &mut Run) {
    struct Part {
        woken: AtomicBool,
        whole: Waker,
    }
    impl std::task::Wake for Part {
        fn wake(self: Arc<Self>) {
            self.woken.store(true, Relaxed);
            self.whole.wake_by_ref();
        }
    }
    let (semaphore, event, queue) =
        (leak(Semaphore::new(0)), leak(Event::new()), leak(Queue::<u32, 1>::new()));
    let body = async move {
        let whole = poll_fn(|context| Poll::Ready(context.waker().clone())).await;
        let part = || Arc::new(Part { woken: AtomicBool::new(true), whole: whole.clone() });
        let parts = [part(), part(), part(), part()];
        let mut left: [Option<Pin<Box<dyn Future<Output = ()>>>>; 4] = [
            Some(Box::pin(async { semaphore.taken().await })),
            Some(Box::pin(async { _ = event.signalled().await })),
            Some(Box::pin(async { must(queue.received().await == 1) })),
            Some(Box::pin(async {
                crate::yield_now().await;
                delay_until(2).await;
            })),
        ];
        poll_fn(|_| {
            for (part, future) in parts.iter().zip(&mut left) {
                if part.woken.swap(false, Relaxed)
                    && let Some(polled) = future
                    && polled
                        .as_mut()
                        .poll(&mut Context::from_waker(&Arc::clone(part).into()))
                        .is_ready()
                {
                    *future = None;
                }
            }
            if left.iter().all(Option::is_none) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    };
    run.interrupts = 1;
    let starts = vec![spawn(run, 2, body), spawn(run, 1, async { semaphore.give() })];
    let tick = || {
        NOW.set(NOW.get() + 1);
        super::tick();
    };
    run.actions = vec![Box::new(|| event.signal(1)), Box::new(tick)];
    begin(run, starts, move || {
        tick();
        event.signal(1);
        let _ = queue.try_send(1);
    });
}

/// A coroutine ends, and its storage serves another while a waker of the first is called.
fn storage_again(run: &mut Run) {
    let kept = Rc::new(RefCell::new(None::<Waker>));
    let (task, polls) = (leak(Coroutine::<256>::new()), leak(AtomicU32::new(0)));
    struct Local<T>(T);
    // SAFETY: a test has one thread.
    unsafe impl<T> Send for Local<T> {}
    impl<T> Local<T> {
        fn get(&self) -> &T {
            &self.0
        }
    }
    let place = Local(Rc::clone(&kept));
    let first = poll_fn(move |context| {
        *place.get().borrow_mut() = Some(context.waker().clone());
        Poll::Ready(())
    });
    task.spawn(Priority::new(2), "first", first).unwrap();
    let waker = kept.borrow_mut().take().unwrap();
    run.tasks.push(task.info());
    let start = move || {
        let value = Box::new(17);
        let second = poll_fn(move |context| {
            must(*value == 17);
            context.waker().wake_by_ref();
            if polls.fetch_add(1, Relaxed) < 1 { Poll::Pending } else { Poll::Ready(()) }
        });
        task.spawn(Priority::new(2), "second", second).unwrap();
    };
    run.actions = vec![Box::new(move || waker.wake_by_ref())];
    begin(run, vec![Box::new(start)], || ());
    run.check = Box::new(|| assert_eq!(polls.load(Relaxed), 2, "no poll but those asked for"));
}

/// Prepares a run.
type Scenario = fn(&mut Run);

const SCENARIOS: [(&str, Scenario); 18] = [
    ("units", units),
    ("semaphores", semaphores),
    ("maxima", maxima),
    ("looks", looks),
    ("events", events),
    ("queues", queues),
    ("messages given up", messages_given_up),
    ("timers", timers),
    ("limits", limits),
    ("ceilings", ceilings),
    ("groups", objects::groups),
    ("watches", objects::watches),
    ("streams", objects::streams),
    ("locks", objects::locks),
    ("callbacks", objects::callbacks),
    ("moves", moves),
    ("combinators", combinators),
    ("storage again", storage_again),
];

/// The scenarios with timers: the kernel does the same with the others wherever handlers nest or not.
const TIMED: [&str; 4] = ["timers", "limits", "moves", "combinators"];

#[test]
#[cfg_attr(not(miri), ignore = "takes 10 s: the full test runs it")]
fn every_interleaving_is_sound() {
    let _turn = begin_test();
    BREACH.set(std::env::var(OPEN).map_or("", |window| leak(window)));
    let mut sites = BTreeSet::new();
    for (name, scenario) in SCENARIOS {
        super::on_both_kinds_of_processor(|| {
            if !arch::handlers_nest() && !TIMED.contains(&name) {
                return;
            }
            let (runs, seen) = explore(scenario);
            println!("{name}: {runs} runs, handlers at {} points", seen.len());
            assert!(runs == RUNS || runs > 70, "{name}: {runs}");
            sites.extend(seen);
        });
    }
    if BREACH.get().is_empty() && !cfg!(miri) {
        let missed: Vec<String> = SOURCES
            .iter()
            .flat_map(|(file, text)| windows(file, text))
            .filter(|(site, function)| {
                !sites.contains(site) && !NOT_HERE.contains(&(site.0, function))
            })
            .map(|((file, line), function)| format!("{file}:{line} in {function}"))
            .collect();
        assert!(missed.is_empty(), "no handler has run before these windows: {missed:#?}");
    }
}

/// The source files whose windows the scenarios pass, by the ends of their paths.
const SOURCES: [(&str, &str); 19] = [
    ("src/async_mutex.rs", include_str!("../async_mutex.rs")),
    ("src/callback.rs", include_str!("../callback.rs")),
    ("src/ceiling.rs", include_str!("../ceiling.rs")),
    ("src/clock.rs", include_str!("../clock.rs")),
    ("src/control.rs", include_str!("../control.rs")),
    ("src/coroutine.rs", include_str!("../coroutine.rs")),
    ("src/event.rs", include_str!("../event.rs")),
    ("src/group.rs", include_str!("../group.rs")),
    ("src/kernel.rs", include_str!("../kernel.rs")),
    ("src/list.rs", include_str!("../list.rs")),
    ("src/polls.rs", include_str!("../polls.rs")),
    ("src/queue.rs", include_str!("../queue.rs")),
    ("queue/futures.rs", include_str!("../queue/futures.rs")),
    ("src/semaphore.rs", include_str!("../semaphore.rs")),
    ("src/signal.rs", include_str!("../signal.rs")),
    ("src/stream.rs", include_str!("../stream.rs")),
    ("src/time.rs", include_str!("../time.rs")),
    ("src/wait.rs", include_str!("../wait.rs")),
    ("src/waker.rs", include_str!("../waker.rs")),
];

/// The functions whose windows only threads pass, which do not exist on the host; the image
/// `windows` passes them on the emulated chips. Besides, functions of tests and of optional
/// features, and those that report their callers' lines, which are among the others.
const NOT_HERE: [(&str, &str); 23] = [
    ("src/async_mutex.rs", "assert_not_owned_by"),
    ("src/callback.rs", "begin"),
    ("src/ceiling.rs", "lock"),
    ("src/ceiling.rs", "drop"),
    ("src/control.rs", "set_priority"),
    ("src/control.rs", "spawn_measured"),
    ("src/event.rs", "wait"),
    ("src/event.rs", "wait_until"),
    ("src/control.rs", "assert_other"),
    ("src/list.rs", "enter"),
    ("src/stream.rs", "try_write"),
    ("src/stream.rs", "try_read"),
    ("src/stream.rs", "try_send"),
    ("src/stream.rs", "first_message"),
    ("src/kernel.rs", "give_way"),
    ("src/polls.rs", "on_run"),
    ("src/queue.rs", "send_late"),
    ("src/queue.rs", "receive_or_wait"),
    ("src/queue.rs", "wait_behind_alarm"),
    ("src/semaphore.rs", "take"),
    ("src/semaphore.rs", "take_until"),
    ("src/time.rs", "delay_until"),
    ("src/waker.rs", "rouse"),
];

/// The windows of a source file: the lines in which interrupts are masked, each with the name of
/// its function.
fn windows<'a>(file: &'static str, text: &'a str) -> Vec<(Site, &'a str)> {
    let mut function = "";
    let mut found = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        if let Some((_, rest)) = text.split_once("fn ") {
            function = rest.split(|c: char| c != '_' && !c.is_alphanumeric()).next().unwrap();
        }
        let masks = ["Mask::set()", "masked(|", "open_window("];
        if masks.iter().any(|call| text.contains(call)) {
            found.push(((file, line), function));
        }
    }
    found
}

/// A window that is open in its middle is found. The tests run in a process of their own, since
/// they break the kernel.
#[test]
#[ignore = "takes 40 s, and Miri starts no processes: the full test runs it"]
fn an_open_window_is_found() {
    let windows = [
        "take",
        "give",
        "signalled",
        "put",
        "insert",
        "file",
        "remove",
        "expire",
        "spread",
        "begin",
        "move",
    ];
    let missed = windows.iter().filter(|window| {
        let mut tests = std::process::Command::new(std::env::current_exe().unwrap());
        tests.args(["--ignored", "--exact", "tests::interleavings::every_interleaving_is_sound"]);
        tests.env(OPEN, window).output().unwrap().status.success()
    });
    let missed: Vec<_> = missed.collect();
    assert!(missed.is_empty(), "open windows that have not been found: {missed:?}");
}
