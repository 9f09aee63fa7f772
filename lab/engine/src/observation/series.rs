//! Accumulates the samples of a series of a case.

use chronoscope_suite::wire::{self, Sample, Series as Announced};

use chronoscope_run::{Late, Repetition, Role, SeriesResult, Soak, Unit, names::by_pin};
use chronoscope_statistics::{Accumulator, Basis, Notable, Stamped};

/// The most samples of a series that are kept one by one, on request: 16 MB.
const MAX_KEPT: usize = 1_000_000;

/// The misses that are kept with their times, per repetition.
const MISSES_KEPT: usize = 1_000;

/// A series, over the repetitions so far.
#[derive(Clone)]
pub(super) struct Series {
    pub(super) name: String,
    pub(super) role: Role,
    pub(super) unit: wire::Unit,
    pub(super) nominal: u64,
    x: Option<f64>,
    /// Operations per sample, for each complete repetition that has the series.
    pub(super) per_by_repetition: Vec<f64>,
    repetitions: Vec<Repetition>,
    all: Accumulator,
    /// The samples of the repetition under way.
    current: Accumulator,
    /// Operations per sample of the repetition under way.
    pub(super) per: f64,
    /// The start of its last sample.
    at: i64,
    kept: Vec<(i64, u64)>,
    /// The number of `kept` that are of complete repetitions.
    kept_complete: usize,
    /// The misses of the repetition under way.
    misses: Vec<Stamped>,
    /// The start of the last sample of each complete repetition, and its misses.
    late: Vec<(i64, Vec<Stamped>)>,
    /// The samples of a soak that are kept one by one: of complete repetitions, and of the one under
    /// way.
    notable: Option<[Notable; 2]>,
}

impl Series {
    pub(super) fn new(name: String, series: &Announced<'_>, deadline: Option<u64>) -> Self {
        Self::empty(
            name,
            series.role.into(),
            series.unit,
            series.nominal,
            series.x,
            series.per,
            deadline,
        )
    }

    fn empty(
        name: String,
        role: Role,
        unit: wire::Unit,
        nominal: u64,
        x: Option<f64>,
        per: f64,
        deadline: Option<u64>,
    ) -> Self {
        Self {
            name,
            role,
            unit,
            nominal,
            x,
            per_by_repetition: Vec::new(),
            repetitions: Vec::new(),
            all: Accumulator::with_deadline(deadline),
            current: Accumulator::with_deadline(deadline),
            per,
            at: 0,
            kept: Vec::new(),
            kept_complete: 0,
            misses: Vec::new(),
            late: Vec::new(),
            notable: None,
        }
    }

    /// The series with a record of its largest samples and of its misses one by one, for a soak.
    pub(super) fn with_notable(self) -> Self {
        let notable = Notable::new(self.current.deadline());
        Self { notable: Some([notable.clone(), notable]), ..self }
    }

    /// The largest sample so far, in ticks.
    pub(super) fn largest(&self) -> Option<u64> {
        let worst = self.all.worst().first().into_iter().chain(self.current.worst().first());
        worst.map(|sample| sample.value).max()
    }

    /// An empty series for the samples of `of` as its pin shows them.
    pub(super) fn by_pin(of: &Self) -> Self {
        Self::beside(of, by_pin(&of.name), of.role.by_pin(), of.nominal)
    }

    /// An empty series for the samples of `of` by another instrument. The operations per sample are
    /// taken from the repetition that has just ended.
    pub(super) fn beside(of: &Self, name: String, role: Role, nominal: u64) -> Self {
        Self::empty(
            name,
            role,
            of.unit,
            nominal,
            of.x,
            of.per_by_repetition.last().copied().unwrap_or(1.0),
            None,
        )
    }

    /// The number of samples of the repetition under way, until [`end_repetition`](Self::end_repetition).
    pub(super) fn count(&self) -> u64 {
        self.current.count()
    }

