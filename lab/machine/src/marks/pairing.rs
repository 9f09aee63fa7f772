//! The intervals and numbers that follow from the hits of marks.

use std::collections::HashMap;

use super::{Kind, Mark};
use crate::stream::Interval;

/// The most intervals that are open at once. Those that begin beyond count as never ended.
const MOST_OPEN: usize = 65_536;

/// The intervals, or the numbers, of all marks of one name.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The name of the marks.
    pub name: String,
    /// The kind: [`Kind::Begin`] for intervals from begin to end.
    pub kind: Kind,
    /// The intervals in the order of their ends. The length of a number is the number.
    pub intervals: Vec<Interval>,
    /// The hits of the marks: for intervals, of their begins.
    pub hits: u64,
    /// The intervals that were begun, and begun again before an end.
    pub unfinished: u64,
    /// The ends without a begin.
    pub unbegun: u64,
    /// The intervals in which the processor may have slept, in an emulator: sleep is no part of
    /// them.
    pub slept: u64,
    /// Both a begin and an end are in the program; `true` for other kinds.
    pub is_whole: bool,
}

impl Series {
    /// Intervals from begin to end, of which there is none so far.
    pub(super) fn whole(name: String) -> Self {
        Self {
            name,
            kind: Kind::Begin,
            intervals: Vec::new(),
            hits: 0,
            unfinished: 0,
            unbegun: 0,
            slept: 0,
            is_whole: true,
        }
    }

    /// Returns whether the lengths are times.
    pub fn is_time(&self) -> bool {
        self.kind != Kind::Value
    }
}

/// An interval that has begun: its series, and its id or else its thread.
type Open = (usize, Option<u64>, u64);

/// The series of a program's marks, which take in one hit after another, in the order of time.
#[derive(Default)]
pub struct Pairing {
    series: Vec<Series>,
    /// The series and the kind of each mark.
    marks: Vec<(usize, Kind)>,
    open: HashMap<Open, Since>,
    /// The last hit of each series of instants, by thread.
    last: HashMap<(usize, u64), Since>,
    sleeps: u64,
}

/// The start of an interval.
#[derive(Clone, Copy)]
struct Since {
    start: u64,
    sleeps: u64,
}

impl Pairing {
    /// The series of these marks, none of which was hit yet.
    pub fn new(marks: &[Mark]) -> Self {
        let mut pairing = Self::default();
        for mark in marks {
            let kind = if mark.kind == Kind::End { Kind::Begin } else { mark.kind };
            let found =
                pairing.series.iter().position(|one| one.name == mark.name && one.kind == kind);
            let place = found.unwrap_or(pairing.series.len());
            if found.is_none() {
                let both = |kind| marks.iter().any(|one| one.name == mark.name && one.kind == kind);
                let is_whole = kind != Kind::Begin || both(Kind::Begin) && both(Kind::End);
                pairing.series.push(Series { kind, is_whole, ..Series::whole(mark.name.clone()) });
            }
            pairing.marks.push((place, mark.kind));
        }
        pairing
    }

    /// Takes in the hit of a mark, counted from 0, by a thread, at a time not before the last one.
    /// `argument` is its id or its number. `None` if there is no such mark.
    pub fn hit(&mut self, mark: usize, thread: u64, now: u64, argument: Option<u64>) -> Option<()> {
        let (place, kind) = *self.marks.get(mark)?;
        let series = &mut self.series[place];
        let begun = Since { start: now, sleeps: self.sleeps };
        // An interval with an id may end in another thread.
        let key = (place, argument, if argument.is_some() { 0 } else { thread });
        if kind != Kind::End {
            series.hits += 1;
        }
        let since = match kind {
            Kind::Begin => {
                let is_full = self.open.len() >= MOST_OPEN && !self.open.contains_key(&key);
                if is_full || self.open.insert(key, begun).is_some() {
                    series.unfinished += 1;
                }
                return Some(());
            }
            Kind::End => {
                let since = self.open.remove(&key);
                series.unbegun += u64::from(since.is_none());
                since
            }
            Kind::Instant => self.last.insert((place, thread), begun),
            Kind::Value => {
                let length = argument.unwrap_or_default();
                series.intervals.push(Interval { start: now, length });
                return Some(());
            }
        };
        if let Some(Since { start, sleeps }) = since {
            series.slept += u64::from(sleeps != self.sleeps);
            series.intervals.push(Interval { start, length: now.saturating_sub(start) });
        }
        Some(())
    }

    /// Hits are missing from here on: what is open has no end that is known.
    pub fn break_off(&mut self) {
        for (place, _, _) in self.open.drain().map(|(key, _)| key) {
            self.series[place].unfinished += 1;
        }
        self.last.clear();
    }

