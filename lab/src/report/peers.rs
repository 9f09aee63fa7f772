//! Peers in the table that `run` prints: ours beside theirs, and the ratio.

use super::table::sheet;
use crate::{
    peer::{Paired, PeerResult, median},
    run::Run,
    units::show,
    verdict::Status,
};

/// One line a statistic; below, what stands beside what. Empty where the run has no peers.
pub fn render(run: &Run) -> String {
    if run.peers.is_empty() {
        return String::new();
    }
    let mut table =
        sheet(&["peer", "beside", "statistic", "ours", "theirs", "ratio", "range", "within", "pairs", "verdict"]);
    let mut below = String::new();
    for peer in &run.peers {
        for (index, paired) in peer.statistics.iter().enumerate() {
            let only_first = |text: &str| if index == 0 { text.to_owned() } else { String::new() };
            let mut cells = vec![only_first(&peer.name), only_first(&peer.experiment)];
            cells.extend(row(paired));
            cells.extend([only_first(&peer.pairs.to_string()), only_first(verdict(peer))]);
            table.add_row(cells);
        }
        below += &why(peer);
    }
    format!("\nBeside the peers\n{table}\n{below}")
}

/// Statistic, ours, theirs, ratio, range, tolerance.
fn row(paired: &Paired) -> Vec<String> {
    let value = |values: &[f64]| median(values).map_or("–".to_owned(), |value| show(value, &paired.unit));
    let number = |ratio: f64| format!("{ratio:.3}");
    let ratio = paired.ratio;
    let names = match (paired.ours_is.as_str(), paired.theirs_is.as_str()) {
        ("", name) | (name, "") => name.to_owned(),
        (ours, theirs) if ours == theirs => ours.to_owned(),
        (ours, theirs) => format!("{ours} / {theirs}"),
    };
    vec![
        names,
        value(&paired.ours),
        value(&paired.theirs),
        ratio.map_or("–".to_owned(), |ratio| number(ratio.median)),
        ratio.map_or("–".to_owned(), |ratio| format!("{} … {}", number(ratio.min), number(ratio.max))),
        paired.within.map_or("–".to_owned(), |within| format!("{} %", 100.0 * within)),
    ]
}

/// Where nothing is judged, to have run is no merit.
fn verdict(peer: &PeerResult) -> &'static str {
    let judged = peer.statistics.iter().any(|paired| paired.within.is_some());
    if peer.verdict.status == Status::Pass && !judged { "not judged" } else { peer.verdict.status.words() }
}

fn why(peer: &PeerResult) -> String {
    let reasons = peer.verdict.reasons.iter();
    let mut text: String =
        reasons.map(|reason| format!("{}: {}: {reason}\n", peer.name, peer.verdict.status.words())).collect();
    let ours = format!("{} {}", peer.experiment, peer.label);
    text += &format!("{}: {}\n  beside {}\n", peer.name, peer.command.join(" "), ours.trim_end());
    if !peer.note.is_empty() {
        text += &format!("  {}\n", peer.note.trim().replace('\n', "\n  "));
    }
    text
}
