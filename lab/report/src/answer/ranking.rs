//! A ranking of kernels. Each row is an operation, each column a kernel with a kind of task, and
//! each cell is compared with the row's best. Threads are compared with threads and coroutines with
//! coroutines; a tie is no win. Figures of different machines or clocks are never in one ranking.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    rule::{self, kernel, machine},
    span,
};
use chronoscope_run::{Answering, CaseResult, Run, answer::Pick};

/// Cells that differ by less than this count as equal. Exact figures are whole numbers, and figures
/// of a wall clock are not more precise.
const TIE: f64 = 0.01;

/// A ranking.
pub struct Ranking {
    /// The kernels, each with its kinds of task.
    pub columns: Vec<Column>,
    /// The operations.
    pub rows: Vec<Row>,
}

/// A kernel with one kind of task.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The kernel, as in the name of its target.
    pub kernel: String,
    /// `thread`, `coroutine`, `process`; empty for cases without a kind of task.
    pub kind: String,
    /// Shown, not ranked.
    pub floor: bool,
    /// The kernel has several columns, so that the kind belongs to the name.
    pub several: bool,
}

/// An operation.
pub struct Row {
    /// The operation, in words.
    pub name: String,
    /// The operation's kind, such as `Wake`; empty if the rules give none.
    pub group: String,
    /// The unit of the values; may be empty.
    pub unit: String,
    /// The values are times, of which the least wins.
    pub timed: bool,
    /// The words with which a title names the subject's cost in the row.
    pub cost: String,
    /// A value for each column.
    pub values: Vec<Option<f64>>,
}

impl Row {
    /// The least value of the ranked columns.
    pub fn best(&self, columns: &[Column]) -> Option<f64> {
        let ranked = self.values.iter().zip(columns).filter(|(_, column)| !column.floor);
        ranked.filter_map(|(value, _)| *value).reduce(f64::min)
    }
}

/// Returns whether a value is as good as the best.
pub fn is_best(value: f64, best: f64) -> bool {
    value <= best * (1.0 + TIE)
}

/// The wins of a kernel: the timed rows in which it alone is best, and the rows that count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wins {
    /// The timed rows in which the kernel alone is best.
    pub won: usize,
    /// The timed rows in which the kernel is compared.
    pub rows: usize,
}

/// The kind of task of a case: `thread`, `coroutine`, `process`; empty if it has none; `None` for a
/// ring of two kinds.
fn kind(case: &CaseResult) -> Option<String> {
    let pair = case.parameters.get("pair").and_then(|pair| pair.split_once('-'));
    match (pair, case.parameters.get("kind")) {
        (Some((one, other)), _) => (one == other).then(|| one.to_owned()),
        (None, kind) => Some(kind.map_or_else(String::new, ToString::to_string)),
    }
}

impl Ranking {
    /// The ranking of a run by its rules; `None` if it has fewer than two kernels to rank.
    pub fn from_run(run: &Run, rules: &Answering) -> Option<Self> {
        let own;
        let picks = if rules.rows.is_empty() {
            own = picks(run, rules)?;
            &own
        } else {
            &rules.rows
        };
        let mut cells: Vec<Cells> = Vec::new();
        for pick in picks {
            cells.extend(Cells::for_pick(pick, run, rules));
        }
        let columns = columns(&cells, rules);
        let ranked: BTreeSet<&str> =
            columns.iter().filter(|column| !column.floor).map(|column| &*column.kernel).collect();
        if ranked.len() < 2 {
            return None;
        }
        let rows = cells.into_iter().map(|cells| cells.row(&columns)).collect();
        let mut ranking = Self { columns, rows };
        ranking.sort();
        Some(ranking)
    }

    /// The ranking of the second machine, whose figures are shown next to the first machine's;
    /// `None` if the rules name no second machine.
    pub fn beside(run: &Run, rules: &Answering) -> Option<Self> {
        let machine = (!rules.beside.is_empty()).then(|| rules.beside.clone())?;
        Self::from_run(run, &Answering { machine, ..rules.clone() })
    }

    /// The kernels in the order of their columns.
    pub fn kernels(&self) -> Vec<&str> {
        let mut kernels: Vec<&str> = self.columns.iter().map(|column| &*column.kernel).collect();
        kernels.dedup();
        kernels
    }

