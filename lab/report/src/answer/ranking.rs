//! A ranking of kernels. Each row is an operation, each column a kernel with a kind of task. Threads
//! are compared with threads and coroutines with coroutines; a tie is no win. Figures of different
//! machines or clocks are never in one ranking.

use std::collections::BTreeSet;

use chronoscope_run::{
    Answering, CaseResult, Domain, Run, answer::Pick, names::BUILDS, names::CHIP,
};
use chronoscope_suite::spec::Decides;

use super::{
    asked::Asked,
    builds, reading,
    rule::{self, KINDS, kernel, kinds, machine, proper},
    span::{self, Span},
};

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
    /// The figure that ranks.
    pub decides: Decides,
    /// A cell for each column.
    pub cells: Vec<Option<Cell>>,
    /// The cells belong to kinds of task, which are ranked apart.
    by_kind: bool,
}

/// The figures of a kernel in an operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// The figure that ranks.
    pub value: f64,
    /// The worst beside a usual figure, the usual figure beside the worst, or the upper bound of a
    /// model.
    pub beside: Option<f64>,
    /// The bounds of a model between which every sample is; `None` for other figures.
    pub bounds: Option<(f64, f64)>,
    /// The figure that ranks, under each build; `None` where only one is known.
    pub builds: Option<builds::Figures>,
}

/// The place of a cell among those that it is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// No other cell is as good.
    Best,
    /// Equal to the best of the others.
    Equal,
    /// Another cell is better.
    Behind,
    /// Nothing to compare with.
    Alone,
    /// The bounds of a model do not decide.
    Open,
}

impl Place {
    /// The place of a value against the least of its rivals.
    fn against(value: f64, rival: f64) -> Self {
        match (is_best(value, rival), is_best(rival, value)) {
            (false, _) => Self::Behind,
            (true, true) => Self::Equal,
            (true, false) => Self::Best,
        }
    }
}

impl Row {
    /// Returns whether the row has times by a model, which are shown in µs without their unit.
    pub fn is_in_micros(&self) -> bool {
        self.unit == "ns" && self.cells.iter().flatten().any(|cell| cell.bounds.is_some())
    }

    /// The value of a column.
    pub fn value(&self, column: usize) -> Option<f64> {
        self.cells[column].map(|cell| cell.value)
    }

    /// The other ranked columns that a column is compared with.
    fn rivals<'a>(&'a self, columns: &'a [Column], own: usize) -> impl Iterator<Item = Cell> + 'a {
        let is_rival = move |(index, column): &(usize, &Column)| {
            *index != own
                && !column.floor
                && column.kernel != columns[own].kernel
                && (!self.by_kind || column.kind == columns[own].kind)
        };
        let rivals = columns.iter().enumerate().filter(is_rival);
        rivals.filter_map(|(index, _)| self.cells[index])
    }

    /// The least value of a column and its rivals.
    pub fn best(&self, columns: &[Column], own: usize) -> Option<f64> {
        let own_value = self.value(own).filter(|_| !columns[own].floor);
        let rivals = self.rivals(columns, own).map(|cell| cell.value);
        own_value.into_iter().chain(rivals).reduce(f64::min)
    }

    /// The place of a column's cell.
    pub fn place(&self, columns: &[Column], own: usize) -> Place {
        if let Some(bounds) = self.cells[own].and_then(|cell| cell.bounds) {
            return self.place_within(bounds, columns, own);
        }
        let rival = self.rivals(columns, own).map(|cell| cell.value).reduce(f64::min);
        match self.value(own).filter(|_| !columns[own].floor).zip(rival) {
            None => Place::Alone,
            Some((value, rival)) => Place::against(value, rival),
        }
    }

