//! Collects the records of a case's repetitions, and the recordings of its machine.

mod analyser;
mod checkpoint;
mod pins;
mod series;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Result, bail};
use chronoscope_suite::{
    Reason,
    wire::{self, BUILD, Record},
};

pub use self::checkpoint::Checkpoint;
use self::{pins::PinnedSeries, series::Series};

use crate::{case::Analyser, case::Case};
use chronoscope_machine::Recording;
use chronoscope_run::{
    CaseResult, Clock, Cycles, Domain, EvidenceResult, FigureResult, Published, Role, SeriesResult,
    Status, Unit, Verdict, judge::Unjudged, names::CAPTURE, names::GIVEN_IMAGE, names::KERNEL,
    names::MODEL, names::RUNS,
};
use chronoscope_statistics::slope;
use chronoscope_units::{OneLine, Text, printable, show};

/// The limit for names of one sort, and for values of a figure in one repetition. No experiment
/// reaches it; a stream that exceeds it is an error.
const MAX_NAMES: usize = 256;

/// The limit for all attachments of a case together, in bytes.
const MAX_ATTACHED: usize = 16 << 20;

/// The limit for series of a case: as many as a stream numbers. A series takes up to 2 MB, where its values
/// reach the whole range of `u64`, so that all take half a GB at most; one without a sample takes 40 kB.
/// Samples that are kept one by one come to that, as many as were sent.
const MAX_SERIES: usize = 256;

/// The recordings of the machine's instruments during one repetition, with the retired instructions
/// evaluated.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recordings {
    /// The edges of the pins, as a value change dump.
    pub capture: Option<Vec<u8>>,
    /// The cycles by function.
    pub cycles: Option<Cycles>,
    /// The order in which functions ran, as text.
    pub runs: Option<String>,
}

impl Recordings {
    /// Evaluates a machine's recording. Functions take long to find, so only the first repetition
    /// has them.
    ///
    /// # Errors
    /// If the record of instructions is damaged.
    pub fn new(recording: Recording, is_first: bool) -> Result<Self> {
        let retirement = recording.retirement.filter(|_| is_first);
        let functions = retirement.map(|retirement| retirement.by_function()).transpose()?;
        let (cycles, runs) =
            functions.map_or((None, None), |functions| (functions.cycles, functions.runs));
        Ok(Self { capture: recording.capture, cycles, runs })
    }
}

/// The observations of one case so far.
#[derive(Clone)]
pub struct Observation {
    release: String,
    clock: Option<Clock>,
    series: Vec<Series>,
    /// For each series of the repetition under way, by its number in the stream: its index in
    /// `series`.
    ids: Vec<usize>,
    /// The series of the repetition under way that pins show, with their counts of samples.
    shown: Vec<PinnedSeries>,
    cycles: Option<Cycles>,
    figures: Vec<(String, String, Vec<f64>)>,
    evidence: Vec<EvidenceResult>,
    log: Vec<String>,
    attachments: BTreeMap<String, Vec<u8>>,
    /// The size of all attachments in bytes, including those that were left out.
    attached: usize,
    identity: BTreeMap<String, String>,
    refusal: Option<Verdict>,
    /// The port refused the case before it began: a permission or memory is missing, or the request
    /// contradicts itself.
    was_denied: bool,
    /// The refusal is a failure of the machine or of its set-up, and not the port's answer.
    has_failed: bool,
    repetitions: usize,
    deadline: Option<f64>,
    /// The case's sampling analyser, which reads the pins as well.
    analyser: Option<Analyser>,
    keep_samples: bool,
    is_soak: bool,
}

impl Observation {
    /// The observation of a case before its first repetition.
    pub fn new(case: &Case, keep_samples: bool) -> Self {
        Self {
            release: String::new(),
            clock: None,
            series: Vec::new(),
            ids: Vec::new(),
            shown: Vec::new(),
            cycles: None,
            figures: Vec::new(),
            evidence: Vec::new(),
            log: case.vary.remark().into_iter().collect(),
            attachments: BTreeMap::new(),
            attached: 0,
            identity: BTreeMap::new(),
            refusal: None,
            was_denied: false,
            has_failed: false,
            repetitions: 0,
            deadline: case.deadline,
            analyser: case.analyser,
            keep_samples,
            is_soak: case.soak().is_some(),
        }
    }

    /// The number of complete repetitions.
    pub fn repetitions(&self) -> usize {
        self.repetitions
    }

