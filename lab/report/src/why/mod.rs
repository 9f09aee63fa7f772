//! Why one kernel takes more instructions than another one: the rounds of both, by the role of their
//! functions. The parts add up to the difference exactly.

use std::{cmp::Reverse, collections::BTreeMap, sync::LazyLock};

use chronoscope_base::toml_text::from_toml;
use serde::Deserialize;

use crate::{
    answer::{
        rule::proper,
        span::{grouped, ratio},
        terminal::plain,
    },
    screen::{SIZE, Screen},
    text_table::fold,
};

/// The role of functions that the table does not have.
const OTHER: &str = "other functions";

/// The widest and the narrowest bar.
const BAR: (usize, usize) = (40, 8);

/// The widths of a role and of a number.
const ROLE: usize = 26;
const NUMBER: usize = 9;

/// The most functions of a role that are shown.
const FUNCTIONS: usize = 6;

/// A row of `roles.toml`.
#[derive(Deserialize)]
struct Role {
    name: String,
    of: Vec<String>,
}

#[derive(Deserialize)]
struct Table {
    #[serde(rename = "role")]
    roles: Vec<Role>,
}

static ROLES: LazyLock<Vec<Role>> = LazyLock::new(|| {
    let table: Table =
        from_toml(include_str!("roles.toml")).expect("roles.toml is a table of roles");
    table.roles
});

/// The role of a function.
fn role(function: &str) -> &'static str {
    let has = |role: &&Role| role.of.iter().any(|start| function.starts_with(start.as_str()));
    ROLES.iter().find(has).map_or(OTHER, |role| &role.name)
}

/// The round of one kernel.
pub struct Side {
    /// The kernel, as in the name of its target.
    pub kernel: String,
    /// The functions in the order of execution, each with its number of instructions in a row.
    pub runs: Vec<(String, u64)>,
}

impl Side {
    /// The kernel's name as its makers write it.
    pub(crate) fn name(&self) -> String {
        proper(&self.kernel)
    }

    /// The instructions of the round.
    pub(crate) fn all(&self) -> u64 {
        self.runs.iter().map(|(_, instructions)| instructions).sum()
    }
}

/// A role in both rounds.
#[derive(Debug, PartialEq)]
pub(crate) struct Row {
    pub role: &'static str,
    /// The instructions of the slower side, and of the other one.
    pub counts: [u64; 2],
}

impl Row {
    pub fn more(&self) -> i64 {
        self.counts[0].cast_signed() - self.counts[1].cast_signed()
    }
}

/// The rows, by the difference.
fn rows(sides: [&Side; 2]) -> Vec<Row> {
    let mut counts: BTreeMap<&'static str, [u64; 2]> = BTreeMap::new();
    for (side, of) in sides.iter().enumerate() {
        for (function, instructions) in &of.runs {
            counts.entry(role(function)).or_default()[side] += instructions;
        }
    }
    let mut rows: Vec<Row> =
        counts.into_iter().map(|(role, counts)| Row { role, counts }).collect();
    rows.sort_by_key(|row| Reverse(row.more()));
    rows
}

/// The reason of the difference as one sentence.
fn sentence(sides: [&Side; 2], rows: &[Row]) -> String {
    let [slow, fast] = sides.map(Side::name);
    let [most, least] = sides.map(Side::all);
    if most == least {
        return format!(
            "{slow} and {fast} take the same number of instructions: {}",
            grouped(most as f64)
        );
    }
    let head = format!("{slow} takes {} as many instructions", ratio(most as f64 / least as f64));
    let parts: Vec<&Row> = rows.iter().filter(|row| row.more() > 0).collect();
    match parts.as_slice() {
        [first, ..] if first.counts[0] > least => format!(
            "{head}: its {} alone ({}) outlast {fast}'s whole round ({})",
            first.role,
            grouped(first.counts[0] as f64),
            grouped(least as f64)
        ),
        [first, rest @ ..] => {
            let part = |row: &Row| format!("{} {}", row.role, grouped(row.more() as f64));
            let second = rest.first().map_or_else(String::new, |row| format!(", {}", part(row)));
            format!("{head}: {}{second} of {} more", part(first), grouped((most - least) as f64))
        }
        [] => head,
    }
}

