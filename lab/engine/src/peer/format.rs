//! The formats of the tools' outputs: one row each, with the tool's figures and their sources in
//! the output. One reader reads all of them.

use anyhow::{Context, Result, bail};
use serde_json::Value;

use self::{Form::*, Source::*};
use super::Reading;
use chronoscope_run::Unit;

/// The format of a tool's output.
pub(super) struct Layout {
    /// The format's name in a study.
    pub name: &'static str,
    form: Form,
    figures: &'static [Figure],
}

/// The form of an output. The programs of rt-tests write JSON to a file; where the file is
/// `/dev/stdout`, other lines may precede and follow the JSON.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    /// Lines for people.
    Lines,
    /// JSON of rt-tests with one measuring thread.
    Json,
    /// JSON of rt-tests with times in ns and one measuring thread.
    JsonInNs,
    /// JSON of rt-tests with times in ns. Each measuring thread has figures, of its processor.
    JsonByThread,
}

/// A figure that a tool prints, or that follows from what it prints.
struct Figure {
    name: &'static str,
    unit: Unit,
    /// The factor from the printed number to the figure.
    scale: f64,
    source: Source,
}

/// The source of a number in an output.
enum Source {
    /// The number at this path of a thread's JSON.
    Field(&'static str),
    /// The quantile of a thread's `cycles` samples, from its `histogram`. A quantile beyond the
    /// histogram's end is omitted.
    Quantile(f64),
    /// The sum over a thread's `histogram`, of a function of length and count.
    Sum(fn(f64, f64) -> f64),
    /// The number directly before these words, in the first line that has them.
    Before(&'static str),
    /// The number directly after these words, in the first line that has them.
    After(&'static str),
    /// The number in this column of the first line with this label.
    Column(&'static str, usize),
    /// The median of a column of a histogram, of as many samples as the column has in the line `count:`. A
    /// median beyond the histogram's end is omitted.
    Median(usize),
    /// A number that is computed from several of the output.
    Computed(fn(Output<'_>) -> Result<f64>),
}

const fn count(name: &'static str, source: Source) -> Figure {
    Figure { name, unit: Unit::Count, scale: 1.0, source }
}

/// A time that the tool prints in units of `ns` nanoseconds.
const fn time(name: &'static str, ns: f64, source: Source) -> Figure {
    Figure { name, unit: Unit::Nanoseconds, scale: ns, source }
}

const NS: f64 = 1.0;
const US: f64 = 1e3;
const S: f64 = 1e9;

/// `cyclictest -N -h … --json=…`: the delay with which a periodic thread wakes.
pub(super) static CYCLICTEST: Layout = Layout {
    name: "cyclictest",
    form: JsonInNs,
    figures: &[
        count("samples", Field("/cycles")),
        time("min", NS, Field("/min")),
        time("mean", NS, Field("/avg")),
        time("p50", NS, Quantile(0.5)),
        time("p90", NS, Quantile(0.9)),
        time("p99", NS, Quantile(0.99)),
        time("max", NS, Field("/max")),
    ],
};

/// `cyclictest --smp -N -h … --json=…`: the threads of all processors, each by its processor.
pub(super) static CYCLICTEST_SMP: Layout =
    Layout { name: "cyclictest --smp", form: JsonByThread, figures: CYCLICTEST.figures };

/// `cyclicdeadline -q --json=…`: the delay with which a task of SCHED_DEADLINE starts in its
/// period. All times but the mean are whole µs, cut off.
pub(super) static CYCLICDEADLINE: Layout = Layout {
    name: "cyclicdeadline",
    form: Json,
    figures: &[
        count("samples", Field("/cycles")),
        time("min", US, Field("/min")),
        time("mean", US, Field("/avg")),
        time("max", US, Field("/max")),
    ],
};

/// `ptsematest -q --json=…`: the time from one thread's unlock of a mutex to the return of another
/// thread's lock. All times but the mean are whole µs. sigwaittest, svsematest and pmqtest print the same.
pub(super) static PTSEMATEST: Layout = Layout {
    name: "ptsematest",
    form: Json,
    figures: &[
        count("samples", Field("/sender/samples")),
        time("min", US, Field("/receiver/min")),
        time("mean", US, Field("/receiver/avg")),
        time("max", US, Field("/receiver/max")),
    ],
};

/// `oslat -q --json=…`: the gaps in a loop that spins. The histogram counts the loop's turns by
/// their length in whole µs, rounded up; the last bucket has all longer turns. `gaps` counts the
/// turns of more than 1 µs. `lost` is the time in them by these lengths; turns in the last bucket may be longer.
pub(super) static OSLAT: Layout = Layout {
    name: "oslat",
    form: Json,
    figures: &[
        count("gaps", Sum(|length, count| if length > 1.0 { count } else { 0.0 })),
        time("lost", US, Sum(|length, count| if length > 1.0 { count * length } else { 0.0 })),
        time("max", US, Field("/max")),
    ],
};

/// The columns of a processor in the output of `rtla timerlat hist`: the interrupt, and the thread.
const IRQ: usize = 0;
const THREAD: usize = 1;

/// `rtla timerlat hist -n`: the kernel's tracer timerlat. A thread of the kernel waits for a timer;
/// the times are from the due time to the timer's interrupt, and to the thread.
pub(super) static RTLA_TIMERLAT: Layout = Layout {
    name: "rtla timerlat",
    form: Lines,
    figures: &[
        count("samples", Column("count:", THREAD)),
        time("min", NS, Column("min:", THREAD)),
        time("mean", NS, Column("avg:", THREAD)),
        time("max", NS, Column("max:", THREAD)),
        time("p50", NS, Median(THREAD)),
        time("irq min", NS, Column("min:", IRQ)),
        time("irq mean", NS, Column("avg:", IRQ)),
        time("irq max", NS, Column("max:", IRQ)),
        time("irq p50", NS, Median(IRQ)),
    ],
};

/// `perf bench sched pipe`: a word back and forth between two tasks through two pipes.
pub(super) static PERF_BENCH_PIPE: Layout = Layout {
    name: "perf-bench-pipe",
    form: Lines,
    figures: &[time("operation", US, Before("usecs/op"))],
};

/// `hackbench`: groups of senders, each of which sends messages to every receiver of its group.
/// With many messages the time of one is precise, although the tool prints whole ms.
pub(super) static HACKBENCH: Layout = Layout {
    name: "hackbench",
    form: Lines,
    figures: &[
        count("messages", Computed(messages)),
        time("time", S, After("Time:")),
        time("message", S, Computed(|output| Ok(output.after("Time:")? / messages(output)?))),
    ],
};

/// The number of messages of `hackbench`. A group has as many receivers as senders, and two
/// descriptors for each pair.
fn messages(output: Output<'_>) -> Result<f64> {
    let pairs = output.before("file descriptors each")? / 2.0;
    Ok(output.before("groups using")? * pairs.powi(2) * output.after("Each sender will pass")?)
}

/// `pi_stress -q`: makes priority inversions, and fails when inheritance does not resolve one.
pub(super) static PI_STRESS: Layout = Layout {
    name: "pi_stress",
    form: Lines,
    figures: &[count("inversions", After("Total inversion performed:"))],
};

impl Layout {
    /// The names of all figures of the format.
    pub fn statistics(&self) -> impl Iterator<Item = &'static str> {
        self.figures.iter().map(|figure| figure.name)
    }

    /// Reads the figures in a tool's output.
    ///
    /// # Errors
    /// A figure that every output of the tool has is missing; the message names its source.
    pub fn read(&self, text: &str) -> Result<Vec<Reading>> {
        if self.form == Lines {
            return self.readings(Output { text, thread: &Value::Null }, None);
        }
        let document = document(text)?;
        if self.form != Json && document["resolution_in_ns"] != 1 {
            bail!("its times are not in ns: give the tool -N");
        }
        let threads = document["thread"].as_object().context("there is no `thread` in it")?;
        if self.form != JsonByThread && threads.len() != 1 {
            bail!("it has {} measuring threads, not one", threads.len());
        }
        let mut all = Vec::new();
        for thread in threads.values() {
            let cpu = || thread["cpu"].as_u64().unwrap_or_default() as usize;
            let cpu = (self.form == JsonByThread).then(cpu);
            all.extend(self.readings(Output { text, thread }, cpu)?);
        }
        Ok(all)
    }

    fn readings(&self, output: Output<'_>, cpu: Option<usize>) -> Result<Vec<Reading>> {
        let reading = |figure: &Figure| -> Result<Option<Reading>> {
            let Figure { name, unit, scale, source } = figure;
            let value = output.number(source)?;
            Ok(value.map(|value| Reading { name, unit: *unit, value: scale * value, cpu }))
        };
        self.figures.iter().map(reading).filter_map(Result::transpose).collect()
    }
}

/// The JSON among the lines of `text`.
///
/// # Errors
/// There is no JSON, or it is cut off.
fn document(text: &str) -> Result<Value> {
    let before = text.split_inclusive('\n').take_while(|line| line.trim_end() != "{");
    let start: usize = before.map(str::len).sum();
    let mut documents = serde_json::Deserializer::from_str(&text[start..]).into_iter();
    Ok(documents.next().context("there is no JSON in it: give it --json=/dev/stdout")??)
}

/// A tool's output; of JSON, the part of one thread.
#[derive(Clone, Copy)]
struct Output<'a> {
    text: &'a str,
    thread: &'a Value,
}

impl Output<'_> {
    /// The number of a source; `None` where an output may lack it.
    ///
    /// # Errors
    /// The output lacks a number that every output has.
    fn number(self, source: &Source) -> Result<Option<f64>> {
        match source {
            Field(path) => self.field(path).map(Some),
            Quantile(share) => self.quantile(*share),
            Sum(part) => {
                let histogram = self.histogram()?.context("there is no `histogram` in it")?;
                Ok(Some(histogram.iter().map(|(length, count)| part(*length, *count)).sum()))
            }
            Before(words) => self.before(words).map(Some),
            After(words) => self.after(words).map(Some),
            Column(label, column) => self.column(label, *column).map(Some),
            Median(column) => self.median(*column),
            Computed(compute) => compute(self).map(Some),
        }
    }

    fn field(self, path: &str) -> Result<f64> {
        let number = self.thread.pointer(path).and_then(Value::as_f64);
        number.with_context(|| format!("there is no `{}` in it", &path[1..]))
    }

    /// The pairs of length and count of the thread's histogram, rising in length.
    fn histogram(self) -> Result<Option<Vec<(f64, f64)>>> {
        let Some(histogram) = self.thread["histogram"].as_object() else { return Ok(None) };
        let pair = |(length, count): (&String, &Value)| -> Result<(f64, f64)> {
            let length = length.parse().context("a length that is no number")?;
            Ok((length, count.as_f64().context("a count that is no number")?))
        };
        let mut pairs = histogram.iter().map(pair).collect::<Result<Vec<_>>>()?;
        pairs.sort_by(|one, other| one.0.total_cmp(&other.0));
        Ok(Some(pairs))
    }

    fn quantile(self, share: f64) -> Result<Option<f64>> {
        let rank = (share * self.field("/cycles")?).ceil();
        Ok(at_rank(self.histogram()?.unwrap_or_default(), rank))
    }

    fn before(self, words: &str) -> Result<f64> {
        let beside = |line: &str| number(line[..line.find(words)?].split_whitespace().next_back()?);
        self.find(words, beside)
    }

    fn after(self, words: &str) -> Result<f64> {
        let beside =
            |line: &str| number(line[line.find(words)? + words.len()..].split_whitespace().next()?);
        self.find(words, beside)
    }

    fn column(self, label: &str, column: usize) -> Result<f64> {
        self.find(label, |line| Some(columns(line.trim().strip_prefix(label)?)?[column]))
    }

    /// The number in the first line that has one.
    fn find(self, words: &str, number: impl Fn(&str) -> Option<f64>) -> Result<f64> {
        let found = self.text.lines().find_map(number);
        found.with_context(|| format!("there is no `{words}` in it"))
    }

    fn median(self, column: usize) -> Result<Option<f64>> {
        let half = self.column("count:", column)? / 2.0;
        let bucket = |line: &str| {
            let (time, counts) = line.trim().split_once(char::is_whitespace)?;
            Some((time.parse().ok()?, columns(counts)?[column]))
        };
        Ok(at_rank(self.text.lines().filter_map(bucket), half))
    }
}

/// The first two numbers of a line.
fn columns(line: &str) -> Option<[f64; 2]> {
    let mut words = line.split_whitespace().map(number);
    Some([words.next()??, words.next()??])
}

fn number(word: &str) -> Option<f64> {
    word.parse().ok().filter(|number: &f64| number.is_finite())
}

/// The first value of a rising histogram at which at least `rank` samples are counted; `None`
/// beyond the histogram's end.
fn at_rank(histogram: impl IntoIterator<Item = (f64, f64)>, rank: f64) -> Option<f64> {
    let mut seen = 0.0;
    let mut pairs = histogram.into_iter();
    pairs.find_map(|(value, count)| {
        seen += count;
        (seen >= rank).then_some(value)
    })
}
