//! The instruction at which a round begins.

use std::collections::BTreeMap;

use anyhow::{Result, bail, ensure};
use chronoscope_suite::wire::{self, Record, Role};

use crate::stream::frames;

/// The starts of a stream's first measured series.
pub enum Starts {
    /// The times, counted from the first one.
    Of(Vec<i64>),
    /// The image refuses the request.
    Refused(String),
}

pub fn starts(stream: &[u8]) -> Result<Starts> {
    let mut measured = None;
    let mut starts = Vec::new();
    let mut time = 0_i64;
    for mut frame in frames(stream)? {
        match wire::decode(&mut frame) {
            Ok(Record::Series(series)) if measured.is_none() && series.role == Role::Measured => {
                measured = Some(series.id);
            }
            Ok(Record::Samples(samples)) if measured == Some(samples.series) => {
                for sample in samples.block {
                    time += sample.gap;
                    starts.push(time);
                }
            }
            Ok(Record::Refused { what, .. }) => return Ok(Starts::Refused(what.to_owned())),
            Ok(_) => {}
            Err(_) => bail!("the stream is damaged"),
        }
    }
    ensure!(starts.len() > 2, "the experiment has no samples, so no round");
    let first = starts[0];
    Ok(Starts::Of(starts.into_iter().map(|start| start - first).collect()))
}

/// The address of the load at which most samples start.
pub fn mark(starts: &[i64], loads: &str) -> Result<u64> {
    let mut by_time = BTreeMap::new();
    for line in loads.lines() {
        let parts = line.split_once(" 0x");
        let parsed = parts.and_then(|(time, at)| {
            Some((time.parse::<i64>().ok()?, u64::from_str_radix(at, 16).ok()?))
        });
        let Some((time, at)) = parsed else { bail!("the loads are damaged: `{line}`") };
        by_time.insert(time, at);
    }
    let last = starts.last().copied().unwrap_or_default();
    for origin in by_time.keys().filter(|origin| by_time.contains_key(&(*origin + last))) {
        let found: Option<Vec<u64>> =
            starts.iter().map(|start| by_time.get(&(origin + start)).copied()).collect();
        let Some(found) = found else { continue };
        let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
        found.iter().for_each(|at| *counts.entry(*at).or_default() += 1);
        if let Some((at, _)) = counts.into_iter().max_by_key(|(_, count)| *count) {
            return Ok(at);
        }
    }
    bail!("the samples of the experiment do not start at reads of the clock")
}

/// The mark of the shortest round that a long one consists of, in the middle of it; `None` if it does
/// not repeat there.
pub fn inner_mark(path: &[u64]) -> Option<u64> {
    let rest = &path[path.len() / 2..];
    let repeats = |length: &usize| rest[..*length] == rest[*length..2 * *length];
    let length = (1..=rest.len() / 2).find(repeats)?;
    let round = &rest[..length];
    let once = |at: &&u64| round.iter().filter(|other| other == at).count() == 1;
    round.iter().find(once).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sample at 0 starts at the second load.
    #[test]
    fn the_mark_is_where_most_samples_start() {
        let loads = "90 0x8000500\n100 0x8000100\n140 0x8000100\n150 0x8000200\n180 0x8000100\n";
        assert_eq!(mark(&[0, 40, 50, 80], loads).unwrap(), 0x800_0100);
        assert!(mark(&[0, 41], loads).unwrap_err().to_string().contains("reads of the clock"));
        assert!(mark(&[0], "100 8000100\n").unwrap_err().to_string().contains("damaged"));
    }

    #[test]
    fn a_round_of_equal_operations_is_one_of_them() {
        let path: Vec<u64> = [7, 8].into_iter().chain([1, 2, 1, 3].repeat(20)).chain([9]).collect();
        let inner = inner_mark(&path).unwrap();
        assert!(inner == 2 || inner == 3, "{inner}");
        assert_eq!(inner_mark(&[1, 2, 3, 4, 5, 6]), None);
    }
}