    /// The place of a cell with bounds: decided only where they are disjoint from the others'.
    fn place_within(&self, (low, high): (f64, f64), columns: &[Column], own: usize) -> Place {
        let rivals: Vec<(f64, f64)> =
            self.rivals(columns, own).filter_map(|cell| cell.bounds).collect();
        match () {
            () if rivals.is_empty() || columns[own].floor => Place::Alone,
            () if rivals.iter().all(|(least, _)| high < *least) => Place::Best,
            () if rivals.iter().any(|(_, most)| *most < low) => Place::Behind,
            () => Place::Open,
        }
    }

    /// The place of a column's cell under each build, and the ratio of the next to it; `None` without a
    /// rival, or where one has no figures of other builds.
    pub fn under_builds(
        &self,
        columns: &[Column],
        own: usize,
    ) -> Option<[(Place, f64); BUILDS.len()]> {
        let of = self.cells[own]?.builds?;
        let rivals: Option<Vec<builds::Figures>> =
            self.rivals(columns, own).map(|cell| cell.builds).collect();
        let rivals = rivals.filter(|rivals| !rivals.is_empty())?;
        Some(std::array::from_fn(|build| {
            let next = rivals.iter().map(|rival| rival[build]).fold(f64::INFINITY, f64::min);
            (Place::against(of[build], next), next / of[build])
        }))
    }
}

/// The bounds of a model around a case's first series; `None` for a case that ran.
fn bounds(case: &CaseResult) -> Option<(f64, f64)> {
    case.clock.as_ref().filter(|clock| clock.domain == Domain::Modelled)?;
    let series = rule::usual(case).next()?;
    Some((case.at_least(series)?.summary.min?, case.at_most(series)?.summary.max?))
}

/// Returns whether a value is as good as the best.
pub fn is_best(value: f64, best: f64) -> bool {
    value <= best * (1.0 + TIE)
}

/// The wins of a kernel: the timed comparisons in which it alone is best, and those that count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wins {
    /// The timed rows in which the kernel alone is best.
    pub won: usize,
    /// The timed rows in which the kernel is compared.
    pub rows: usize,
}

/// The kind of task of a case: `thread`, `coroutine`, `process`; empty if it has none; `None` for a
/// ring of two kinds.
pub fn kind(case: &CaseResult) -> Option<String> {
    let pair = case.parameters.get("pair").and_then(|pair| pair.split_once('-'));
    match (pair, case.parameters.get("kind")) {
        (Some((one, other)), _) => (one == other).then(|| one.to_owned()),
        (None, kind) => Some(kind.map_or_else(String::new, ToString::to_string)),
    }
}

impl Ranking {
    /// The ranking of a run by its rules; `None` if it has fewer than two kernels to rank.
    pub fn from_run(run: &Run, rules: &Answering) -> Option<Self> {
        let asked = if rules.rows.is_empty() {
            own_rows(run, rules)?
        } else {
            rules.rows.iter().map(Asked::for_pick).collect()
        };
        let found: Vec<Cells> =
            asked.into_iter().filter_map(|asked| Cells::new(asked, run, rules)).collect();
        let columns = columns(&found, rules);
        let ranked: BTreeSet<&str> =
            columns.iter().filter(|column| !column.floor).map(|column| &*column.kernel).collect();
        if ranked.len() < 2 {
            return None;
        }
        let mut rows: Vec<Row> = found.into_iter().map(|cells| cells.row(&columns)).collect();
        // Counts stand below the times.
        rows.sort_by_key(|row| !row.timed);
        Some(Self { columns, rows })
    }

    /// The ranking of the second machine, whose figures are shown next to the first machine's;
    /// `None` if the rules name no second machine.
    pub fn beside(run: &Run, rules: &Answering) -> Option<Self> {
        let machine = (!rules.beside.is_empty()).then(|| rules.beside.clone())?;
        Self::from_run(run, &Answering { machine, ..rules.clone() })
    }

