//! Charts of cycles by function: for each case a bar of one sample's cycles, split by function. A
//! function has the same colour and sign in all bars of an experiment, so that kernels compare.

use std::collections::HashMap;

use super::{
    cases::ProvenCase,
    figure::{self, Figure, note_left_out},
    frame::{Axis, RIGHT, ROWS_LEFT as LEFT, ROWS_X, draw_rows, number},
    ranges::BOLD,
    scale::Scale,
    svg::{Anchor, SHAPES, Svg, fit, text_width},
    text::joined,
};
use chronoscope_run::Cycles;

/// Most functions named in a bar; the others are summed in one part.
const MAX_NAMED: usize = 8;

/// Most cases of a chart, and most charts of an experiment.
const CASES_PER_CHART: usize = 4;
const MAX_CHARTS: usize = 4;

/// Most rows of a case in the table of numbers.
const MAX_ROWS: usize = 12;

const LINE: f64 = 15.0;
const BAR: f64 = 16.0;

/// The name of the part that sums all unnamed functions.
const REST: &str = "all others";

/// A case with its cycle profile.
type Profiled<'a> = (&'a ProvenCase<'a>, &'a Cycles);

pub fn figures(cases: &[ProvenCase<'_>]) -> Vec<Figure> {
    let profiled = cases.iter().filter_map(|shown| Some((shown, shown.case.cycles.as_ref()?)));
    let mut profiled: Vec<Profiled<'_>> =
        profiled.filter(|(_, cycles)| cycles.windows > 0).collect();
    // Group the targets of one label.
    profiled.sort_by_key(|(shown, _)| cases.iter().position(|other| other.label == shown.label));
    let all = profiled.len();
    profiled.truncate(CASES_PER_CHART * MAX_CHARTS);
    let styles = Styles::new(&profiled);
    let most =
        profiled.iter().map(|(_, cycles)| per_sample(cycles.total, cycles)).fold(0.0, f64::max);
    let scale = Scale::linear(0.0, most, ROWS_X);
    let pages = profiled.chunks(CASES_PER_CHART);
    let mut figures = figure::parts(pages, |page, part| figure(page, &scale, &styles, part));
    let drawn = profiled.len();
    let note = format!("The first {drawn} of {all} cases are drawn.");
    note_left_out(&mut figures, drawn, all, &note);
    figures
}

fn figure(page: &[Profiled<'_>], scale: &Scale, styles: &Styles<'_>, part: &str) -> Figure {
    let lines = |cycles: &Cycles| parts(cycles).len() as f64;
    let height = |cycles: &Cycles| LINE + BAR + LINE * lines(cycles) + 14.0;
    let base: f64 = page.iter().map(|(_, cycles)| height(cycles)).sum();
    let mut svg = draw_rows(&Axis::new(*scale, "cycles while D0 was high", ""), 0.0, base);
    let mut rows = Vec::new();
    let mut top = 0.0;
    for (shown, cycles) in page {
        draw(&mut svg, (shown, cycles), scale, styles, top);
        top += height(cycles);
        for row in cycles.rows.iter().take(MAX_ROWS) {
            let cells = [row.cycles, row.retired].map(|count| tenths(per_sample(count, cycles)));
            let share = row.cycles as f64 / cycles.total.max(1) as f64;
            let [taken, retired] = cells;
            rows.push(vec![
                row.name.to_string(),
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
        title: format!("{experiment}: cycles by function{part}"),
        reading: "Cycles of each function while D0 was high, without the functions that it calls; \
                  entering a handler is a row of its own. Sleep is left out."
            .to_owned(),
        facts: joined(&[
            "cycles clock".to_owned(),
            "mean of a window".to_owned(),
            format!("n = {}", windows.min().unwrap_or_default()),
        ]),
        svg: svg.finish(&format!("{experiment}: cycles by function")),
        header: vec!["function", "case", "cycles", "instructions", "share"],
        rows,
        ..Figure::default()
    }
}

/// Draws a case below `top`: its name and cycles per sample, the bar, and a line for each part.
fn draw(
    svg: &mut Svg,
    (shown, cycles): Profiled<'_>,
    scale: &Scale,
    styles: &Styles<'_>,
    top: f64,
) {
    let total = tenths(per_sample(cycles.total, cycles));
    let room = |total: &str| RIGHT - LEFT - text_width(total) - 12.0;
    svg.text("group", [LEFT, top + 12.0], Anchor::Start, &fit(&shown.name(), BOLD * room(&total)));
    svg.text("group", [RIGHT, top + 12.0], Anchor::End, &total);
    let (mut from, mut line) = (0.0, top + LINE + BAR);
    for (name, taken) in parts(cycles) {
        let (sign, class) = styles.of_function(name);
        let ends = [from, from + taken].map(|value| scale.at(value));
        let tip = format!("{}: {} cycles of {total}", fit(name, 600.0), tenths(taken));
        // A gap separates the parts.
        svg.bar(&class, [ends[0], top + LINE + 2.0], [ends[1] - ends[0] - 0.8, BAR - 3.0], &tip);
        from += taken;
        line += LINE;
        let taken = tenths(taken);
        svg.text(&format!("sign {class}"), [LEFT + 5.0, line - 3.0], Anchor::Middle, sign);
        svg.text("row", [LEFT + 14.0, line - 3.0], Anchor::Start, &fit(name, room(&taken) - 14.0));
        svg.text("row", [RIGHT, line - 3.0], Anchor::End, &taken);
    }
}

/// The mean of a cycle count over the windows of the profile.
fn per_sample(cycles: u64, of: &Cycles) -> f64 {
    cycles as f64 / of.windows.max(1) as f64
}

/// A number rounded to one decimal.
fn tenths(value: f64) -> String {
    number((value * 10.0).round() / 10.0)
}

/// The parts of a bar: the most expensive functions and the sum of the rest, in cycles per sample.
fn parts(cycles: &Cycles) -> Vec<(&str, f64)> {
    let named = cycles.rows.iter().take(MAX_NAMED);
    let mut parts: Vec<(&str, f64)> =
        named.map(|row| (row.name.as_str(), per_sample(row.cycles, cycles))).collect();
    let rest =
        cycles.rows.iter().skip(MAX_NAMED).fold(0_u64, |sum, row| sum.saturating_add(row.cycles));
    if rest > 0 {
        parts.push((REST, per_sample(rest, cycles)));
    }
    parts
}

/// The style of each named function: its colour, and its position, which gives its sign.
struct Styles<'a>(HashMap<&'a str, (usize, usize)>);

/// Number of series colours in the style sheet.
const COLOURS: usize = 8;

impl<'a> Styles<'a> {
    /// Assigns colours greedily, to the functions of most cases first. A function gets the colour
    /// used least within its cases, and among those the colour used least overall.
    fn new(profiled: &[Profiled<'a>]) -> Self {
        let named =
            |cycles: &'a Cycles| cycles.rows.iter().take(MAX_NAMED).map(|row| row.name.as_str());
        let mut counts: Vec<(&'a str, usize)> = Vec::new();
        for name in profiled.iter().flat_map(|(_, cycles)| named(cycles)) {
            match counts.iter_mut().find(|(known, _)| *known == name) {
                Some((_, count)) => *count += 1,
                None => counts.push((name, 1)),
            }
        }
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let mut styles: HashMap<&'a str, (usize, usize)> = HashMap::new();
        for (place, (name, _)) in counts.into_iter().enumerate() {
            let cases_with_it =
                profiled.iter().filter(|(_, cycles)| named(cycles).any(|other| other == name));
            let taken_colours: Vec<usize> = cases_with_it
                .flat_map(|(_, cycles)| named(cycles))
                .filter_map(|other| styles.get(other).map(|style| style.0))
                .collect();
            let uses = |colour: &usize| {
                let clashes = taken_colours.iter().filter(|other| *other == colour).count();
                (clashes, styles.values().filter(|style| style.0 == *colour).count())
            };
            let colour = (0..COLOURS).min_by_key(uses).unwrap_or_default();
            styles.insert(name, (colour, place));
        }
        Self(styles)
    }

    /// The sign and the CSS class of a function.
    fn of_function(&self, name: &str) -> (&'static str, String) {
        match self.0.get(name) {
            Some((colour, place)) => (SHAPES[place % SHAPES.len()], format!("c{colour}")),
            None => ("·", "rest".to_owned()),
        }
    }
}