    /// The largest sample of the measured series so far, with its unit.
    pub fn worst(&self) -> Option<(f64, Unit)> {
        let (tick, unit) = self.tick();
        let measured = self.series.iter().filter(|series| series.role == Role::Measured);
        let timed = measured.filter(|series| series.unit == wire::Unit::Ticks);
        let largest = timed
            .filter_map(|series| series.largest().map(|ticks| ticks as f64 * tick / series.per));
        largest.max_by(f64::total_cmp).map(|value| (value, unit))
    }

    /// Returns whether the case cannot be run; another repetition would give the same answer.
    pub fn is_refused(&self) -> bool {
        self.refusal.is_some()
    }

    /// Returns whether the case was refused at its set-up, and so measured nothing: it was denied, or
    /// failed before the target named its clock. A feature that the kernel lacks is a finding.
    pub fn is_refused_at_set_up(&self) -> bool {
        let failed = self.refusal.as_ref().is_some_and(|why| why.status != Status::NotOffered);
        failed && self.repetitions == 0 && (self.was_denied || self.clock.is_none())
    }

    /// Adds a line about the case that the report shows.
    pub fn remark(&mut self, line: String) {
        self.log.push(line);
    }

    /// Adds a line that each repetition would repeat, once.
    fn remark_once(&mut self, line: String) {
        if !self.log.contains(&line) {
            self.remark(line);
        }
    }

    /// Takes in the provenance of the repetition that is about to run.
    pub fn made(&mut self, identity: BTreeMap<String, String>, remark: &str) {
        if !remark.is_empty() && self.repetitions == 0 {
            self.remark(remark.to_owned());
        }
        self.identity = identity;
    }

    /// Ends the case as inconclusive: it failed by no fault of the kernel under test. A refusal by
    /// the port itself takes precedence.
    pub fn fail(&mut self, why: String) {
        self.end_by_failure(Status::Inconclusive, why);
    }

    /// Ends the case as an error: it could not be set up, so the target never started.
    pub fn fail_set_up(&mut self, why: String) {
        self.end_by_failure(Status::Error, why);
    }

    fn end_by_failure(&mut self, status: Status, why: String) {
        if self.refusal.is_none() {
            self.refusal = Some(Verdict::new(status, why));
            self.has_failed = true;
        }
    }

    /// The reason why the machine or its set-up failed; `None` also for a case that the port itself
    /// refused.
    pub fn failure(&self) -> Option<String> {
        let refusal = self.refusal.as_ref().filter(|_| self.has_failed)?;
        refusal.reasons.first().map(ToString::to_string)
    }

    /// Takes in one record.
    ///
    /// # Errors
    /// When the record does not fit those before it.
    pub fn take(&mut self, record: &Record<'_>) -> Result<()> {
        match record {
            Record::Hello { kernel, release, .. } => {
                self.release = printable(release);
                if self.identity.contains_key(GIVEN_IMAGE) {
                    self.identity.insert(KERNEL.to_owned(), printable(kernel));
                }
            }
            Record::Clock(clock) => self.set_clock(*clock)?,
            Record::Series(series) => self.start_series(series)?,
            Record::Samples(samples) => {
                let Some(&index) = self.ids.get(usize::from(samples.series)) else {
                    bail!("samples of series {}, which was not announced", samples.series);
                };
                self.series[index].push(&samples.block, self.keep_samples);
            }
            Record::Figure { name, unit, value } => self.add_figure(name, unit, *value)?,
            Record::Evidence(evidence) => {
                let holds = (evidence.low..=evidence.high).contains(&evidence.value);
                if !evidence.value.is_finite()
                    || !evidence.low.is_finite()
                    || evidence.high.is_nan()
                {
                    bail!("evidence `{}` is no number", printable(evidence.name));
                }
                self.add_evidence(EvidenceResult {
                    name: printable(evidence.name).into(),
                    value: evidence.value,
                    low: evidence.low,
                    high: Some(evidence.high).filter(|high| high.is_finite()),
                    holds,
                })?;
            }
            Record::Log(line) => {
                let line = printable(line);
                if self.log.len() < MAX_NAMES && !self.log.contains(&line) {
                    self.log.push(line);
                }
            }
            Record::Attachment { name, bytes } if *name == BUILD => {
                let build = printable(&String::from_utf8_lossy(bytes));
                self.identity.insert(BUILD.to_owned(), build);
            }
            Record::Attachment { name, bytes } => self.attach(printable(name), bytes)?,
            Record::Refused { reason, what, mend, code } => {
                self.refusal = Some(refused(*reason, what, mend, *code));
                self.was_denied =
                    matches!(reason, Reason::NotPermitted | Reason::Invalid | Reason::Exhausted);
            }
            Record::End { .. } => self.end_repetition(),
        }
        Ok(())
    }