    /// The comparisons that a kernel wins among tasks of one kind, or of all kinds if `kind` is
    /// `None`; `None` if it has none.
    pub fn wins(&self, kernel: &str, kind: Option<&str>) -> Option<Wins> {
        let mut wins = Wins::default();
        for (index, column) in self.columns.iter().enumerate() {
            let is_own = column.kernel == kernel && kind.is_none_or(|kind| column.kind == kind);
            // Of a row without kinds, the kernel's first column counts.
            let first = self.columns.iter().position(|one| one.kernel == kernel) == Some(index);
            let counts =
                |row: &&Row| is_own && row.timed && (row.by_kind || kind.is_none() && first);
            for row in self.rows.iter().filter(counts) {
                let place = row.place(&self.columns, index);
                wins.rows += usize::from(place != Place::Alone);
                wins.won += usize::from(place == Place::Best);
            }
        }
        (wins.rows > 0).then_some(wins)
    }

    /// The kernel that wins most timings among tasks of a kind; `None` without one, or where two win as
    /// many.
    pub fn leader(&self, kind: &str) -> Option<&str> {
        let kernels = self.columns.iter().filter(|column| !column.floor && column.kind == kind);
        let mut all: Vec<(usize, &str)> = kernels
            .filter_map(|column| {
                Some((self.wins(&column.kernel, Some(kind))?.won, &*column.kernel))
            })
            .collect();
        all.sort_by_key(|(won, _)| std::cmp::Reverse(*won));
        let (first, name) = *all.first()?;
        let is_tie = all.get(1).is_some_and(|(second, _)| *second == first);
        (first > 0 && !is_tie).then_some(name)
    }

    /// How far the wins hold under other builds, in one sentence; `None` where not all rows of a kind
    /// have figures of other builds.
    pub fn under_builds(&self, run: &Run) -> Option<String> {
        let leads: Vec<String> = KINDS.into_iter().filter_map(|kind| self.lead(kind)).collect();
        (!leads.is_empty()).then(|| format!("{}: {}.", builds::under(run), leads.join(", ")))
    }

    /// The rows that the leader of a kind wins under every build.
    fn lead(&self, kind: &str) -> Option<String> {
        let leader = self.leader(kind)?;
        let own = self.columns.iter().position(|one| one.kernel == leader && one.kind == kind)?;
        let of_kind = self.rows.iter().filter(|row| row.timed && row.by_kind);
        let rows: Vec<_> = of_kind.filter_map(|row| row.under_builds(&self.columns, own)).collect();
        let is_won = |places: &&[(Place, f64); BUILDS.len()]| {
            places.iter().all(|(place, _)| *place == Place::Best)
        };
        let won = rows.iter().filter(is_won).count();
        let words = format!("of {} {} in {won} of {}", kinds(kind), proper(leader), rows.len());
        // A part of the rows would say something else than the title.
        let all = self.wins(leader, Some(kind))?.rows;
        (rows.len() == all).then_some(words)
    }

    /// Returns whether a figure has the bounds of a model, which may leave the ranking open.
    pub fn is_modelled(&self) -> bool {
        self.rows.iter().flat_map(|row| &row.cells).flatten().any(|cell| cell.bounds.is_some())
    }

    /// The words for a kernel that wins a comparison.
    pub fn winner(&self) -> &'static str {
        if self.is_modelled() { "first whatever the bounds" } else { "fastest" }
    }

    /// Returns whether a kernel offers several kinds of task.
    pub fn has_several_kinds(&self, kernel: &str) -> bool {
        self.columns.iter().filter(|column| column.kernel == kernel).count() > 1
    }

    /// The kernel with the least value in the first row whose cost a title names, and its words;
    /// `None` where two tie.
    pub fn cheapest(&self) -> Option<(&str, &str)> {
        let row = self.rows.iter().find(|row| !row.cost.is_empty())?;
        let is_first = |index: &usize| {
            let column = &self.columns[*index];
            let others = self
                .columns
                .iter()
                .zip(&row.cells)
                .filter(|(other, _)| !other.floor && other.kernel != column.kernel);
            let own = row.cells[*index].filter(|_| !column.floor).map(|cell| cell.value);
            own.is_some_and(|own| {
                let mut values = others.filter_map(|(_, cell)| cell.map(|cell| cell.value));
                values.all(|other| !is_best(other, own))
            })
        };
        let first = (0..self.columns.len()).find(is_first)?;
        Some((&self.columns[first].kernel, &row.cost))
    }

    /// The subject's ratio to the best in the first row whose cost a title names, and its words.
    pub fn cost(&self, kernel: &str) -> Option<(f64, &str)> {
        let row = self.rows.iter().find(|row| !row.cost.is_empty())?;
        let own = self.columns.iter().position(|column| column.kernel == kernel)?;
        let best = row.best(&self.columns, own).filter(|best| *best > 0.0)?;
        Some((row.value(own)? / best, &row.cost))
    }
}

