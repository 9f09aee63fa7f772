//! The price of lending bodies to declared tasks: the same steps, once written in the tasks, as
//! RTIC's users write them, and once lent through the port's slots. docs/machines/qemu.md shows the
//! figures and the commands that build and run this program.

#![no_std]
#![no_main]

#[path = "../src/device.rs"]
mod device;
#[path = "../src/lend.rs"]
mod lend;
#[path = "../src/semaphore.rs"]
mod semaphore;
#[allow(dead_code, reason = "the port uses all of it")]
#[path = "../src/slot.rs"]
mod slot;

use core::{
    cell::Cell,
    fmt::Write,
    future::poll_fn,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    task::Poll,
};

use board::{clock, host, interrupts};
use chronoscope_suite::kernel::Source;
use defmt_rtt as _;
use rtic_sync::make_channel;

use crate::semaphore::Semaphore;

/// The program's tasks, as `lend` needs them: tasks of the priorities 6 to 9 are lent, tasks below
/// hold their bodies.
mod app {
    use crate::{
        program,
        slot::{LEVELS, Slot},
    };

    pub type Spawn = fn(&'static Slot) -> Result<(), &'static Slot>;
    pub const SIZES: [usize; LEVELS] = [1, 1, 1, 1, 1, 2, 2, 1, 1];
    pub static TASKS: [&[Spawn]; LEVELS] = [
        &[Err],
        &[Err],
        &[Err],
        &[Err],
        &[Err],
        &[program::lent_yield_0::spawn, program::lent_yield_1::spawn],
        &[program::lent_ring_0::spawn, program::lent_ring_1::spawn],
        &[program::lent_low::spawn],
        &[program::lent_high::spawn],
    ];
}

const LAPS: usize = 100;

struct Marks([Cell<u32>; 2 * LAPS]);

// SAFETY: a place has one writer, and is read when that is done.
unsafe impl Sync for Marks {}

impl Marks {
    #[inline(always)]
    fn mark(&self, place: usize) {
        if let Some(place) = self.0.get(place) {
            place.set(clock::read());
        }
    }
}

static STARTS: Marks = Marks([const { Cell::new(0) }; 2 * LAPS]);
static ENDS: Marks = Marks([const { Cell::new(0) }; 2 * LAPS]);
static SEATS: [Semaphore; 2] = [const { Semaphore::new(0) }; 2];
static GIVEN: Semaphore = Semaphore::new(0);
static ANSWERED: Semaphore = Semaphore::new(0);
static DONE: Semaphore = Semaphore::new(0);
static ROUND: AtomicUsize = AtomicUsize::new(0);

/// Tells the two lengths that most samples have: `samples` from mark `i` of `starts` to mark `i +
/// shift` of `ends`.
fn tell(name: &str, starts: &Marks, ends: &Marks, shift: usize, samples: usize) {
    let length = |place: usize| ends.0[place + shift].get().wrapping_sub(starts.0[place].get());
    // The first samples include work that happens once.
    let _ = writeln!(
        host::Output::stream(),
        "{name}: {} and {}",
        length(samples / 2),
        length(samples / 2 + 1)
    );
}

macro_rules! yields {
    ($seat:literal) => {{
        for lap in 0..LAPS {
            STARTS.mark(2 * lap + $seat);
            let mut yielded = false;
            poll_fn(|context| {
                if yielded {
                    return Poll::Ready(());
                }
                yielded = true;
                context.waker().wake_by_ref();
                Poll::Pending
            })
            .await;
        }
        DONE.give();
    }};
}

macro_rules! gives {
    ($seat:literal) => {{
        SEATS[$seat].take().await;
        for lap in 0..LAPS {
            STARTS.mark(2 * lap + $seat);
            SEATS[1 - $seat].give();
            SEATS[$seat].take().await;
        }
        SEATS[1 - $seat].give();
        DONE.give();
    }};
}

macro_rules! wakes {
    (low) => {{
        let _taken = interrupts::attach(Source::Software, &|| {
            let round = ROUND.load(Relaxed);
            ROUND.store(round + 1, Relaxed);
            STARTS.mark(round);
            GIVEN.give();
        });
        for _ in 0..LAPS {
            interrupts::raise();
            ANSWERED.take().await;
        }
        DONE.give();
    }};
    (high) => {
        for round in 0..LAPS {
            GIVEN.take().await;
            ENDS.mark(round);
            ANSWERED.give();
        }
    };
}

macro_rules! sends {
    (low, $words:ident, $answers:ident) => {{
        for round in 0..LAPS {
            STARTS.mark(round);
            let _ = $words.send(round as u32).await;
            let _ = $answers.recv().await;
        }
        DONE.give();
    }};
    (high, $words:ident, $answers:ident) => {
        for round in 0..LAPS {
            let word = $words.recv().await.unwrap_or(0);
            ENDS.mark(round);
            let _ = $answers.send(!word).await;
        }
    };
}

#[rtic::app(
    device = crate::device,
    peripherals = false,
    dispatchers = [LINE_0, LINE_1, LINE_2, LINE_3, LINE_4, LINE_5, LINE_6, LINE_7, LINE_8]
)]
#[allow(unsafe_op_in_unsafe_fn, reason = "what RTIC adds is written so")]
mod program {
    use super::*;
    use crate::slot::{Body, Slot};
    use rtic_sync::channel::{Receiver, Sender};

