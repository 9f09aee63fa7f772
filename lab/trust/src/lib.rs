#![doc = include_str!("../README.md")]
//!
//! Every sentence with "95 %" on the screen, on the page and in the documentation rests on a row of
//! [`SECTIONS`]. All random numbers come from fixed seeds, so the same effort gives the same rows.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod changes;
mod comparisons;
mod coverage;
mod draw;
mod exceedance;
mod margin;
mod misses;
mod next_run;
pub mod recorded;
mod row;
mod shift;
mod stored;

pub use row::{Effort, Row, Section, Tally};

/// The sections in the order in which they are printed.
pub const SECTIONS: &[Section] = &[
    Section { title: "The ratio of two distributions", rows: shift::rows },
    Section { title: "Marks of a history", rows: changes::rows },
    Section { title: "Intervals of medians and limits of percentiles", rows: coverage::rows },
    Section { title: "Deadline misses", rows: misses::rows },
    Section { title: "Maxima of longer runs, by rank", rows: exceedance::rows },
    Section { title: "The next run, by rank", rows: next_run::rows },
    Section { title: "Comparisons in turn", rows: comparisons::rows },
    Section { title: "Slower by more than the threshold", rows: margin::rows },
    Section { title: "Comparisons of stored runs", rows: stored::rows },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[ignore = "takes 30 s: the full test runs it"]
    fn every_statement_holds_with_few_rounds() {
        for section in SECTIONS {
            for row in (section.rows)(Effort::Quick) {
                assert!(row.holds, "{}: {row}", section.title);
            }
        }
    }
}
