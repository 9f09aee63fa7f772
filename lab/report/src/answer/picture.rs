//! The pictures that a study's rules ask for: the curves of a sweep beside the published ones, and
//! costs as stacked bars. It chooses figures, and knows nothing of their drawing.

use super::{
    rule,
    span::{Span, amount},
};
use chronoscope_run::{CaseResult, Published, Run, answer::Bar, answer::Pick, answer::Sweep};
use chronoscope_units::digits;

/// Fewest points of a curve: growth shows from three points on.
const POINTS: usize = 3;

/// A curve of a sweep.
#[derive(Debug, PartialEq)]
pub struct Curve {
    /// The words in the legend.
    pub name: String,
    /// The place of its rule, which a measured curve and its published ones share.
    pub line: usize,
    /// The figures are published, not measured.
    pub published: bool,
    /// Parameters and figures, by ascending parameter.
    pub points: Vec<(f64, f64)>,
}

/// The curves of a sweep; empty if no measured one has three points.
pub fn curves(run: &Run, sweep: &Sweep) -> Vec<Curve> {
    let mut all = Vec::new();
    for (line, pick) in sweep.lines.iter().enumerate() {
        let mut here = Vec::new();
        let mut elsewhere: Vec<Curve> = Vec::new();
        for case in rule::cases(pick, run) {
            let at = case.parameters.get(&sweep.by).and_then(|value| value.parse::<f64>().ok());
            let found = rule::figure(pick, case, "");
            let Some((at, value)) = at.zip(found.and_then(|figure| figure.value)) else { continue };
            here.push((at, value));
            for figure in published(pick, case, sweep.relative) {
                let name = figure.on.split(',').next().unwrap_or_default();
                let name = format!("{}, {name}", pick.name);
                match elsewhere.iter_mut().find(|curve| curve.name == name) {
                    Some(curve) => curve.points.push((at, figure.value)),
                    None => elsewhere.push(Curve {
                        name,
                        line,
                        published: true,
                        points: vec![(at, figure.value)],
                    }),
                }
            }
        }
        let name = pick.name.to_string();
        all.push(Curve { name, line, published: false, points: here });
        all.append(&mut elsewhere);
    }
    for curve in &mut all {
        curve.points.retain(|(at, value)| at.is_finite() && value.is_finite() && *value > 0.0);
        curve.points.sort_by(|one, other| one.0.total_cmp(&other.0));
        curve.points.dedup_by(|one, other| one.0 == other.0);
        let first = curve.points.first().map_or(1.0, |point| point.1);
        if sweep.relative {
            curve.points.iter_mut().for_each(|point| point.1 /= first);
        }
    }
    all.retain(|curve| curve.points.len() >= POINTS);
    if all.iter().all(|curve| curve.published) { Vec::new() } else { all }
}

/// The published figures of a pick in a case. With `any_unit`, figures of another clock too.
fn published<'a>(
    pick: &'a Pick,
    case: &'a CaseResult,
    any_unit: bool,
) -> impl Iterator<Item = &'a Published> {
    case.published.iter().filter(move |figure| {
        let statistic = if pick.statistic.is_empty() { "p50" } else { &*pick.statistic };
        let series = figure.series.as_deref().unwrap_or_default();
        let unit = figure.sister(case).map(|(_, _, unit)| unit);
        let alike = unit.is_some_and(|unit| match &*figure.unit {
            "" => !["instructions", "cycles"].contains(&&*unit),
            own => *own == *unit,
        });
        *figure.statistic == *statistic && *series == *pick.series && (any_unit || alike)
    })
}

/// A stacked bar.
#[derive(Debug, PartialEq)]
pub struct Stacked {
    /// The words beside the bar.
    pub name: String,
    /// Names, amounts in words, and shares of the whole.
    pub parts: Vec<(String, String, f64)>,
    /// The whole in words.
    pub whole: String,
}

/// A bar of the rules; `None` if one of its figures is missing.
pub fn stacked(run: &Run, bar: &Bar) -> Option<Stacked> {
    let figures: Option<Vec<Span>> =
        bar.parts.iter().map(|pick| figure(run, &bar.published, pick)).collect();
    let figures = figures?;
    let last = figures.last()?;
    let whole = last.value.filter(|whole| whole.is_finite() && *whole > 0.0)?;
    let mut before = 0.0;
    let parts = bar.parts.iter().zip(&figures).map(|(pick, figure)| {
        // Figures by a wall clock may be smaller than one that they contain.
        let value = figure.value.unwrap_or(before).max(before);
        let own = value - before;
        before = value;
        (pick.name.to_string(), words(own, &figure.unit, figure.exact), own / whole)
    });
    let same = figures.iter().all(|one| one.unit == last.unit);
    let parts = parts.collect();
    let whole = words(whole, &last.unit, last.exact);
    same.then_some(Stacked { name: bar.name.to_string(), parts, whole })
}

