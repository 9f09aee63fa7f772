//! Reads the files of other tools as cases of a run. Each format is one reader; this module knows
//! which reader a file needs, and how figures become a case. The module opens no file.

mod criterion;
pub mod ctf;
mod events;
mod google_benchmark;
mod hyperfine;
mod rtla;
mod scheduling;
mod systemview;
#[cfg(test)]
mod tests;
mod tracex;

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    path::Path,
    time::{Duration, SystemTime},
};

use anyhow::{Context as _, Result, bail, ensure};
use chronoscope_suite::wire::{self, BLOCK, Clock, Domain, Evidence, Record, Sample};
use humantime::{format_rfc3339_seconds, parse_rfc3339};
use serde_json::Value;

use crate::{case::Case, observation::Observation};
use chronoscope_machine::{Interval, samples_of};
use chronoscope_run::{
    CaseResult, Context, Imported, Repetition, Run, SCHEMA, Target, names::IMPORT,
};
use chronoscope_units::{OneLine, printable};

/// The most cases of one file.
const MAX_CASES: usize = 10_000;

/// The most series of tasks' or of handlers' intervals of one sort. The rarest others are left out.
const MOST: usize = 40;

/// The largest value of a sample, in ticks: all derived figures stay finite.
const MAX_TICKS: f64 = 1e18;

/// The names of the tools whose files are read, for messages.
const TOOLS: &str = "hyperfine's, Google Benchmark's or criterion's JSON, a histogram of rtla's, a \
                     recording of SystemView's or TraceX's, or the text of babeltrace2, perf script \
                     or trace-cmd report";

/// The results of another tool, from one file.
pub struct Recording {
    tool: String,
    /// The tool's version; empty where the file has none.
    version: String,
    /// The time of the measurement, in UTC; `None` where the file does not say.
    date: Option<String>,
    /// The conditions that the file names. The others are unknown.
    conditions: Context,
    cases: Vec<CaseResult>,
    keys: BTreeSet<String>,
}

/// The file that a recording comes from.
pub struct Origin<'a> {
    /// The path, or `-`.
    pub path: &'a Path,
    /// The time of the file's last change; `None` for standard input.
    pub changed: Option<SystemTime>,
    /// The UUID of the run.
    pub uuid: String,
}

/// Returns whether a JSON value is of a tool that [`from_values`] reads.
pub fn is_json_of_a_tool(value: &Value) -> bool {
    json_reader(value).is_some()
}

/// A reader of a tool's JSON.
struct JsonReader {
    /// Returns whether a value is the first of such a file.
    is_its: fn(&Value) -> bool,
    /// Reads all values of a file.
    read: fn(&Path, &[Value]) -> Result<Recording>,
}

/// The readers of JSON.
static JSON_READERS: [JsonReader; 4] = [
    JsonReader { is_its: hyperfine::is_its, read: hyperfine::read },
    JsonReader { is_its: google_benchmark::is_its, read: google_benchmark::read },
    JsonReader { is_its: criterion::is_sample, read: criterion::read_sample },
    JsonReader { is_its: criterion::is_message, read: criterion::read_messages },
];

fn json_reader(value: &Value) -> Option<&'static JsonReader> {
    // A run of Chronoscope's has these two, whatever else it has.
    let is_run = value.get("schema").is_some() && value.get("cases").is_some();
    JSON_READERS.iter().find(|reader| !is_run && (reader.is_its)(value))
}

/// Reads the JSON values of a file, of which [`is_json_of_a_tool`] holds for the first.
///
/// # Errors
/// A value is of another tool, or a field is missing or makes no sense; the message has its place.
pub fn from_values(path: &Path, values: &[Value]) -> Result<Recording> {
    let Some(reader) = values.first().and_then(json_reader) else { bail!("it is not {TOOLS}") };
    (reader.read)(path, values)
}

/// The bytes of a file that tell its tool.
pub const HEAD: usize = 512;

/// Returns whether a file that begins with these bytes, and is not JSON, is of a tool that
/// [`from_bytes`] reads. [`HEAD`] bytes are enough.
pub fn is_of_a_tool(head: &[u8]) -> bool {
    rtla::is_its(head)
        || tracex::is_its(head)
        || systemview::is_its(head)
        || ctf::is_its(head)
        || events::is_its(head)
}

