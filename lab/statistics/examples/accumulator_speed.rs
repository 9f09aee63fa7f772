//! Prints what counting a sample costs.

use std::hint::black_box;
use std::time::Instant;

use chronoscope_statistics::Accumulator;

fn main() {
    const PUSHES: u64 = 10_000_000;
    for shape in ["constant", "spread", "rising"] {
        let value = |i: u64| match shape {
            "constant" => 2_900,
            "spread" => 2_000 + (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 50),
            _ => i,
        };
        let mut accumulator = Accumulator::with_deadline(Some(10_000));
        let start = Instant::now();
        for i in 0..PUSHES {
            accumulator.push(i, black_box(value(i)));
        }
        let nanoseconds = start.elapsed().as_nanos() as f64 / PUSHES as f64;
        let p99 = black_box(&accumulator).summary(1.0).p99.unwrap_or(0.0);
        println!("{shape:8} {nanoseconds:5.1} ns per push (p99 {p99})");
    }
}
