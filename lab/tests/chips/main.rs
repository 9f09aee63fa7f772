//! Microcontrollers: emulated, simulated, and at the end of a serial line.

#[path = "../common/board.rs"]
mod board;
#[path = "../common/mod.rs"]
mod common;
#[path = "../common/victim.rs"]
mod victim;

mod accounts;
mod answers;
mod bisect;
mod builds;
mod ci;
mod cortex_m4;
mod cortex_m4_code;
mod full_folder;
mod images;
mod interrupts;
mod labgrid;
mod modelled;
mod observe;
mod observe_events;
mod ordinary;
mod p1;
mod package;
mod plugin;
mod processes;
mod registers;
mod rocket;
mod rtl;
mod rtl_model;
mod rv32;
mod rv64;
mod schedule;
mod serial;
mod serial_images;
mod shards;
mod slurm;
mod startup;
mod tutorials;
mod views;
mod watch;
mod watch_board;
mod worst;

use common::{cases, median};

/// Checks that delays of 50 µs, 5 ms and 2 s on each of these targets end late, and by less than
/// 1000 instructions.
#[track_caller]
fn delays_are_late_by_less_than_1000(targets: &str) {
    let set = ["--set", "delay_us=50,5000,2000000", "--set", "loops=3", "--set", "tasks=1"];
    let delay = ["delay", "--repeat", "1", "--target", targets];
    let excess: Vec<f64> = cases(&[&delay[..], &set].concat()).iter().map(median).collect();
    assert_eq!(excess.len(), 3 * targets.split(',').count());
    assert!(excess.iter().all(|late| *late > 0.0 && *late < 1000.0), "{excess:?}");
}
