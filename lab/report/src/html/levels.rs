//! Return-level charts: the value that is reached once in a given time by the model of
//! `report --extrapolate`, its upper limit, and the peaks that it was fitted to.

use maud::{Markup, html};

use super::{
    figure::Figure,
    frame::{Axis, draw, x_range, y_range},
    overview::list,
    scale::Scale,
};
use crate::{
    extrapolation::CAVEAT, extrapolation::Extrapolated, extrapolation::lasting,
    extrapolation::shape,
};
use chronoscope_statistics::{extreme::Level, extreme::Model};
use chronoscope_units::show;

/// The page's section: a chart for each series with a limit, and the reasons for the others. Empty
/// without a series. `words` name the horizon.
pub fn section(extrapolated: &[Extrapolated<'_>], words: &str) -> Markup {
    let (mut charts, mut reasons) = (Vec::new(), Vec::new());
    for one in extrapolated {
        let model = one.result.as_ref().ok().and_then(|found| found.model.as_ref());
        let failed = one.reasons();
        match model.filter(|_| failed.is_empty()) {
            Some(model) => charts.push(figure(one, model, words)),
            None => reasons.push(format!("{}: {}", one.name(), failed.join("; "))),
        }
    }
    html! {
        @if !extrapolated.is_empty() {
            section.extrapolation {
                h2 { "The maximum of " (words) }
                p.facts { (CAVEAT) }
                div.charts { @for chart in charts { (chart.html()) } }
                (list("reasons", "No extrapolation", reasons))
            }
        }
    }
}

fn figure(one: &Extrapolated<'_>, model: &Model, words: &str) -> Figure {
    let unit = one.series.unit.name();
    let nominal = one.series.nominal;
    let value = |value: f64| show(value + nominal, unit);
    let time = |samples: f64| samples * one.interval;
    let (first, last) = (model.seen.first(), model.curve.last());
    let ends = first.map(|peak| peak.0).into_iter().chain(last.map(|level| level.samples));
    let (low, high) = ends.fold((f64::INFINITY, 0.0_f64), |(low, high), samples| {
        (low.min(time(samples)), high.max(time(samples)))
    });
    let (from, to) = x_range();
    let x = Scale::log(low, high, from, to);
    let (base, top) = y_range();
    let values = model.curve.iter().flat_map(|level| [level.level, level.upper]);
    let values = values.chain(model.seen.iter().map(|peak| peak.1)).map(|value| value + nominal);
    let y = Scale::fitting(values, base, top);
    let ticks =
        x.ticks().into_iter().map(|tick| (tick, lasting(tick / one.interval, one.interval)));
    let mut svg = draw(
        &Axis::with(x, "reached once in (logarithmic)", ticks.collect()),
        &Axis::of(y, "maximum", unit),
    );
    let curve = |of: fn(&Level) -> f64| -> Vec<[f64; 2]> {
        let point = |level: &Level| [x.at(time(level.samples)), y.at(of(level) + nominal)];
        model.curve.iter().map(point).collect()
    };
    svg.curve("line c0", &curve(|level| level.level));
    svg.curve("line c1", &curve(|level| level.upper));
    for (samples, peak) in &model.seen {
        let tip = format!("{}, once in {}", value(*peak), lasting(*samples, one.interval));
        svg.mark(0, "c0", [x.at(time(*samples)), y.at(peak + nominal)], &tip);
    }
    let end = model.at_horizon;
    for (shape, class, at, what) in
        [(0, "c0", end.level, "reached once"), (1, "c1", end.upper, "stays below, 95 %")]
    {
        let tip = format!("{words}: {what}: {}", value(at));
        svg.mark(shape, class, [x.at(time(end.samples)), y.at(at + nominal)], &tip);
    }
    Figure {
        kind: "levels",
        title: one.name(),
        reading: format!(
            "Marks are the peaks that were measured. With 95 %, the maximum of {words} stays below {}, \
             if the model holds: {CAVEAT}.",
            value(end.upper)
        ),
        facts: format!(
            "{} peaks above {} · {} · n = {}",
            model.peaks,
            value(model.threshold),
            shape(model),
            one.series.samples.len()
        ),
        svg: svg.finish(&format!("Return levels of {}", one.name())),
        legend: vec!["reached once".to_owned(), "upper limit, 95 %".to_owned()],
        header: vec!["time", "reached once", "upper limit, 95 %"],
        rows: model
            .curve
            .iter()
            .step_by(10)
            .map(|level| {
                vec![lasting(level.samples, one.interval), value(level.level), value(level.upper)]
            })
            .collect(),
        ..Figure::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extrapolation;
    use chronoscope_run::sample;
    use chronoscope_statistics::SplitMix64;

    #[test]
    fn a_limit_has_a_chart_and_a_refusal_its_reason() {
        let mut run = sample::run();
        run.cases.truncate(1);
        run.cases[0].series.truncate(1);
        let refused = section(&extrapolation::of(&run, 60.0), "a <day>").0;
        assert!(refused.contains("run with --samples") && refused.contains("a &lt;day&gt;"));
        assert!(!refused.contains("<svg"), "{refused}");
        let mut random = SplitMix64::new(3);
        run.cases[0].series[0].samples =
            (0..50_000).map(|i| (f64::from(i) * 1e6, -1e4 * random.unit().ln())).collect();
        let text = section(&extrapolation::of(&run, 3600.0), "an hour").0;
        assert!(text.contains("data-kind=\"levels\"") && text.contains(CAVEAT), "{text}");
        // A mark for each peak, and two at the horizon.
        assert_eq!(text.matches("class=\"m c0\"").count(), 101);
        assert_eq!(text.matches("class=\"m c1\"").count(), 1);
        assert_eq!(section(&[], "an hour").0, "");
    }
}
