//! The benchmark of tandem: compares its rows with the tables of `docs/tandem.md`, which have goals, and
//! figures of hand-written code and of other kernels.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};

use super::{chip::Chip, emulate::emulate};
use crate::repository::{self, root};

/// The chips with a table of costs, and the table's heading.
const TABLES: [(&str, &str); 2] = [("cortex-m4", GOALS), ("rv32", FIGURES)];

/// The table with goals, rows by hand and other kernels.
pub const GOALS: &str =
    "| from mark to mark | instructions | goal | by hand | ChibiOS | ThreadX | FreeRTOS |";

/// The table of figures alone.
const FIGURES: &str = "| from mark to mark | instructions | Cortex-M4F |";

/// The instructions by which a cost may exceed the page's figure: another compiler of the same
/// release places a few of them elsewhere.
pub const SLACK: u32 = 3;

/// The prefix of the rows of a build with time slices.
pub const SLICES: &str = "time slices: ";

/// The prefix of the rows of a build without guards. Their figures of other kernels repeat those beside the
/// rows with guards.
const UNGUARDED: &str = "without guards: ";

/// The prefix that names a row's build; empty for the usual one.
fn build_of(name: &str) -> &'static str {
    [SLICES, UNGUARDED].into_iter().find(|build| name.starts_with(build)).unwrap_or_default()
}

/// Runs the benchmark, prints its rows, and compares them with the chip's table, if it is among
/// [`TABLES`]. The rows by hand, if the chip has them, run first.
pub fn run(chip: &Chip) -> Result<()> {
    let by_hand =
        if chip.name == "cortex-m4" { image(chip, "release/by_hand")? } else { String::new() };
    let output = image(chip, "release/benchmark")?;
    let rows: Vec<Row> = output
        .lines()
        .filter_map(|line| Row::parse(line, &by_hand).transpose())
        .collect::<Result<_>>()?;
    rows.iter().for_each(|row| println!("{}", row.line()));
    let Some((_, heading)) = TABLES.iter().find(|table| table.0 == chip.name) else {
        return Ok(());
    };
    let page = repository::read(&root().join("docs/tandem.md"))?;
    compare(&rows, &page, heading)
}

fn image(chip: &Chip, image: &str) -> Result<String> {
    let (status, output) = emulate(chip, image)?;
    ensure!(status.success(), "{image} ended with {status} and printed:\n{output}");
    Ok(output)
}

/// A row that the benchmark has printed.
#[derive(Debug, PartialEq)]
struct Row {
    name: String,
    goal: Option<u32>,
    median: u32,
    by_hand: Option<u32>,
    /// The rest of the line: the least and the most, and the benchmark's verdict and peers.
    rest: String,
}

impl Row {
    /// Reads `NAME goal GOAL median MEDIAN REST`, and the line `NAME by hand N` of another output.
    fn parse(line: &str, by_hand: &str) -> Result<Option<Self>> {
        let Some((name, rest)) = line.split_once(" goal ") else { return Ok(None) };
        let (goal, rest) =
            rest.split_once(" median ").with_context(|| format!("no row: {line}"))?;
        let (median, rest) = rest.trim_start().split_once(' ').unwrap_or((rest.trim_start(), ""));
        let name = name.trim_end();
        let by_hand = by_hand.lines().find_map(|line| {
            let (its, figure) = line.split_once(" by hand ")?;
            (its.trim_end() == name).then(|| figure.trim().parse())
        });
        Ok(Some(Self {
            name: name.to_owned(),
            goal: goal.trim().parse().ok(),
            median: median.parse().with_context(|| format!("no row: {line}"))?,
            by_hand: by_hand.transpose().with_context(|| format!("{name}: no figure by hand"))?,
            rest: rest.trim().to_owned(),
        }))
    }

    fn is_missed(&self) -> bool {
        self.goal.is_some_and(|goal| self.median > goal)
    }

    /// The row as a line, with its figure by hand, if it has one: as a bound, where that exceeds the goal.
    fn line(&self) -> String {
        let goal = self.goal.map_or("-".to_owned(), |goal| goal.to_string());
        let bound = match (self.by_hand, self.goal) {
            (Some(bound), Some(goal)) if bound > goal => format!("; bound {bound} > goal {goal}"),
            (Some(bound), _) => format!("; by hand {bound}"),
            (None, _) => String::new(),
        };
        let Self { name, median, rest, .. } = self;
        format!("{name:<44} goal {goal:>4}  median {median:>4}  {rest}{bound}")
    }

    /// The cells of the table with goals, without the name and the figure.
    fn cells(&self) -> Vec<String> {
        let dash = || "–".to_owned();
        let verdict = if self.is_missed() { ", missed" } else { "" };
        let goal = self.goal.map_or_else(dash, |goal| format!("≤ {goal}{verdict}"));
        let by_hand = self.by_hand.map_or_else(dash, |bound| bound.to_string());
        let peer = |name: &&str| {
            let behind = self.rest.split_once(&format!("{name} "))?.1;
            Some(behind.split(',').next()?.trim().to_owned())
        };
        let peers = ["ChibiOS", "ThreadX", "FreeRTOS"];
        [goal, by_hand]
            .into_iter()
            .chain(peers.iter().map(|name| peer(name).unwrap_or_else(dash)))
            .collect()
    }
}