    /// The least value of a kernel's kinds of task in a row.
    pub fn least(&self, row: &Row, kernel: &str) -> Option<f64> {
        let own = self.columns.iter().zip(&row.values).filter(|(own, _)| own.kernel == kernel);
        own.filter_map(|(_, value)| *value).reduce(f64::min)
    }

    /// The kernel that is nearest to the best of each row, by the geometric mean.
    pub fn leader(&self) -> &str {
        self.columns.iter().find(|column| !column.floor).map_or("", |column| &column.kernel)
    }

    /// The rows that a kernel wins with any of its kinds of task.
    pub fn wins(&self, kernel: &str) -> Wins {
        self.wins_among(kernel, |_| true)
    }

    /// The rows that a kernel wins among the columns of one kind of task; `None` if no other kernel
    /// has the kind.
    pub fn wins_of_kind(&self, kernel: &str, kind: &str) -> Option<Wins> {
        let is_kind = |column: &Column| column.kind == kind && !column.floor;
        let kernels = self.columns.iter().filter(|column| is_kind(column));
        let both = kernels.clone().any(|column| column.kernel == kernel)
            && kernels.clone().any(|column| column.kernel != kernel);
        both.then(|| self.wins_among(kernel, is_kind))
    }

    fn wins_among(&self, kernel: &str, has: impl Fn(&Column) -> bool) -> Wins {
        let mut wins = Wins::default();
        for row in self.rows.iter().filter(|row| row.timed) {
            let least = |own: bool| {
                let cells = self.columns.iter().zip(&row.values).filter(|(column, _)| {
                    !column.floor && has(column) && (column.kernel == kernel) == own
                });
                cells.filter_map(|(_, value)| *value).reduce(f64::min)
            };
            if let (Some(own), Some(other)) = (least(true), least(false)) {
                wins.rows += 1;
                wins.won += usize::from(own < other && !is_best(other, own));
            }
        }
        wins
    }

    /// The subject's ratio to the best in the first row whose cost a title names, and its words.
    pub fn cost(&self, kernel: &str) -> Option<(f64, &str)> {
        let row = self.rows.iter().find(|row| !row.cost.is_empty())?;
        let own = self.least(row, kernel)?;
        let best = row.best(&self.columns).filter(|best| *best > 0.0)?;
        Some((own / best, &row.cost))
    }

    /// Orders the columns: the floor first, then kernels by the geometric mean of their ratios in
    /// timed rows; a kernel's kinds stay together, threads first.
    fn sort(&mut self) {
        let mut mean: BTreeMap<String, f64> = BTreeMap::new();
        for kernel in self.columns.iter().map(|column| column.kernel.clone()) {
            let logs: Vec<f64> = self
                .rows
                .iter()
                .filter(|row| row.timed)
                .filter_map(|row| {
                    let best = row.best(&self.columns).filter(|best| *best > 0.0)?;
                    let own = self.least(row, &kernel)?;
                    (own > 0.0).then(|| (own / best).ln())
                })
                .collect();
            let average = logs.iter().sum::<f64>() / logs.len().max(1) as f64;
            mean.insert(kernel, if logs.is_empty() { f64::INFINITY } else { average });
        }
        let mut order: Vec<usize> = (0..self.columns.len()).collect();
        order.sort_by(|one, other| {
            let key = |index: usize| {
                let column = &self.columns[index];
                (!column.floor, mean[&column.kernel], column.kind != "thread")
            };
            let ((floor, mean, kind), (floors, means, kinds)) = (key(*one), key(*other));
            floor.cmp(&floors).then(mean.total_cmp(&means)).then(kind.cmp(&kinds))
        });
        self.columns = order.iter().map(|index| self.columns[*index].clone()).collect();
        for row in &mut self.rows {
            row.values = order.iter().map(|index| row.values[*index]).collect();
        }
    }
}

/// The values of a row before the columns are known: by kernel and kind.
struct Cells {
    name: String,
    group: String,
    unit: String,
    timed: bool,
    cost: String,
    values: Vec<(String, String, f64)>,
}

