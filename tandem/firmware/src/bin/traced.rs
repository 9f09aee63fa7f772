//! Runs a small scenario, compares the sequence of its events with the expected one, and measures
//! the cost of recording an event.
#![no_std]
#![no_main]

use tandem::{
    Coroutine, Info, Me, Mutex, Priority, Semaphore, SharedStack, Thread, delay_until,
    systemview::{System, SystemView},
    time,
    trace::{
        self,
        Event::{self, *},
        Record, Ring, Tracer,
    },
};
use tandem_firmware::{
    board::{self, nanoseconds, ticks},
    println,
};

static SHARED: SharedStack<1024> = SharedStack::new();
static DIRECTOR: Thread<4096> = Thread::new();
static LOW: Thread<1024> = Thread::new();
static HIGH: Thread<1024> = Thread::new();
static COROUTINE: Coroutine<128> = Coroutine::new();
static GIVEN: Semaphore = Semaphore::new(0);
static MUTEX: Mutex<()> = Mutex::new(());
static TRACE: Ring<128> = Ring::new();

struct Recorder;

tandem::trace_with!(Recorder);

// SAFETY: the function calls nothing of the kernel but `Ring::push`.
unsafe impl Tracer for Recorder {
    #[inline(always)]
    fn event(event: Event, task: Info) {
        TRACE.push(Record { clock: ticks(), event, task });
    }
}

/// The expected events in order, each with the name of its task.
const EXPECTED: &[(&str, Event)] = &[
    ("director", Created),
    ("director", Ready),
    ("director", Run),
    ("low", Created),
    ("low", Ready),
    ("coroutine", Created),
    ("coroutine", Ready),
    ("high", Created),
    ("high", Ready),
    ("director", TimerSet),
    ("director", Blocked),
    ("coroutine", Run),
    ("coroutine", Blocked),
    ("high", Run),
    ("high", TimerSet),
    ("high", Blocked),
    ("low", Run),
    ("low", Lock),
    ("low", InterruptIn),
    ("coroutine", Ready),
    ("low", InterruptOut),
    ("coroutine", Run),
    ("coroutine", TimerSet),
    ("coroutine", Blocked),
    ("low", Run),
    ("low", TimerSet),
    ("low", Blocked),
    ("idle", Run),
    ("idle", InterruptIn),
    // The first timers that share a slot: on RISC-V, whose clock has coarser ticks, the ones of `high` and
    // the director.
    #[cfg(any(target_arch = "riscv32", target_arch = "riscv64"))]
    ("timers", Created),
    #[cfg(any(target_arch = "riscv32", target_arch = "riscv64"))]
    ("timers", Ready),
    #[cfg(any(target_arch = "riscv32", target_arch = "riscv64"))]
    ("idle", InterruptOut),
    #[cfg(any(target_arch = "riscv32", target_arch = "riscv64"))]
    ("timers", Run),
    ("high", TimerExpired),
    ("high", Ready),
    #[cfg(any(target_arch = "riscv32", target_arch = "riscv64"))]
    ("timers", Blocked),
    #[cfg(not(any(target_arch = "riscv32", target_arch = "riscv64")))]
    ("idle", InterruptOut),
    ("high", Run),
    ("low", Priority),
    ("high", Blocked),
    ("idle", Run),
    ("idle", InterruptIn),
    ("coroutine", TimerExpired),
    ("coroutine", Ready),
    ("idle", InterruptOut),
    ("coroutine", Run),
    ("coroutine", Ended),
    ("idle", Run),
    ("idle", InterruptIn),
    // Elsewhere the timers of `low` and the director.
    #[cfg(not(any(target_arch = "riscv32", target_arch = "riscv64")))]
    ("timers", Created),
    #[cfg(not(any(target_arch = "riscv32", target_arch = "riscv64")))]
    ("timers", Ready),
    #[cfg(not(any(target_arch = "riscv32", target_arch = "riscv64")))]
    ("idle", InterruptOut),
    #[cfg(not(any(target_arch = "riscv32", target_arch = "riscv64")))]
    ("timers", Run),
    ("low", TimerExpired),
    ("low", Ready),
    #[cfg(not(any(target_arch = "riscv32", target_arch = "riscv64")))]
    ("timers", Blocked),
    #[cfg(any(target_arch = "riscv32", target_arch = "riscv64"))]
    ("idle", InterruptOut),
    ("low", Run),
    ("low", Unlock),
    ("high", Lock),
    ("low", Priority),
    ("high", Ready),
    ("high", Run),
    ("high", Unlock),
    ("high", Ended),
    ("low", Run),
    ("low", Ended),
    ("idle", Run),
    ("idle", InterruptIn),
    ("director", TimerExpired),
    ("director", Ready),
    ("idle", InterruptOut),
    ("director", Run),
];