    /// Takes in the recordings of the machine's instruments during the repetition that has just
    /// ended. Machines with such instruments repeat exactly: the files of the first repetition are
    /// kept. The samples of all repetitions count.
    ///
    /// # Errors
    /// The recording does not fit the stream.
    pub fn record(&mut self, seen: &Recordings) -> Result<()> {
        let is_first = self.repetitions == 1;
        if let Some(dump) = &seen.capture {
            self.compare(dump)?;
            if is_first {
                self.attach(CAPTURE.to_owned(), dump)?;
            }
        } else {
            self.shown.clear();
        }
        if is_first {
            self.cycles = seen.cycles.clone();
            if let Some(runs) = &seen.runs {
                self.attach(RUNS.to_owned(), runs.as_bytes())?;
            }
        }
        Ok(())
    }

    fn attach(&mut self, name: String, bytes: &[u8]) -> Result<()> {
        self.attached += bytes.len();
        if self.attached > MAX_ATTACHED {
            // Attachments of the first repetitions are as good as later ones.
            self.remark_once(format!(
                "attachments beyond {} MiB were left out",
                MAX_ATTACHED >> 20
            ));
            return Ok(());
        }
        self.attachments.entry(name).or_default().extend_from_slice(bytes);
        if self.attachments.len() > MAX_NAMES {
            bail!("more than {MAX_NAMES} attachments");
        }
        Ok(())
    }

    fn set_clock(&mut self, clock: chronoscope_suite::wire::Clock) -> Result<()> {
        if clock.hertz == 0 {
            bail!("the target's clock does not tick");
        }
        let is_modelled = self.identity.contains_key(MODEL);
        let domain = if is_modelled { Domain::Modelled } else { clock.domain.into() };
        if let Some(known) =
            self.clock.as_ref().filter(|known| known.domain != domain || known.hertz != clock.hertz)
        {
            bail!(
                "the target's clock changed from {} Hz ({}) to {} Hz ({domain})",
                known.hertz,
                known.domain,
                clock.hertz
            );
        }
        let resolution = self
            .clock
            .as_ref()
            .map_or(clock.resolution, |known| known.resolution.min(clock.resolution));
        self.clock = Some(Clock { domain, hertz: clock.hertz, resolution });
        Ok(())
    }

    /// The length of a tick in the unit of the reported values, and that unit.
    fn tick(&self) -> (f64, Unit) {
        match &self.clock {
            Some(Clock { domain: domain @ (Domain::Wall | Domain::Modelled), hertz, .. }) => {
                (1e9 / *hertz as f64, domain.unit())
            }
            Some(clock) => (1.0, clock.domain.unit()),
            None => (1.0, Unit::Instructions),
        }
    }

    /// Announces a series of the repetition. A series is identified by its name; a repetition may
    /// lack a series of the others.
    fn start_series(&mut self, series: &chronoscope_suite::wire::Series<'_>) -> Result<()> {
        /// Far beyond any sensible value, but small enough for all derived figures to stay finite.
        const SENSIBLE: f64 = 1e18;
        let name = printable(series.name);
        if usize::from(series.id) != self.ids.len() {
            bail!("series {} `{name}` is announced out of order", series.id);
        }
        if !(1.0 / SENSIBLE..=SENSIBLE).contains(&series.per) {
            bail!("series `{name}` has {} operations a sample", series.per);
        }
        if !series.x.is_none_or(|x| x.abs() <= SENSIBLE) {
            bail!("series `{name}` stands at no number");
        }
        if self.clock.is_none() && series.unit == wire::Unit::Ticks {
            bail!("series `{name}` comes before the clock that it is measured with");
        }
        let known = self.series.iter().position(|known| known.name == name);
        let index = known.unwrap_or(self.series.len());
        if index == MAX_SERIES {
            bail!("more than {MAX_SERIES} series");
        }
        if self.ids.contains(&index) {
            bail!("series `{name}` is announced twice");
        }
        if known.is_none() {
            let deadline =
                self.deadline.map(|deadline| (deadline / self.tick().0 * series.per) as u64);
            let deadline = deadline.filter(|_| {
                series.role == wire::Role::Measured && series.unit == wire::Unit::Ticks
            });
            let is_notable = self.is_soak && series.role == wire::Role::Measured;
            let made = Series::new(name, series, deadline);
            self.series.push(if is_notable { made.with_notable() } else { made });
        }
        self.series[index].per = series.per;
        self.ids.push(index);
        self.shown.extend(series.pin.map(|pin| PinnedSeries { index, pin, samples: 0 }));
        Ok(())
    }

