//! Estimates the remaining time of a measurement from the time that its repetitions took so far.
//! All times here exclude set-up (downloads, builds, boots).

use std::time::Duration;

/// The progress of a case or a peer: its repetitions so far, and the repetitions still to run. A
/// repetition of a peer is a pair.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Work {
    /// The expected time of one repetition on a current processor.
    pub expected: Duration,
    /// The number of repetitions that have ended.
    pub done: u32,
    /// The sum of the times of the ended repetitions.
    pub spent: Duration,
    /// The number of repetitions still to run.
    pub left: u32,
    /// A lower bound of the time that the remaining repetitions take together; 0 without a bound.
    pub at_least: Duration,
}

/// A time in seconds that counts as both expected and spent when the pace is computed, so that one
/// short repetition does not set the pace of all other cases.
const WEIGHT: f64 = 1.0;

/// The time that the remaining repetitions take one after another. A repetition takes the mean time
/// of its case's previous repetitions. In a case without any, a repetition takes its expected time,
/// scaled by the pace of the other cases.
pub(super) fn remaining(works: &[Work]) -> Duration {
    Duration::try_from_secs_f64(each(works).sum()).unwrap_or(Duration::MAX)
}

/// The time that the remaining repetitions take when up to `jobs` run at once. Repetitions of one
/// work run one after another, so the result is at least the time of the longest work.
pub(super) fn remaining_side_by_side(works: &[Work], jobs: usize) -> Duration {
    let (mut sum, mut longest) = (0.0, 0.0);
    for seconds in each(works) {
        (sum, longest) = (sum + seconds, f64::max(longest, seconds));
    }
    let seconds = f64::max(sum / jobs.max(1) as f64, longest);
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

/// The time in seconds that the remaining repetitions of each work take one after another.
fn each(works: &[Work]) -> impl Iterator<Item = f64> {
    let sum = |of: fn(&Work) -> f64| works.iter().map(of).sum::<f64>();
    let spent = sum(|work| work.spent.as_secs_f64());
    let expected = sum(|work| work.expected.as_secs_f64() * f64::from(work.done));
    let pace = (spent + WEIGHT) / (expected + WEIGHT);
    works.iter().map(move |work| {
        let one = match work.done {
            0 => work.expected.as_secs_f64() * pace,
            done => work.spent.as_secs_f64() / f64::from(done),
        };
        (one * f64::from(work.left)).max(work.at_least.as_secs_f64())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn work(done: u32, spent: u64, left: u32) -> Work {
        let spent = Duration::from_secs(spent);
        Work { expected: SECOND, done, spent, left, at_least: Duration::ZERO }
    }

    #[test]
    fn nothing_is_known_but_what_is_expected() {
        assert_eq!(remaining(&[work(0, 0, 5), work(0, 0, 3)]), 8 * SECOND);
        assert_eq!(remaining(&[]), Duration::ZERO);
    }

    #[test]
    fn a_case_goes_on_at_its_own_pace() {
        assert_eq!(remaining(&[work(2, 6, 3)]), 9 * SECOND);
        // The other case has not run: (6 + 1) / (2 + 1) of its expected time.
        assert_eq!(remaining(&[work(2, 6, 0), work(0, 0, 3)]), 7 * SECOND);
    }

    /// Cases whose set-up failed ran no repetition, and need none.
    #[test]
    fn cases_that_failed_do_not_change_the_pace() {
        let failed = [work(0, 0, 0); 70];
        let others = [work(1, 1, 9), work(0, 0, 10)];
        assert_eq!(remaining(&[&failed[..], &others].concat()), remaining(&others));
        assert_eq!(remaining(&others), 19 * SECOND);
    }

    #[test]
    fn works_side_by_side_share_the_processors_but_for_the_longest() {
        let even = [work(1, 1, 6), work(1, 1, 6)];
        assert_eq!(remaining_side_by_side(&even, 2), 6 * SECOND);
        assert_eq!(remaining_side_by_side(&even, 1), remaining(&even));
        assert_eq!(remaining_side_by_side(&[work(1, 1, 2), work(1, 1, 10)], 2), 10 * SECOND);
    }

    #[test]
    fn a_soak_takes_at_least_its_duration() {
        let soak = Work { at_least: 3600 * SECOND, ..work(1, 2, 0) };
        assert_eq!(remaining(&[soak]), 3600 * SECOND);
        let endless = Work { left: u32::MAX, ..work(1, u64::MAX, 1) };
        assert_eq!(remaining(&[endless]), Duration::MAX);
    }
}