/// The cells of a row before the columns are known: by kernel and kind.
struct Cells {
    asked: Asked,
    unit: String,
    values: Vec<(String, String, Cell)>,
}

impl Cells {
    /// The cells of a row; `None` if fewer than two kernels have one, or their clocks differ.
    fn new(asked: Asked, run: &Run, rules: &Answering) -> Option<Self> {
        let mut values: Vec<(String, String, Cell)> = Vec::new();
        let mut unit: Option<(String, bool)> = None;
        let here =
            |case: &&CaseResult| rules.machine.is_empty() || machine(case) == &*rules.machine;
        for case in rule::cases(&asked.pick, run).filter(here) {
            let Some(kind) = kind(case) else { continue };
            let Some((span, beside)) = asked.cell(case) else { continue };
            // Time by a model and time by a clock have one unit.
            let own = (span.unit.clone(), bounds(case).is_some());
            if *unit.get_or_insert_with(|| own.clone()) != own {
                return None;
            }
            let bounds = bounds(case);
            let beside = beside.filter(|beside| beside.unit == span.unit);
            let beside = beside.as_ref().map(Span::number);
            // Beside a model's estimate stands the longest time that is possible.
            let beside = bounds.map(|(_, most)| most).or(beside);
            let value = span.number();
            let builds = builds::figures(run, &asked, case, value);
            let cell = Cell { value, beside, bounds, builds };
            let kernel = kernel(case).to_owned();
            if !values.iter().any(|(own, of, _)| (own, of) == (&kernel, &kind)) {
                values.push((kernel, kind, cell));
            }
        }
        let first = values.first()?.0.clone();
        let several = values.iter().any(|(kernel, ..)| *kernel != first);
        several.then(|| Self { asked, unit: unit.unwrap_or_default().0, values })
    }

    /// The row: a value without a kind stands in all columns of its kernel, or in the first if it
    /// is no time.
    fn row(self, columns: &[Column]) -> Row {
        let Self { asked: Asked { pick, decides, .. }, unit, values } = self;
        let cell = |index: usize, column: &Column| {
            let is_first =
                columns.iter().position(|one| one.kernel == column.kernel) == Some(index);
            let of = |kind: &str| {
                let mut found = values.iter();
                let found = found.find(|(kernel, of, _)| (kernel, &**of) == (&column.kernel, kind));
                found.map(|(.., cell)| *cell)
            };
            of(&column.kind).or_else(|| of("").filter(|_| !pick.untimed || is_first))
        };
        Row {
            cells: columns.iter().enumerate().map(|(index, column)| cell(index, column)).collect(),
            name: pick.name.to_string(),
            group: pick.group.to_string(),
            timed: !pick.untimed && matches!(&*unit, "ns" | "instructions" | "cycles"),
            unit,
            cost: pick.cost.to_string(),
            decides,
            by_kind: values.iter().any(|(_, kind, _)| !kind.is_empty()),
        }
    }
}

