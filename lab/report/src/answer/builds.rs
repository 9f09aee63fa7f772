//! Figures of the same kernel under other options of its compilers, so that a ranking says under how
//! many builds it holds. The run has them if it was asked to (`--builds`); otherwise they come from
//! `builds.toml`, a dated table, as long as its figure of the usual build is the run's.

use std::{fmt::Write, sync::LazyLock};

use serde::Deserialize;

use super::{asked::Asked, rule, span};
use chronoscope_base::toml_text::from_toml;
use chronoscope_run::{Answering, CaseResult, Run, names::BUILDS, names::COMPILED};
use chronoscope_suite::spec::VARY;

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
        for pick in run.answering.iter().flat_map(|rules| &rules.rows) {
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
    let has = |build: &&&str| {
        let is_of = |case: &CaseResult| {
            case.is_proven() && case.parameters.get(COMPILED).is_some_and(|own| **own == ***build)
        };
        run.cases.iter().any(is_of)
    };
    match (BUILDS[1..].iter().filter(has).count(), &*TABLE) {
        (0, Some(table)) => format!("Under {} builds of {}", BUILDS.len(), table.date),
        (others, _) => format!("Under {} builds of this run", 1 + others),
    }
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
}
