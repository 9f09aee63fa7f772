//! Distributions with known answers, and properties that hold for all input.

use chronoscope_statistics::{Accumulator, DeadlinesDiffer, Summary, quantile_of};
use proptest::prelude::*;

fn accumulate(values: impl IntoIterator<Item = u64>) -> Accumulator {
    let mut accumulator = Accumulator::with_deadline(Some(1_000));
    values.into_iter().zip(0..).for_each(|(value, at)| accumulator.push(at, value));
    accumulator
}

fn near(found: f64, expected: f64, tolerance: f64) {
    assert!(
        (found - expected).abs() <= tolerance * expected.abs(),
        "{found} is not near {expected}"
    );
}

/// Uniform numbers above 0 and below 1, in even steps but scattered order.
fn uniform(count: u64) -> impl Iterator<Item = f64> {
    // 7919 is prime and divides no count used here: every step comes up once.
    (0..count).map(move |i| ((i * 7919 % count) as f64 + 0.5) / count as f64)
}

#[test]
fn constant() {
    for value in [0, 1, 2047, 2048, 1_234_567_891, u64::MAX] {
        let summary = accumulate([value; 10_000]).summary(1.0);
        let exact = Some(value as f64);
        for figure in [summary.min, summary.p50, summary.p9999, summary.max, summary.mean] {
            assert_eq!(figure, exact);
        }
        assert_eq!(summary.sigma, Some(0.0));
        assert_eq!(
            summary.worst.iter().map(|w| w.at).collect::<Vec<_>>(),
            (0..16).collect::<Vec<_>>()
        );
    }
}

#[test]
fn uniform_is_exact_up_to_2047() {
    // Each of 0..=1999 fifty times.
    let samples = accumulate((0..100_000).map(|i| i * 7919 % 2_000));
    for (q, value) in [(0.0, 0), (0.5, 999), (0.9, 1799), (0.99, 1979), (0.9999, 1999), (1.0, 1999)]
    {
        assert_eq!(samples.quantile(q), Some(value), "q {q}");
    }
    let summary = samples.summary(0.5);
    near(summary.mean.unwrap(), 999.5 / 2.0, 1e-12);
    // The variance of 0..k is (k² − 1)/12; the sample's is n/(n − 1) of it.
    let variance = (2_000.0_f64.powi(2) - 1.0) / 12.0 * 100_000.0 / 99_999.0;
    near(summary.sigma.unwrap(), variance.sqrt() / 2.0, 1e-12);
    assert_eq!(samples.misses(), Some(50 * 999));
}

#[test]
fn exponential() {
    let mean = 1e6;
    let samples = accumulate(uniform(100_000).map(|u| (-mean * (1.0 - u).ln()) as u64));
    let summary = samples.summary(1.0);
    near(summary.mean.unwrap(), mean, 1e-3);
    near(summary.sigma.unwrap(), mean, 1e-3);
    for (q, found) in
        [(0.5, summary.p50), (0.9, summary.p90), (0.99, summary.p99), (0.999, summary.p999)]
    {
        near(found.unwrap(), -mean * (1.0_f64 - q).ln(), 2e-3);
    }
}

#[test]
fn bimodal() {
    // 98 % take 100 ticks, 2 % take 50,000,000: p50 and p90 see the one mode, p99 the other.
    let slow = |i: u64| if i % 50 == 49 { 50_000_000 } else { 100 };
    let samples = accumulate((0..10_000).map(slow));
    let summary = samples.summary(1.0);
    assert_eq!((summary.p50, summary.p90), (Some(100.0), Some(100.0)));
    // A single value in its bucket is exact through the maximum.
    assert_eq!((summary.p99, summary.max), (Some(5e7), Some(5e7)));
    assert_eq!(samples.quantile(0.98), Some(100));
    assert_eq!(samples.misses(), Some(200));
    assert_eq!(samples.bucket_pairs(), [(100, 9_800), (50_000_000, 200)]);
    assert_eq!(summary.worst[0].at, 49);
}

#[test]
fn percentiles_need_samples() {
    let of = |count: u64| accumulate(0..count).summary(1.0);
    assert_eq!((of(1).p50, of(2).p50), (None, Some(0.0)));
    assert_eq!((of(9).p90, of(10).p90), (None, Some(8.0)));
    assert_eq!((of(99).p99, of(100).p99), (None, Some(98.0)));
    assert_eq!((of(999).p999, of(1_000).p999), (None, Some(998.0)));
    assert!(of(9_999).p9999.is_none() && of(10_000).p9999.is_some());
    assert_eq!((of(1).sigma, of(1).mean), (None, Some(0.0)));
}

#[test]
fn empty_and_odd_scale() {
    assert_eq!(Accumulator::new().summary(1.0), Summary::default());
    assert_eq!(Accumulator::new().quantile(0.5), None);
    assert_eq!(Accumulator::new().misses(), None);
    let samples = accumulate([1, 2, 3]);
    for q in [-0.1, 1.1, f64::NAN] {
        assert_eq!(samples.quantile(q), None);
    }
    let odd = samples.summary(f64::NAN);
    assert_eq!((odd.count, odd.min, odd.p50, odd.worst.len()), (3, None, None, 0));
    assert_eq!(quantile_of(&[], 0.5), None);
    assert_eq!(quantile_of(&[(5, u64::MAX), (6, u64::MAX)], 1.0), Some(5));
    let text = serde_json::to_string(&samples.summary(0.1)).unwrap();
    assert_eq!(serde_json::from_str::<Summary>(&text).unwrap(), samples.summary(0.1));
}