/// Reads a whole file for which [`is_of_a_tool`] holds. `hertz` is the rate of a clock that the
/// file does not name.
///
/// # Errors
/// The file is cut, damaged, or of a version with another form; the message has the place.
pub fn from_bytes(bytes: &[u8], hertz: Option<u64>) -> Result<Recording> {
    if tracex::is_its(bytes) {
        return tracex::read(bytes, hertz);
    }
    has_own_times(hertz)?;
    match bytes {
        _ if systemview::is_its(bytes) => systemview::read(bytes),
        _ if rtla::is_its(bytes) => rtla::read(bytes),
        _ if ctf::is_its(&bytes[..bytes.len().min(HEAD)]) => ctf::read(bytes),
        _ => events::read(bytes),
    }
}

/// Checks that no rate was given for a file that needs none.
///
/// # Errors
/// One was given.
pub fn has_own_times(hertz: Option<u64>) -> Result<()> {
    ensure!(hertz.is_none(), "--clock is for TraceX's recordings: this file has its own times");
    Ok(())
}

impl Recording {
    fn new(tool: &str) -> Self {
        let conditions = Context::default();
        let (version, date, keys) = (String::new(), None, BTreeSet::new());
        Self { tool: tool.to_owned(), version, date, conditions, cases: Vec::new(), keys }
    }

    /// Adds a case.
    ///
    /// # Errors
    /// There are too many, or the case has figures that no run can hold.
    fn add(&mut self, measured: Measured) -> Result<()> {
        ensure!(self.cases.len() < MAX_CASES, "more than {MAX_CASES} benchmarks");
        let name = printable(&measured.name);
        let case = measured.result(&self.tool, &self.version).context(name)?;
        ensure!(
            self.keys.insert(case.key()),
            "`{}` is there twice: give each benchmark a name of its own",
            case.label
        );
        self.cases.push(case);
        Ok(())
    }

    /// The run of the recording. `context` is of the import.
    pub fn into_run(self, context: Context, origin: Origin<'_>) -> Run {
        let changed = origin.changed.and_then(shown);
        let (date, dated) = match (self.date, changed) {
            (Some(date), _) => (date.into(), "by the file"),
            (None, Some(changed)) => (changed.into(), "by the file's last change"),
            (None, None) => (context.date.clone(), "by the import"),
        };
        let tool = format!("{} {}", self.tool, self.version);
        let file = origin.path.file_name().unwrap_or(origin.path.as_os_str());
        let imported = Imported {
            tool: tool.trim_end().into(),
            file: OneLine::from(&*file.to_string_lossy()),
            on: context.date,
            dated: dated.into(),
        };
        let context = Context {
            date,
            uuid: origin.uuid.into(),
            program: context.program,
            revision: context.revision,
            command: context.command,
            imported: Some(imported),
            ..self.conditions
        };
        Run {
            schema: SCHEMA,
            context,
            study: OneLine::new(),
            title: OneLine::new(),
            notes: "".into(),
            answering: None,
            cases: self.cases,
            peers: Vec::new(),
        }
    }
}