impl Cells {
    /// The values of a pick; `None` if fewer than two kernels have one, or their clocks differ.
    fn for_pick(pick: &Pick, run: &Run, rules: &Answering) -> Option<Self> {
        let mut values: Vec<(String, String, f64)> = Vec::new();
        let mut unit: Option<String> = None;
        let here =
            |case: &&CaseResult| rules.machine.is_empty() || machine(case) == &*rules.machine;
        for case in rule::cases(pick, run).filter(here) {
            let Some(kind) = kind(case) else { continue };
            let Some(span) = rule::figure(pick, case, "") else { continue };
            let value = span.value.unwrap_or(span.high);
            if *unit.get_or_insert_with(|| span.unit.clone()) != span.unit {
                return None;
            }
            let kernel = kernel(case).to_owned();
            if !values.iter().any(|(own, of, _)| (own, of) == (&kernel, &kind)) {
                values.push((kernel, kind, value));
            }
        }
        let first = values.first()?.0.clone();
        values.iter().any(|(kernel, ..)| *kernel != first).then(|| Self {
            name: pick.name.to_string(),
            group: pick.group.to_string(),
            unit: unit.unwrap_or_default(),
            timed: !pick.untimed,
            cost: pick.cost.to_string(),
            values,
        })
    }

    /// The row: a value without a kind stands in all columns of its kernel, or in the first if it
    /// is no time.
    fn row(self, columns: &[Column]) -> Row {
        let value = |index: usize, column: &Column| {
            let is_first =
                columns.iter().position(|one| one.kernel == column.kernel) == Some(index);
            let of = |kind: &str| {
                let mut found = self.values.iter();
                let found = found.find(|(kernel, of, _)| (kernel, &**of) == (&column.kernel, kind));
                found.map(|(.., value)| *value)
            };
            of(&column.kind).or_else(|| of("").filter(|_| self.timed || is_first))
        };
        let values =
            columns.iter().enumerate().map(|(index, column)| value(index, column)).collect();
        let Self { name, group, unit, timed, cost, .. } = self;
        Row { name, group, unit, timed, cost, values }
    }
}

/// The columns of all rows, in the order in which kernels appear. A kernel without kinds has one.
fn columns(cells: &[Cells], rules: &Answering) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::new();
    let all = || cells.iter().flat_map(|cells| &cells.values);
    for (kernel, kind, _) in all().filter(|(_, kind, _)| !kind.is_empty()).chain(all()) {
        let known =
            |column: &Column| column.kernel == *kernel && (column.kind == *kind || kind.is_empty());
        if !columns.iter().any(known) {
            let floor = **kernel == *rules.floor && !kernel.is_empty();
            let (kernel, kind) = (kernel.clone(), kind.clone());
            columns.push(Column { kernel, kind, floor, several: false });
        }
    }
    let kernels: Vec<String> = columns.iter().map(|column| column.kernel.clone()).collect();
    for column in &mut columns {
        column.several = kernels.iter().filter(|kernel| **kernel == column.kernel).count() > 1;
    }
    // A thread comes first, which takes the values without a kind that are no times.
    columns.sort_by_key(|column| column.kind != "thread");
    columns
}

/// The rows of a run without rules: one for each experiment and label without the kind of task that
/// two kernels of one machine ran. `None` if there are two machines.
fn picks(run: &Run, rules: &Answering) -> Option<Vec<Pick>> {
    let proven = || run.cases.iter().filter(|case| case.is_proven());
    let first = machine(proven().next()?);
    if rules.machine.is_empty() && proven().any(|case| machine(case) != first) {
        return None;
    }
    let mut picks: Vec<Pick> = Vec::new();
    for case in proven() {
        let when = case.label.parameters().filter(|(name, _)| !["kind", "pair"].contains(name));
        let when = when.map(|(name, value)| (name.into(), value.into()));
        let mut pick =
            Pick { experiment: case.experiment.clone(), when: when.collect(), ..Pick::default() };
        let words = pick.when.iter().map(|(name, value)| format!(" {name}={value}"));
        pick.name = format!("{}{}", case.experiment, words.collect::<String>()).into();
        if !picks.contains(&pick) {
            picks.push(pick);
        }
    }
    Some(picks)
}

