//! The picture of rounds: a small multiple for each, with one time line.

use maud::{Markup, html};

use crate::answer::rounds::{Picture, State};

/// The picture with its key and its axis.
pub fn figure(picture: &Picture) -> Markup {
    let (from, to) = picture.span;
    let place = |at: f64| 100.0 * (at - from) / (to - from).max(1.0);
    html! {
        p.cap {
            @for (state, words) in picture.states() {
                span.sign { i class=(class(state)) {} (words) } " "
            }
            (picture.unit())
        }
        @for panel in &picture.panels {
            div.turn {
                h2 { (panel.heading) }
                @match &panel.wait {
                    Ok(wait) => b.wait { (wait) },
                    Err(reason) => p.cap { (reason) },
                }
                @for track in &panel.tracks {
                    div.tl {
                        span.l { (track.name) }
                        div.tk {
                            @for stretch in &track.stretches {
                                @let left = place(stretch.from);
                                @let width = place(stretch.to) - left;
                                i class=(class(stretch.state))
                                    style=(format!("left:{left:.2}%;width:{width:.2}%")) {}
                            }
                        }
                    }
                }
            }
        }
        div.tl.axis {
            span {}
            div.tk {
                @for (at, words) in picture.ticks() {
                    // A label stays within the line at both of its ends.
                    @let place = place(at);
                    span style=(format!("left:{place:.2}%;transform:translateX(-{place:.0}%)")) {
                        (words)
                    }
                }
            }
        }
    }
}

/// The class of a state in the style of the page.
fn class(state: State) -> &'static str {
    match state {
        State::Runs => "t0",
        State::Waits => "t1",
        State::Other => "t2",
        State::Holds => "t3",
        State::Raised => "t4",
    }
}