#[test]
fn cold_samples_count_and_are_kept_apart() {
    let mut samples = accumulate([10; 9]);
    samples.push_cold(100, 70);
    let summary = samples.summary(2.0);
    assert_eq!((summary.count, summary.max), (10, Some(140.0)));
    assert_eq!((summary.cold, summary.cold_count), (vec![140.0], 1));
    for at in 0..1_000 {
        samples.push_cold(at, 1);
    }
    assert_eq!((samples.cold().len(), samples.count()), (64, 1_010));
    assert_eq!(samples.summary(1.0).cold_count, 1_001);
    let mut merged = samples.clone();
    merged.merge(&samples).unwrap();
    assert_eq!((merged.cold(), merged.summary(1.0).cold_count), (samples.cold(), 2_002));
}

#[test]
fn different_deadlines_do_not_merge() {
    let mut samples = accumulate([1, 2, 3]);
    assert_eq!((samples.deadline(), Accumulator::new().deadline()), (Some(1_000), None));
    let error = samples.merge(&Accumulator::new()).unwrap_err();
    assert_eq!(error, DeadlinesDiffer { into: Some(1_000), merged: None });
    assert_eq!(
        error.to_string(),
        "samples with a deadline of 1000 ticks cannot be merged with samples with no deadline"
    );
    assert_eq!(samples.count(), 3);
}

/// Values of all sizes: mostly small ones with many ties, some from the whole range.
fn values() -> impl Strategy<Value = Vec<u64>> {
    let value =
        prop_oneof![4 => 0..40_u64, 4 => 0..100_000_u64, 1 => any::<u64>(), 1 => Just(u64::MAX)];
    prop::collection::vec(value, 0..300)
}

/// All that must be the same to the last digit, and then mean and σ, which may differ by rounding.
fn assert_same(found: &Accumulator, expected: &Accumulator) {
    assert_eq!(found.count(), expected.count());
    assert_eq!(found.misses(), expected.misses());
    assert_eq!(found.worst(), expected.worst());
    assert_eq!(found.bucket_pairs(), expected.bucket_pairs());
    let (a, b) = (found.summary(1.0), expected.summary(1.0));
    assert_eq!((a.min, a.max, a.p50, a.p99), (b.min, b.max, b.p50, b.p99));
    for (a, b) in [(a.mean, b.mean), (a.sigma, b.sigma)] {
        assert_eq!(a.is_some(), b.is_some());
        near(a.unwrap_or(0.0), b.unwrap_or(0.0), 1e-9);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]

    #[test]
    fn merging_is_pushing_all(values in values(), cut in 0..300_usize) {
        let all = accumulate(values.iter().copied());
        let (mut first, mut second) = (accumulate([]), accumulate([]));
        for (i, (&value, at)) in values.iter().zip(0..).enumerate() {
            if i < cut { first.push(at, value) } else { second.push(at, value) }
        }
        let mut reversed = second.clone();
        reversed.merge(&first).unwrap();
        first.merge(&second).unwrap();
        assert_same(&first, &all);
        assert_same(&reversed, &all);
    }

    #[test]
    fn order_does_not_matter(
        (values, shuffled) in values().prop_map(|values| values.into_iter().zip(0_u64..).collect::<Vec<_>>())
            .prop_flat_map(|values| (Just(values.clone()), Just(values).prop_shuffle()))
    ) {
        let push_all = |samples: Vec<(u64, u64)>| {
            let mut accumulator = Accumulator::with_deadline(Some(1_000));
            samples.into_iter().for_each(|(value, at)| accumulator.push(at, value));
            accumulator
        };
        assert_same(&push_all(shuffled), &push_all(values));
    }

    #[test]
    fn quantiles_are_near_the_sorted_samples_and_rise(values in values()) {
        let samples = accumulate(values.iter().copied());
        let pairs = samples.bucket_pairs();
        let mut sorted = values;
        sorted.sort_unstable();
        let mut last = 0;
        for percent in [0, 1, 7, 10, 25, 28, 50, 55, 75, 90, 99, 100_usize] {
            let q = percent as f64 / 100.0;
            let found = samples.quantile(q);
            // The nearest rank in whole numbers.
            let rank = (percent * sorted.len()).div_ceil(100).max(1);
            let Some(&exact) = sorted.get(rank - 1) else {
                prop_assert_eq!(found, None);
                continue;
            };
            let found = found.unwrap();
            let is_near = exact <= found && found - exact <= exact / 1000;
            prop_assert!(is_near, "{} for {}", found, exact);
            prop_assert!(exact > 2047 || found == exact);
            prop_assert!(last <= found);
            // The first sample is exact; stored buckets know only its bucket.
            prop_assert!(rank == 1 || quantile_of(&pairs, q) == Some(found));
            last = found;
        }
    }

    #[test]
    fn worst_are_the_first_of_the_sorted(values in values()) {
        let samples = accumulate(values.iter().copied());
        let mut sorted: Vec<(u64, u64)> = values.into_iter().zip(0..).collect();
        sorted.sort_by_key(|&(value, at)| (std::cmp::Reverse(value), at));
        sorted.truncate(16);
        let worst: Vec<(u64, u64)> = samples.worst().iter().map(|w| (w.value, w.at)).collect();
        prop_assert_eq!(worst, sorted);
    }
}
