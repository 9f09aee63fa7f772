//! The list of all tasks: names, kinds, priorities, states and unused stack, also while tasks end and
//! are spawned between any two steps of the walk; and the cost of a step.
#![no_std]
#![no_main]

use portable_atomic::{AtomicU32, Ordering::Relaxed};
use tandem::{
    Coroutine, Me, Mutex, Priority, Semaphore, SharedStack, Thread, delay_until,
    tasks::{self, Kind, Snapshot, State},
    time,
};
use tandem_firmware::{
    board::{self, nanoseconds, ticks},
    println,
};

static SHARED: SharedStack<2048> = SharedStack::new();
static DIRECTOR: Thread<4096> = Thread::new();
static OWNER: Thread<1024> = Thread::new();
static MEASURED: Thread<2048> = Thread::new();
static COROUTINE: Coroutine<256> = Coroutine::new();
static SHORT: [Coroutine<64>; 8] = [const { Coroutine::new() }; 8];
static LOCK: Mutex<()> = Mutex::new(());
static NEVER: Semaphore = Semaphore::new(0);
static RAISED: AtomicU32 = AtomicU32::new(0);

fn find(name: &str) -> Option<Snapshot> {
    let mut found = tasks::all().filter(|task| task.name == name);
    let first = found.next();
    assert!(found.next().is_none(), "{name} is listed once");
    first
}

fn check(name: &str, kind: Kind, priority: u8, state: State) -> Snapshot {
    let Some(task) = find(name) else { panic!("{name} is not in the list") };
    assert_eq!((task.kind, task.priority, task.state), (kind, Priority::new(priority), state));
    task
}

fn states(me: &Me) {
    let owner = |me: &Me| {
        let _guard = LOCK.lock(me);
        NEVER.take(me);
    };
    assert!(OWNER.spawn(Priority::new(7), "owner", owner).is_ok());
    check("owner", Kind::Thread, 7, State::Waiting);
    // The owner inherits this one's priority.
    let measured = |me: &Me| {
        let _guard = LOCK.lock(me);
        me.delay_until(u64::MAX);
    };
    assert!(MEASURED.spawn_measured(Priority::new(9), "measured", measured).is_ok());
    check("owner", Kind::Thread, 9, State::Waiting);
    let task = check("measured", Kind::Thread, 9, State::Waiting);
    let unused = task.info.stack_unused();
    assert_eq!(unused, Some(MEASURED.stack_unused()));
    assert!(unused.is_some_and(|bytes| bytes > 512 && bytes < 2048));
    let waits = async { delay_until(u64::MAX).await };
    assert!(COROUTINE.spawn(Priority::new(2), "coroutine", waits).is_ok());
    let task = check("coroutine", Kind::Coroutine, 2, State::Ready);
    assert_eq!(task.info.stack_unused(), None);
    me.delay_until(time::now() + nanoseconds(100_000));
    check("coroutine", Kind::Coroutine, 2, State::Waiting);
    let director = check("director", Kind::Thread, 6, State::Running);
    assert_eq!((director.info, director.info.stack_unused()), (me.info(), None));
    // The owner ends at once, at the priority that it has inherited.
    NEVER.give();
    assert!(find("owner").is_none() && find("idle").is_none());
}

/// A handler spawns and ends tasks between any two steps. All others are listed all the same.
fn changes() {
    for round in 0..1000 {
        let others = tasks::all()
            .inspect(|_| board::raise(0))
            .filter(|task| task.name != "short")
            .inspect(|task| assert!(task.info.is_alive()))
            .count();
        assert_eq!(others, 3, "round {round}");
    }
    println!("{} interrupts meanwhile", RAISED.load(Relaxed));
}

#[board::entry]
fn main() -> ! {
    board::set_up();
    board::enable_interrupt(0);
    tandem::start(&SHARED, || {
        let director = |me: &Me| {
            assert_eq!(tasks::all().count(), 1);
            states(me);
            changes();
            let mut all = tasks::all();
            let start = ticks();
            let first = all.next();
            let step = ticks().wrapping_sub(start);
            println!("a step takes {} ticks", step);
            assert!(first.is_some());
            board::exit(true)
        };
        assert!(DIRECTOR.spawn(Priority::new(6), "director", director).is_ok());
    })
}

/// Spawns a coroutine that ends at once, and one that ends some interrupts later.
extern "C" fn on_raise() {
    let raised = RAISED.fetch_add(1, Relaxed);
    let storage = &SHORT[raised as usize % SHORT.len()];
    let priority = if raised.is_multiple_of(3) { 20 } else { 1 };
    let _ = storage.spawn(Priority::new(priority), "short", async {});
}

fn on_alarm() {
    board::stop_alarm();
    time::expire();
}

tandem_firmware::alarm!(on_alarm);
tandem_firmware::interrupts![on_raise];
