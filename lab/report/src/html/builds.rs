//! The table of a ranking's figures under other builds of the same kernels. The module computes no figure.

use maud::{Markup, html};

use crate::answer::{
    builds::Figures,
    ranking::{Place, Ranking, Row},
    rule::proper,
    span,
};

/// The range of each figure under the builds, and the kernels that are first alone, with the number of
/// builds and the lead; empty where no figure of another build is known.
pub fn ranges(ranking: &Ranking) -> Markup {
    let known = |row: &&Row| row.cells.iter().flatten().any(|cell| cell.builds.is_some());
    let rows: Vec<&Row> = ranking.rows.iter().filter(known).collect();
    if rows.is_empty() {
        return Markup::default();
    }
    html! {
        p.cap {
            "The least and the greatest of each figure. In the last column, for each kind of task, the "
            "kernels that are first alone, in how many builds, and the next kernel's figure as a multiple "
            "of theirs. The builds: the usual one, cargo's defaults, -Os, and of kernels in C -O3 and -O3 "
            "with LTO"
        }
        div.wide {
            table.side {
                tr {
                    th {}
                    @for column in &ranking.columns {
                        th { (proper(&column.kernel)) " " (column.kind) }
                    }
                    th { "first" }
                }
                @for row in rows {
                    tr {
                        th { (row.name) }
                        @for cell in &row.cells {
                            td { (cell.and_then(|cell| cell.builds).map_or("–".to_owned(), range)) }
                        }
                        td { (firsts(ranking, row)) }
                    }
                }
            }
        }
    }
}

/// The kernels that are first alone in a row, each with the number of builds and its lead in them.
fn firsts(ranking: &Ranking, row: &Row) -> String {
    let first = |index: usize| {
        let under = row.under_builds(&ranking.columns, index)?;
        let ahead: Vec<f64> = under
            .iter()
            .filter(|(place, _)| *place == Place::Best)
            .map(|(_, ahead)| *ahead)
            .collect();
        let [least, most] = [f64::min, f64::max].map(|of| ahead.iter().copied().reduce(of));
        let name = proper(&ranking.columns[index].kernel);
        Some(format!("{name} in {}, {:.1}–{:.1} ×", ahead.len(), least?, most?))
    };
    (0..ranking.columns.len()).filter_map(first).collect::<Vec<_>>().join("; ")
}

/// The least and the most of a figure's builds.
fn range(builds: Figures) -> String {
    let [low, high] = [f64::min, f64::max].map(|of| builds.into_iter().reduce(of).unwrap_or(0.0));
    let [low, high] = [low, high].map(span::grouped);
    if low == high { low } else { format!("{low}–{high}") }
}
