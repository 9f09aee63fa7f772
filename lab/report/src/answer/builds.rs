//! Figures of the same kernel under other options of its compilers, so that a ranking says under how
//! many builds it holds. The run has them if it was asked to (`--builds`); otherwise they come from
//! `builds.toml`, a dated table, as long as its figure of the usual build is the run's.

use std::{fmt::Write, sync::LazyLock};

use serde::Deserialize;

use super::{
    ranking::{Asked, Place, Ranking},
    rule::{self, kinds, proper},
    span,
};
use chronoscope_base::toml_text::from_toml;
use chronoscope_run::{Answering, CaseResult, Run, names::COMPILED};
use chronoscope_suite::spec::VARY;

/// The builds; the first is the usual one. A kernel in Rust has the first three.
pub const BUILDS: [&str; 5] = ["fat", "cargo", "size", "c-o3", "c-lto"];

/// A figure under each of [`BUILDS`]; a build that the kernel does not have counts as the usual one.
pub type Figures = [f64; BUILDS.len()];

/// The dated table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    /// The day of the measurement, as `2026-11-28`.
    date: String,
    figure: Vec<Row>,
}

/// A figure of the table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    /// Experiment, target and label, separated by spaces.
    case: String,
    /// The series and the statistic of the row, as [`statistic`] writes them.
    statistic: String,
    /// The figures in the order of [`BUILDS`]; builds at the end that the kernel does not have are left
    /// out.
    builds: Vec<f64>,
}

static TABLE: LazyLock<Option<Table>> = LazyLock::new(|| {
    // A test reads the file.
    from_toml(include_str!("builds.toml")).ok()
});

/// The figures of a case under the builds; `value` is its figure under the usual one. `None` where
/// neither the run nor the table has them.
pub(super) fn figures(run: &Run, asked: &Asked, case: &CaseResult, value: f64) -> Option<Figures> {
    if case.parameters.contains_key(COMPILED) {
        return None;
    }
    let name = name(case);
    let measured = |build: &str| {
        let is_built = |other: &&CaseResult| {
            other.parameters.get(COMPILED).is_some_and(|own| **own == *build)
                && other.is_proven()
                && self::name(other) == name
        };
        let other = run.cases.iter().find(is_built)?;
        Some(asked.cell(other)?.0.number())
    };
    let own = BUILDS.map(measured);
    if own.iter().any(Option::is_some) {
        return Some(own.map(|figure| figure.unwrap_or(value)));
    }
    let statistic = statistic(asked);
    let is_the_runs = |row: &&Row| {
        row.case == name
            && row.statistic == statistic
            && row.builds.first().is_some_and(|usual| (usual - value).abs() < 1e-6)
    };
    let row = TABLE.as_ref()?.figure.iter().find(is_the_runs)?;
    Some(std::array::from_fn(|index| row.builds.get(index).copied().unwrap_or(value)))
}

/// The case's experiment, target and label, without the build and the start states.
fn name(case: &CaseResult) -> String {
    let label = case.label.filtered(|part| {
        part.parameter().is_none_or(|(name, _)| ![COMPILED, VARY.name].contains(&name))
    });
    format!("{} {} {label}", case.experiment, case.target).trim_end().to_owned()
}

fn statistic(asked: &Asked) -> String {
    format!("{} {}", asked.pick.series, asked.pick.statistic).trim().to_owned()
}

/// The figures of a case in the dated table, which names it by experiment, target and label; the
/// usual build first. `None` if the table does not have it.
pub fn kept(case: &str) -> Option<&'static [f64]> {
    let row = TABLE.as_ref()?.figure.iter().find(|row| row.case == case)?;
    Some(&row.builds)
}

/// The table of a run with every build, as the file `builds.toml` has it: a figure of each case that
/// a row of the study picks.
pub fn table(runs: &[Run], date: &str) -> String {
    let mut text = format!("date = {date:?}\n");
    for run in runs {
        let rules = super::rules(run);
        for pick in &rules.rows {
            let asked = Asked::for_pick(pick);
            for case in rule::cases(pick, run) {
                let Some((usual, _)) = asked.cell(case) else { continue };
                let Some(figures) = figures(run, &asked, case, usual.number()) else { continue };
                let of = |build: &str| {
                    let has = |other: &CaseResult| {
                        other.parameters.get(COMPILED).is_some_and(|own| **own == *build)
                    };
                    run.cases.iter().any(|other| other.target == case.target && has(other))
                };
                let known = 1 + BUILDS[1..].iter().filter(|build| of(build)).count();
                if known == 1 {
                    continue;
                }
                let row = format!(
                    "\n[[figure]]\ncase = {:?}\nstatistic = {:?}\nbuilds = {:?}\n",
                    name(case),
                    statistic(&asked),
                    &figures[..known],
                );
                if !text.contains(&row) {
                    let _ = write!(text, "{row}");
                }
            }
        }
    }
    text
}

