//! Costs of embassy's operations in instructions, in a program as its users write it: urgent tasks
//! in an interrupt executor, the others in the executor of thread mode, no counts and no log.
//!
//! Every second yield of two tasks begins
//! a batch, which the median hides: a row has its mean too.
#![no_std]
#![no_main]

#[path = "../../marks.rs"]
mod marks;

use core::ptr;

use cortex_m::{interrupt::InterruptNumber, peripheral::NVIC};
use embassy_executor::{Executor, InterruptExecutor, SendSpawner, Spawner, task};
use embassy_futures::yield_now;
use embassy_sync::{
    blocking_mutex::raw::CriticalSectionRawMutex,
    channel::Channel,
    semaphore::{GreedySemaphore, Semaphore as _},
    signal::Signal,
};
use marks::{ROUNDS, end, report, start};

type Semaphore = GreedySemaphore<CriticalSectionRawMutex>;

static DONE: Semaphore = Semaphore::new(0);
static SEMAPHORE: Semaphore = Semaphore::new(0);
static SIGNAL: Signal<CriticalSectionRawMutex, ()> = Signal::new();
static THERE: Channel<CriticalSectionRawMutex, u32, 4> = Channel::new();
static BACK: Channel<CriticalSectionRawMutex, u32, 4> = Channel::new();

#[derive(Clone, Copy)]
enum Line {
    /// The executor of urgent tasks.
    Urgent,
    /// The handler that releases the semaphore.
    Release,
    /// The handler that signals.
    Signal,
}

// SAFETY: the numbers are the places in the vector table below.
unsafe impl InterruptNumber for Line {
    fn number(self) -> u16 {
        self as u16
    }
}

static URGENT: InterruptExecutor = InterruptExecutor::new();

extern "C" fn on_urgent() {
    // SAFETY: this is the handler of the executor's interrupt.
    unsafe { URGENT.on_interrupt() }
}

extern "C" fn on_release() {
    start();
    SEMAPHORE.release(1);
}

extern "C" fn on_signal() {
    start();
    SIGNAL.signal(());
}

#[unsafe(link_section = ".vector_table.interrupts")]
#[unsafe(no_mangle)]
static __INTERRUPTS: [extern "C" fn(); 3] = [on_urgent, on_release, on_signal];

#[task(pool_size = 10)]
async fn yields(rounds: usize) {
    for _ in 0..rounds {
        start();
        yield_now().await;
        end();
    }
    DONE.release(1);
}

#[task]
async fn takes(ends: bool) {
    for _ in 0..ROUNDS {
        let Ok(taken) = SEMAPHORE.acquire(1).await;
        taken.disarm();
        if ends {
            end();
        }
    }
    DONE.release(1);
}

#[task]
async fn waits() {
    for _ in 0..ROUNDS {
        SIGNAL.wait().await;
        end();
    }
    DONE.release(1);
}

#[task]
async fn receives() {
    for _ in 0..ROUNDS {
        THERE.receive().await;
        end();
    }
    DONE.release(1);
}

#[task]
async fn echoes() {
    for _ in 0..ROUNDS {
        BACK.send(THERE.receive().await).await;
    }
    DONE.release(1);
}

/// Waits until tasks have ended.
async fn join(tasks: usize) {
    let Ok(ended) = DONE.acquire(tasks).await;
    ended.disarm();
}

/// Measures yields of several tasks in one executor, which all wait when the first one begins.
async fn yields_among(spawn: impl Fn(usize), tasks: usize, name: &str) {
    cortex_m::interrupt::free(|_| (0..tasks).for_each(|_| spawn(ROUNDS / tasks + 2)));
    join(tasks).await;
    report(name);
}

#[task]
async fn director(ordinary: Spawner, urgent: SendSpawner) {
    for _ in 0..ROUNDS {
        start();
        end();
    }
    report("control: two marks");
    let spawn = |rounds| ordinary.spawn(yields(rounds).expect("a place in the pool"));
    yields_among(spawn, 2, "yield, 2 tasks").await;
    yields_among(spawn, 10, "yield, 10 tasks").await;
    let spawn = |rounds| urgent.spawn(yields(rounds).expect("a place in the pool"));
    yields_among(spawn, 2, "yield, 2 tasks, interrupt executor").await;
    yields_among(spawn, 10, "yield, 10 tasks, interrupt executor").await;

    urgent.spawn(takes(true).expect("a place"));
    for _ in 0..ROUNDS {
        start();
        SEMAPHORE.release(1);
    }
    join(1).await;
    report("semaphore given -> higher task");
    urgent.spawn(takes(false).expect("a place"));
    for _ in 0..ROUNDS {
        start();
        SEMAPHORE.release(1);
        end();
    }
    join(1).await;
    report("semaphore full shuffle");
    urgent.spawn(takes(true).expect("a place"));
    for _ in 0..ROUNDS {
        NVIC::pend(Line::Release);
    }
    join(1).await;
    report("handler -> higher task (semaphore)");
    urgent.spawn(waits().expect("a place"));
    for _ in 0..ROUNDS {
        NVIC::pend(Line::Signal);
    }
    join(1).await;
    report("handler -> higher task (signal)");

    urgent.spawn(receives().expect("a place"));
    for i in 0..ROUNDS {
        start();
        THERE.send(i as u32).await;
    }
    join(1).await;
    report("queue, 4 bytes, low -> high task");
    urgent.spawn(echoes().expect("a place"));
    for i in 0..ROUNDS {
        start();
        THERE.send(i as u32).await;
        let word = BACK.receive().await;
        end();
        assert_eq!(word, i as u32);
    }
    join(1).await;
    report("queue round trip");
    marks::exit();
}

/// Sets the handlers above the executor.
fn set_up() {
    const IPR: *mut u8 = ptr::without_provenance_mut(0xe000_e400);
    // SAFETY: registers of the interrupt controller; each interrupt has a handler.
    unsafe {
        IPR.add(Line::Urgent as usize).write_volatile(0x80);
        IPR.add(Line::Release as usize).write_volatile(0x40);
        IPR.add(Line::Signal as usize).write_volatile(0x40);
        NVIC::unmask(Line::Release);
        NVIC::unmask(Line::Signal);
    }
}

static mut EXECUTOR: Option<Executor> = None;

#[cortex_m_rt::entry]
fn main() -> ! {
    marks::set_up();
    set_up();
    let urgent = URGENT.start(Line::Urgent);
    let executor = &raw mut EXECUTOR;
    // SAFETY: this function is called once, and nothing else names EXECUTOR.
    let executor = unsafe { &mut *executor }.insert(Executor::new());
    executor.run(|spawner| spawner.spawn(director(spawner, urgent).expect("a place")))
}