fn scenario(me: &Me) {
    let start = time::now() + nanoseconds(100_000);
    let low = LOW.spawn(Priority::new(1), "low", move |me| {
        let held = MUTEX.lock(me);
        board::raise(0);
        me.delay_until(start + nanoseconds(200_000));
        drop(held);
    });
    let coroutine = COROUTINE.spawn(Priority::new(3), "coroutine", async move {
        GIVEN.taken().await;
        delay_until(start + nanoseconds(50_000)).await;
    });
    let high = HIGH.spawn(Priority::new(2), "high", move |me| {
        me.delay_until(start);
        drop(MUTEX.lock(me));
    });
    assert!(low.is_ok() && coroutine.is_ok() && high.is_ok());
    me.delay_until(start + nanoseconds(400_000));
}

/// Compares the recorded sequence with the expected one.
fn compare() -> bool {
    let (mut last, mut whole, mut i) = (None, true, 0);
    let mut packets = 0;
    let system =
        System { name: "traced", device: "chip", clock_hertz: 1_000_000_000, core_hertz: 1 };
    let mut view = SystemView::start(|_| packets += 1, &system, 0);
    while let Some((lost, record)) = TRACE.pop() {
        let (name, event) = (record.task.name(), record.event);
        let in_order = last.is_none_or(|last: u32| record.clock.wrapping_sub(last) < 1 << 31);
        let as_expected =
            lost == 0 && in_order && EXPECTED.get(i).is_some_and(|e| *e == (name, event));
        if !as_expected {
            println!("{} {:?} {} {}", i, event, name, lost);
        }
        whole &= as_expected;
        view.record(record);
        last = Some(record.clock);
        i += 1;
    }
    // Eight calls begin the recording.
    let of_event = |event: &Event| match event {
        Created | Ended => 2,
        Lock | Unlock | Priority | TimerSet | TimerExpired => 0,
        _ => 1,
    };
    let expected = 8 + EXPECTED.iter().map(|(_, event)| of_event(event)).sum::<u32>();
    println!("SystemView: {} packets, {} expected", packets, expected);
    whole && i == EXPECTED.len() && packets == expected
}

#[board::entry]
fn main() -> ! {
    board::set_up();
    board::enable_interrupt(0);
    tandem::start(&SHARED, || {
        let director = DIRECTOR.spawn(Priority::new(6), "director", |me| {
            scenario(me);
            let same = compare();
            println!(
                "trace: {} events, {}",
                EXPECTED.len(),
                if same { "as expected" } else { "other than expected" }
            );
            let start = ticks();
            trace::interrupt(|| ());
            println!("an event recorded costs {} instructions", ticks().wrapping_sub(start) / 2);
            board::exit(same)
        });
        assert!(director.is_ok());
    })
}

extern "C" fn on_raise() {
    trace::interrupt(|| GIVEN.give());
}

fn on_alarm() {
    trace::interrupt(|| {
        board::stop_alarm();
        time::expire();
    });
}

tandem_firmware::alarm!(on_alarm);
tandem_firmware::interrupts![on_raise];
