//! The medians between processors as a table whose cells are darker where a switch takes longer.

use maud::{Markup, html};

use crate::answer::matrix::Matrix;

/// The most processors whose cells have room for a number.
const NUMBERS: usize = 12;

/// The table; a cell without room for its number has it as its title.
pub fn figure(matrix: &Matrix) -> Markup {
    let with_numbers = matrix.cpus.len() <= NUMBERS;
    html! {
        p.cap { "Median of a switch between two processors, and on one; darker is longer, in equal steps of the logarithm" }
        div.wide {
            table.matrix {
                tr { th { "cpu" } @for cpu in &matrix.cpus { th { (cpu) } } }
                @for (place, row) in matrix.cpus.iter().enumerate() {
                    tr {
                        th { (row) }
                        @for column in &matrix.cpus[..=place] { (cell(matrix, *row, *column, with_numbers)) }
                    }
                }
            }
        }
    }
}

fn cell(matrix: &Matrix, row: usize, column: usize, with_number: bool) -> Markup {
    let Some((text, step)) = matrix.median(row, column).zip(matrix.step(row, column)) else {
        return html! { td { "–" } };
    };
    html! {
        td class={ "heat" (step) } title={ (column) " and " (row) ": " (text) } {
            @if with_number { (text) }
        }
    }
}
