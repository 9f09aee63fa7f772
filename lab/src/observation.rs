//! Everything observed of one case, collected over its repetitions, record by record.

use anyhow::{Result, bail};
use chronoscope_suite::{
    Reason,
    wire::{Domain, Record, Role, Sample, Unit},
};

use crate::{
    case::Case,
    run::{CaseResult, Clock, EvidenceResult, FigureResult, Repetition, SeriesResult},
    statistics::{Accumulator, MissRate, bootstrap_median, slope},
    verdict::{Status, Verdict, judge},
};

/// Bootstrap resamples: the interval's ends are then stable to a percent of its width.
const RESAMPLES: usize = 2000;

/// Samples kept whole on request, per series: 16 MB.
const MAX_KEPT: usize = 1_000_000;

/// More names of one sort than any experiment has: beyond it the stream is at fault.
const MAX_NAMES: usize = 256;

/// What has been seen of one case so far.
pub struct Observation {
    release: String,
    clock: Option<Clock>,
    series: Vec<Series>,
    figures: Vec<(String, String, Vec<f64>)>,
    evidence: Vec<EvidenceResult>,
    log: Vec<String>,
    refusal: Option<Verdict>,
    repetitions: usize,
    deadline: Option<f64>,
    keep_samples: bool,
}

struct Series {
    name: String,
    role: Role,
    unit: Unit,
    nominal: u64,
    x: Option<f64>,
    /// One entry for each repetition.
    pers: Vec<f64>,
    repetitions: Vec<Repetition>,
    all: Accumulator,
    /// The repetition that is under way.
    current: Accumulator,
    at: i64,
    kept: Vec<(i64, u64)>,
}

impl Observation {
    pub fn new(case: &Case, keep_samples: bool) -> Self {
        Self {
            release: String::new(),
            clock: None,
            series: Vec::new(),
            figures: Vec::new(),
            evidence: Vec::new(),
            log: Vec::new(),
            refusal: None,
            repetitions: 0,
            deadline: case.deadline,
            keep_samples,
        }
    }

    pub fn repetitions(&self) -> usize {
        self.repetitions
    }

    /// The case cannot be run: asking again would give the same answer.
    pub fn is_refused(&self) -> bool {
        self.refusal.is_some()
    }

    /// The case failed in a way that is no fault of the kernel under test.
    pub fn fail(&mut self, why: String) {
        self.refusal = Some(Verdict::new(Status::Inconclusive, why));
    }

    /// Takes in one record.
    ///
    /// # Errors
    /// When the record does not fit those before it.
    pub fn take(&mut self, record: &Record<'_>) -> Result<()> {
        match record {
            Record::Hello { release, .. } => self.release = (*release).to_owned(),
            Record::Clock(clock) => self.set_clock(*clock)?,
            Record::Series(series) => self.start_series(series)?,
            Record::Samples(samples) => {
                let Some(series) = self.series.get_mut(usize::from(samples.series)) else {
                    bail!("samples of series {}, which was not announced", samples.series);
                };
                series.push(&samples.block, self.keep_samples);
            }
            Record::Figure { name, unit, value } => self.add_figure(name, unit, *value)?,
            Record::Evidence(evidence) => {
                let holds = (evidence.low..=evidence.high).contains(&evidence.value);
                self.add_evidence(EvidenceResult {
                    name: evidence.name.to_owned(),
                    value: evidence.value,
                    low: evidence.low,
                    high: Some(evidence.high).filter(|high| high.is_finite()),
                    holds,
                })?;
            }
            Record::Log(line) => {
                if self.log.len() < MAX_NAMES && !self.log.iter().any(|known| known == line) {
                    self.log.push((*line).to_owned());
                }
            }
            Record::Refused { reason, what, mend, code } => self.refusal = Some(refused(*reason, what, mend, *code)),
            Record::End { .. } => self.end_repetition(),
        }
        Ok(())
    }

