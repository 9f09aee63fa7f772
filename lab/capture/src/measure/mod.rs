//! Measures of edges while a source is read: the request, the rows of the answer and their error
//! bounds. The module knows channels and times, not experiments.
//!
//! In a sampled capture an edge is up to one sample period late. A time between two edges is
//! therefore off by less than one period either way; the change from one period of the signal to
//! the next, which involves three edges, by less than two.

use anyhow::{Result, bail, ensure};
use chronoscope_units::OneLine;
use serde::Serialize;

use super::{
    flow::{Edge, Header, Sampling, Sink, Source},
    meter::{Latency, PARTS, Pin},
    names::find,
};
pub use super::{
    request::{Measure, Request, Trigger},
    tally::Statistics,
};

/// The most rows of one file; each may take 2 MB of memory.
const MOST_ROWS: usize = 64;

/// A measure's row in the answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The channel's name, or the two edges of a latency.
    pub channel: OneLine,
    /// The name of the measure, as on the command line, or `latency`.
    pub measure: &'static str,
    /// The unit of the figures: `ns` or `%`.
    pub unit: &'static str,
    /// The bound of a value's error either way, in the row's unit: 0 for an exact capture, `None`
    /// if the sampling rate is unknown.
    pub error: Option<f64>,
    /// The figures, in the row's unit.
    #[serde(flatten)]
    pub statistics: Statistics,
    /// For a latency, the number of starts that came before an earlier one had its end; such starts
    /// are not measured. Otherwise 0.
    pub unanswered: u64,
}

/// The measures of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Analysis {
    /// The header, with the requested sampling rate if the file states none.
    pub header: Header,
    /// The time from the first known levels to the last, in ns.
    pub length: f64,
    /// A row for each requested measure; the latency's row is the first.
    pub rows: Vec<Row>,
    /// The number of pulses that fell between two samples of the virtual analyser.
    pub unseen: u64,
}

/// Reads a source to its end and measures the requested channels.
///
/// # Errors
/// If the source is malformed, a channel is not in it, or the request makes more than 64 rows.
pub fn analyse(source: &mut dyn Source, request: &Request) -> Result<Analysis> {
    let header = source.header().sampled(request.sampled);
    let place = |name: &String| find(name, header.channels.iter());
    let pins: Vec<usize> = match (request.channels.as_slice(), &request.latency) {
        ([], Some(_)) => Vec::new(),
        ([], None) => (0..header.channels.len()).collect(),
        (named, _) => named.iter().map(place).collect::<Result<_>>()?,
    };
    ensure!(!header.channels.is_empty(), "it has no channel of one bit");
    let rows = pins.len() * request.measures.len();
    ensure!(
        rows <= MOST_ROWS,
        "it has {} channels, which would make {rows} rows, and {MOST_ROWS} are the most: name some, --channel {}",
        header.channels.len(),
        header.channels.iter().take(2).collect::<Vec<_>>().join(",")
    );
    let mut wanted = pins.clone();
    let mut latency = None;
    if let Some((start, end)) = &request.latency {
        let overlap = start.level.is_none() || end.level.is_none() || start.level == end.level;
        if start.channel == end.channel && overlap {
            bail!(
                "an edge of {start} is one of {end} too: for the time from one to the next, --measure period or edges"
            );
        }
        wanted.extend([place(&start.channel)?, place(&end.channel)?]);
        let places = [wanted.len() - 2, wanted.len() - 1];
        latency = Some(Latency::new([(places[0], start.level), (places[1], end.level)]));
    }
    let pins = pins.iter().map(|_| Pin::new(&request.measures)).collect();
    let mut meter = Meter { pins, latency, start: 0, end: 0 };
    source.read(&wanted, &mut meter)?;
    let length = header.tick.ns(meter.end - meter.start);
    let rows = meter.rows(&header, &wanted, request);
    Ok(Analysis { header, length, rows, unseen: source.unseen() })
}

/// A sink that feeds all requested measures at once.
struct Meter {
    pins: Vec<Pin>,
    latency: Option<Latency>,
    start: u64,
    end: u64,
}

impl Sink for Meter {
    fn begin(&mut self, start: u64, _: &[bool]) -> Result<()> {
        self.start = start;
        Ok(())
    }

    fn edge(&mut self, edge: Edge) -> Result<()> {
        if let Some(pin) = self.pins.get_mut(edge.channel) {
            pin.edge(edge.at, edge.level);
        } else if let Some(latency) = &mut self.latency {
            latency.edge(edge);
        }
        Ok(())
    }

    fn end(&mut self, end: u64) -> Result<()> {
        self.end = end;
        Ok(())
    }
}

impl Meter {
    fn rows(self, header: &Header, wanted: &[usize], request: &Request) -> Vec<Row> {
        let sample = match header.sampling {
            Sampling::Exact => Some(0.0),
            Sampling::At(hertz) => Some(1e9 / hertz as f64),
            Sampling::Unknown => None,
        };
        let ns = |ticks: u64| header.tick.ns(ticks);
        let mut rows = Vec::new();
        if let (Some(latency), Some((start, end))) = (self.latency, &request.latency) {
            rows.push(Row {
                channel: format!("{start} → {end}").into(),
                measure: "latency",
                unit: "ns",
                error: sample,
                unanswered: latency.unanswered(),
                statistics: latency.tally.finish(ns),
            });
        }
        for (mut pin, place) in self.pins.into_iter().zip(wanted) {
            let shortest = pin.shortest.map(ns);
            for measure in &request.measures {
                let Some(tally) = pin.tallies[measure.place()].take() else { continue };
                let (statistics, error) = match measure {
                    Measure::Duty => {
                        // The share of the shortest period that a sample takes, in percent.
                        let error = sample.map(|sample| {
                            shortest.map_or(0.0, |shortest| 100.0 * sample / shortest)
                        });
                        (tally.finish(|parts| parts as f64 * 100.0 / PARTS as f64), error)
                    }
                    Measure::Jitter => (tally.finish(ns), sample.map(|sample| 2.0 * sample)),
                    _ => (tally.finish(ns), sample),
                };
                let channel = header.channels[*place].into();
                rows.push(Row {
                    channel,
                    measure: measure.name(),
                    unit: measure.unit(),
                    error,
                    statistics,
                    unanswered: 0,
                });
            }
        }
        rows
    }
}

#[cfg(test)]
mod tests;