    pub(super) fn push(&mut self, block: &[Sample], keep: bool) {
        let before = self.at;
        let mut samples = block.iter().map(|sample| (sample.gap, sample.value));
        self.at = self.current.push_block(before, &mut samples);
        let deadline = self.current.deadline();
        // A sample is looked at alone only if it may be kept, a miss, or notable.
        if !keep && deadline.is_none() && self.notable.is_none() {
            return;
        }
        let mut at = before;
        for sample in block {
            at = at.wrapping_add(sample.gap);
            let is_miss = deadline.is_some_and(|deadline| sample.value > deadline);
            let start = at.max(0).unsigned_abs();
            if is_miss && self.misses.len() < MISSES_KEPT {
                self.misses.push(Stamped { at: start, value: sample.value });
            }
            if let Some([_, current]) = &mut self.notable {
                current.push(start, sample.value);
            }
            if keep && self.kept.len() < MAX_KEPT {
                self.kept.push((at, sample.value));
            }
        }
    }

    pub(super) fn end_repetition(&mut self, tick: f64) {
        self.per_by_repetition.push(self.per);
        self.kept_complete = self.kept.len();
        let scale = self.scale(tick, self.per);
        let summary = self.current.summary(scale);
        if let (Some(min), Some(p50), Some(max), Some(mean)) =
            (summary.min, summary.p50, summary.max, summary.mean)
        {
            self.repetitions.push(Repetition {
                count: summary.count,
                min,
                p50,
                p99: summary.p99,
                p999: summary.p999,
                max,
                mean,
            });
        }
        let fresh = Accumulator::with_deadline(self.current.deadline());
        let done = std::mem::replace(&mut self.current, fresh);
        if done.deadline().is_some() {
            self.late.push((self.at, std::mem::take(&mut self.misses)));
        }
        self.at = 0;
        if let Some([all, current]) = &mut self.notable {
            let fresh = Notable::new(self.current.deadline());
            all.merge(std::mem::replace(current, fresh));
        }
        // Merging fails only for different deadlines, and both have the same.
        let _ = self.all.merge(&done);
    }

    /// Drops the samples of the repetition that is under way.
    pub(super) fn discard(&mut self) {
        self.current = Accumulator::with_deadline(self.current.deadline());
        if let Some([_, current]) = &mut self.notable {
            *current = Notable::new(self.current.deadline());
        }
        self.at = 0;
        self.misses.clear();
        self.kept.truncate(self.kept_complete);
    }

    /// The factor from the stream's numbers to the series' unit, for one operation.
    fn scale(&self, tick: f64, per: f64) -> f64 {
        match self.unit {
            wire::Unit::Ticks => tick / per,
            wire::Unit::Count => 1.0 / per,
        }
    }

    /// The result without intervals, which
    /// [`CaseResult::find_intervals`](chronoscope_run::CaseResult::find_intervals) sets; it completes the upper
    /// limits, too.
    pub(super) fn finish(mut self, tick: f64, unit: Unit, deadline: Option<f64>) -> SeriesResult {
        self.kept.truncate(self.kept_complete);
        let pers = &self.per_by_repetition;
        let per = pers.iter().sum::<f64>() / pers.len().max(1) as f64;
        let scale = self.scale(tick, per);
        let pair = |sample: &Stamped| (sample.at as f64 * tick, sample.value as f64 * scale);
        SeriesResult {
            name: self.name.into(),
            role: self.role,
            unit: if self.unit == wire::Unit::Ticks { unit } else { Unit::Count },
            nominal: self.nominal as f64 * tick,
            per,
            x: self.x,
            summary: self.all.summary(scale),
            p50_interval: None,
            p50_interval_basis: Basis::TooFew,
            upper_limits: self.all.upper_limits(scale),
            deadline: deadline.filter(|_| self.all.deadline().is_some()),
            misses: self.all.miss_rate(),
            bursts: Some(self.all.bursts()),
            by_repetition: self.repetitions,
            histogram: self
                .all
                .buckets()
                .map(|(value, count)| (value as f64 * scale, count))
                .collect(),
            next: None,
            late: (self.late.iter())
                .map(|(until, misses)| Late {
                    until: *until as f64 * tick,
                    misses: misses.iter().map(pair).collect(),
                })
                .collect(),
            soak: self.notable.map(|[all, _]| Soak {
                largest: all.largest().iter().map(pair).collect(),
                misses: all.misses().iter().map(pair).collect(),
                misses_left_out: all.misses_left_out(),
            }),
            samples: self
                .kept
                .iter()
                .map(|(at, value)| (*at as f64 * tick, *value as f64 * scale))
                .collect(),
        }
    }
}
