//! The rows of the benchmark: their goals, and the figures of other kernels.
//!
//! `docs/tandem.md` has the same rows, and tells how the others were configured.

/// A row. Figures are instructions on the Cortex-M4.
#[derive(Clone, Copy)]
pub struct Row {
    pub name: &'static str,
    /// The most that the row is to take; `None` for one that has no goal.
    pub goal: Option<u32>,
    /// ChibiOS, ThreadX and FreeRTOS, each in its best configuration; `None` where it has not been
    /// measured.
    pub peers: [Option<u32>; 3],
}

/// The names of [`Row::peers`].
pub const PEERS: [&str; 3] = ["ChibiOS", "ThreadX", "FreeRTOS"];

const fn row(name: &'static str, goal: u32) -> Row {
    Row { name, goal: Some(goal), peers: [None; 3] }
}

impl Row {
    const fn beside(self, chibios: u32, threadx: u32, freertos: u32) -> Self {
        Self { peers: [Some(chibios), Some(threadx), Some(freertos)], ..self }
    }

    /// Says in words whether a figure meets the goal.
    pub fn verdict(&self, figure: u32) -> &'static str {
        match self.goal {
            None => "no goal",
            Some(goal) if figure <= goal => "met",
            Some(_) => "missed",
        }
    }

    const fn beside_chibios(self, chibios: u32) -> Self {
        Self { peers: [Some(chibios), None, None], ..self }
    }
}

/// The names of three rows, which a build with time slices has too, before a slice has been set.
#[cfg(not(feature = "time-slice"))]
mod names {
    pub const YIELD: &str = "yield, 2 threads";
    pub const SEMAPHORE: &str = "semaphore given -> higher thread";
    pub const SHUFFLE: &str = "semaphore full shuffle";
}
#[cfg(feature = "time-slice")]
mod names {
    pub const YIELD: &str = "time slices: yield, 2 threads";
    pub const SEMAPHORE: &str = "time slices: semaphore -> higher thread";
    pub const SHUFFLE: &str = "time slices: semaphore full shuffle";
}
pub use names::{SEMAPHORE, SHUFFLE, YIELD};

#[cfg(not(feature = "time-slice"))]
pub const ROWS: [Row; 40] = [
    Row { name: "control: two marks", goal: None, peers: [None; 3] },
    row("give, uncontended", 12).beside(12, 15, 32),
    row("take, uncontended", 10).beside(13, 15, 27),
    row(YIELD, 33).beside(42, 69, 60),
    row("yield, 10 threads", 33).beside_chibios(74),
    row("yield, 32 threads", 33).beside_chibios(162),
    row("yield, 2 coroutines", 35),
    row("yield, 10 coroutines", 35),
    row("yield, 32 coroutines", 35),
    row(SEMAPHORE, 43).beside(53, 109, 183),
    row(SHUFFLE, 84).beside(94, 230, 458),
    row("handler -> higher thread (semaphore)", 80).beside(99, 111, 176),
    row("handler -> higher thread (event)", 80),
    row("handler -> higher coroutine (semaphore)", 60),
    row("handler -> higher coroutine (event)", 60),
    row("wake, coroutine -> coroutine, same priority", 80),
    row("wake, thread -> thread, same priority", 80),
    row("semaphore given -> waiting equal", 60),
    row("queue, 4 bytes, low -> high thread", 100).beside(140, 122, 243),
    row("queue round trip, threads", 270).beside(300, 315, 648),
    row("queue round trip, coroutines", 270),
    row("semaphore full shuffle, time limits", 140).beside(152, 304, 626),
    row("queue round trip, time limits", 300).beside(355, 390, 812),
    row("mutex unlocked -> higher thread", 75).beside(76, 276, 254),
    row("mutex lock and unlock, uncontended", 30).beside(17, 74, 45),
    row("Ceiling::with, uncontended", 40),
    row("tick -> sleeping thread", 90).beside(129, 197, 163),
    row("tick -> sleeping coroutine", 110),
    row("delay, 2 sleepers, due first", 90),
    row("tick, 2 sleepers, due first", 90),
    row("delay, 2 sleepers, due last", 90),
    row("tick, 2 sleepers, due last", 90),
    row("delay, 200 sleepers, due first", 90),
    row("tick, 200 sleepers, due first", 90),
    row("delay, 200 sleepers, due in the middle", 90),
    row("tick, 200 sleepers, due in the middle", 90),
    row("delay, 200 sleepers, due last", 90),
    row("tick, 200 sleepers, due last", 90),
    row("RAM of a thread beside its stack, bytes", 120).beside(60, 172, 76),
    Row { name: "RAM of a coroutine beside its future, bytes", goal: None, peers: [None; 3] },
];

#[cfg(feature = "time-slice")]
pub const ROWS: [Row; 3] = [
    row(YIELD, 40).beside(47, 71, 60),
    row(SEMAPHORE, 52).beside(56, 111, 211),
    row(SHUFFLE, 98).beside(102, 234, 597),
];

/// The goals are the Cortex-M4's, and so are the others' figures.
const HAS_GOALS: bool = cfg!(all(chip = "stm32", fpu));

/// The row of a name.
///
/// # Panics
/// If there is none.
pub fn find(name: &str) -> Row {
    match ROWS.iter().find(|row| row.name == name) {
        Some(&Row { name, .. }) if !HAS_GOALS => Row { name, goal: None, peers: [None; 3] },
        Some(&row) => row,
        None => panic!("the benchmark has no row {name}"),
    }
}
