//! The output of `run --list`: the cases of a run, and their shards.

use chronoscope_engine::{fleet::Plan, fleet::Row};
use chronoscope_report::text_table::{
    Side::{Left, Right},
    TextTable, fold,
};
use chronoscope_units::digits;

/// Returns the plan as a table of at most `columns` columns. The times are for all repetitions
/// together.
pub fn table(plan: &Plan, columns: Option<usize>) -> String {
    let mut table = TextTable::new(&[
        ("shard", Right),
        ("key", Left),
        ("experiment", Left),
        ("target", Left),
        ("parameters", Left),
        ("repetitions", Right),
        ("s", Right),
    ]);
    let rows = || plan.cases.iter().chain(&plan.peers);
    let seconds = |row: &Row| row.seconds * row.repeat as f64;
    for row in rows() {
        let name =
            if row.name.is_empty() { String::new() } else { format!(" beside {}", row.name) };
        table.row(vec![
            row.shard.map_or_else(String::new, |shard| shard.to_string()),
            row.key.clone(),
            format!("{}{name}", row.experiment),
            row.target.clone(),
            row.label.to_string(),
            row.repeat.to_string(),
            digits(seconds(row)),
        ]);
    }
    let all: f64 = rows().map(seconds).sum();
    let count = plan.cases.len() + plan.peers.len();
    let table = fold(&table.render_within(columns, &["key", "repetitions", "s"]), columns);
    let several = if count == 1 { "" } else { "s" };
    table + &format!("{count} case{several}, {} s expected, one after the other\n", digits(all))
}
