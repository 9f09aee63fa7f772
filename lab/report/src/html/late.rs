//! Late starts on a time line: a row for each case, each repetition a stretch of it, each late start a
//! stem whose height is its lateness.

use std::collections::BTreeMap;

use maud::{Markup, html};

use crate::answer::late::{Place, Repetition, TimeLine};

/// The height of the deadline, as a share of the row; the largest lateness has the whole row.
const DEADLINE: f64 = 25.0;

/// The places of a repetition where a stem can stand: of several late starts the latest is drawn.
const STEMS: usize = 200;

/// The rows with their key.
pub fn figure(line: &TimeLine) -> Markup {
    let all = line.places.iter().flat_map(|place| &place.repetitions);
    let worst =
        all.flat_map(|repetition| &repetition.late).map(|(_, over)| *over).fold(1.0, f64::max);
    html! {
        h2 { "Every start " (line.late) }
        p.cap {
            "Each stretch is a repetition, from left to right; a stem's height is its lateness, \
             logarithmic; dotted: the deadline."
        }
        @for place in &line.places { (row(place, worst)) }
        @if let Some(rest) = line.rest() { p.cap { (rest) } }
    }
}

/// The row of a case; `worst` is the largest lateness of all rows over its deadline.
fn row(place: &Place, worst: f64) -> Markup {
    let height = |over: f64| {
        let share = over.max(1.0).ln() / worst.ln().max(f64::MIN_POSITIVE);
        DEADLINE + (100.0 - DEADLINE) * share
    };
    html! {
        div.tl.lates {
            span.l { (place.name) }
            div.lt {
                @for repetition in &place.repetitions {
                    div {
                        @for (place, over) in stems(repetition) {
                            @let left = 100.0 * place as f64 / STEMS as f64;
                            i style=(format!("left:{left:.1}%;height:{:.1}%", height(over))) {}
                        }
                    }
                }
            }
            span.n { (place.late) " late, worst " b { (place.worst) } }
        }
    }
}

/// The places with late starts, each with its greatest lateness over the deadline.
fn stems(repetition: &Repetition) -> BTreeMap<usize, f64> {
    let mut stems = BTreeMap::new();
    for (at, over) in &repetition.late {
        let stem = stems.entry((at * STEMS as f64) as usize).or_insert(*over);
        *stem = over.max(*stem);
    }
    stems
}
