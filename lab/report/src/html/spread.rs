//! The lengths of the rounds of a program under watch: a bar for each step of length.

use maud::{Markup, html};

use crate::answer::{span::grouped, spread::Spread};

/// The rungs with their counts; bars are logarithmic.
pub fn figure(spread: &Spread) -> Markup {
    let most = spread.most();
    html! {
        h2 { "How long the rounds of " (spread.name) " take" }
        p.cap {
            "A bar's length is the logarithm of the number of rounds"
            @if let Some(bound) = &spread.bound { "; hatched: over " (bound) }
            "."
        }
        div.spread {
            @for rung in &spread.rungs {
                span.l { "from " (spread.from(rung)) }
                span.b {
                    i.over[rung.is_over] style=(format!("width:{}%", rung.bar(most, 1_000) as f64 / 10.0)) {}
                }
                span.n { @if rung.count == 0 { "–" } @else { (grouped(rung.count as f64)) } }
            }
        }
    }
}