    fn set_clock(&mut self, clock: chronoscope_suite::wire::Clock) -> Result<()> {
        if clock.hertz == 0 {
            bail!("a clock that does not tick");
        }
        let domain = match clock.domain {
            Domain::Wall => "wall",
            Domain::Instructions => "instructions",
            Domain::Cycles => "cycles",
        };
        let resolution = self.clock.as_ref().map_or(clock.resolution, |known| known.resolution.min(clock.resolution));
        self.clock = Some(Clock { domain: domain.to_owned(), hertz: clock.hertz, resolution });
        Ok(())
    }

    /// What one tick is, in the unit that values are told in.
    fn tick(&self) -> (f64, &'static str) {
        match &self.clock {
            Some(clock) if clock.domain == "wall" => (1e9 / clock.hertz as f64, "ns"),
            Some(clock) if clock.domain == "cycles" => (1.0, "cycles"),
            _ => (1.0, "instructions"),
        }
    }

    fn start_series(&mut self, series: &chronoscope_suite::wire::Series<'_>) -> Result<()> {
        let id = usize::from(series.id);
        if !(series.per.is_finite() && series.per > 0.0) {
            bail!("series `{}` has {} operations a sample", series.name, series.per);
        }
        if id == self.series.len() && self.repetitions == 0 {
            let deadline = self.deadline.map(|deadline| (deadline / self.tick().0 * series.per) as u64);
            let deadline = deadline.filter(|_| series.role == Role::Measured && series.unit == Unit::Ticks);
            self.series.push(Series {
                name: series.name.to_owned(),
                role: series.role,
                unit: series.unit,
                nominal: series.nominal,
                x: series.x,
                pers: vec![series.per],
                repetitions: Vec::new(),
                all: Accumulator::with_deadline(deadline),
                current: Accumulator::with_deadline(deadline),
                at: 0,
                kept: Vec::new(),
            });
            return Ok(());
        }
        match self.series.get_mut(id) {
            Some(known) if known.name == series.name && known.pers.len() == self.repetitions => {
                known.pers.push(series.per);
                known.at = 0;
                Ok(())
            }
            _ => bail!("series {id} `{}` is not that of the repetition before", series.name),
        }
    }

    fn add_figure(&mut self, name: &str, unit: &str, value: f64) -> Result<()> {
        if !value.is_finite() {
            bail!("the figure `{name}` is not a number");
        }
        if let Some((.., values)) = self.figures.iter_mut().find(|(known, ..)| known == name) {
            values.push(value);
            return Ok(());
        }
        if self.figures.len() == MAX_NAMES {
            bail!("more than {MAX_NAMES} figures");
        }
        self.figures.push((name.to_owned(), unit.to_owned(), vec![value]));
        Ok(())
    }

    fn add_evidence(&mut self, evidence: EvidenceResult) -> Result<()> {
        // JSON has no other numbers, and a run that is stored must be read again.
        if !(evidence.value.is_finite() && evidence.low.is_finite()) {
            bail!("the evidence `{}` is not a number", evidence.name);
        }
        if let Some(known) = self.evidence.iter_mut().find(|known| known.name == evidence.name) {
            if known.holds {
                *known = evidence;
            }
            return Ok(());
        }
        if self.evidence.len() == MAX_NAMES {
            bail!("more than {MAX_NAMES} pieces of evidence");
        }
        self.evidence.push(evidence);
        Ok(())
    }

    fn end_repetition(&mut self) {
        let tick = self.tick().0;
        for series in &mut self.series {
            series.end_repetition(tick);
        }
        self.repetitions += 1;
    }

    /// What remains of the case.
    pub fn finish(self, case: &Case) -> CaseResult {
        let (tick, unit) = self.tick();
        let (refusal, log) = (self.refusal, self.log);
        let series: Vec<SeriesResult> =
            self.series.into_iter().map(|series| series.finish(tick, unit, case.deadline)).collect();
        let points: Vec<(f64, f64)> = series
            .iter()
            .filter(|series| series.role == "measured")
            .filter_map(|series| series.x.zip(series.summary.p50))
            .map(|(x, p50)| (x * tick, p50))
            .collect();
        let mut result = CaseResult {
            experiment: case.spec.name.to_owned(),
            target: case.target.to_string(),
            release: self.release,
            parameters: case.parameters.iter().cloned().collect(),
            label: case.label(),
            start: case.spec.start.to_owned(),
            end: case.spec.end.to_owned(),
            clock: self.clock,
            repetitions: self.repetitions,
            series,
            slope: slope(&points),
            figures: self.figures.into_iter().map(figure).collect(),
            evidence: self.evidence,
            log,
            limits: case.limits.clone(),
            published: case.published.iter().filter(|published| published.fits(case)).cloned().collect(),
            verdict: Verdict { status: Status::Pass, reasons: Vec::new() },
        };
        result.verdict = refusal.unwrap_or_else(|| judge(&result));
        result
    }
}

