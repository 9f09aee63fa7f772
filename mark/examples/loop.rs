//! A control loop with marks, in Rust for Linux.
//!
//! ```sh
//! cargo build --release -p chronoscope-mark --example loop
//! chronoscope watch --limit 'control <= 500us' -- target/release/examples/loop
//! ```

use std::{
    hint::black_box,
    thread,
    time::{Duration, Instant},
};

use chronoscope_mark::{begin, end, instant};

const ROUNDS: u32 = 500;
const PERIOD: Duration = Duration::from_millis(1);

fn control(state: &mut u32) {
    begin!(control);
    for step in 0..20_000 {
        *state = black_box(state.wrapping_add(step));
    }
    end!(control);
}

fn main() {
    let (start, mut state) = (Instant::now(), 0);
    for round in 1..=ROUNDS {
        thread::sleep((start + PERIOD * round).saturating_duration_since(Instant::now()));
        instant!(round);
        control(&mut state);
    }
}