    fn add_figure(&mut self, name: &str, unit: &str, value: f64) -> Result<()> {
        let (name, unit) = (printable(name), printable(unit));
        if !value.is_finite() {
            bail!("figure `{name}` is no number");
        }
        if let Some((.., values)) = self.figures.iter_mut().find(|(known, ..)| *known == name) {
            if values.len() >= MAX_NAMES.saturating_mul(self.repetitions + 1) {
                bail!("figure `{name}` is told more than {MAX_NAMES} times in one repetition");
            }
            values.push(value);
            return Ok(());
        }
        if self.figures.len() == MAX_NAMES {
            bail!("more than {MAX_NAMES} figures");
        }
        self.figures.push((name, unit, vec![value]));
        Ok(())
    }

    fn add_evidence(&mut self, evidence: EvidenceResult) -> Result<()> {
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
        self.shown.iter_mut().for_each(|shown| shown.samples = self.series[shown.index].count());
        for index in self.ids.drain(..) {
            self.series[index].end_repetition(tick);
        }
        self.repetitions += 1;
    }

    /// The result of a soak after this time, while it goes on: inconclusive, since its evidence comes at its
    /// end.
    pub fn under_way(&self, case: &Case, time: Duration) -> CaseResult {
        let mut copy = self.clone();
        copy.end_repetition();
        let seconds = time.as_secs();
        let longest = self.worst().map(|(longest, unit)| show(longest, unit.name()));
        let longest =
            longest.map_or_else(String::new, |longest| format!(" (the longest {longest})"));
        copy.fail(format!(
            "its lab was killed after {} min {} s of the soak: the samples up to then{longest} are kept, and the \
             evidence comes at the end",
            seconds / 60,
            seconds % 60
        ));
        copy.finish(case).judged()
    }

    /// The result of the case from all complete repetitions.
    pub fn finish(self, case: &Case) -> Unjudged {
        let (tick, unit) = self.tick();
        let log = self.log;
        let text = |(name, bytes): (String, Vec<u8>)| {
            (name.into(), String::from_utf8_lossy(&bytes).into_owned())
        };
        let whole = self.series.into_iter().filter(|series| !series.per_by_repetition.is_empty());
        let series: Vec<SeriesResult> =
            whole.map(|series| series.finish(tick, unit, case.deadline)).collect();
        let points: Vec<(f64, f64)> = series
            .iter()
            .filter(|series| series.role == Role::Measured)
            .filter_map(|series| series.x.zip(series.summary.p50))
            .map(|(x, p50)| (x * tick, p50))
            .collect();
        let is_shown =
            |published: &&Published| case.has(published) && published.is_readable(&series);
        let published = case.published.iter().filter(is_shown).cloned().collect();
        let lines = |(name, value): (&String, &String)| (OneLine::from(name), OneLine::from(value));
        let parameters = case.parameters.iter().map(|(name, value)| lines((name, value)));
        let mut result = CaseResult {
            experiment: case.spec.name.into(),
            target: case.target.to_string().into(),
            release: self.release.into(),
            identity: self.identity.iter().map(lines).collect(),
            parameters: parameters.chain(case.vary.parameter()).collect(),
            label: case.label(),
            start: case.spec.start.into(),
            end: case.spec.end.into(),
            clock: self.clock,
            repetitions: self.repetitions,
            series,
            slope: slope(&points),
            figures: self.figures.into_iter().map(figure).collect(),
            evidence: self.evidence,
            cycles: self.cycles,
            log: log.into_iter().map(Text::from).collect(),
            attachments: self.attachments.into_iter().map(text).collect(),
            limits: case.limits.clone(),
            judge: case.judge.names(),
            published,
            verdict: Verdict { status: Status::Pass, reasons: Vec::new() },
        };
        result.find_intervals();
        Unjudged { result, failure: self.refusal }
    }
}

fn figure((name, unit, mut values): (String, String, Vec<f64>)) -> FigureResult {
    values.sort_by(f64::total_cmp);
    let at = |index: usize| values.get(index).copied().unwrap_or(f64::NAN);
    FigureResult {
        name: name.into(),
        unit: unit.into(),
        value: at(values.len() / 2),
        min: at(0),
        max: at(values.len() - 1),
    }
}

fn refused(reason: Reason, what: &str, mend: &str, code: i32) -> Verdict {
    let (mut text, mend) = (printable(what), printable(mend));
    if code != 0 {
        text = format!("{text} ({})", std::io::Error::from_raw_os_error(code));
    }
    if !mend.is_empty() {
        text = format!("{text}: {mend}");
    }
    let status =
        if reason == Reason::NotOffered { Status::NotOffered } else { Status::Inconclusive };
    Verdict::new(status, text)
}
