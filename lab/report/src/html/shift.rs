//! Shift charts: the ratio B / A of the quantiles of two distributions, with its band. They show
//! whether all samples differ by one factor, or only the tail.

use super::{
    figure::{Figure, note_left_out},
    frame::{Axis, LEFT, RIGHT, X, Y, draw},
    scale::{Scale, tail, times},
};
use crate::comparison::Shift;

/// Most charts of a comparison: those with the largest ratios are drawn.
const MAX_CHARTS: usize = 6;

/// The ticks of the x axis.
const TICKS: [(&str, f64); 5] =
    [("p1", 0.01), ("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];

/// The words on a band.
const BAND: &str = "The band is of intervals that hold with 93 % or more each if repetitions are \
                    independent, at p50, p99 and p99.9; it is drawn straight between them.";

/// The charts of named shifts. `in_turn` says that the sides took turns.
pub fn figures(shifts: &[(String, &Shift)], in_turn: bool) -> Vec<Figure> {
    let mut largest: Vec<&(String, &Shift)> = shifts.iter().collect();
    largest.sort_by(|one, other| other.1.largest().total_cmp(&one.1.largest()));
    largest.truncate(MAX_CHARTS);
    let mut figures: Vec<Figure> =
        largest.iter().map(|(name, shift)| figure(name, shift, in_turn)).collect();
    let all = shifts.len();
    let note = format!("The {MAX_CHARTS} of {all} that differ most are drawn.");
    note_left_out(&mut figures, MAX_CHARTS, all, &note);
    figures
}

fn figure(name: &str, shift: &Shift, in_turn: bool) -> Figure {
    let last = shift.ratios.last().map_or(0.99, |one| one.0);
    let x = Scale::exact(0.0, tail(last).max(2.0), X);
    let ticks = TICKS.iter().filter(|(_, share)| *share <= last);
    let ticks = ticks.map(|(name, share)| (tail(*share), (*name).to_owned())).collect();
    let ends = shift.band.iter().flat_map(|one| [one.interval.low, one.interval.high]);
    let all = || shift.ratios.iter().map(|one| one.1).chain(ends.clone());
    let y = Scale::log(all().fold(0.95, f64::min), all().fold(1.05, f64::max), Y);
    let mut svg = draw(&Axis::with(x, "quantile", ticks), &Axis::new(y, "B / A (logarithmic)", ""));
    let end = |of: fn(&chronoscope_statistics::Interval) -> f64| {
        shift.band.iter().map(move |one| [x.at(tail(one.share)), y.at(of(&one.interval))])
    };
    let outline: Vec<[f64; 2]> = end(|ends| ends.high).chain(end(|ends| ends.low).rev()).collect();
    svg.area("band", &outline);
    svg.line("floor", [LEFT, y.at(1.0)], [RIGHT, y.at(1.0)]);
    let points: Vec<[f64; 2]> =
        shift.ratios.iter().map(|(share, ratio)| [x.at(tail(*share)), y.at(*ratio)]).collect();
    svg.curve("line c0", &points);
    let mut rows = Vec::new();
    for (tick, share) in TICKS {
        let Some((_, ratio)) = shift.ratios.iter().find(|one| one.0 == share) else { continue };
        let ends = shift.band.iter().find(|one| one.share == share);
        let ends = ends.map_or("–".to_owned(), |one| {
            format!("{}…{}", times(one.interval.low), times(one.interval.high))
        });
        let tip = format!("{tick}: {} ({ends})", times(*ratio));
        svg.mark(0, "c0", [x.at(tail(share)), y.at(*ratio)], &tip);
        rows.push(vec![tick.to_owned(), times(*ratio), ends]);
    }
    let runs = if in_turn { "" } else { " The scatter between runs is not in it." };
    let band = match shift.band.is_empty() {
        true => "Without a band: exact figures, or fewer than five repetitions.".to_owned(),
        false => format!("{BAND}{runs}"),
    };
    Figure {
        kind: "shift",
        title: format!("{name}: quantiles, B / A"),
        reading: format!("Above 1, B is slower. {band}"),
        facts: "all samples of both sides; the band is of repetitions".to_owned(),
        svg: svg.finish(&format!("Ratio of the quantiles of {name}")),
        header: vec!["quantile", "B / A", "≥ 93 %"],
        rows,
        ..Figure::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::InBand;
    use chronoscope_statistics::Interval;

    fn shift(tail: f64, band: bool) -> Shift {
        let ratios = (1..=99).map(|percent| f64::from(percent) / 100.0).chain([0.999]);
        let ratios = ratios.map(|share| (share, if share > 0.95 { tail } else { 1.1 })).collect();
        let p99 = Interval { low: 0.9 * tail, high: 1.2 * tail };
        let interval = InBand { name: "p99", share: 0.99, interval: p99 };
        let p50 = InBand { name: "p50", share: 0.5, interval: Interval { low: 1.0, high: 1.2 } };
        Shift {
            values: vec![[1.0, 1.0]; 100],
            ratios,
            least: [1.0, 1.0],
            worst: [1.0, tail],
            samples: 1000,
            band: if band { vec![p50, interval] } else { Vec::new() },
        }
    }

    #[test]
    fn a_chart_has_the_curve_and_its_band() {
        let with = shift(40.0, true);
        let text = figures(&[("<case>".to_owned(), &with)], true)[0].html().0;
        assert!(text.contains("data-kind=\"shift\"") && text.contains("&lt;case&gt;"), "{text}");
        assert!(text.contains("class=\"band\"") && text.contains("×36.000…×48.000"), "{text}");
        assert_eq!(text.matches("class=\"m c0\"").count(), TICKS.len());
        assert!(text.contains("with 93 % or more each") && !text.contains("scatter"), "{text}");
        let text = figures(&[("case".to_owned(), &with)], false)[0].html().0;
        assert!(text.contains("The scatter between runs is not in it."), "{text}");
        let text = figures(&[("case".to_owned(), &shift(40.0, false))], true)[0].html().0;
        assert!(!text.contains("class=\"band\"") && text.contains("Without a band"), "{text}");
    }

    #[test]
    fn those_that_differ_most_are_drawn() {
        let all: Vec<Shift> = (1..=8).map(|tail| shift(f64::from(tail), false)).collect();
        let named: Vec<(String, &Shift)> =
            all.iter().zip(1..).map(|(shift, tail)| (format!("tail {tail}"), shift)).collect();
        let figures = figures(&named, true);
        assert_eq!(figures.len(), MAX_CHARTS);
        assert_eq!(figures[0].title, "tail 8: quantiles, B / A");
        assert_eq!(figures[5].notes, ["The 6 of 8 that differ most are drawn."]);
    }
}
