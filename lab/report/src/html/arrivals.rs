//! The waits of an interrupt over the instruction at which it arrives: a picture for each kernel, with
//! one scale upwards, and beside them what was tried.

use maud::{Markup, html};

use crate::answer::{
    arrivals::{Strip, from_states, states_of_strips},
    span::{self, grouped},
};

/// The most bars of a strip.
const BARS: usize = 400;

/// The height of a strip in the units of its picture.
const HEIGHT: f64 = 100.0;

/// The share of the width up to which the label begins at its peak; from there on it ends there.
const RIGHT: f64 = 0.5;

/// The ratio of the worst to the mean from which a mean hides the worst.
const HIDES: f64 = 2.0;

/// The strips, and the words beside them.
pub fn figure(strips: &[Strip]) -> Markup {
    let longest = strips.iter().map(Strip::longest).fold(1.0, f64::max);
    let states = states_of_strips(strips);
    html! {
        div class="two on" {
            div {
                p.cap {
                    "From the arrival to "
                    (strips.first().map_or("the handler", Strip::end_words))
                    ", for an arrival at each "
                    (strips.first().map_or("instruction", Strip::place_unit)) " of one round"
                    @if let Some(unit) = strips.first().and_then(Strip::plain_unit) { "; in " (unit) }
                }
                @for (index, strip) in strips.iter().enumerate() { (one(index, strip, longest)) }
            }
            div {
                h2 { "What was tried" }
                p.cap {
                    "Every arrival within one round, of these builds, from "
                    (from_states(states))
                    @if states.1 > 1 { "; the picture has the worst" }
                    ": none waits longer."
                }
                h2 { "What was not" }
                p.cap {
                    (if strips.iter().any(Strip::has_pairs) { "Three" } else { "Two" })
                    " interrupts at once, other states (more sleepers, longer queues), other builds."
                }
                (averages(strips))
            }
        }
    }
}

/// The picture of a kernel: its waits, a ring at the longest one, and the place that causes it.
fn one(index: usize, strip: &Strip, longest: f64) -> Markup {
    let columns = strip.columns(BARS);
    let bar = |(index, wait): (usize, &f64)| {
        let height = HEIGHT * wait / longest;
        format!("M{index} {HEIGHT}v-{height:.2}h1v{height:.2}z")
    };
    let share = (strip.at() as f64 + 0.5) / strip.waits.len() as f64;
    let left = 100.0 * share;
    let top = 100.0 * (1.0 - strip.longest() / longest);
    // Above its peak the label stands on no bar.
    let above = 100.0 - top;
    let side = match share < RIGHT {
        true => format!("left:{left:.1}%"),
        false => format!("right:{:.1}%;text-align:right", 100.0 - left),
    };
    let class = if index == 0 { "first" } else { "" };
    html! {
        h2 { (strip.name()) ": " (span::count(strip.waits.len(), "arrival")) }
        div class={ "pl arr " (class) } {
            svg viewBox={ "0 0 " (columns.len()) " " (HEIGHT) } preserveAspectRatio="none" aria-hidden="true" {
                path d=(columns.iter().enumerate().map(bar).collect::<String>()) {}
            }
            i.mk style=(format!("left:{left:.1}%;top:{top:.1}%")) {}
            div.at style=(format!("{side};bottom:calc({above:.1}% + 8px)")) {
                b { (strip.short(strip.longest())) }
                @if strip.bound.is_some() { " by the estimate" }
                " at " (strip.place_unit()) " " (grouped(strip.at() as f64))
                @if !strip.place.is_empty() { br; small { (strip.place) } }
            }
        }
        div.ends { span { "0" } span { (strip.place_unit()) " " (grouped(strip.waits.len() as f64 - 1.0)) } }
    }
}

/// The means beside the worst, where a mean would hide it; empty elsewhere.
fn averages(strips: &[Strip]) -> Markup {
    let hides = |strip: &&Strip| strip.longest() >= HIDES * strip.mean() && strip.mean() > 0.0;
    html! {
        @if strips.iter().any(|strip| hides(&strip)) {
            h2 { "An average hides it" }
            table.side {
                tr { th {} th { "mean" } th { "worst" } }
                @for strip in strips {
                    tr {
                        th { (strip.kernel) }
                        td { (span::amount(strip.mean(), "", false)) }
                        td { b { (strip.short(strip.longest())) } }
                    }
                }
            }
        }
    }
}
