//! How the work for a picture grows with its data, however busy the machine is.

use std::{hint::black_box, time::Duration};

use rustix::time::{ClockId, clock_gettime};

/// How many times more processor time `work` takes for ten times the data: about 10 where the work
/// is linear, about 100 where it is quadratic. `work` is given a factor of the data, 1 or 10.
pub fn tenfold<T>(work: impl Fn(usize) -> T) -> f64 {
    let cost = |factor| {
        let start = processor_time();
        black_box(work(factor));
        (processor_time() - start).as_secs_f64()
    };
    // The shortest of a few is the least disturbed: other processes share caches and cores with this
    // one. Small work is disturbed as long as large work, and so more often; both take turns.
    let (mut small, mut large) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..3 {
        small = (0..5).map(|_| cost(1)).fold(small, f64::min);
        large = large.min(cost(10));
    }
    large / small
}

/// The processor time of this thread so far.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

#[test]
fn quadratic_work_shows() {
    let quadratic = |factor: usize| {
        let data: Vec<u32> = (0..300 * factor as u32).collect();
        data.iter().map(|a| data.iter().filter(|b| *b ^ a == 1).count()).sum::<usize>()
    };
    let linear = |factor: usize| (0..1_000_000 * factor as u64).map(black_box).sum::<u64>();
    let (quadratic, linear) = (tenfold(quadratic), tenfold(linear));
    assert!(quadratic > LIMIT && linear < LIMIT, "{quadratic} and {linear}");
}

/// Between linear and quadratic.
pub const LIMIT: f64 = 35.0;