/// The figures of one benchmark or recording.
struct Measured {
    /// The name, the case's parameter `benchmark`.
    name: String,
    /// Further parameters.
    parameters: Vec<(String, String)>,
    /// The ticks per second of all samples.
    hertz: u64,
    series: Vec<Series>,
    /// The numbers of each repetition.
    figures: Vec<Vec<Figure>>,
    /// Counts of the file's: name, value, and the lowest and the highest that are right.
    evidence: Vec<(&'static str, f64, f64, f64)>,
    log: Vec<String>,
}

/// A number: name, unit and value.
type Figure = (String, &'static str, f64);

/// The series of a case.
struct Series {
    name: String,
    is_measured: bool,
    /// Operations in a sample.
    per: f64,
    /// The samples of each repetition.
    repetitions: Vec<Samples>,
}

/// The samples of a repetition.
enum Samples {
    /// In the order of time.
    Timed(Vec<Interval>),
    /// Values and how often each was seen: their order is unknown.
    Counted(Vec<(u64, u64)>),
}

impl Samples {
    /// One value whose time is unknown.
    fn one(value: u64) -> Self {
        Self::Timed(vec![Interval { start: 0, length: value }])
    }
}

impl Measured {
    fn new(name: &str, hertz: u64) -> Self {
        Self {
            name: name.to_owned(),
            parameters: Vec::new(),
            hertz,
            series: Vec::new(),
            figures: Vec::new(),
            evidence: Vec::new(),
            log: Vec::new(),
        }
    }

    /// Adds the loads of the tasks that ran most, in a recording of `whole` ticks.
    fn add_loads<K>(
        &mut self,
        runs: &BTreeMap<K, Vec<Interval>>,
        whole: u64,
        name: &dyn Fn(&K) -> String,
    ) {
        let load = |(task, runs): (&K, &Vec<Interval>)| {
            let time: u64 = runs.iter().map(|run| run.length).sum();
            (format!("load of {}", name(task)), "%", 100.0 * time as f64 / whole.max(1) as f64)
        };
        let mut figures: Vec<Figure> = runs.iter().map(load).collect();
        figures.sort_by(|a, b| b.2.total_cmp(&a.2));
        figures.truncate(MOST);
        self.figures.push(figures);
    }

    /// Adds a series of intervals for each task or handler, those with the most intervals first.
    /// The rarest beyond [`MOST`] are left out, with a remark.
    fn add_most<K: Ord>(
        &mut self,
        intervals: BTreeMap<K, Vec<Interval>>,
        what: &str,
        ending: &str,
        is_measured: bool,
        name: &dyn Fn(&K) -> String,
    ) {
        let mut sorted: Vec<_> = intervals.into_iter().collect();
        // A stable sort: of equal numbers the first key comes first.
        sorted.sort_by_key(|(_, all)| Reverse(all.len()));
        if sorted.len() > MOST {
            let rest = sorted.len() - MOST;
            self.log.push(format!("the {rest} rarest series of {what}s{ending} are left out"));
        }
        for (key, all) in sorted.into_iter().take(MOST) {
            let name = format!("{}{ending}", name(&key));
            let repetitions = vec![Samples::Timed(all)];
            self.series.push(Series { is_measured, repetitions, ..Series::measured(name) });
        }
    }

    /// The result of a case with these figures, judged like any other.
    fn result(self, tool: &str, version: &str) -> Result<CaseResult> {
        // Parts of a label stand between blanks.
        let word = |text: &str| printable(text).replace(' ', "+");
        let own = self.parameters.iter().map(|(name, value)| (word(name), word(value)));
        let parameters = [("benchmark".to_owned(), word(&self.name))].into_iter().chain(own);
        let target = Target { kernel: tool.to_owned(), machine: IMPORT.to_owned(), image: None };
        let case = Case::imported(target, parameters.collect());
        let is_ordered = |one: &Samples| matches!(one, Samples::Timed(_));
        let keeps = self.series.iter().all(|series| series.repetitions.iter().all(is_ordered));
        let mut observation = Observation::new(&case, keeps);
        observation.made(BTreeMap::from([("benchmark".to_owned(), printable(&self.name))]), "");
        let hello =
            Record::Hello { version: wire::VERSION, kernel: tool, release: version, request: "" };
        observation.take(&hello)?;
        if !self.series.is_empty() {
            let clock = Clock { domain: Domain::Wall, hertz: self.hertz, resolution: 1 };
            observation.take(&Record::Clock(clock))?;
        }
        for (name, value, low, high) in self.evidence {
            observation.take(&Record::Evidence(Evidence { name, value, low, high }))?;
        }
        for line in &self.log {
            observation.take(&Record::Log(line))?;
        }
        let of_series = self.series.iter().map(|series| series.repetitions.len()).max();
        for place in 0..of_series.unwrap_or(0).max(self.figures.len()) {
            for (name, unit, value) in self.figures.get(place).into_iter().flatten() {
                observation.take(&Record::Figure { name, unit, value: *value })?;
            }
            let mut id = 0;
            for series in &self.series {
                let Some(samples) = series.repetitions.get(place) else { continue };
                series.send(id, samples, &mut observation)?;
                id = id.checked_add(1).context("more than 255 series")?;
            }
            if of_series.is_some() {
                observation.take(&Record::End { records: 0 })?;
            }
        }
        let mut result = observation.finish(&case).judged();
        for series in &self.series {
            let known = result.series.iter_mut().find(|known| *known.name == *series.name);
            let Some(known) = known else { continue };
            if let Some(single) = series.single(self.hertz) {
                // The median of one sample is it, though a summary of it has none.
                known.by_repetition = single;
            }
            if !series.repetitions.iter().all(is_ordered) {
                // All of these need the order of the samples.
                (known.bursts, known.upper_limits) = (None, None);
                (known.summary.cold, known.summary.cold_count) = (Vec::new(), 0);
            }
        }
        result.find_intervals();
        Ok(result)
    }
}

impl Series {
    fn measured(name: impl Into<String>) -> Self {
        Self { name: name.into(), is_measured: true, per: 1.0, repetitions: Vec::new() }
    }

    fn auxiliary(name: impl Into<String>) -> Self {
        Self { is_measured: false, ..Self::measured(name) }
    }

    /// The figures of each repetition, if all have a single sample.
    fn single(&self, hertz: u64) -> Option<Vec<Repetition>> {
        let tick = 1e9 / hertz as f64 / self.per;
        let figures = |samples: &Samples| match samples {
            Samples::Timed(intervals) => match &**intervals {
                [one] => {
                    let (value, count) = (one.length as f64 * tick, 1);
                    let (min, p50, max, mean) = (value, value, value, value);
                    Some(Repetition { count, min, p50, p99: None, p999: None, max, mean })
                }
                _ => None,
            },
            Samples::Counted(_) => None,
        };
        self.repetitions.iter().map(figures).collect()
    }

    /// Passes the series and the samples of a repetition to the case's observation.
    fn send(&self, id: u8, samples: &Samples, observation: &mut Observation) -> Result<()> {
        let role = if self.is_measured { wire::Role::Measured } else { wire::Role::Auxiliary };
        let head = wire::Series { id, role, per: self.per, ..wire::Series::measured(&self.name) };
        observation.take(&Record::Series(head))?;
        let mut all: Box<dyn Iterator<Item = Sample> + '_> =
            match samples {
                Samples::Timed(intervals) => Box::new(samples_of(intervals)),
                Samples::Counted(counts) => Box::new(counts.iter().flat_map(|(value, count)| {
                    (0..*count).map(|_| Sample { gap: 0, value: *value })
                })),
            };
        loop {
            let block = wire::Samples { series: id, block: all.by_ref().take(BLOCK).collect() };
            if block.block.is_empty() {
                return Ok(());
            }
            observation.take(&Record::Samples(block))?;
        }
    }
}

/// A time in ns, of `per` operations, as ticks of 1 GHz.
///
/// # Errors
/// The time is no number, negative, or longer than 30 years.
fn ticks(ns: f64, per: f64) -> Result<u64> {
    let all = ns * per;
    ensure!((0.0..=MAX_TICKS).contains(&all), "{all} ns is no time");
    Ok(all.round() as u64)
}

/// The number of a field.
fn number(value: &Value, field: &str) -> Result<f64> {
    let number = value.get(field).and_then(Value::as_f64);
    number.with_context(|| format!("it has no number `{field}`: export it again with the tool"))
}

/// The text of a field.
fn text<'v>(value: &'v Value, field: &str) -> Result<&'v str> {
    let text = value.get(field).and_then(Value::as_str);
    text.with_context(|| format!("it has no text `{field}`: export it again with the tool"))
}

