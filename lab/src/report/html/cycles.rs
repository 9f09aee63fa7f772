//! Where the cycles went: for each case a bar of what one sample takes, function by function. A function has the same colour and
//! sign in all bars of an experiment, so that kernels compare.

use std::collections::HashMap;

use super::{
    beside::BOLD,
    cases::Shown,
    figure::Figure,
    frame::{Axis, RIGHT, bottom, number},
    scale::Scale,
    svg::{Anchor, SHAPES, Svg, fit, width},
    text::joined,
};
use crate::profile::Cycles;

/// Functions of a case that are named; the rest is one part.
const NAMED: usize = 8;

/// Cases of a picture, and pictures of an experiment.
const CASES: usize = 4;
const FIGURES: usize = 4;

/// Rows of a case in the table.
const ROWS: usize = 12;

const LEFT: f64 = 8.0;
const LINE: f64 = 15.0;
const BAR: f64 = 16.0;

const REST: &str = "all others";

type Spent<'a> = (&'a Shown<'a>, &'a Cycles);

pub fn figures(cases: &[Shown<'_>]) -> Vec<Figure> {
    let spent = cases.iter().filter_map(|shown| Some((shown, shown.case.cycles.as_ref()?)));
    let mut spent: Vec<Spent<'_>> = spent.filter(|(_, cycles)| cycles.windows > 0).collect();
    // Targets of one label stand together.
    spent.sort_by_key(|(shown, _)| cases.iter().position(|other| other.label == shown.label));
    let all = spent.len();
    spent.truncate(CASES * FIGURES);
    let styles = Styles::of(&spent);
    let most = spent.iter().map(|(_, cycles)| each(cycles.total, cycles)).fold(0.0, f64::max);
    let scale = Scale::linear(0.0, most, LEFT, RIGHT - 4.0);
    let count = spent.len().div_ceil(CASES);
    let part = |index: usize| {
        if count > 1 { format!(" ({} of {count})", index + 1) } else { String::new() }
    };
    let pages = spent.chunks(CASES).enumerate();
    let mut figures: Vec<Figure> =
        pages.map(|(index, page)| figure(page, &scale, &styles, &part(index))).collect();
    if let (Some(last), true) = (figures.last_mut(), all > spent.len()) {
        last.notes.push(format!("The first {} of {all} cases are drawn.", spent.len()));
    }
    figures
}

fn figure(page: &[Spent<'_>], scale: &Scale, styles: &Styles<'_>, part: &str) -> Figure {
    let lines = |cycles: &Cycles| parts(cycles).len() as f64;
    let height = |cycles: &Cycles| LINE + BAR + LINE * lines(cycles) + 14.0;
    let base: f64 = page.iter().map(|(_, cycles)| height(cycles)).sum();
    let mut svg = Svg::new(base + 38.0);
    bottom(&mut svg, &Axis::of(*scale, "cycles while D0 was high", ""), LEFT, base, 0.0);
    let mut rows = Vec::new();
    let mut top = 0.0;
    for (shown, cycles) in page {
        draw(&mut svg, (shown, cycles), scale, styles, top);
        top += height(cycles);
        for row in cycles.rows.iter().take(ROWS) {
            let cells = [row.cycles, row.retired].map(|count| tenths(each(count, cycles)));
            let share = row.cycles as f64 / cycles.total.max(1) as f64;
            let [taken, retired] = cells;
            rows.push(vec![
                row.name.clone(),
                shown.name(),
                taken,
                retired,
                format!("{:.0} %", 100.0 * share),
            ]);
        }
    }
    let windows = page.iter().map(|(_, cycles)| cycles.windows);
    let experiment = page[0].0.experiment;
    Figure {
        kind: "cycles",
        title: format!("{experiment}: where the cycles went{part}"),
        reading: "What the instructions of each function took while D0 was high, without functions that it called; \
                  what the hardware takes to enter a handler is a row of its own. Sleep is left out."
            .to_owned(),
        facts: joined(&[
            "cycles clock".to_owned(),
            "mean of a stretch".to_owned(),
            format!("n = {}", windows.min().unwrap_or_default()),
        ]),
        svg: svg.finish(&format!("{experiment}: cycles by function")),
        header: vec!["function", "case", "cycles", "instructions", "share"],
        rows,
        ..Figure::default()
    }
}

/// A case: its name and what a sample takes, the bar, and what its parts are.
fn draw(svg: &mut Svg, (shown, cycles): Spent<'_>, scale: &Scale, styles: &Styles<'_>, top: f64) {
    let told = tenths(each(cycles.total, cycles));
    let room = |told: &str| RIGHT - LEFT - width(told) - 12.0;
    svg.text("group", [LEFT, top + 12.0], Anchor::Start, &fit(&shown.name(), BOLD * room(&told)));
    svg.text("group", [RIGHT, top + 12.0], Anchor::End, &told);
    let (mut from, mut line) = (0.0, top + LINE + BAR);
    for (name, taken) in parts(cycles) {
        let (sign, class) = styles.of_function(name);
        let ends = [from, from + taken].map(|value| scale.at(value));
        let tip = format!("{}: {} cycles of {told}", fit(name, 600.0), tenths(taken));
        // A line of ground between parts.
        svg.bar(&class, [ends[0], top + LINE + 2.0], [ends[1] - ends[0] - 0.8, BAR - 3.0], &tip);
        from += taken;
        line += LINE;
        let taken = tenths(taken);
        svg.text(&format!("sign {class}"), [LEFT + 5.0, line - 3.0], Anchor::Middle, sign);
        svg.text("row", [LEFT + 14.0, line - 3.0], Anchor::Start, &fit(name, room(&taken) - 14.0));
        svg.text("row", [RIGHT, line - 3.0], Anchor::End, &taken);
    }
}

/// What one sample takes.
fn each(cycles: u64, of: &Cycles) -> f64 {
    cycles as f64 / of.windows.max(1) as f64
}

/// A mean of whole numbers.
fn tenths(value: f64) -> String {
    number((value * 10.0).round() / 10.0)
}

/// The functions that are named, and the rest.
fn parts(cycles: &Cycles) -> Vec<(&str, f64)> {
    let named = cycles.rows.iter().take(NAMED);
    let mut parts: Vec<(&str, f64)> =
        named.map(|row| (row.name.as_str(), each(row.cycles, cycles))).collect();
    let rest =
        cycles.rows.iter().skip(NAMED).fold(0_u64, |sum, row| sum.saturating_add(row.cycles));
    if rest > 0 {
        parts.push((REST, each(rest, cycles)));
    }
    parts
}

/// The colour and the sign of each function that is named.
struct Styles<'a>(HashMap<&'a str, (usize, usize)>);

/// As many as the style has.
const COLOURS: usize = 8;

impl<'a> Styles<'a> {
    /// Those that most cases have come first. No two of a case have one colour, as far as there are enough, and then as few in all
    /// as can be.
    fn of(spent: &[Spent<'a>]) -> Self {
        let named =
            |cycles: &'a Cycles| cycles.rows.iter().take(NAMED).map(|row| row.name.as_str());
        let mut counts: Vec<(&'a str, usize)> = Vec::new();
        for name in spent.iter().flat_map(|(_, cycles)| named(cycles)) {
            match counts.iter_mut().find(|(known, _)| *known == name) {
                Some((_, count)) => *count += 1,
                None => counts.push((name, 1)),
            }
        }
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let mut styles: HashMap<&'a str, (usize, usize)> = HashMap::new();
        for (place, (name, _)) in counts.into_iter().enumerate() {
            let sisters =
                spent.iter().filter(|(_, cycles)| named(cycles).any(|other| other == name));
            let beside: Vec<usize> = sisters
                .flat_map(|(_, cycles)| named(cycles))
                .filter_map(|other| styles.get(other).map(|style| style.0))
                .collect();
            let uses = |colour: &usize| {
                let near = beside.iter().filter(|other| *other == colour).count();
                (near, styles.values().filter(|style| style.0 == *colour).count())
            };
            let colour = (0..COLOURS).min_by_key(uses).unwrap_or_default();
            styles.insert(name, (colour, place));
        }
        Self(styles)
    }

    fn of_function(&self, name: &str) -> (&'static str, String) {
        match self.0.get(name) {
            Some((colour, place)) => (SHAPES[place % SHAPES.len()], format!("c{colour}")),
            None => ("·", "rest".to_owned()),
        }
    }
}
