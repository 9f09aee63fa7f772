//! The marks of a program while it runs, as lines for a terminal: the longest round so far, the
//! rounds over the bound, and how many rounds were how long.

use std::collections::BTreeMap;

use super::{Kind, Pairing};
use chronoscope_units::{ladder::Ladder, show};

/// The length of a bar in characters.
const BAR: usize = 40;

/// One series, as far as it was counted. Each interval is counted once, however often the lines are
/// made.
#[derive(Default)]
pub struct View {
    /// The longest length that is allowed, by the name of the series, in ns.
    bounds: BTreeMap<String, f64>,
    ladder: Option<Ladder>,
    longest: f64,
    over: u64,
    counted: usize,
}

impl View {
    /// A view with the longest lengths that are allowed, by the name of the series, in ns.
    pub fn new(bounds: BTreeMap<String, f64>) -> Self {
        Self { bounds, ..Self::default() }
    }

    /// Counts the intervals that are new, of the first series with a bound, or else of the first of
    /// times, and returns the lines; none without a series. `tick` is the length of a tick of times,
    /// in ns.
    pub fn lines(&mut self, pairing: &Pairing, tick: f64) -> Vec<String> {
        let all = pairing.series();
        let bounded = all.iter().find(|series| self.bounds.contains_key(&series.name));
        let time = || all.iter().find(|series| series.kind == Kind::Begin);
        let Some(series) = bounded.or_else(time).or_else(|| all.first()) else {
            return Vec::new();
        };
        let unit = if series.is_time() { "ns" } else { "" };
        let bound = self.bounds.get(&series.name).copied();
        let ladder = self.ladder.get_or_insert_with(|| Ladder::new(bound));
        let tick = if series.is_time() { tick } else { 1.0 };
        for interval in &series.intervals[self.counted..] {
            let length = interval.length as f64 * tick;
            ladder.add(length, 1);
            self.longest = self.longest.max(length);
            self.over += u64::from(bound.is_some_and(|bound| length > bound));
        }
        self.counted = series.intervals.len();
        let over = bound.map_or_else(String::new, |bound| {
            format!("; {} of {} rounds over {}", self.over, self.counted, show(bound, unit))
        });
        let first = match self.counted {
            0 => format!("{}: no round so far", series.name),
            _ => format!("{}: worst so far {}{over}", series.name, show(self.longest, unit)),
        };
        let rungs = ladder.rungs();
        let most = rungs.iter().map(|rung| rung.count).max().unwrap_or(1);
        let rows = rungs.iter().map(|rung| {
            let (side, sign) = rung.signs();
            let bar = sign.repeat(rung.bar(most, BAR));
            format!("{:>8} {side} {bar:BAR$}  {:>9}", show(rung.from, unit), rung.count)
        });
        let last = "Ctrl-C ends it: answer, page and run are kept".to_owned();
        [first].into_iter().chain(rows).chain([last]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{super::Mark, *};

    #[test]
    fn each_round_is_counted_once_and_the_late_ones_stand_apart() {
        let mark = |kind| Mark { name: "loop".to_owned(), kind, address: 0, argument: None };
        let mut pairing = Pairing::new(&[mark(Kind::Begin), mark(Kind::End)]);
        let mut view = View::new(BTreeMap::from([("loop".to_owned(), 500e3)]));
        assert_eq!(view.lines(&pairing, 1.0)[0], "loop: no round so far");
        let mut now = 0;
        let mut round = |pairing: &mut Pairing, length| {
            pairing.hit(0, 1, now, None).unwrap();
            now += length;
            pairing.hit(1, 1, now, None).unwrap();
        };
        round(&mut pairing, 13_000);
        round(&mut pairing, 700_000);
        view.lines(&pairing, 1.0);
        round(&mut pairing, 14_000);
        let lines = view.lines(&pairing, 1.0);
        assert_eq!(lines[0], "loop: worst so far 700 µs; 1 of 3 rounds over 500 µs");
        assert!(lines[1].starts_with("   10 µs │ █") && lines[1].ends_with(" 2"), "{lines:?}");
        let late = &lines[lines.len() - 2];
        assert!(late.starts_with("  500 µs ┃ ▓") && late.ends_with(" 1"), "{lines:?}");
    }
}
