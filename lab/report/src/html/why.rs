//! The page of `why`: a row for each role with the instructions of both kernels, and both rounds from
//! left to right at one scale.

use maud::{Markup, html};

use super::{answer::first_screen, fold, page};
use crate::{
    answer::{
        span::grouped,
        trust::{Trust, Verdict},
    },
    why::{Answer, Side, functions_of, number, signed},
};

/// The page of the round of an experiment in two kernels.
pub fn render(experiment: &str, sides: &[Side; 2]) -> String {
    let answer = Answer::new(sides);
    let [most, least] = answer.sides.map(Side::all);
    let exact = format!("the parts add up: {} instructions", grouped((most - least) as f64));
    let trust = Trust {
        verdicts: vec![Verdict::good("Exact path of these builds", &exact)],
        rest: Vec::new(),
    };
    let question =
        ["What makes one slower?".to_owned(), format!("one round of {experiment}, by role")];
    let body = html! { (roles(&answer)) (rounds(&answer)) };
    let body = html! {
        (first_screen(&question, &answer.sentence, &trust, &body, &[]))
        (fold("All functions", &all_functions(&answer), false))
    };
    page(&answer.sentence, &body)
}

/// The roles with a bar for each kernel, by their differences, and their sum.
fn roles(answer: &Answer<'_>) -> Markup {
    let longest = answer.rows.iter().flat_map(|row| row.counts).max().unwrap_or(1).max(1);
    let wide = |count: u64| format!("width:{:.1}%", 100.0 * count as f64 / longest as f64);
    let [slow, fast] = answer.sides.map(Side::name);
    let [most, least] = answer.sides.map(Side::all);
    html! {
        h2 { "Where the instructions go, by role" }
        table class="list roles" {
            tr { th {} th.bars {} th.slow { (slow) } th.fast { (fast) } th { "more" } }
            @for row in &answer.rows {
                tr {
                    td { (row.role) }
                    td.bars { @for (class, count) in ["slow", "fast"].iter().zip(row.counts) {
                        i class=(class) style=(wide(count)) {}
                    } }
                    td.slow { (number(row.counts[0])) }
                    td.fast { (number(row.counts[1])) }
                    td { b { (signed(row.more())) } }
                }
            }
            tr.sum {
                td { "one round" }
                td.bars {}
                td.slow { (number(most)) }
                td.fast { (number(least)) }
                td { b { (signed(most.cast_signed() - least.cast_signed())) } }
            }
        }
    }
}

/// Both rounds from left to right: each stretch of a role as wide as its instructions.
fn rounds(answer: &Answer<'_>) -> Markup {
    let most = answer.sides[0].all().max(1);
    let share = |count: u64| 100.0 * count as f64 / most as f64;
    // The two roles that cost most stand out, in both rounds.
    let class = |function: &str| match answer.rank(function) {
        Some(0) => "f1",
        Some(1) => "f2",
        _ => "",
    };
    let named: Vec<&str> = answer.rows.iter().take(2).map(|row| row.role).collect();
    html! {
        h2 { "The same round from left to right, at one scale" }
        p.cap {
            @for (class, role) in ["f1", "f2"].iter().zip(&named) {
                span.sign { i class=(class) {} (role) } " "
            }
            span.sign { i {} "all else" }
        }
        @for side in answer.sides {
            div.tl {
                span.l { (side.name()) }
                div.flame {
                    @for (function, count) in &side.runs {
                        i class=(class(function)) style=(format!("width:{:.3}%", share(*count)))
                            title=(format!("{function}: {count}")) {}
                    }
                }
            }
        }
    }
}

/// The functions of each role with their instructions.
fn all_functions(answer: &Answer<'_>) -> Markup {
    html! {
        @for row in &answer.rows {
            h3 { (row.role) }
            @for side in answer.sides {
                @let functions = functions_of(side, row.role);
                @if !functions.is_empty() {
                    p.cap {
                        b { (side.name()) } ": "
                        @for (index, (function, count)) in functions.iter().enumerate() {
                            @if index > 0 { ", " }
                            code { (function) } " " (count)
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(kernel: &str, runs: &[(&str, u64)]) -> Side {
        let runs = runs.iter().map(|(function, count)| ((*function).to_owned(), *count)).collect();
        Side { kernel: kernel.to_owned(), runs }
    }

    #[test]
    fn the_page_adds_up_and_both_rounds_have_one_scale() {
        let slow = [("xQueueSend", 40), ("vListInsert", 100), ("<b>&", 10), ("vListInsert", 50)];
        let sides = [side("tandem", &[("give", 100)]), side("freertos", &slow)];
        let page = render("switch", &sides).replace('\u{a0}', " ");
        assert!(page.contains("FreeRTOS takes 2.0 × as many instructions"), "{page}");
        assert!(page.contains("the parts add up: 100 instructions"));
        // The slower round is as wide as the picture, the other one half as wide.
        let widths = page.split("title=\"").map(|part| part.split('"').next().unwrap());
        assert_eq!(widths.filter(|title| title.ends_with(": 50")).count(), 1);
        assert!(page.contains("width:50.000%\" title=\"vListInsert: 100\""), "{page}");
        assert!(page.contains("width:50.000%\" title=\"give: 100\""));
        assert!(page.contains("&lt;b&gt;&amp;") && !page.contains("<b>&"));
    }
}