impl Series {
    fn push(&mut self, block: &[Sample], keep: bool) {
        for sample in block {
            self.at = self.at.wrapping_add(sample.gap);
            let at = self.at.max(0).unsigned_abs();
            if self.current.count() == 0 {
                self.current.push_cold(at, sample.value);
            } else {
                self.current.push(at, sample.value);
            }
            if keep && self.kept.len() < MAX_KEPT {
                self.kept.push((self.at, sample.value));
            }
        }
    }

    fn end_repetition(&mut self, tick: f64) {
        let scale = self.scale(tick, self.pers.last().copied().unwrap_or(1.0));
        let summary = self.current.summary(scale);
        if let (Some(min), Some(p50), Some(max), Some(mean)) = (summary.min, summary.p50, summary.max, summary.mean) {
            self.repetitions.push(Repetition { count: summary.count, min, p50, p99: summary.p99, max, mean });
        }
        let fresh = Accumulator::with_deadline(self.current.deadline());
        let done = std::mem::replace(&mut self.current, fresh);
        // Both were made with one deadline, which is all that can differ.
        let _ = self.all.merge(&done);
    }

    /// From the stream's numbers to the unit's, for one operation.
    fn scale(&self, tick: f64, per: f64) -> f64 {
        match self.unit {
            Unit::Ticks => tick / per,
            Unit::Count => 1.0 / per,
        }
    }

    fn finish(self, tick: f64, unit: &str, deadline: Option<f64>) -> SeriesResult {
        let per = self.pers.iter().sum::<f64>() / self.pers.len().max(1) as f64;
        let scale = self.scale(tick, per);
        let medians: Vec<f64> = self.repetitions.iter().map(|repetition| repetition.p50).collect();
        SeriesResult {
            name: self.name,
            role: match self.role {
                Role::Measured => "measured",
                Role::Control => "control",
                Role::Auxiliary => "auxiliary",
            }
            .to_owned(),
            unit: if self.unit == Unit::Ticks { unit } else { "count" }.to_owned(),
            nominal: self.nominal as f64 * tick,
            per,
            x: self.x,
            summary: self.all.summary(scale),
            p50_interval: bootstrap_median(&medians, 1, RESAMPLES),
            deadline: deadline.filter(|_| self.all.deadline().is_some()),
            misses: self.all.misses().map(|misses| MissRate::new(misses, self.all.count())),
            by_repetition: self.repetitions,
            histogram: self.all.buckets().map(|(value, count)| (value as f64 * scale, count)).collect(),
            samples: self.kept.iter().map(|(at, value)| (*at as f64 * tick, *value as f64 * scale)).collect(),
        }
    }
}

fn figure((name, unit, mut values): (String, String, Vec<f64>)) -> FigureResult {
    values.sort_by(f64::total_cmp);
    let at = |index: usize| values.get(index).copied().unwrap_or(f64::NAN);
    FigureResult { name, unit, value: at(values.len() / 2), min: at(0), max: at(values.len() - 1) }
}

fn refused(reason: Reason, what: &str, mend: &str, code: i32) -> Verdict {
    let mut text = what.to_owned();
    if code != 0 {
        text = format!("{text} ({})", std::io::Error::from_raw_os_error(code));
    }
    if !mend.is_empty() {
        text = format!("{text}: {mend}");
    }
    let status = if reason == Reason::NotOffered { Status::NotOffered } else { Status::Inconclusive };
    Verdict::new(status, text)
}
