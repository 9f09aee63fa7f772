//! How long a switch takes on each processor, and between each two: what `cpu=matrix` asks for. The module
//! draws nothing.

use std::collections::{BTreeMap, BTreeSet};

use chronoscope_run::{CaseResult, Run, Statistic};
use chronoscope_suite::experiments::switch;

use super::span::{Span, amount};

/// The parameter that tells the cases apart.
const CPU: &str = "cpu";

/// The steps of darkness of a cell, of which the last is the longest time.
const STEPS: usize = 5;

/// The medians of switches on processors and between them.
pub struct Matrix {
    /// The processors, in ascending order.
    pub cpus: Vec<usize>,
    /// The median of each pair, the lower number first; on one processor both are the same.
    cells: BTreeMap<(usize, usize), Span>,
    /// The least and the greatest median.
    range: [f64; 2],
}

impl Matrix {
    /// The matrix of a run whose cases differ in their one or two processors alone. `None` for another run,
    /// or without a pair of two processors.
    pub fn from_run(run: &Run) -> Option<Self> {
        let first = run.cases.first()?;
        let is_alike = |case: &CaseResult| {
            let others = |case: &CaseResult| {
                let mut parameters = case.parameters.clone();
                parameters.remove(CPU);
                parameters
            };
            case.experiment == switch::SPEC.name
                && case.target == first.target
                && others(case) == others(first)
        };
        let pairs: Option<Vec<_>> = run.cases.iter().map(pair).collect();
        let pairs = pairs.filter(|_| run.cases.iter().all(is_alike))?;
        let is_of_two = |(one, other): &&(usize, usize)| one != other;
        pairs.iter().find(is_of_two).filter(|_| run.cases.len() > 1)?;
        let cpus: BTreeSet<usize> = pairs.iter().flat_map(|&(one, other)| [one, other]).collect();
        // A matrix has nearly all pairs; a picture of a few pairs among very many processors shows nothing.
        let room = cpus.len().saturating_mul(cpus.len()) / 2;
        if cpus.len() > 64 && room > 4 * run.cases.len() {
            return None;
        }
        let cells = run.cases.iter().zip(&pairs).filter(|(case, _)| case.is_proven());
        let cells: BTreeMap<_, _> =
            cells.filter_map(|(case, &pair)| Some((pair, median(case)?))).collect();
        let range = range(cells.values().map(Span::number));
        let matrix = Self { cpus: cpus.into_iter().collect(), cells, range };
        matrix.nearest()?;
        Some(matrix)
    }

    /// The finding, in one sentence.
    pub fn title(&self) -> String {
        let on_one = |pair: &(usize, usize)| pair.0 == pair.1;
        let alone =
            self.cells.iter().filter(|(pair, _)| on_one(pair)).map(|(_, span)| span.clone());
        let alone = alone.reduce(|one, other| one.clone().and(&other).unwrap_or(one));
        let alone = alone.map(|span| format!("; on one {}", span.words()));
        let alone = alone.unwrap_or_default();
        let Some(((one, other), nearest)) = self.nearest() else { return String::new() };
        let among = self.cells.keys().filter(|pair| !on_one(pair)).count();
        match self.farthest().filter(|_| among > 1) {
            None => format!(
                "Between processors {one} and {other} a switch takes {}{alone}",
                nearest.words()
            ),
            Some(((from, to), farthest)) => format!(
                "Between processors a switch takes {} ({one} and {other}) to {} ({from} and {to}){alone}",
                nearest.words(),
                farthest.words(),
            ),
        }
    }

    fn nearest(&self) -> Option<((usize, usize), &Span)> {
        self.between().min_by(|(_, one), (_, other)| one.number().total_cmp(&other.number()))
    }

    fn farthest(&self) -> Option<((usize, usize), &Span)> {
        self.between().max_by(|(_, one), (_, other)| one.number().total_cmp(&other.number()))
    }

    /// The pairs of two processors.
    fn between(&self) -> impl Iterator<Item = ((usize, usize), &Span)> {
        self.cells.iter().filter(|((one, other), _)| one != other).map(|(&pair, span)| (pair, span))
    }

    /// The median between two processors with its unit; `None` where the case has no evidence.
    pub fn median(&self, one: usize, other: usize) -> Option<String> {
        let span = self.cells.get(&(one.min(other), one.max(other)))?;
        Some(amount(span.number(), &span.unit, span.exact))
    }