/// A cell: the amount of the best, ratios of the others, `never` for 0, and `–` for none.
pub fn cell(value: Option<f64>, best: Option<f64>, floor: bool) -> String {
    match (value, best) {
        (None, _) => "–".to_owned(),
        (Some(value), _) if floor => amount_of(value),
        (Some(0.0), _) => "never".to_owned(),
        (Some(value), Some(best)) if best > 0.0 && is_best(value, best) => {
            format!("● {}", amount_of(value))
        }
        (Some(value), Some(best)) if best > 0.0 => span::ratio(value / best),
        (Some(value), _) => amount_of(value),
    }
}

/// A value without its unit, which is in the heading.
pub fn amount_of(value: f64) -> String {
    if value.fract() == 0.0 { span::grouped(value) } else { span::amount(value, "", true) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chronoscope_run::{Domain, Unit, sample};

    /// A case in instructions with this median.
    fn case(kernel: &str, kind: &str, tasks: &str, p50: f64) -> CaseResult {
        let label = format!("pair={kind}-{kind} tasks={tasks}");
        let mut case = sample::case("switch", &label);
        case.target = format!("{kernel}@cortex-m4").into();
        case.clock.as_mut().unwrap().domain = Domain::Instructions;
        for series in &mut case.series {
            (series.unit, series.summary.p50) = (Unit::Instructions, Some(p50));
        }
        case
    }

    fn run() -> Run {
        let mut run = sample::run();
        run.cases = vec![
            case("bare", "thread", "2", 20.0),
            case("fast", "thread", "2", 40.0),
            case("fast", "coroutine", "2", 60.0),
            case("slow", "coroutine", "2", 50.0),
            case("fast", "thread", "10", 44.0),
            case("fast", "coroutine", "10", 55.0),
            case("slow", "coroutine", "10", 55.0),
            case("slow", "coroutine", "32", 55.0),
        ];
        run
    }

    #[test]
    fn like_is_compared_with_like_and_ties_are_no_wins() {
        let rules = Answering { floor: "bare".into(), ..Answering::default() };
        let ranking = Ranking::from_run(&run(), &rules).unwrap();
        let names: Vec<_> =
            ranking.columns.iter().map(|one| (&*one.kernel, &*one.kind, one.floor)).collect();
        let expected = [
            ("bare", "thread", true),
            ("fast", "thread", false),
            ("fast", "coroutine", false),
            ("slow", "coroutine", false),
        ];
        assert_eq!(names, expected);
        assert_eq!(ranking.rows.len(), 2, "32 tasks have one kernel");
        assert_eq!(ranking.leader(), "fast");
        assert_eq!(ranking.wins("fast"), Wins { won: 2, rows: 2 });
        assert_eq!(ranking.wins_of_kind("fast", "coroutine"), Some(Wins { won: 0, rows: 2 }));
        assert_eq!(ranking.wins_of_kind("slow", "coroutine"), Some(Wins { won: 1, rows: 2 }));
        assert_eq!(ranking.wins_of_kind("fast", "thread"), None);
        let first = &ranking.rows[0];
        let cells: Vec<String> = (first.values.iter().zip(&ranking.columns))
            .map(|(value, column)| cell(*value, first.best(&ranking.columns), column.floor))
            .collect();
        assert_eq!(cells, ["20", "● 40", "1.5\u{a0}×", "1.2\u{a0}×"]);
    }

    #[test]
    fn machines_and_clocks_are_never_ranked_against_each_other() {
        let mut other = run();
        other.cases[3].target = "slow@ibex".into();
        assert!(Ranking::from_run(&other, &Answering::default()).is_none());
        let mut one = run();
        one.cases.truncate(3);
        let rules = Answering { floor: "bare".into(), ..Answering::default() };
        assert!(Ranking::from_run(&one, &rules).is_none(), "the floor is no rival");
    }

    #[test]
    fn cells_say_what_cannot_be_divided() {
        assert_eq!(cell(Some(0.0), Some(0.0), false), "never");
        assert_eq!(cell(Some(119.0), Some(0.0), false), "119");
        assert_eq!(cell(None, Some(1.0), false), "–");
    }
}