/// The first words of a sentence on the builds, with the origin of their figures: the run, or a day.
pub fn under(run: &Run) -> String {
    let is_measured = run.cases.iter().any(|case| case.parameters.contains_key(COMPILED));
    let origin = match (is_measured, &*TABLE) {
        (false, Some(table)) => format!(" of {}", table.date),
        _ => " of this run".to_owned(),
    };
    format!("Under {} builds{origin}", BUILDS.len())
}

/// How far the wins of a ranking hold under other builds, in one sentence; `None` where no row has
/// figures of other builds.
pub fn of_ranking(run: &Run, ranking: &Ranking) -> Option<String> {
    let leads: Vec<String> =
        ["thread", "process", "coroutine"].iter().filter_map(|kind| lead(ranking, kind)).collect();
    (!leads.is_empty()).then(|| format!("{}: {}.", under(run), leads.join(", ")))
}

/// The rows that the leader of a kind wins under every build.
fn lead(ranking: &Ranking, kind: &str) -> Option<String> {
    let leader = super::leader(ranking, kind)?;
    let own = ranking.columns.iter().position(|one| one.kernel == leader && one.kind == kind)?;
    let of_kind = ranking.rows.iter().filter(|row| row.timed && row.by_kind);
    let rows: Vec<_> = of_kind.filter_map(|row| row.under_builds(&ranking.columns, own)).collect();
    let is_won = |places: &&[(Place, f64); BUILDS.len()]| {
        places.iter().all(|(place, _)| *place == Place::Best)
    };
    let won = rows.iter().filter(is_won).count();
    let words = format!("of {} {} in {won} of {}", kinds(kind), proper(leader), rows.len());
    // A part of the rows would say something else than the title.
    let all = ranking.wins(leader, Some(kind))?.rows;
    (rows.len() == all).then_some(words)
}

/// The figures of a published report's rows under other builds, in one sentence; empty where no row
/// has them.
pub fn of_published(run: &Run, rules: &Answering) -> Vec<String> {
    let rows = rules.rows.iter().filter_map(|pick| {
        let case = rule::cases(pick, run).next()?;
        let asked = Asked::for_pick(pick);
        let (usual, _) = asked.cell(case)?;
        let figures = figures(run, &asked, case, usual.number())?;
        let [low, high] = [f64::min, f64::max].map(|least| figures.into_iter().reduce(least));
        let range = span::between(low?, high?, &usual.unit);
        Some(format!("{} {range}", pick.name))
    });
    let rows: Vec<String> = rows.collect();
    if rows.is_empty() {
        return Vec::new();
    }
    vec![format!("{}: {}", under(run), rows.join("; "))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use chronoscope_run::{Domain, sample};

    #[test]
    fn the_table_is_read() {
        let table: Table = from_toml(include_str!("builds.toml")).unwrap();
        assert_eq!(table.date.len(), "2026-11-28".len());
        assert!(!table.figure.is_empty());
        for row in &table.figure {
            assert!((2..=BUILDS.len()).contains(&row.builds.len()), "{}", row.case);
            assert!(row.builds.iter().all(|figure| figure.is_finite() && *figure >= 0.0));
        }
    }

    /// A run of two kernels under these builds, each with its figures.
    fn run(figures: &[(&str, &str, f64)]) -> Run {
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
            let run = run(&[
                ("a", "", 50.0),
                ("b", "", 100.0),
                ("a", "cargo", 60.0),
                ("b", "cargo", other),
                ("a", "size", 55.0),
            ]);
            let ranking = Ranking::from_run(&run, &Answering::default()).unwrap();
            assert_eq!(ranking.rows.len(), 1);
            assert_eq!(ranking.rows[0].cells[0].unwrap().value, 50.0);
            of_ranking(&run, &ranking).unwrap()
        };
        assert_eq!(words(90.0), "Under 5 builds of this run: of threads a in 1 of 1.");
        assert_eq!(words(58.0), "Under 5 builds of this run: of threads a in 0 of 1.");
    }

    #[test]
    fn figures_of_one_build_say_nothing_of_others() {
        let run = run(&[("a", "", 50.0), ("b", "", 100.0)]);
        let ranking = Ranking::from_run(&run, &Answering::default()).unwrap();
        assert_eq!(of_ranking(&run, &ranking), None);
    }
}
