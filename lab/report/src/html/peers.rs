//! Peers: tools that ran in turn with cases, pair by pair.

use super::{
    overview::verdict,
    ratio::{self, Heading, Ratio, Tone},
    text::{escape, joined, table},
};
use chronoscope_run::{Run, Status};
use chronoscope_statistics::median;
use chronoscope_units::show;

pub fn html(name: &str, run: &Run) -> String {
    if run.peers.is_empty() {
        return String::new();
    }
    let of = if name.is_empty() { String::new() } else { format!(" · {}", escape(name)) };
    let ratios: Vec<Ratio> = run
        .peers
        .iter()
        .flat_map(|peer| {
            peer.statistics.iter().filter_map(|paired| {
                let ratio = paired.ratio?;
                let exceeds =
                    paired.within.is_some_and(|within| (ratio.median - 1.0).abs() > within);
                Some(Ratio {
                    name: joined(&[&peer.name, &paired.ours_is]),
                    value: ratio.median,
                    range: Some((ratio.min, ratio.max)),
                    within: paired.within,
                    verdict: if exceeds { "apart" } else { "" },
                    tone: if exceeds { Tone::Bad } else { Tone::Plain },
                })
            })
        })
        .collect();
    let heading = Heading {
        title: "Chronoscope / peer".to_owned(),
        reading: "Median of the pairs and their range; the band is what the study allows."
            .to_owned(),
        axis: "Chronoscope / peer (logarithmic)",
        facts: "both sides in turn, each a fresh process".to_owned(),
    };
    let charts: String =
        ratio::figures(&heading, &ratios).iter().map(super::figure::Figure::html).collect();
    let lists: String = run
        .peers
        .iter()
        .map(|peer| {
            let rows: Vec<Vec<String>> = peer
                .statistics
                .iter()
                .map(|paired| {
                    let middle = |values: &[f64]| {
                        median(values).map_or("–".to_owned(), |value| show(value, &paired.unit))
                    };
                    vec![
                        paired.ours_is.to_string(),
                        middle(&paired.ours),
                        paired.theirs_is.to_string(),
                        middle(&paired.theirs),
                    ]
                })
                .collect();
            let case = joined(&[
                peer.name.as_str(),
                &format!("{} {}", peer.experiment, peer.label),
                &peer.target,
            ]);
            let reasons: String = peer
                .verdict
                .reasons
                .iter()
                .map(|reason| format!("<p>{}</p>\n", escape(reason)))
                .collect();
            let status: Status = peer.verdict.status;
            format!(
                "<h3>{} {}</h3>\n{reasons}<p class=\"note\">{}</p>\n{}",
                escape(&case),
                verdict(status),
                escape(&peer.note),
                table("numbers", &["Chronoscope", "median", "peer", "median"], &rows)
            )
        })
        .collect();
    format!(
        "<section class=\"peers\">\n<h2>Peers{of}</h2>\n<div class=\"charts\">\n{charts}</div>\n{lists}</section>\n"
    )
}
