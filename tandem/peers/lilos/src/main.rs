//! Costs of lilos's operations in instructions, in a program as its users write it: three tasks in one
//! array, which a handler pre-empts, no counts and no log.
//!
//! lilos polls its tasks in the order of the array, so a task that a handler has woken runs once the
//! interrupted one waits. Every second step of two tasks includes a round of the executor: a row has its
//! mean too.
#![no_std]
#![no_main]

#[path = "../../marks.rs"]
mod marks;
#[path = "../../../../ports/firmware/kernels/lilos/src/semaphore.rs"]
mod semaphore;

use core::{cell::Cell, convert::Infallible, future::pending, mem::MaybeUninit, pin::pin, ptr};

use cortex_m::{interrupt::InterruptNumber, peripheral::NVIC};
use lilos::{
    exec::{ALL_TASKS, Interrupts, Notify, run_tasks_with_preemption, yield_cpu},
    spsc::{Popper, Pusher, Queue},
};
use marks::{ROUNDS, end, report, start};
use semaphore::Semaphore;

static SEMAPHORE: Semaphore = Semaphore::new(0);
static NOTIFY: Notify = Notify::new();

#[derive(Clone, Copy)]
enum Line {
    /// The handler that gives the semaphore.
    Give,
    /// The handler that notifies.
    Notify,
}

// SAFETY: the numbers are the places in the vector table below.
unsafe impl InterruptNumber for Line {
    fn number(self) -> u16 {
        self as u16
    }
}

extern "C" fn on_give() {
    start();
    SEMAPHORE.give();
}

extern "C" fn on_notify() {
    start();
    NOTIFY.notify();
}

#[unsafe(link_section = ".vector_table.interrupts")]
#[unsafe(no_mangle)]
static __INTERRUPTS: [extern "C" fn(); 2] = [on_give, on_notify];

/// The rows in their order, in which the tasks take part together.
#[derive(Clone, Copy, PartialEq)]
enum Row {
    Control,
    Yield,
    Semaphore,
    Notify,
    Queue,
    RoundTrip,
}

/// The row that is measured. A task that waits for another row, or for the others, is not polled.
struct Stage {
    row: Cell<Row>,
    begun: Notify,
    done: Cell<usize>,
    ended: Notify,
}

impl Stage {
    /// Waits until the row is measured.
    async fn reach(&self, row: Row) {
        self.begun.until(|| self.row.get() == row).await;
    }

    fn finish(&self) {
        self.done.set(self.done.get() + 1);
        self.ended.notify();
    }

    /// Begins a row in which other tasks take part.
    fn begin(&self, row: Row) {
        self.done.set(0);
        self.row.set(row);
        self.begun.notify();
    }

    /// Waits until other tasks are done with the row.
    async fn join(&self, others: usize) {
        self.ended.until(|| self.done.get() == others).await;
    }
}

async fn yields(stage: &Stage) {
    stage.reach(Row::Yield).await;
    for _ in 0..ROUNDS / 2 + 1 {
        start();
        yield_cpu().await;
        end();
    }
    stage.finish();
}

/// Yields in turn with the other task, and waits for handlers and messages.
async fn first(stage: &Stage, mut there: Popper<'_, u32>, mut back: Pusher<'_, u32>) -> Infallible {
    yields(stage).await;
    stage.reach(Row::Semaphore).await;
    for _ in 0..ROUNDS {
        SEMAPHORE.take().await;
        end();
    }
    stage.finish();
    stage.reach(Row::Notify).await;
    for _ in 0..ROUNDS {
        NOTIFY.until_next().await;
        end();
    }
    stage.finish();
    stage.reach(Row::Queue).await;
    for _ in 0..ROUNDS {
        there.pop().await;
        end();
    }
    stage.finish();
    stage.reach(Row::RoundTrip).await;
    loop {
        let word = there.pop().await;
        back.reserve().await.push(word);
    }
}

async fn second(stage: &Stage) -> Infallible {
    yields(stage).await;
    loop {
        pending::<()>().await;
    }
}

async fn director(
    stage: &Stage,
    mut there: Pusher<'_, u32>,
    mut back: Popper<'_, u32>,
) -> Infallible {
    for _ in 0..ROUNDS {
        start();
        end();
    }
    report("control: two marks");
    stage.begin(Row::Yield);
    stage.join(2).await;
    report("yield, 2 tasks");

    for (row, line, name) in [
        (Row::Semaphore, Line::Give, "handler -> task (semaphore)"),
        (Row::Notify, Line::Notify, "handler -> task (notify)"),
    ] {
        stage.begin(row);
        yield_cpu().await;
        for _ in 0..ROUNDS {
            NVIC::pend(line);
            yield_cpu().await;
        }
        stage.join(1).await;
        report(name);
    }

    stage.begin(Row::Queue);
    yield_cpu().await;
    for i in 0..ROUNDS {
        start();
        there.reserve().await.push(i as u32);
        yield_cpu().await;
    }
    stage.join(1).await;
    report("queue, 4 bytes");
    stage.begin(Row::RoundTrip);
    yield_cpu().await;
    for i in 0..ROUNDS {
        start();
        there.reserve().await.push(i as u32);
        let word = back.pop().await;
        end();
        assert_eq!(word, i as u32);
    }
    report("queue round trip");
    marks::exit();
    loop {
        pending::<()>().await;
    }
}

#[cortex_m_rt::entry]
fn main() -> ! {
    const IPR: *mut u8 = ptr::without_provenance_mut(0xe000_e400);
    marks::set_up();
    // SAFETY: registers of the interrupt controller; both interrupts have a handler, above what lilos
    // masks.
    unsafe {
        for line in [Line::Give, Line::Notify] {
            IPR.add(line as usize).write_volatile(0x40);
            NVIC::unmask(line);
        }
    }
    let stage = Stage {
        row: Cell::new(Row::Control),
        begun: Notify::new(),
        done: Cell::new(0),
        ended: Notify::new(),
    };
    let mut memory = [[MaybeUninit::uninit(); 5]; 2];
    let [there, back] = &mut memory;
    let (mut there, mut back) = (Queue::new(there), Queue::new(back));
    let (there_in, there_out) = there.split();
    let (back_in, back_out) = back.split();
    let director = pin!(director(&stage, there_in, back_out));
    let first = pin!(first(&stage, there_out, back_in));
    let second = pin!(second(&stage));
    // SAFETY: the handlers give and notify, which may be done at any time.
    unsafe {
        run_tasks_with_preemption(
            &mut [first, second, director],
            ALL_TASKS,
            Interrupts::Filtered(0x80),
        )
    }
}
