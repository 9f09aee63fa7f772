//! Tests the error rates of the verdicts over many simulated studies, with fixed seeds.

use super::compare::{Case, Rules, Verdict, compare};
use super::resample::SplitMix64;

const FAMILY: usize = 20;
const REPETITIONS: usize = 10;

/// Returns a standard normal number, by the method of Box and Muller.
fn normal(random: &mut SplitMix64) -> f64 {
    let mut uniform = || (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    let radius = (-2.0 * (1.0 - uniform()).ln()).sqrt();
    radius * (std::f64::consts::TAU * uniform()).cos()
}

/// Returns repetitions around `level` with lognormal noise of standard deviation `noise`.
fn side(random: &mut SplitMix64, level: f64, noise: f64) -> Vec<f64> {
    (0..REPETITIONS).map(|_| level * (noise * normal(random)).exp()).collect()
}

type Sides = (Vec<f64>, Vec<f64>);

/// Returns a family of cases of different size. Only the first case's B is slower, by `ratio`.
fn family(random: &mut SplitMix64, noise: f64, ratio: f64) -> Vec<Sides> {
    let cases = (0..FAMILY).map(|case| {
        let level = 100.0 * (case + 1) as f64;
        let slower = if case == 0 { ratio } else { 1.0 };
        (side(random, level, noise), side(random, level * slower, noise))
    });
    cases.collect()
}

fn verdicts(family: &[Sides], interleaved: bool) -> Vec<Verdict> {
    let cases: Vec<Case> =
        family.iter().map(|(a, b)| Case { a, b, interleaved, ..Case::default() }).collect();
    // Fewer resamples than the default keep the simulation short.
    let results = compare(&cases, &Rules { resamples: 200, ..Rules::default() });
    results.iter().map(|result| result.verdict).collect()
}

fn any_regression(verdicts: &[Verdict]) -> bool {
    verdicts.contains(&Verdict::Regression)
}

#[test]
fn equals_raise_no_alarm_in_19_of_20_families() {
    let mut random = SplitMix64::new(20);
    for noise in [0.02, 0.05, 0.10] {
        for interleaved in [false, true] {
            let families = 100;
            let quiet = (0..families).filter(|_| {
                !any_regression(&verdicts(&family(&mut random, noise, 1.0), interleaved))
            });
            let quiet = quiet.count();
            println!("noise {noise}, interleaved {interleaved}: {quiet} of {families} quiet");
            assert!(quiet * 20 >= families * 19, "noise {noise}: {quiet} of {families}");
        }
    }
}

#[test]
fn a_slowdown_of_a_tenth_is_found_9_times_in_10() {
    let mut random = SplitMix64::new(21);
    for interleaved in [false, true] {
        let families = 100;
        let found = (0..families).filter(|_| {
            verdicts(&family(&mut random, 0.02, 1.1), interleaved)[0] == Verdict::Regression
        });
        let found = found.count();
        println!("interleaved {interleaved}: found {found} of {families}");
        assert!(found * 10 >= families * 9, "{found} of {families}");
    }
}

/// Simulates a shared machine: 0.7 % noise, and a neighbour that slows 7 % of all repetitions by 5
/// to 50 %.
#[test]
fn a_slowdown_of_a_tenth_is_found_beside_neighbours() {
    let mut random = SplitMix64::new(23);
    let mut uniform = SplitMix64::new(24);
    let mut uniform = || (uniform.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    for interleaved in [false, true] {
        let (mut found, mut alarms) = (0, 0);
        let families = 100;
        for _ in 0..families {
            for ratio in [1.0, 1.1] {
                let mut cases = family(&mut random, 0.007, ratio);
                for value in cases.iter_mut().flat_map(|(a, b)| a.iter_mut().chain(b)) {
                    if uniform() < 0.07 {
                        *value *= 1.05 + 0.45 * uniform();
                    }
                }
                let verdicts = verdicts(&cases, interleaved);
                found += usize::from(ratio > 1.0 && verdicts[0] == Verdict::Regression);
                alarms += usize::from(ratio == 1.0 && any_regression(&verdicts));
            }
        }
        println!("interleaved {interleaved}: found {found}, {alarms} alarms of {families}");
        assert!(found * 10 >= families * 9, "{found} of {families}");
        assert!(alarms * 20 <= families, "{alarms} alarms");
    }
}

#[test]
fn drift_common_to_both_sides_cancels_in_pairs() {
    let mut random = SplitMix64::new(22);
    let (mut paired, mut apart, mut alarms) = (0, 0, 0);
    let families = 20;
    for _ in 0..families {
        // The machine's speed varies by 10 % (σ) from pair to pair, alike for both sides of all
        // cases.
        let speed = side(&mut random, 1.0, 0.10);
        let drifting = |mut family: Vec<Sides>| {
            for (a, b) in &mut family {
                let pairs = a.iter_mut().zip(b).zip(&speed);
                pairs.for_each(|((a, b), speed)| (*a, *b) = (*a * speed, *b * speed));
            }
            family
        };
        let slower = drifting(family(&mut random, 0.02, 1.1));
        paired += usize::from(verdicts(&slower, true)[0] == Verdict::Regression);
        apart += usize::from(verdicts(&slower, false)[0] == Verdict::Regression);
        let equal = drifting(family(&mut random, 0.02, 1.0));
        alarms += usize::from(any_regression(&verdicts(&equal, true)));
    }
    println!("found {paired} in pairs, {apart} apart, {alarms} alarms of {families}");
    assert!(alarms <= 1, "{alarms} alarms");
    assert!(paired >= 19, "{paired} in pairs");
    assert!(apart < 10, "{apart} apart: then pairs would not be needed");
}