/// The round of the slower kernel and of the other one, by role.
pub(crate) struct Answer<'a> {
    /// The slower side first.
    pub sides: [&'a Side; 2],
    /// The roles by their differences.
    pub rows: Vec<Row>,
    /// The reason in one sentence.
    pub sentence: String,
}

impl<'a> Answer<'a> {
    pub fn new([one, other]: &'a [Side; 2]) -> Self {
        let sides = if other.all() > one.all() { [other, one] } else { [one, other] };
        let rows = rows(sides);
        Self { sides, sentence: sentence(sides, &rows), rows }
    }

    /// The rank, from 0, of a function's role among the roles in which the slower side takes more; `None`
    /// where the role costs no more.
    pub fn rank(&self, function: &str) -> Option<usize> {
        let of = role(function);
        self.rows.iter().position(|row| row.role == of && row.more() > 0)
    }
}

/// A number of instructions; a dash where there are none.
pub(crate) fn number(count: u64) -> String {
    match count {
        0 => "–".to_owned(),
        count => grouped(count as f64),
    }
}

/// A difference with its sign: `+147`, `−3`, `0`.
pub(crate) fn signed(more: i64) -> String {
    let sign = match more {
        0 => "",
        1.. => "+",
        _ => "−",
    };
    format!("{sign}{}", grouped(more.unsigned_abs() as f64))
}

/// The answer on a screen: the sentence and the table of roles. Their functions too, unless
/// `functions_by` says what shows them.
pub fn render(
    experiment: &str,
    sides: &[Side; 2],
    functions_by: Option<&str>,
    screen: &Screen,
) -> String {
    let Answer { sides, rows, sentence } = Answer::new(sides);
    let width = screen.columns.unwrap_or(SIZE.0);
    let [most, least] = sides.map(Side::all);
    let difference = most - least;
    let mut text = format!("What makes one slower?   one round of {experiment}, by role\n\n");
    text += &fold(&format!("{sentence}.\n"), Some(width));
    text += &fold(
        &format!(
            "✓ Exact path of these builds; the parts add up: {} instructions.\n",
            grouped(difference as f64)
        ),
        Some(width),
    );
    let [slow, fast] = sides.map(|side| side.name().chars().take(NUMBER - 1).collect::<String>());
    let room = width.saturating_sub(ROLE + 3 * NUMBER + 2).min(BAR.0);
    let has_bars = room >= BAR.1;
    let key = if has_bars { "  ▒ both  █ more  ░ less" } else { "" };
    let head =
        format!("{:ROLE$}{slow:>NUMBER$}{fast:>NUMBER$}{:>NUMBER$}{key}", "instructions", "more");
    text += &format!("{}\n", head.chars().take(width).collect::<String>());
    let longest = rows.iter().flat_map(|row| row.counts).max().unwrap_or(1).max(1);
    for row in &rows {
        let bar =
            if has_bars { format!("  {}", bar(row.counts, longest, room)) } else { String::new() };
        text += &line(row.role, row.counts, row.more(), &bar);
        if functions_by.is_none() {
            text += &functions(sides, row.role, width);
        }
    }
    text += &line("one round", [most, least], difference.cast_signed(), "");
    if let Some(words) = functions_by {
        text += &format!("\n→ the functions of each role: {words}\n");
    }
    plain(&text, screen.dumb)
}

fn line(role: &str, counts: [u64; 2], more: i64, bar: &str) -> String {
    let [slow, fast] = counts.map(number);
    let more = signed(more);
    format!("{role:ROLE$}{slow:>NUMBER$}{fast:>NUMBER$}{more:>NUMBER$}{bar}").trim_end().to_owned()
        + "\n"
}

/// The common part of both sides, then the rest of the greater one.
fn bar(counts: [u64; 2], longest: u64, room: usize) -> String {
    let [slow, fast] =
        counts.map(|count| (count as f64 / longest as f64 * room as f64).round() as usize);
    let rest = if slow > fast { "█" } else { "░" };
    "▒".repeat(slow.min(fast)) + &rest.repeat(slow.abs_diff(fast))
}