/// The columns of all rows: the floor, then the kinds of task one after the other, the kernels of a
/// kind by their names. A kernel without kinds has one column.
fn columns(cells: &[Cells], rules: &Answering) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::new();
    let all = || cells.iter().flat_map(|cells| &cells.values);
    for (kernel, kind, _) in all().filter(|(_, kind, _)| !kind.is_empty()).chain(all()) {
        let known =
            |column: &Column| column.kernel == *kernel && (column.kind == *kind || kind.is_empty());
        if !columns.iter().any(known) {
            let floor = **kernel == *rules.floor && !kernel.is_empty();
            let (kernel, kind) = (kernel.clone(), kind.clone());
            columns.push(Column { kernel, kind, floor });
        }
    }
    let order = ["thread", "process", "coroutine", ""];
    let place = |kind: &str| order.iter().position(|one| *one == kind);
    columns.sort_by_cached_key(|column| {
        (!column.floor, place(&column.kind), column.kernel.to_lowercase())
    });
    columns
}

/// The rows of a run without rules: one for each figure of each experiment, with each label without
/// the kind of task, that two kernels of one machine ran. `None` if there are two machines.
fn own_rows(run: &Run, rules: &Answering) -> Option<Vec<Asked>> {
    let proven = || rule::usual_builds(run);
    let first = machine(proven().next()?);
    if rules.machine.is_empty() && proven().any(|case| machine(case) != first) {
        return None;
    }
    let mut rows: Vec<Asked> = Vec::new();
    for case in proven() {
        let when = case.label.parameters().filter(|(name, _)| !["kind", "pair"].contains(name));
        let when = when.map(|(name, value)| (name.into(), value.into()));
        let pick =
            Pick { experiment: case.experiment.clone(), when: when.collect(), ..Pick::default() };
        // A note names the chip that a model follows, and gives its clock.
        let is_one_model = |name: &str, value: &str| {
            let has = |case: &CaseResult| case.label.parameters().any(|own| own == (name, value));
            name == CHIP && proven().all(has)
        };
        // A part of the label that all cases of the experiment share tells no row apart.
        let own = rule::label(run, case);
        let tells = |name: &str, value: &str| {
            own.parameters().any(|part| part == (name, value)) && !is_one_model(name, value)
        };
        let words = pick.when.iter().filter(|(name, value)| tells(name, value));
        let words = words.map(|(name, value)| format!(" {name}={value}"));
        let name = format!("{}{}", case.experiment, words.collect::<String>());
        let Some(reading) = reading::find(&case.experiment) else { continue };
        let asked = |words: &str, series: &str| {
            let (name, series) = (format!("{name}{words}").into(), series.into());
            Asked::for_pick(&Pick { name, series, ..pick.clone() })
        };
        let mut add = |asked: Asked| {
            if !rows.iter().any(|row| row.pick == asked.pick) {
                rows.push(asked);
            }
        };
        if rule::usual(case).nth(1).is_some() {
            rule::usual(case).for_each(|one| add(asked(&format!(" {}", one.name), &one.name)));
            continue;
        }
        add(asked("", ""));
        for (words, figure) in reading.also {
            add(asked(&format!(", {words}"), "").by(*figure));
        }
    }
    Some(rows)
}

