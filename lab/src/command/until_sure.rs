//! `compare --until-sure`: adds pairs until every case is settled or the time limit is reached.
//! Each look at the results spends a share of the error rate, so repeated looks do not raise the
//! rate of false alarms ([`statistics::sequential`](chronoscope_statistics::sequential)).

use std::time::{Duration, Instant};

use chronoscope_engine::variant;
use chronoscope_report::{
    answer::span::count, comparison, comparison::CompareOptions, comparison::Finding,
    comparison::Line, comparison::Pair,
};
use chronoscope_run::CaseResult;
use chronoscope_statistics::sequential;
use chronoscope_units::rough_time;

/// A comparison that measures more pairs while a case is not settled.
pub struct UntilSure<'a> {
    pairs: &'a [variant::Pair],
    options: CompareOptions<'a>,
    limit: Duration,
    start: Instant,
    looks: usize,
    /// The lines of each pair, from the look that settled it or from the last look.
    lines: Vec<Vec<Line>>,
    /// The most repetitions of any case, in A or in B.
    repetitions: usize,
}

impl<'a> UntilSure<'a> {
    /// Starts a comparison; `limit` counts from now.
    pub fn new(pairs: &'a [variant::Pair], options: CompareOptions<'a>, limit: Duration) -> Self {
        let lines = pairs.iter().map(|_| Vec::new()).collect();
        Self { pairs, options, limit, start: Instant::now(), looks: 0, lines, repetitions: 0 }
    }

    /// Judges the results, which are A and B of each pair in turn. Returns the number of
    /// repetitions that each case is to reach next, in the same order. Returns an empty list if
    /// every case is settled or the time limit is reached.
    pub fn look(&mut self, results: &[CaseResult]) -> Vec<usize> {
        self.looks += 1;
        let sides = || results.chunks_exact(2);
        let pairs: Vec<Pair<'_>> = self
            .pairs
            .iter()
            .zip(sides())
            .map(|(pair, sides)| Pair { label: pair.label.clone(), a: &sides[0], b: &sides[1] })
            .collect();
        let options = CompareOptions { look: Some(self.looks), ..self.options };
        for (kept, found) in self.lines.iter_mut().zip(comparison::compare_each(&pairs, &options)) {
            if !is_settled(kept) {
                *kept = found;
            }
        }
        let most = results.iter().map(|case| case.repetitions).max();
        self.repetitions = most.unwrap_or_default();
        if self.lines.iter().all(|lines| is_settled(lines)) || self.start.elapsed() >= self.limit {
            return Vec::new();
        }
        let goals = sides().zip(&self.lines).flat_map(|(sides, lines)| {
            let now = sides[0].repetitions.max(sides[1].repetitions);
            [if is_settled(lines) { now } else { sequential::next(now) }; 2]
        });
        goals.collect()
    }

    /// Returns the lines of all pairs, and a note on the reason for the end.
    pub fn finish(self) -> (Vec<Line>, String) {
        let end = match self.lines.iter().all(|lines| is_settled(lines)) {
            true => "every case is settled".to_owned(),
            false => format!("the limit of {} is over", rough_time(self.limit)),
        };
        let note = format!(
            "until sure: {end}, after {} and {}; intervals and tests allow for the looks and for pairs that are alike in a row",
            count(self.looks, "look"),
            count(self.repetitions, "pair")
        );
        (self.lines.into_iter().flatten().collect(), note)
    }
}

/// Returns whether the finding on a case is final: the case has lines, and none of them is
/// [`Finding::NoRegressionShown`], which further pairs can change.
fn is_settled(lines: &[Line]) -> bool {
    !lines.is_empty() && lines.iter().all(|line| line.finding != Finding::NoRegressionShown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use chronoscope_engine::{study, study::Overrides, variant::Variant};
    use chronoscope_machine::Machines;
    use chronoscope_report::{comparison::History, comparison::StatisticChoice};
    use chronoscope_run::sample;

    /// A case whose repetitions have medians around 1000 × `scale`, up to half the share `scatter`
    /// away.
    fn case(repetitions: usize, scale: f64, scatter: f64) -> CaseResult {
        let mut case = sample::case("switch", "tasks=2");
        let first = case.series[0].by_repetition[0];
        let each = (0..repetitions).map(|index| {
            // Scattered, and different in each repetition.
            let place = (index * 7 % 11) as f64 / 11.0 - 0.45;
            let p50 = 1000.0 * scale * (1.0 + scatter * place);
            chronoscope_run::Repetition { p50, p99: None, p999: None, ..first }
        });
        case.series[0].by_repetition = each.collect();
        case.repetitions = repetitions;
        case
    }

    #[test]
    fn only_open_cases_get_more_pairs_until_none_is_open_or_the_time_is_over() {
        let text =
            "name = 'x'\ntitle = ''\n[[case]]\nexperiment = 'switch'\nset = { tasks = [2, 5] }";
        let variant = |text: &str| text.parse::<Variant>().unwrap();
        let (a, b) = (variant("linux@host"), variant("linux@host,pad=5"));
        let study = study::parse(text).unwrap();
        let pairs =
            variant::pairs(&Machines::default(), &study, &a, &b, &Overrides::default()).unwrap();
        assert_eq!(pairs.len(), 2);
        let (judge, history) = (StatisticChoice::default(), History::default());
        let options = CompareOptions {
            interleaved: true,
            threshold: 0.05,
            judge: &judge,
            history: &history,
            conditions: &[],
            look: None,
            in_turn: &|_, _| None,
        };
        let slower = |repetitions| [case(repetitions, 1.0, 0.01), case(repetitions, 1.5, 0.02)];
        let open = |repetitions| [case(repetitions, 1.0, 0.01), case(repetitions, 1.0, 0.5)];
        let mut until_sure = UntilSure::new(&pairs, options, Duration::from_secs(3600));
        assert_eq!(until_sure.look(&[slower(10), open(10)].concat()), [10, 10, 15, 15]);
        assert_eq!(until_sure.look(&[slower(10), open(15)].concat()), [10, 10, 22, 22]);
        assert!(until_sure.look(&[slower(10), slower(22)].concat()).is_empty());
        let (lines, note) = until_sure.finish();
        assert!(lines.iter().all(|line| line.finding == Finding::Regression), "{lines:?}");
        assert!(note.contains("every case is settled, after 3 looks and 22 pairs"), "{note}");
        let mut until_sure = UntilSure::new(&pairs, options, Duration::ZERO);
        assert!(until_sure.look(&[slower(10), open(10)].concat()).is_empty());
        let (lines, note) = until_sure.finish();
        assert_eq!(lines[1].finding, Finding::NoRegressionShown);
        assert!(note.contains("the limit of 0 s is over, after 1 look and 10 pairs"), "{note}");
    }
}