/// The functions of a role on one side with their instructions, the greatest first.
pub(crate) fn functions_of<'a>(side: &'a Side, of: &str) -> Vec<(&'a str, u64)> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for (function, instructions) in side.runs.iter().filter(|(function, _)| role(function) == of) {
        *counts.entry(function).or_default() += instructions;
    }
    let mut counts: Vec<(&str, u64)> = counts.into_iter().collect();
    counts.sort_by_key(|(function, instructions)| (Reverse(*instructions), *function));
    counts
}

/// The functions of a role, the greatest first.
fn functions(sides: [&Side; 2], of: &str, width: usize) -> String {
    let mut text = String::new();
    for side in sides {
        let counts = functions_of(side, of);
        for (function, instructions) in counts.iter().take(FUNCTIONS) {
            let name = format!("  {}: {function}", side.name());
            let name: String = name.chars().take(width.saturating_sub(NUMBER)).collect();
            text += &format!("{name} {instructions}\n");
        }
        if counts.len() > FUNCTIONS {
            let rest: u64 = counts[FUNCTIONS..].iter().map(|(_, instructions)| instructions).sum();
            text += &format!("  {}: {} more, {rest}\n", side.name(), counts.len() - FUNCTIONS);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(kernel: &str, runs: &[(&str, u64)]) -> Side {
        let runs = runs.iter().map(|(function, count)| ((*function).to_owned(), *count)).collect();
        Side { kernel: kernel.to_owned(), runs }
    }

    /// The lines, with single spaces.
    fn text(sides: &[Side; 2]) -> String {
        let text = render(
            "switch",
            sides,
            Some("--full"),
            &Screen { columns: Some(80), ..Screen::plain() },
        );
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_parts_add_up_to_the_difference() {
        let sides = [
            side("tandem", &[("tandem::semaphore::take", 40), ("tandem::arch::cortex_m::set", 4)]),
            side(
                "freertos",
                &[
                    ("vPortEnterCritical", 60),
                    ("vListInsert", 20),
                    ("unheard_of", 7),
                    ("PendSV", 27),
                ],
            ),
        ];
        let rows = rows([&sides[1], &sides[0]]);
        let more: i64 = rows.iter().map(Row::more).sum();
        assert_eq!(more, 114 - 44);
        assert_eq!(rows[0], Row { role: "critical sections", counts: [60, 4] });
        assert_eq!(rows.last().unwrap().role, "give, take, send, receive");
        let text = text(&sides);
        assert!(
            text.contains("FreeRTOS takes 2.6 × as many instructions: its critical sections alone (60) outlast"),
            "{text}"
        );
        assert!(text.contains("one round 114 44 +70"), "{text}");
    }

    #[test]
    fn without_one_great_part_the_two_greatest_are_named() {
        let sides = [
            side(
                "rtic",
                &[("critical_section::with", 60), ("rtic::slot::run", 55), ("suite::a", 40)],
            ),
            side(
                "embassy",
                &[("critical_section::with", 20), ("embassy::poll", 50), ("suite::a", 40)],
            ),
        ];
        let text = text(&sides);
        assert!(text.contains("scheduler and locks 55, critical sections 40 of 45 more"), "{text}");
    }

    #[test]
    fn equal_rounds_are_said_to_be_equal() {
        let sides = [side("old", &[("suite::a", 40)]), side("new", &[("suite::b", 40)])];
        assert!(text(&sides).contains("take the same number of instructions: 40"));
    }

    #[test]
    fn every_role_has_functions_and_no_prefix_is_hidden_by_an_earlier_one() {
        for (place, role) in ROLES.iter().enumerate() {
            assert!(!role.of.is_empty(), "{}", role.name);
            for start in &role.of {
                let hides = |other: &&Role| {
                    other.of.iter().any(|before| start.starts_with(before.as_str()))
                };
                let by = ROLES[..place].iter().find(hides).map(|other| &other.name);
                assert_eq!(by, None, "`{start}` of {}", role.name);
            }
        }
    }
}