/// A value in the unit of its row; a unit of ticks is in the heading.
pub fn amount_of(value: f64, unit: &str) -> String {
    match unit {
        "ns" => span::amount(value, unit, true),
        _ if value.fract() == 0.0 => span::grouped(value),
        _ => span::amount(value, "", true),
    }
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
        assert_eq!(ranking.wins("fast", None), Some(Wins { won: 0, rows: 2 }));
        assert_eq!(ranking.wins("slow", Some("coroutine")), Some(Wins { won: 1, rows: 2 }));
        assert_eq!(ranking.wins("fast", Some("thread")), None);
        let places = |row: usize| -> Vec<Place> {
            let columns = 0..ranking.columns.len();
            columns.map(|column| ranking.rows[row].place(&ranking.columns, column)).collect()
        };
        assert_eq!(places(0), [Place::Alone, Place::Alone, Place::Behind, Place::Best]);
        assert_eq!(places(1), [Place::Alone, Place::Alone, Place::Equal, Place::Equal]);
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
    fn the_experiment_decides_which_figure_ranks() {
        let mut run = run();
        run.cases = vec![case("quick", "thread", "2", 20.0), case("sure", "thread", "2", 40.0)];
        for (case, worst) in run.cases.iter_mut().zip([900.0, 50.0]) {
            case.experiment = "wakeup".into();
            case.series[0].summary.max = Some(worst);
        }
        let ranking = Ranking::from_run(&run, &Answering::default()).unwrap();
        let row = &ranking.rows[0];
        assert_eq!(row.decides, Decides::Worst);
        assert_eq!(row.place(&ranking.columns, 1), Place::Best, "{:?}", row.cells);
        assert_eq!(
            row.cells[0],
            Some(Cell { value: 900.0, beside: Some(20.0), bounds: None, builds: None })
        );
    }

    #[test]
    fn bounds_of_a_model_decide_only_where_they_are_apart() {
        let place = |quick: (f64, f64), sure: (f64, f64)| {
            let mut run = run();
            run.cases = vec![case("quick", "thread", "2", 20.0), case("sure", "thread", "2", 40.0)];
            for (case, (least, most)) in run.cases.iter_mut().zip([quick, sure]) {
                case.clock.as_mut().unwrap().domain = Domain::Modelled;
                let name = case.series[0].name.clone();
                for (words, value) in [("at least", least), ("at most", most)] {
                    let mut bound = case.series[0].clone();
                    bound.name = format!("{name}, {words}").into();
                    bound.role = chronoscope_run::Role::Auxiliary;
                    (bound.summary.min, bound.summary.max) = (Some(value), Some(value));
                    case.series.push(bound);
                }
            }
            let ranking = Ranking::from_run(&run, &Answering::default()).unwrap();
            [0, 1].map(|column| ranking.rows[0].place(&ranking.columns, column))
        };
        assert_eq!(place((15.0, 25.0), (30.0, 50.0)), [Place::Best, Place::Behind]);
        assert_eq!(place((15.0, 35.0), (30.0, 50.0)), [Place::Open, Place::Open]);
    }

    /// A run of two kernels under these builds, each with its figures.
    fn built(figures: &[(&str, &str, f64)]) -> Run {
        let mut run = sample::run();
        let case = |&(kernel, build, figure): &(&str, &str, f64)| {
            let label = if build.is_empty() { String::new() } else { format!(" build={build}") };
            let mut case = sample::case("switch", &format!("pair=thread-thread{label}"));
            case.target = format!("{kernel}@cortex-m4").as_str().into();
            case.clock.as_mut().unwrap().domain = Domain::Instructions;
            let series = &mut case.series[0];
            series.unit = chronoscope_run::Unit::Instructions;
            series.summary.p50 = Some(figure);
            series.by_repetition.iter_mut().for_each(|one| one.p50 = figure);
            series.histogram.clear();
            case
        };
        run.cases = figures.iter().map(case).collect();
        run
    }

    /// The sentence says what holds under every build, and the ranking is of the usual one.
    #[test]
    fn a_lead_counts_where_it_holds_under_every_build() {
        let words = |other: f64| {
            let run = built(&[
                ("a", "", 50.0),
                ("b", "", 100.0),
                ("a", "cargo", 60.0),
                ("b", "cargo", other),
                ("a", "size", 55.0),
            ]);
            let ranking = Ranking::from_run(&run, &Answering::default()).unwrap();
            assert_eq!(ranking.rows.len(), 1);
            assert_eq!(ranking.rows[0].cells[0].unwrap().value, 50.0);
            ranking.under_builds(&run).unwrap()
        };
        assert_eq!(words(90.0), "Under 3 builds of this run: of threads a in 1 of 1.");
        assert_eq!(words(58.0), "Under 3 builds of this run: of threads a in 0 of 1.");
    }

    #[test]
    fn figures_of_one_build_say_nothing_of_others() {
        let run = built(&[("a", "", 50.0), ("b", "", 100.0)]);
        let ranking = Ranking::from_run(&run, &Answering::default()).unwrap();
        assert_eq!(ranking.under_builds(&run), None);
    }
}
