//! Peers: tools that ran in turn with cases, pair by pair.

use maud::{Markup, html};

use super::{
    overview::verdict,
    ratio::{self, Heading, Ratio, Tone},
    text::{joined, table},
};
use chronoscope_run::{Paired, PeerResult, Run};
use chronoscope_statistics::median;
use chronoscope_units::show;

/// The section of a run's peers, empty without any. `name` is the run's display name, empty if the
/// page shows one run.
pub fn section(name: &str, run: &Run) -> Markup {
    let ratios: Vec<Ratio> = run.peers.iter().flat_map(ratios).collect();
    let heading = Heading {
        title: "Chronoscope / peer".to_owned(),
        reading: "Median of the pairs and their range; the band is what the study allows."
            .to_owned(),
        axis: "Chronoscope / peer (logarithmic)",
        facts: "both sides in turn, each a fresh process".to_owned(),
    };
    html! {
        @if !run.peers.is_empty() {
            section.peers {
                h2 { (joined(&["Peers", name])) }
                div.charts {
                    @for figure in ratio::figures(&heading, &ratios) { (figure.html()) }
                }
                @for peer in &run.peers {
                    h3 { (case(peer)) " " (verdict(peer.verdict.status)) }
                    @for reason in &peer.verdict.reasons { p { (**reason) } }
                    p.note { (*peer.note) }
                    (table("numbers", &["Chronoscope", "median", "peer", "median"], &rows(peer)))
                }
            }
        }
    }
}

/// The tool, the case that it ran in turn with, and the target.
fn case(peer: &PeerResult) -> String {
    joined(&[&*peer.name, &format!("{} {}", peer.experiment, peer.label), &peer.target])
}

fn ratios(peer: &PeerResult) -> impl Iterator<Item = Ratio> {
    peer.statistics.iter().filter_map(|paired| {
        let ratio = paired.ratio?;
        let exceeds = paired.within.is_some_and(|within| (ratio.median - 1.0).abs() > within);
        Some(Ratio {
            name: joined(&[&peer.name, &paired.ours_is]),
            value: ratio.median,
            range: Some((ratio.min, ratio.max)),
            within: paired.within,
            verdict: if exceeds { "apart" } else { "" },
            tone: if exceeds { Tone::Bad } else { Tone::Plain },
        })
    })
}

/// The medians of each statistic that both sides have.
fn rows(peer: &PeerResult) -> Vec<Vec<String>> {
    let row = |paired: &Paired| {
        let middle = |values: &[f64]| {
            median(values).map_or("–".to_owned(), |value| show(value, &paired.unit))
        };
        vec![
            paired.ours_is.to_string(),
            middle(&paired.ours),
            paired.theirs_is.to_string(),
            middle(&paired.theirs),
        ]
    };
    peer.statistics.iter().map(row).collect()
}
