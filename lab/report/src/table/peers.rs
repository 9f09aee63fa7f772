//! The section of peers: a table with each statistic as Chronoscope and as another tool, the peer,
//! measured it, and their ratio. Below the table are the peers' commands and the study's notes on
//! differences.

use crate::{Paint, text_table::Side, text_table::TextTable};
use chronoscope_run::{Paired, PeerResult, Run, Status, names::HOST};
use chronoscope_statistics::median;
use chronoscope_units::{digits, show};

/// Renders the section; empty for a run without peers.
pub fn section(run: &Run, paint: Paint) -> String {
    if run.peers.is_empty() {
        return String::new();
    }
    let (left, right) = (|name| (name, Side::Left), |name| (name, Side::Right));
    let mut table = TextTable::new(&[
        left("peer and statistic"),
        right("pairs"),
        right("Chronoscope"),
        right("peer"),
        right("ratio"),
        right("range"),
        right("within"),
        left("verdict"),
    ]);
    for peer in &run.peers {
        table.gap();
        let place = if peer.target == HOST { String::new() } else { format!("{} ", peer.target) };
        table.line(
            format!("{}, peer of {} {place}{}", peer.name, peer.experiment, peer.label).trim_end(),
        );
        for (index, paired) in peer.statistics.iter().enumerate() {
            table.row(row(
                peer,
                paired,
                if index == 0 { verdict(peer, paint) } else { String::new() },
            ));
        }
    }
    let mut notes: Vec<String> = run.peers.iter().map(|peer| notes(peer, paint)).collect();
    // Cases with the same peer may share its command.
    notes.dedup();
    let notes = notes.concat();
    format!(
        "Peers: medians of the pairs; the ratio is the median of the pairs' ratios\n{}\n{notes}",
        table.render()
    )
}

fn row(peer: &PeerResult, paired: &Paired, verdict: String) -> Vec<String> {
    let value =
        |values: &[f64]| median(values).map_or("–".to_owned(), |value| show(value, &paired.unit));
    let ratio = paired.ratio;
    vec![
        format!("  {}", paired.name()),
        peer.pairs.to_string(),
        value(&paired.ours),
        value(&paired.theirs),
        ratio.map_or("–".to_owned(), |ratio| format!("{:.3}", ratio.median)),
        ratio.map_or("–".to_owned(), |ratio| format!("{:.2}…{:.2}", ratio.min, ratio.max)),
        paired.within.map_or("–".to_owned(), |within| format!("{} %", digits(100.0 * within))),
        verdict,
    ]
}

/// The words of a peer's verdict; a pass is `not judged` if the study sets no tolerance.
fn verdict(peer: &PeerResult, paint: Paint) -> String {
    let judged = peer.statistics.iter().any(|paired| paired.within.is_some());
    if peer.verdict.status == Status::Pass && !judged {
        "not judged".to_owned()
    } else {
        paint.status(peer.verdict.status)
    }
}

/// The reasons of the verdict, the peer's command and the study's note.
fn notes(peer: &PeerResult, paint: Paint) -> String {
    let status = paint.status(peer.verdict.status);
    let mut text: String = peer
        .verdict
        .reasons
        .iter()
        .map(|reason| format!("{}: {status}: {reason}\n", peer.name))
        .collect();
    text += &format!("{}: {}\n", peer.name, peer.command.join(" "));
    peer.note.trim().lines().for_each(|line| text += &format!("  {line}\n"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use chronoscope_run::sample;

    #[test]
    fn both_sides_and_their_ratio_are_shown() {
        let text = section(&sample::full(), Paint::Plain);
        let line = |word: &str| text.lines().find(|line| line.contains(word)).unwrap();
        assert!(
            line("peer of switch")
                .starts_with("perf bench sched pipe, peer of switch pair=process-process")
        );
        let mean = line("mean / operation");
        for cell in ["3 µs", "2.91 µs", "1.031", "1.01…1.06", "5 %"] {
            assert!(mean.contains(cell), "{cell} in {mean}");
        }
        assert!(mean.ends_with("pass"));
        assert!(line("operations").contains('–'));
        assert!(text.contains(
            "perf bench sched pipe: perf bench sched pipe --loop 40000\n  Half an operation"
        ));
        assert_eq!(section(&sample::run(), Paint::Plain), "");
    }

    #[test]
    fn without_a_tolerance_there_is_no_pass() {
        let mut run = sample::full();
        run.peers[0].statistics[0].within = None;
        assert!(section(&run, Paint::Plain).contains("not judged"));
        run.peers[0].verdict =
            chronoscope_run::Verdict::new(Status::Inconclusive, "perf is not installed");
        let text = section(&run, Paint::Plain);
        assert!(
            !text.contains("not judged") && text.contains("inconclusive: perf is not installed")
        );
    }
}