    /// The darkness of a cell, as [`darkness`] gives it among all medians.
    pub fn step(&self, one: usize, other: usize) -> Option<usize> {
        let number = self.cells.get(&(one.min(other), one.max(other)))?.number();
        Some(darkness(number, self.range))
    }
}

/// The step of darkness of a value, below 5, in equal steps of the logarithm from the least value of
/// a range, which is above 0, to the greatest: nearly equal values look equal.
pub fn darkness(value: f64, [low, high]: [f64; 2]) -> usize {
    let share = if high > low { (value.max(low) / low).ln() / (high / low).ln() } else { 0.0 };
    (share * (STEPS - 1) as f64).round() as usize
}

/// The least and the greatest of the values above 0.
pub fn range(values: impl Iterator<Item = f64>) -> [f64; 2] {
    let above = values.filter(|value| *value > 0.0);
    above.fold([f64::INFINITY, 0.0], |[low, high], value| [low.min(value), high.max(value)])
}

/// The processors of a case: two, or one twice; `None` for `free` and for more.
fn pair(case: &CaseResult) -> Option<(usize, usize)> {
    let text = case.parameters.get(CPU)?;
    let (one, other) = text.split_once('+').unwrap_or((text, text));
    Some((one.parse().ok()?, other.parse().ok()?))
}

fn median(case: &CaseResult) -> Option<Span> {
    Span::of_series(case.measured().next()?, Statistic::find("p50")?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use chronoscope_run::sample;

    fn case(cpu: &str, p50: f64) -> CaseResult {
        let mut case = sample::case("switch", &format!("cpu={cpu}"));
        case.parameters.insert(CPU.into(), cpu.into());
        for series in &mut case.series {
            series.summary.p50 = Some(p50);
            series.by_repetition.clear();
        }
        case
    }

    fn run() -> Run {
        let mut run = sample::run();
        run.cases = vec![
            case("0", 1_000.0),
            case("0+1", 2_000.0),
            case("0+2", 8_000.0),
            case("1", 1_000.0),
            case("1+2", 4_000.0),
            case("2", 1_000.0),
        ];
        run
    }

    #[test]
    fn the_nearest_and_the_farthest_pair_are_named() {
        let matrix = Matrix::from_run(&run()).unwrap();
        assert_eq!(matrix.cpus, [0, 1, 2]);
        let title = matrix.title().replace('\u{a0}', " ");
        let expected =
            "Between processors a switch takes 2 µs (0 and 1) to 8 µs (0 and 2); on one 1 µs";
        assert_eq!(title, expected);
        assert_eq!(matrix.median(2, 0), matrix.median(0, 2));
        let steps = [(0, 0), (0, 1), (1, 2), (0, 2)].map(|(one, other)| matrix.step(one, other));
        assert_eq!(steps, [Some(0), Some(1), Some(3), Some(4)]);
    }

    #[test]
    fn few_pairs_of_very_many_processors_are_none() {
        let is_some = |pairs: usize| {
            let cpu = |at: usize| format!("{}+{}", 2 * at, 2 * at + 1);
            let mut run = sample::run();
            run.cases = (0..pairs).map(|at| case(&cpu(at), 1_000.0)).collect();
            Matrix::from_run(&run).is_some()
        };
        assert_eq!([32, 33].map(is_some), [true, false], "64 and 66 processors");
    }

    #[test]
    fn other_runs_are_none() {
        let is_none = |change: fn(&mut Run)| {
            let mut run = run();
            change(&mut run);
            Matrix::from_run(&run).is_none()
        };
        assert!(!is_none(|_| ()));
        assert!(is_none(|run| run.cases.retain(|case| pair(case).is_some_and(|(a, b)| a == b))));
        assert!(is_none(|run| run.cases[0].experiment = "period".into()));
        assert!(is_none(|run| run.cases[0].target = "freertos@cortex-m4".into()));
        assert!(is_none(|run| drop(run.cases[0].parameters.insert(CPU.into(), "free".into()))));
        assert!(is_none(|run| drop(run.cases[0].parameters.insert("pad".into(), "7".into()))));
        assert!(is_none(|run| run.cases.clear()));
    }
}
