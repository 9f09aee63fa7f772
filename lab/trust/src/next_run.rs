//! Predictions by rank: how often the next run is beyond the runs before it, on recordings, whose
//! runs drift and come in regimes, and on simulated runs. *In a row*, the runs follow each other;
//! *at any time*, they are at random places of a recording.

use chronoscope_statistics::{Prediction, SplitMix64, order::order_interval};

use crate::{
    Effort, Row,
    draw::{Repetitions, correlated, normal},
};

/// The samples of a run that is cut from a recording.
const SAMPLES: usize = 5_000;

/// The numbers of runs before the predicted one.
const KNOWN: [usize; 4] = [3, 4, 9, 19];

pub fn rows(effort: Effort) -> Vec<Row> {
    let mut rows = simulated(effort);
    rows.extend(recorded(effort));
    rows
}

/// Counts of predictions: all, above the largest, and outside of the range.
#[derive(Default)]
struct Count {
    all: usize,
    above: usize,
    outside: usize,
}

impl Count {
    fn add(&mut self, known: &[f64], next: f64) {
        let Some(one) = Prediction::new(known) else { return };
        self.all += 1;
        self.above += usize::from(next > one.high);
        self.outside += usize::from(next > one.high || next < one.low);
    }

    /// Promises the chances that are printed, give or take `within`.
    fn rows(&self, name: &str, runs: usize, within: f64) -> [Row; 2] {
        let above = 1.0 / (runs + 1) as f64;
        let of = |words: &str| format!("{name}, {runs} runs: {words}");
        [
            Row::about(of("above the largest"), above, within, self.above, self.all),
            Row::about(of("outside"), 2.0 * above, 1.4 * within, self.outside, self.all),
        ]
    }
}

fn simulated(effort: Effort) -> Vec<Row> {
    let rounds = effort.choose(400, 10_000);
    let mut rows = Vec::new();
    for runs in KNOWN {
        let mut random = SplitMix64::new(runs as u64);
        let mut count = Count::default();
        for _ in 0..rounds {
            // Run effects of a third, and a Pareto tail.
            let mut figure = || (0.3 * normal(&mut random)).exp() * random.unit().powf(-1.0 / 1.5);
            let known: Vec<f64> = (0..runs).map(|_| figure()).collect();
            count.add(&known, figure());
        }
        rows.extend(count.rows("independent runs, Pareto", runs, 0.0));
    }
    let mut random = SplitMix64::new(7);
    let mut count = Count::default();
    for _ in 0..rounds {
        let figures = correlated(&mut random, 0.5, 10);
        count.add(&figures[..9], figures[9]);
    }
    rows.extend(count.rows("runs correlated by 0.5", 9, 0.06));
    // The sentence that was printed before: five repetitions of this run, and the next run's median.
    let within = (0..rounds)
        .filter(|_| {
            let mut run = || [0; 5].map(|_| normal(&mut random));
            let (known, mut next) = (order_interval(&run()), run());
            next.sort_unstable_by(f64::total_cmp);
            known.is_some_and(|ends| ends.low <= next[2] && next[2] <= ends.high)
        })
        .count();
    let statement = "the interval of five repetitions: the next run's median is inside";
    rows.push(Row::about(statement, 5.0 / 6.0, 0.0, within, rounds));
    rows
}

fn recorded(effort: Effort) -> Vec<Row> {
    let repetitions = Repetitions::of_samples(SAMPLES);
    let rounds = effort.choose(200, 4_000);
    let mut rows = Vec::new();
    for (statistic, name) in ["p50", "p99", "p99.9"].into_iter().enumerate() {
        for runs in KNOWN {
            let mut random = SplitMix64::new((10 * runs + statistic) as u64);
            let [mut in_a_row, mut at_any_time] = [(); 2].map(|()| Count::default());
            for (recording, count) in repetitions.counts().into_iter().enumerate() {
                let all = &repetitions.run(recording, 0, count)[statistic];
                for window in all.windows(runs + 1) {
                    in_a_row.add(&window[..runs], window[runs]);
                }
                for _ in 0..rounds {
                    let drawn = distinct(&mut random, runs + 1, count);
                    let figures: Vec<f64> = drawn.into_iter().map(|place| all[place]).collect();
                    at_any_time.add(&figures[..runs], figures[runs]);
                }
            }
            rows.extend(in_a_row.rows(&format!("recorded {name}, in a row"), runs, 0.06));
            rows.extend(at_any_time.rows(&format!("recorded {name}, at any time"), runs, 0.01));
        }
    }
    rows
}

/// Draws `count` different numbers below `bound`.
fn distinct(random: &mut SplitMix64, count: usize, bound: usize) -> Vec<usize> {
    let mut drawn = Vec::new();
    while drawn.len() < count {
        let one = random.below(bound);
        if !drawn.contains(&one) {
            drawn.push(one);
        }
    }
    drawn
}