/// An amount with its unit; many ticks are in millions.
fn words(value: f64, unit: &str, exact: bool) -> String {
    match unit {
        "instructions" | "cycles" if value >= 1e6 => {
            format!("{}\u{a0}million {unit}", digits(value / 1e6))
        }
        _ => amount(value, unit, exact),
    }
}

/// The figure of a part: measured, or published for the machine `on`.
fn figure(run: &Run, on: &str, pick: &Pick) -> Option<Span> {
    let case = rule::cases(pick, run).next()?;
    if on.is_empty() {
        return rule::figure(pick, case, "");
    }
    let found = published(pick, case, false).find(|figure| figure.on.starts_with(on))?;
    let unit = found.sister(case).map_or_else(String::new, |(_, _, unit)| unit.to_string());
    let value = found.value;
    Some(Span { low: value, high: value, value: Some(value), unit, exact: true })
}

#[cfg(test)]
mod tests {
    use super::*;
    use chronoscope_run::sample;

    /// Cases of a sweep over `tasks`, whose figures are multiples of `each`, with published ones.
    fn run(each: f64) -> Run {
        let mut run = sample::run();
        run.cases = [2.0, 4.0, 8.0, 16.0]
            .map(|tasks: f64| {
                let mut case = sample::case("switch", &format!("tasks={tasks}"));
                case.series[0].summary.p50 = Some(each * tasks);
                let published = sample::published("p50", 10.0 * each * tasks);
                case.published = vec![Published { on: "a board, at 84 MHz".into(), ..published }];
                case
            })
            .to_vec();
        run
    }

    fn pick(name: &str, tasks: &str) -> Pick {
        let when = match tasks {
            "" => [].into(),
            tasks => [("tasks".into(), tasks.into())].into(),
        };
        Pick { name: name.into(), experiment: "switch".into(), when, ..Pick::default() }
    }

    #[test]
    fn a_measured_curve_stands_beside_the_published_one() {
        let mut sweep =
            Sweep { by: "tasks".into(), lines: vec![pick("threads", "")], ..Sweep::default() };
        let points = |each: f64| [2.0, 4.0, 8.0, 16.0].map(|at| (at, each * at)).to_vec();
        let found = curves(&run(100.0), &sweep);
        let names: Vec<_> = found.iter().map(|curve| (&*curve.name, curve.published)).collect();
        assert_eq!(names, [("threads", false), ("threads, a board", true)]);
        assert_eq!((&found[0].points, &found[1].points), (&points(100.0), &points(1000.0)));
        sweep.relative = true;
        assert!(curves(&run(7.0), &sweep).iter().all(|curve| curve.points == points(0.5)));
        sweep.by = "size".into();
        assert_eq!(curves(&run(7.0), &sweep), []);
    }

    #[test]
    fn parts_are_differences_and_add_up_to_the_whole() {
        let parts = vec![pick("first", "2"), pick("second", "4"), pick("third", "16")];
        let mut bar = Bar { parts, ..Bar::default() };
        let shares = |bar: &Bar| {
            let found = stacked(&run(100.0), bar).unwrap();
            found.parts.iter().map(|part| part.2).collect::<Vec<_>>()
        };
        assert_eq!(shares(&bar), [0.125, 0.125, 0.75]);
        assert_eq!(stacked(&run(100.0), &bar).unwrap().whole, "1.6\u{a0}µs");
        bar.published = "a board".into();
        assert_eq!(shares(&bar), [0.125, 0.125, 0.75]);
        assert_eq!(stacked(&run(100.0), &bar).unwrap().whole, "16\u{a0}µs");
        bar.published = "another".into();
        assert_eq!(stacked(&run(100.0), &bar), None);
        bar = Bar { parts: vec![pick("large", "16"), pick("small", "2")], ..Bar::default() };
        assert_eq!(shares(&bar)[1], 0.0, "no part is negative");
    }
}
