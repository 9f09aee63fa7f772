//! Supervision by a watchdog: every task reports, and a supervisor feeds the watchdog only while all
//! reports are in time. Each start makes another fault; the watchdog resets the chip after each.
//!
//! The watchdog is the one of Arm's Cortex-M System Design Kit, which QEMU emulates on the boards of
//! the Cortex-M33 and M7: the first timeout raises an NMI, the second one resets the chip.
#![no_std]
#![no_main]

use core::{
    cell::{Cell, UnsafeCell},
    mem::MaybeUninit,
};
use critical_section::Mutex;
use tandem::{Coroutine, Me, Priority, Semaphore, SharedStack, Thread, delay_until, time};
use tandem_firmware::{
    board::{self, nanoseconds},
    println,
};

static SHARED: SharedStack<2048> = SharedStack::new();
static SUPERVISOR: Coroutine<256> = Coroutine::new();
static SENSOR: Coroutine<256> = Coroutine::new();
static FILTER: Thread<2048> = Thread::new();
static NEVER: Semaphore = Semaphore::new(0);

/// The unit of all times here, 100 µs: the emulator executes 100,000 instructions.
const UNIT: u64 = nanoseconds(100_000);
/// The time between two timeouts of the watchdog.
const TIMEOUT: u64 = 10 * UNIT;
/// The supervisor's period: shorter than the timeout, by more than the supervisor is ever late.
const PERIOD: u64 = 4 * UNIT;
/// The time without a fault at each start.
const WELL: u64 = 5 * TIMEOUT;

/// A task under supervision.
struct Supervised {
    name: &'static str,
    /// The longest time between two reports.
    limit: u64,
    /// The time of the latest report.
    last: Mutex<Cell<u64>>,
}

impl Supervised {
    const fn new(name: &'static str, limit: u64) -> Self {
        Self { name, limit, last: Mutex::new(Cell::new(0)) }
    }

    /// Called by the task in each of its cycles, where its work has been done.
    fn report(&self) {
        let now = time::now();
        critical_section::with(|cs| self.last.borrow(cs).set(now));
    }

    fn is_late(&self, now: u64) -> bool {
        now > critical_section::with(|cs| self.last.borrow(cs).get()) + self.limit
    }
}

static SENSOR_REPORTS: Supervised = Supervised::new("sensor", 3 * UNIT);
static FILTER_REPORTS: Supervised = Supervised::new("filter", 8 * UNIT);
static ALL: [&Supervised; 2] = [&SENSOR_REPORTS, &FILTER_REPORTS];

/// Feeds the watchdog while all tasks report in time. More urgent than they are, so that a task that
/// takes all the processor's time does not hold it up.
async fn supervise() {
    let start = time::now();
    let mut due = start;
    loop {
        let now = time::now();
        if let Some(late) = ALL.iter().find(|task| task.is_late(now)) {
            println!("{} is late: the watchdog is not fed any more", late.name);
            assert!(now >= start + WELL, "no task is late before the fault");
            return;
        }
        watchdog::feed();
        due += PERIOD;
        delay_until(due).await;
    }
}

/// The fault of each start. The last start has none.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// The filter computes for ever.
    Busy,
    /// The sensor waits for a unit that nobody gives.
    Waits,
    /// Interrupts stay masked, so that the supervisor does not run either.
    Masked,
}

const FAULTS: [Fault; 3] = [Fault::Busy, Fault::Waits, Fault::Masked];

async fn sense(fault: Option<Fault>) {
    let start = time::now();
    let mut due = start;
    loop {
        SENSOR_REPORTS.report();
        if fault == Some(Fault::Waits) && due > start + WELL {
            NEVER.taken().await;
        }
        due += 2 * UNIT;
        delay_until(due).await;
    }
}

fn filter(me: &Me, fault: Option<Fault>, starts: usize) {
    let work_until = |end| {
        while time::now() < end {
            FILTER_REPORTS.report();
            me.delay_until(time::now() + 5 * UNIT);
        }
    };
    let end = time::now() + WELL + TIMEOUT;
    work_until(end);
    let last = end + 5 * TIMEOUT; // the reset comes before
    match fault {
        Some(Fault::Waits) => work_until(last),
        Some(fault) => {
            if fault == Fault::Masked {
                board::mask();
            }
            while time::now() < last {}
        }
        None => {
            println!("the watchdog has reset the chip {} times", starts);
            board::exit(starts == FAULTS.len())
        }
    }
    panic!("the watchdog has not reset the chip");
}

#[board::entry]
fn main() -> ! {
    board::set_up();
    let starts = starts::count();
    assert!(starts <= FAULTS.len(), "the watchdog has reset the chip without a fault");
    let fault = FAULTS.get(starts).copied();
    tandem::start(&SHARED, || {
        watchdog::start();
        ALL.iter().for_each(|task| task.report());
        let spawned = [
            SUPERVISOR.spawn(Priority::new(31), "supervisor", supervise()),
            SENSOR.spawn(Priority::new(9), "sensor", sense(fault)),
            FILTER.spawn(Priority::new(5), "filter", move |me| filter(me, fault, starts)),
        ];
        assert!(spawned.iter().all(Result::is_ok));
    })
}

/// The watchdog's registers.
mod watchdog {
    use super::TIMEOUT;
    use tandem_firmware::board::SYSTICK_PER_1000;

    /// In the secure alias where there is one.
    const BASE: *mut u32 =
        if cfg!(chip = "an500") { 0x4000_8000 as *mut u32 } else { 0x5008_1000 as *mut u32 };
    const LOAD: usize = 0;
    const CONTROL: usize = 2;
    const INTCLR: usize = 3;
    const LOCK: usize = 0x300;
    const UNLOCK: u32 = 0x1acc_e551;

    fn write(register: usize, value: u32) {
        // SAFETY: registers of the watchdog, which nothing else uses.
        unsafe { BASE.add(register).write_volatile(value) };
    }

    /// Starts the watchdog, with interrupt and reset. It has SysTick's clock.
    pub fn start() {
        write(LOCK, UNLOCK);
        write(LOAD, (TIMEOUT * u64::from(SYSTICK_PER_1000) / 1000) as u32);
        write(CONTROL, 0b11);
    }

    /// Begins a new period.
    pub fn feed() {
        write(INTCLR, 1);
    }
}

/// The watchdog's first timeout: only the second one helps.
#[unsafe(no_mangle)]
extern "C" fn NonMaskableInt() {
    loop {
        core::hint::spin_loop();
    }
}

/// The number of resets, in memory that a reset does not change.
mod starts {
    use super::{MaybeUninit, UnsafeCell};

    const MAGIC: usize = 0x57a2_7ed0;

    struct Kept(UnsafeCell<MaybeUninit<[usize; 2]>>);

    // SAFETY: accessed by `count` alone, once.
    unsafe impl Sync for Kept {}

    #[unsafe(link_section = ".uninit.starts")]
    static KEPT: Kept = Kept(UnsafeCell::new(MaybeUninit::uninit()));

    /// Counts a start. Returns the number of those before.
    pub fn count() -> usize {
        let kept = KEPT.0.get().cast::<usize>();
        // SAFETY: two words of static memory, whatever they hold; nothing else accesses them.
        unsafe {
            let known = kept.read_volatile() == MAGIC;
            let starts = if known { kept.add(1).read_volatile() } else { 0 };
            kept.write_volatile(MAGIC);
            kept.add(1).write_volatile(starts + 1);
            starts
        }
    }
}

fn on_alarm() {
    board::stop_alarm();
    time::expire();
}

tandem_firmware::alarm!(on_alarm);
tandem_firmware::interrupts![];
