//! The medians between processors, in characters.

use super::{Line, Style};
use crate::answer::{matrix::Matrix, span::count};

/// The width of a column.
const COLUMN: usize = 9;

/// The width of the rows' names.
const NAME: usize = 4;

/// A head, and a row for each processor, as many as `width` and `most` have room for; a last line counts the
/// others.
pub(super) fn lines(matrix: &Matrix, width: usize, most: usize) -> Vec<Line> {
    let columns = width.saturating_sub(NAME) / COLUMN;
    let all = matrix.cpus.len();
    let shown =
        if all <= columns && all < most { all } else { columns.min(most.saturating_sub(2)) };
    let cpus = &matrix.cpus[..shown];
    let names = cpus.iter().map(|cpu| format!("{cpu:>COLUMN$}")).collect::<String>();
    let mut lines = vec![Line::styled(Style::Dim, format!("{:NAME$}{names}", "cpu"))];
    for (place, row) in cpus.iter().enumerate() {
        let cell = |column: &usize| {
            format!("{:>COLUMN$}", matrix.median(*row, *column).unwrap_or_else(|| "–".to_owned()))
        };
        let cells = cpus[..=place].iter().map(cell).collect::<String>();
        lines.push(Line::styled(Style::Dim, format!("{row:<NAME$}")).with(Style::Plain, cells));
    }
    if shown < all {
        let left = count(all - shown, "more processor");
        lines.push(Line::styled(Style::Dim, format!("{left}: --full")));
    }
    lines
}