/// The numbers of a field, at least one.
fn numbers(value: &Value, field: &str) -> Result<Vec<f64>> {
    let list = value.get(field).and_then(Value::as_array);
    let list = list.with_context(|| format!("it has no list `{field}`"))?;
    ensure!(!list.is_empty(), "`{field}` is empty");
    let number = |(place, value): (usize, &Value)| {
        value.as_f64().with_context(|| format!("`{field}`: value {} is no number", place + 1))
    };
    list.iter().enumerate().map(number).collect()
}

/// The one value of a file.
fn only(values: &[Value]) -> Result<&Value> {
    match values {
        [value] => Ok(value),
        _ => bail!("there is more behind its end: import each result from a file of its own"),
    }
}

/// A time such as `2026-11-28T17:06:45+01:00`, in UTC; `None` for any other text.
fn in_utc(text: &str) -> Option<String> {
    let (local, offset) = text.split_at_checked(19)?;
    let local = parse_rfc3339(&format!("{local}Z")).ok()?;
    let time = match offset {
        "Z" => local,
        _ => {
            let (hours, minutes) = offset.get(1..)?.split_once(':')?;
            let seconds = 3600 * hours.parse::<u64>().ok()? + 60 * minutes.parse::<u64>().ok()?;
            let offset_by = Duration::from_secs(seconds.min(86_400));
            match offset.as_bytes().first()? {
                b'+' => local.checked_sub(offset_by)?,
                b'-' => local.checked_add(offset_by)?,
                _ => return None,
            }
        }
    };
    shown(time)
}

/// A time as `2026-11-28T17:06:45Z`; `None` before 1970 and after 9999, which have no such form.
fn shown(time: SystemTime) -> Option<String> {
    let is_shown = time.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs() < 253_402_300_800;
    is_shown.then(|| format_rfc3339_seconds(time).to_string())
}