    /// The processor may have slept since the last hit.
    pub fn sleep(&mut self) {
        self.sleeps += 1;
    }

    /// The series so far.
    pub(super) fn series(&self) -> &[Series] {
        &self.series
    }

    /// The number of intervals and numbers so far.
    pub fn count(&self) -> usize {
        self.series.iter().map(|series| series.intervals.len()).sum()
    }

    /// The series: intervals, then instants, then numbers. An interval that is still open is none.
    pub fn finish(self) -> Vec<Series> {
        let mut series = self.series;
        series.sort_by_key(|one| match one.kind {
            Kind::Begin | Kind::End => 0,
            Kind::Instant => 1,
            Kind::Value => 2,
        });
        series
    }
}

/// The sentences on hits that are no part of any interval.
pub fn remarks(series: &Series) -> Vec<String> {
    let Series { name, .. } = series;
    if !series.is_whole {
        return vec![format!("`{name}` has no begin or no end in the program")];
    }
    if series.hits == 0 {
        return vec![format!("`{name}` was never reached")];
    }
    let mut lines = Vec::new();
    if series.unfinished > 0 {
        let count = series.unfinished;
        lines.push(format!("`{name}` began {count} times more without an end before"));
    }
    if series.slept > 0 {
        let (slept, all) = (series.slept, series.intervals.len());
        lines.push(format!(
            "`{name}` is not judged: the processor slept in {slept} of {all} rounds, and an emulator \
             counts no sleep"
        ));
    }
    if series.unbegun > 0 {
        let count = series.unbegun;
        lines.push(format!("`{name}` ended {count} times without a begin"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(name: &str, kind: Kind) -> Mark {
        Mark { name: name.to_owned(), kind, address: 0, argument: None }
    }

    /// The intervals of the only series after these hits: mark, thread, time, id.
    fn paired(marks: &[Mark], hits: &[(usize, u64, u64, Option<u64>)]) -> Series {
        let mut pairing = Pairing::new(marks);
        for (mark, thread, now, argument) in hits {
            pairing.hit(*mark, *thread, *now, *argument).unwrap();
        }
        pairing.finish().remove(0)
    }

    fn lengths(series: &Series) -> Vec<u64> {
        series.intervals.iter().map(|interval| interval.length).collect()
    }

    #[test]
    fn an_end_belongs_to_the_last_begin_of_its_thread() {
        let marks = [mark("loop", Kind::Begin), mark("loop", Kind::End)];
        let hits = [
            (1, 7, 5, None),
            (0, 7, 10, None),
            (0, 8, 12, None),
            (0, 7, 20, None),
            (1, 8, 30, None),
            (1, 7, 50, None),
        ];
        let series = paired(&marks, &hits);
        assert_eq!(lengths(&series), [18, 30]);
        assert_eq!((series.hits, series.unfinished, series.unbegun), (3, 1, 1));
    }

    #[test]
    fn intervals_with_ids_overlap_and_end_in_any_thread() {
        let marks = [mark("request", Kind::Begin), mark("request", Kind::End)];
        let hits =
            [(0, 1, 10, Some(4)), (0, 1, 20, Some(5)), (1, 2, 25, Some(4)), (1, 2, 60, Some(5))];
        assert_eq!(lengths(&paired(&marks, &hits)), [15, 40]);
    }

    #[test]
    fn instants_and_numbers() {
        let hits = [(0, 1, 10, None), (0, 2, 15, None), (0, 1, 30, None)];
        assert_eq!(lengths(&paired(&[mark("tick", Kind::Instant)], &hits)), [20]);
        let hits = [(0, 1, 10, Some(3)), (0, 1, 11, Some(0))];
        let series = paired(&[mark("queue", Kind::Value)], &hits);
        assert_eq!((lengths(&series), series.is_time()), (vec![3, 0], false));
    }

    #[test]
    fn a_begin_that_no_mark_of_the_program_ends_is_named() {
        assert!(!paired(&[mark("loop", Kind::Begin)], &[(0, 1, 10, None)]).is_whole);
    }

    #[test]
    fn what_never_ends_takes_no_more_memory_than_its_bound() {
        let marks = [mark("request", Kind::Begin), mark("request", Kind::End)];
        let mut pairing = Pairing::new(&marks);
        for id in 0..MOST_OPEN as u64 + 10 {
            pairing.hit(0, 1, id, Some(id)).unwrap();
        }
        assert_eq!((pairing.open.len(), pairing.finish()[0].unfinished), (MOST_OPEN, 10));
    }
}