/// The cells of the lines of the page's table with this heading. The first and the last are empty.
fn table<'page>(page: &'page str, heading: &str) -> Vec<Vec<&'page str>> {
    let table = page.lines().skip_while(|line| *line != heading).skip(2);
    let table = table.take_while(|line| line.starts_with('|'));
    table.map(|line| line.split('|').map(str::trim).collect()).collect()
}

/// The figures of another kernel in the table with goals, by the name of the row: with guards of
/// stacks, and without.
///
/// # Errors
/// The table has no such column, or a cell that is no pair of figures.
pub fn peers(page: &str, kernel: &str) -> Result<BTreeMap<String, [u32; 2]>> {
    let column = GOALS.split('|').position(|cell| cell.trim() == kernel);
    let column = column.with_context(|| format!("docs/tandem.md has no column {kernel}"))?;
    let table = table(page, GOALS);
    let known =
        table.iter().filter(|cells| cells[column] != "–" && build_of(cells[1]) != UNGUARDED);
    known
        .map(|cells| {
            let pair = cells[column].split_once(" / ");
            let pair = pair.and_then(|(one, other)| Some([one.parse().ok()?, other.parse().ok()?]));
            let pair = pair.with_context(|| format!("{}: no pair of figures", cells[1]))?;
            Ok((cells[1].to_owned(), pair))
        })
        .collect()
}

/// Compares rows with the page's table of this heading. A table of goals has exactly the rows of the
/// benchmark; a table of figures may lack some.
fn compare(rows: &[Row], page: &str, heading: &str) -> Result<()> {
    let table = table(page, heading);
    let mut compared = 0;
    for row in rows {
        let Some(cells) = table.iter().find(|cells| cells[1] == row.name) else {
            ensure!(heading != GOALS, "docs/tandem.md has no row {}", row.name);
            continue;
        };
        let figure: u32 = cells[2].parse().with_context(|| {
            format!("docs/tandem.md: {}: `{}` is no figure", row.name, cells[2])
        })?;
        if row.median > figure + SLACK {
            bail!("{}: {} instructions, {figure} by docs/tandem.md", row.name, row.median);
        }
        if heading == GOALS && cells[3..cells.len() - 1] != row.cells() {
            let cells = row.cells().join(" | ");
            bail!("{}: the benchmark has | {cells} |, docs/tandem.md other cells", row.name);
        }
        compared += 1;
    }
    let build = rows.first().map_or("", |row| build_of(&row.name));
    let expected = table.iter().filter(|cells| build_of(cells[1]) == build).count();
    match heading {
        GOALS if compared != expected => {
            bail!(
                "docs/tandem.md has {expected} rows of the benchmark, which has printed {compared}"
            )
        }
        FIGURES if compared < 20 => {
            bail!("docs/tandem.md has {compared} rows of the benchmark, fewer than 20")
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{GOALS, Row, compare};

    const LINE: &str =
        "tick, due first   goal   90  median  124  least 1  n 40  missed; ChibiOS 129, ThreadX 7";
    const BY_HAND: &str = "tick, due first    by hand  117\n";

    fn page(row: &str) -> String {
        format!("text\n{GOALS}\n|---|\n{row}\n\ntext")
    }

    fn rows() -> Vec<Row> {
        vec![Row::parse(LINE, BY_HAND).unwrap().unwrap()]
    }

    #[test]
    fn a_missed_row_has_its_bound() {
        assert!(
            rows()[0].line().ends_with("ThreadX 7; bound 117 > goal 90"),
            "{}",
            rows()[0].line()
        );
        assert_eq!(Row::parse("no row", BY_HAND).unwrap(), None);
    }

    #[test]
    fn a_row_matches_the_page() {
        let same = page("| tick, due first | 124 | ≤ 90, missed | 117 | 129 | 7 | – |");
        compare(&rows(), &same, GOALS).unwrap();
        for (other, message) in [
            ("| tick, due first | 120 | ≤ 90, missed | 117 | 129 | 7 | – |", "124 instructions"),
            ("| tick, due first | 124 | ≤ 90 | 117 | 129 | 7 | – |", "other cells"),
            ("| tick, due first | 124 | ≤ 90, missed | 100 | 129 | 7 | – |", "other cells"),
            ("| tick, due first | 124 | ≤ 90, missed | 117 | 128 | 7 | – |", "other cells"),
            ("| tick, due last | 124 | ≤ 90, missed | 117 | 129 | 7 | – |", "no row"),
        ] {
            let error = compare(&rows(), &page(other), GOALS).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
        let more =
            page("| tick, due first | 124 | ≤ 90, missed | 117 | 129 | 7 | – |\n| give | 1 |");
        assert!(compare(&rows(), &more, GOALS).is_err(), "a row that the benchmark does not print");
    }
}
