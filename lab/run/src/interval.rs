//! Intervals and limits of a case's series, from its repetitions. The module knows the form of a
//! run and calls the statistics.

use chronoscope_statistics::{Basis, Interval, MissRate, UpperLimits, median_interval};

use crate::{CaseResult, Domain, SeriesResult};

/// The beginnings of the names of machines that are connected by a cable: their cycles vary from
/// start to start.
const CONNECTED: [&str; 2] = ["board", "serial:"];

impl CaseResult {
    /// Returns whether the target gives the same figures for the same start: an emulator or a
    /// simulation that counts instructions or cycles.
    pub fn is_deterministic(&self) -> bool {
        let machine = self.target.split_once('@').map_or("", |(_, machine)| machine);
        self.clock.as_ref().is_some_and(|clock| clock.domain != Domain::Wall)
            && !CONNECTED.iter().any(|name| machine.starts_with(name))
    }

    /// Sets the interval of each series' median, and the limits of percentiles that have none from
    /// samples. A deterministic target has no limits, since its samples are not random. For the
    /// same reason its rate of misses has no bound; neither has a rate whose misses may come in
    /// bursts.
    pub fn find_intervals(&mut self) {
        let is_deterministic = self.is_deterministic();
        for series in &mut self.series {
            (series.p50_interval, series.p50_interval_basis) = series.interval(is_deterministic);
            let limits = series.upper_limits.or_else(|| series.limits_over_repetitions());
            series.upper_limits = limits.filter(|_| !is_deterministic);
            // An older file has no test for bursts.
            let allowed = series.bursts.is_some_and(|bursts| bursts.allow_a_bound());
            if is_deterministic || !allowed {
                series.misses = series.misses.map(MissRate::without_bound);
            }
        }
    }
}

impl SeriesResult {
    /// Returns the interval of the median over repetitions, widened to contain the median of all
    /// samples, which differs where repetitions differ in kind.
    fn interval(&self, is_deterministic: bool) -> (Option<Interval>, Basis) {
        let medians: Vec<f64> = self.by_repetition.iter().map(|one| one.p50).collect();
        if let [first, rest @ ..] = medians.as_slice()
            && is_deterministic
        {
            return match rest.iter().all(|median| median == first) {
                true => (Some(Interval { low: *first, high: *first }), Basis::Exact),
                false => (None, Basis::States),
            };
        }
        let (interval, basis) = median_interval(&medians);
        let widened = interval
            .zip(self.summary.p50)
            .map(|(ends, p50)| Interval { low: ends.low.min(p50), high: ends.high.max(p50) });
        (widened, basis)
    }

    fn limits_over_repetitions(&self) -> Option<UpperLimits> {
        let each: Vec<_> = self.by_repetition.iter().map(|one| [one.p99, one.p999, None]).collect();
        UpperLimits::over_repetitions(&each)
    }
}

#[cfg(test)]
mod tests {
    use chronoscope_statistics::{Bursts, order::Over};

    use super::*;
    use crate::sample;

    /// A case whose repetitions have these medians; its median of all samples is `p50`.
    fn case(target: &str, domain: Domain, p50: f64, medians: &[f64]) -> CaseResult {
        let mut case = sample::case("switch", "");
        case.target = target.into();
        case.clock.as_mut().unwrap().domain = domain;
        let series = &mut case.series[0];
        let first = series.by_repetition[0];
        series.summary.p50 = Some(p50);
        series.upper_limits = None;
        series.by_repetition = medians
            .iter()
            .map(|p50| crate::Repetition { p50: *p50, p99: Some(2.0 * p50), p999: None, ..first })
            .collect();
        case.find_intervals();
        case
    }

    #[test]
    fn identical_repetitions_are_exact_where_the_target_repeats_itself() {
        let of = |target, domain, count| {
            let case = case(target, domain, 41.0, &[41.0; 6][..count]);
            (case.series[0].p50_interval, case.series[0].p50_interval_basis)
        };
        let exact = (Some(Interval { low: 41.0, high: 41.0 }), Basis::Exact);
        assert_eq!(of("tandem@cortex-m4", Domain::Instructions, 1), exact);
        assert_eq!(of("tandem@ibex", Domain::Cycles, 5), exact);
        let states = case("tandem@cortex-m4", Domain::Instructions, 150.0, &[146.0, 160.0]);
        let found = (states.series[0].p50_interval, states.series[0].p50_interval_basis);
        assert_eq!(found, (None, Basis::States));
        assert_eq!(of("tandem@board:f401", Domain::Cycles, 3), (None, Basis::TooFew));
        assert_eq!(of("linux@host", Domain::Wall, 4), (None, Basis::TooFew));
        assert_eq!(of("linux@host", Domain::Wall, 6), (exact.0, Basis::Repetitions));
        assert_eq!(of("linux@host", Domain::Wall, 0), (None, Basis::TooFew));
    }

    #[test]
    fn a_rate_has_a_bound_where_it_is_random_and_has_no_bursts() {
        let bound = |target: &str, domain, p: Option<f64>| {
            let mut case = case(target, domain, 41.0, &[41.0; 5]);
            let series = &mut case.series[0];
            series.misses = Some(MissRate::new(3, 5_000));
            let bursts = |p| Bursts { tested: 100, dispersion: p, p, episodes: 3, longest: 1 };
            series.bursts = p.map(|p| bursts(Some(p)));
            case.find_intervals();
            case.series[0].misses.unwrap().upper
        };
        assert!(bound("linux@host", Domain::Wall, Some(0.5)).is_some());
        assert_eq!(bound("linux@host", Domain::Wall, Some(0.01)), None);
        assert_eq!(bound("linux@host", Domain::Wall, None), None);
        assert_eq!(bound("tandem@ibex", Domain::Cycles, Some(0.5)), None);
    }

    #[test]
    fn the_interval_contains_the_median() {
        let medians = [20.0, 30.0, 10.0, 40.0, 25.0];
        let inside = case("linux@host", Domain::Wall, 26.0, &medians);
        let ends =
            |case: &CaseResult| case.series[0].p50_interval.map(|ends| (ends.low, ends.high));
        assert_eq!(ends(&inside), Some((10.0, 40.0)));
        let outside = case("linux@host", Domain::Wall, 44.0, &medians);
        assert_eq!(ends(&outside), Some((10.0, 44.0)));
    }

    #[test]
    fn limits_are_of_the_repetitions_unless_the_samples_have_some() {
        let medians = [20.0, 30.0, 10.0, 40.0, 25.0];
        let mut case = case("linux@host", Domain::Wall, 25.0, &medians);
        let limits = case.series[0].upper_limits.unwrap();
        assert_eq!((limits.over, limits.p99, limits.p999), (Over::Repetitions, Some(80.0), None));
        let of_samples = UpperLimits { over: Over::Samples, ..limits };
        case.series[0].upper_limits = Some(of_samples);
        case.find_intervals();
        assert_eq!(case.series[0].upper_limits, Some(of_samples));
        case.clock.as_mut().unwrap().domain = Domain::Cycles;
        case.target = "tandem@ibex".into();
        case.find_intervals();
        assert_eq!(case.series[0].upper_limits, None);
    }
}
