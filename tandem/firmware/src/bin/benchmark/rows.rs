//! The rows of the benchmark: their goals, and the figures of other kernels.
//!
//! `docs/tandem.md` has the same rows, and tells how the others were configured.

/// A row. Figures are instructions on the Cortex-M4.
#[derive(Clone, Copy)]
pub struct Row {
    pub name: &'static str,
    /// The most that the row is to take; `None` for one that has no goal.
    pub goal: Option<u32>,
    /// ChibiOS, ThreadX and FreeRTOS, each with guards of stacks and without, by the benchmark of
    /// `tandem/peers`; `None` for what it does not measure.
    pub peers: [Option<[u32; 2]>; 3],
}

/// The names of [`Row::peers`].
pub const PEERS: [&str; 3] = ["ChibiOS", "ThreadX", "FreeRTOS"];

const fn row(name: &'static str, goal: u32) -> Row {
    Row { name, goal: Some(goal), peers: [None; 3] }
}

impl Row {
    const fn beside(self, chibios: [u32; 2], threadx: [u32; 2], freertos: [u32; 2]) -> Self {
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
    Row { name: "control: two marks", goal: None, peers: [None; 3] }.beside([2, 2], [2, 2], [2, 2]),
    row("give, uncontended", 9).beside([9, 9], [11, 11], [39, 39]),
    row("take, uncontended", 9).beside([9, 9], [10, 10], [30, 30]),
    row(YIELD, 33).beside([40, 34], [114, 65], [61, 54]),
    row("yield, 10 threads", 33).beside([72, 66], [114, 65], [61, 54]),
    row("yield, 32 threads", 33).beside([160, 154], [114, 65], [61, 54]),
    row("yield, 2 coroutines", 35),
    row("yield, 10 coroutines", 35),
    row("yield, 32 coroutines", 35),
    row(SEMAPHORE, 43).beside([47, 41], [151, 97], [191, 184]),
    row(SHUFFLE, 84).beside([86, 70], [281, 180], [468, 454]),
    row("handler -> higher thread (semaphore)", 80).beside([93, 89], [153, 97], [173, 166]),
    row("handler -> higher thread (event)", 80),
    row("handler -> higher coroutine (semaphore)", 60),
    row("handler -> higher coroutine (event)", 60),
    row("wake, coroutine -> coroutine, same priority", 80),
    row("wake, thread -> thread, same priority", 80),
    row("semaphore given -> waiting equal", 60).beside([71, 61], [194, 140], [380, 373]),
    row("queue, 4 bytes, low -> high thread", 100).beside([110, 106], [163, 110], [257, 250]),
    row("queue round trip, threads", 243).beside([244, 230], [355, 278], [666, 652]),
    row("queue round trip, coroutines", 270),
    row("semaphore full shuffle, time limits", 110).beside([118, 102], [319, 233], [489, 475]),
    row("queue round trip, time limits", 273).beside([274, 262], [394, 315], [696, 682]),
    row("mutex unlocked -> higher thread", 67).beside([68, 60], [360, 245], [252, 245]),
    row("mutex lock and unlock, uncontended", 26).beside([27, 26], [91, 88], [84, 84]),
    row("Ceiling::with, uncontended", 40),
    row("tick -> sleeping thread", 90).beside([117, 113], [236, 185], [148, 141]),
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
    row("RAM of a thread beside its stack, bytes", 120).beside([108, 76], [176, 176], [64, 64]),
    Row { name: "RAM of a coroutine beside its future, bytes", goal: None, peers: [None; 3] },
];

#[cfg(feature = "time-slice")]
pub const ROWS: [Row; 3] = [
    row(YIELD, 40).beside([42, 36], [116, 67], [61, 54]),
    row(SEMAPHORE, 46).beside([47, 41], [153, 99], [191, 184]),
    row(SHUFFLE, 87).beside([88, 72], [285, 184], [468, 454]),
];

/// The build has no guards of stacks.
const IS_UNGUARDED: bool = cfg!(feature = "unguarded");

/// The rows that a build without guards reports, and their goals there. Others are measured and not
/// reported.
const UNGUARDED: [(&str, u32); 13] = [
    ("give, uncontended", 9),
    ("take, uncontended", 9),
    (YIELD, 33),
    (SEMAPHORE, 40),
    (SHUFFLE, 73),
    ("handler -> higher thread (semaphore)", 80),
    ("queue, 4 bytes, low -> high thread", 100),
    ("queue round trip, threads", 229),
    ("semaphore full shuffle, time limits", 100),
    ("mutex unlocked -> higher thread", 67),
    ("mutex lock and unlock, uncontended", 25),
    ("tick -> sleeping thread", 90),
    ("RAM of a thread beside its stack, bytes", 75),
];

/// The beginning of the names that this build prints.
pub const BUILD: &str = if IS_UNGUARDED { "without guards: " } else { "" };

/// The number of rows that this build reports.
pub const REPORTED: usize = if IS_UNGUARDED { UNGUARDED.len() } else { ROWS.len() };

/// The goals are the Cortex-M4's, and so are the others' figures.
const HAS_GOALS: bool = cfg!(all(chip = "stm32", fpu));

/// The row of a name; `None` for one that this build does not report.
///
/// # Panics
/// If there is none.
pub fn find(name: &str) -> Option<Row> {
    let Some(&row) = ROWS.iter().find(|row| row.name == name) else {
        panic!("the benchmark has no row {name}")
    };
    let goal = match IS_UNGUARDED {
        true => Some(UNGUARDED.iter().find(|(known, _)| *known == name)?.1),
        false => row.goal,
    };
    Some(if HAS_GOALS { Row { goal, ..row } } else { Row { goal: None, peers: [None; 3], ..row } })
}
