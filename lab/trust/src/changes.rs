//! Marks of a history: how often one is false, over time and on a page of many series, and how soon a
//! step is marked. Nightly runs are simulated from the first on, each judged with the runs before it
//! alone, as on the page of a store.

use chronoscope_statistics::{SplitMix64, change::Change, change::RUN_LENGTH, change::changes};

use crate::{
    Effort, Row,
    draw::{correlated, heavy, normal},
};

/// The scatter between nights: 5 %.
const SCATTER: f64 = 0.05;

/// The least change that is marked, as for times.
const FLOOR: f64 = 0.02;

/// The nights of a history.
const NIGHTS: usize = 365;

/// The series of a page.
const SERIES: usize = RUN_LENGTH / NIGHTS;

/// The nights before a step.
const BEFORE: usize = 250;

/// The nights after a step that are looked at.
const AFTER: usize = 60;

/// The name of a kind of noise, and its source: standard normal figures of a count of nights.
type Noise = (&'static str, fn(&mut SplitMix64, usize) -> Vec<f64>);

const NOISES: [Noise; 5] = [
    ("independent", independent),
    ("whole ticks", ticks),
    ("heavy tails", |random, nights| (0..nights).map(|_| heavy(random)).collect()),
    ("AR(0.5)", |random, nights| correlated(random, 0.5, nights)),
    ("regimes of a week", weekly),
];

pub fn rows(effort: Effort) -> Vec<Row> {
    let pages = effort.choose(3, 60);
    let steps = effort.choose(150, 2_000);
    let false_marks = NOISES.iter().map(|&(words, noise)| {
        let mut random = SplitMix64::new(1);
        let count =
            (0..pages * SERIES).map(|_| marks(&noise(&mut random, NIGHTS), NIGHTS).len()).sum();
        let statement = format!("a page of {SERIES} series, {words}: false marks in a year");
        Row::count(statement, 1.0, count, pages)
    });
    let sooner = [
        (0, 8, 0.9),
        // A detector that knew scatter and correlation beforehand would find 78 %.
        (3, 14, 0.4),
        (3, AFTER, 0.75),
        (4, AFTER, 0.4),
    ];
    let found = sooner.map(|(noise, within, least)| {
        let (words, noise) = NOISES[noise];
        let mut random = SplitMix64::new(2);
        let is_marked = |_: &usize| {
            let found = marks(&noise(&mut random, BEFORE + AFTER), BEFORE);
            found.iter().any(|mark| {
                mark.after > mark.before && (BEFORE..BEFORE + within).contains(&mark.noticed)
            })
        };
        let count = (0..steps).filter(is_marked).count();
        let statement = format!("{words}, +10 %: marked within {within} nights");
        Row::at_least(statement, least, count, steps)
    });
    false_marks.chain(found).collect()
}

/// The marks of nights scattered by 5 %, slower by 10 % from the night `step` on.
fn marks(noise: &[f64], step: usize) -> Vec<Change> {
    let level = |night: usize| if night < step { 1000.0 } else { 1100.0 };
    let figures: Vec<f64> =
        (0..).zip(noise).map(|(night, noise)| level(night) * (1.0 + SCATTER * noise)).collect();
    changes(&figures, FLOOR)
}

fn independent(random: &mut SplitMix64, nights: usize) -> Vec<f64> {
    (0..nights).map(|_| normal(random)).collect()
}

/// Nights that differ by whole ticks of half their scatter.
fn ticks(random: &mut SplitMix64, nights: usize) -> Vec<f64> {
    (0..nights).map(|_| (2.0 * normal(random)).round() / 2.0).collect()
}

/// A level that is drawn anew every seven nights makes half of the variance.
fn weekly(random: &mut SplitMix64, nights: usize) -> Vec<f64> {
    let first = random.below(7);
    let mut level = normal(random);
    let mut one = |night: usize| {
        if (night + first).is_multiple_of(7) {
            level = normal(random);
        }
        (level + normal(random)) / 2.0_f64.sqrt()
    };
    (0..nights).map(&mut one).collect()
}