    #[shared]
    struct Shared {}

    #[local]
    struct Local {}

    #[init]
    fn init(_: init::Context) -> (Shared, Local) {
        board::start();
        lend::start();
        let _ = director::spawn();
        (Shared {}, Local {})
    }

    #[task(priority = 1)]
    async fn director(_: director::Context) {
        all().await;
        host::exit();
    }

    #[task(priority = 2)]
    async fn yield_0(_: yield_0::Context) {
        yields!(0);
    }
    #[task(priority = 2)]
    async fn yield_1(_: yield_1::Context) {
        yields!(1);
    }
    #[task(priority = 3)]
    async fn ring_0(_: ring_0::Context) {
        gives!(0);
    }
    #[task(priority = 3)]
    async fn ring_1(_: ring_1::Context) {
        gives!(1);
    }
    #[task(priority = 4)]
    async fn wake_low(_: wake_low::Context) {
        wakes!(low);
    }
    #[task(priority = 5)]
    async fn wake_high(_: wake_high::Context) {
        wakes!(high);
    }
    #[task(priority = 4)]
    async fn send_low(
        _: send_low::Context,
        mut words: Sender<'static, u32, 64>,
        mut answers: Receiver<'static, u32, 64>,
    ) {
        sends!(low, words, answers);
    }
    #[task(priority = 5)]
    async fn send_high(
        _: send_high::Context,
        mut words: Receiver<'static, u32, 64>,
        mut answers: Sender<'static, u32, 64>,
    ) {
        sends!(high, words, answers);
    }

    #[task(priority = 6)]
    async fn lent_yield_0(_: lent_yield_0::Context, slot: &'static Slot) {
        Body::<6> { slot, wake: || lent_yield_0::waker().wake() }.await;
    }
    #[task(priority = 6)]
    async fn lent_yield_1(_: lent_yield_1::Context, slot: &'static Slot) {
        Body::<6> { slot, wake: || lent_yield_1::waker().wake() }.await;
    }
    #[task(priority = 7)]
    async fn lent_ring_0(_: lent_ring_0::Context, slot: &'static Slot) {
        Body::<7> { slot, wake: || lent_ring_0::waker().wake() }.await;
    }
    #[task(priority = 7)]
    async fn lent_ring_1(_: lent_ring_1::Context, slot: &'static Slot) {
        Body::<7> { slot, wake: || lent_ring_1::waker().wake() }.await;
    }
    #[task(priority = 8)]
    async fn lent_low(_: lent_low::Context, slot: &'static Slot) {
        Body::<8> { slot, wake: || lent_low::waker().wake() }.await;
    }
    #[task(priority = 9)]
    async fn lent_high(_: lent_high::Context, slot: &'static Slot) {
        Body::<9> { slot, wake: || lent_high::waker().wake() }.await;
    }
}

/// The tasks of both ways, one experiment after the other.
async fn all() {
    use crate::program as own;
    // No ring starts before both of its tasks are there.
    let _ = critical_section::with(|_| (own::yield_0::spawn(), own::yield_1::spawn()));
    told("yield", &STARTS, 1, 2).await;
    let _ = critical_section::with(|_| {
        (lend::spawn(5, async { yields!(0) }, None), lend::spawn(5, async { yields!(1) }, None))
    });
    told("yield, lent", &STARTS, 1, 2).await;
    let _ = (own::ring_0::spawn(), own::ring_1::spawn());
    SEATS[0].give();
    told("semaphore", &STARTS, 1, 2).await;
    let _ = (lend::spawn(6, async { gives!(0) }, None), lend::spawn(6, async { gives!(1) }, None));
    SEATS[0].give();
    told("semaphore, lent", &STARTS, 1, 2).await;
    let _ = (own::wake_high::spawn(), own::wake_low::spawn());
    told("wake-up", &ENDS, 0, 1).await;
    ROUND.store(0, Relaxed);
    let _ =
        (lend::spawn(8, async { wakes!(high) }, None), lend::spawn(7, async { wakes!(low) }, None));
    told("wake-up, lent", &ENDS, 0, 1).await;
    let ((words, words_end), (answers, answers_end)) =
        (make_channel!(u32, 64), make_channel!(u32, 64));
    let _ = (own::send_high::spawn(words_end, answers), own::send_low::spawn(words, answers_end));
    told("message", &ENDS, 0, 1).await;
    tell("round trip", &STARTS, &STARTS, 1, LAPS - 2);
    let ((mut words, mut words_end), (mut answers, mut answers_end)) =
        (make_channel!(u32, 64), make_channel!(u32, 64));
    let _ = lend::spawn(8, async move { sends!(high, words_end, answers) }, None);
    let _ = lend::spawn(7, async move { sends!(low, words, answers_end) }, None);
    told("message, lent", &ENDS, 0, 1).await;
    tell("round trip, lent", &STARTS, &STARTS, 1, LAPS - 2);
}

/// Waits until all `tasks` have given DONE, and prints their samples.
async fn told(name: &str, ends: &Marks, shift: usize, tasks: usize) {
    for _ in 0..tasks {
        DONE.take().await;
    }
    tell(name, &STARTS, ends, shift, LAPS - 2);
}
