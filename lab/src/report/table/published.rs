//! The published figures beside the measured ones. No ratio: the machines differ, and often the clocks.

use super::{figures::whole, name};
use crate::{
    report::sheet::{Sheet, Side},
    run::{CaseResult, Run},
    study::{Published, statistics},
};

pub fn section(run: &Run) -> String {
    let mut sheet = Sheet::new(&[
        ("source and case", Side::Left),
        ("statistic", Side::Left),
        ("measured here", Side::Right),
        ("published", Side::Right),
    ]);
    let mut notes: Vec<&str> = Vec::new();
    let mut under = String::new();
    for case in &run.cases {
        for figure in &case.published {
            let title = format!("{}, on {}{}", figure.source, figure.on, mark(figure, &mut notes));
            if title != under {
                sheet.gap();
                sheet.line(title.clone());
                under = title;
            }
            sheet.row(cells(case, figure));
        }
    }
    if under.is_empty() {
        return String::new();
    }
    let notes = notes.iter().enumerate().map(|(index, note)| format!("[{}] {note}\n", index + 1));
    format!(
        "Beside the published figures, which were measured on other machines: compare shapes, not sizes\n{}{}",
        sheet.render(),
        notes.collect::<String>()
    )
}

/// The number of the figure's note; a note is printed once.
fn mark<'a>(figure: &'a Published, notes: &mut Vec<&'a str>) -> String {
    if figure.note.is_empty() {
        return String::new();
    }
    let number = notes.iter().position(|note| *note == figure.note).unwrap_or_else(|| {
        notes.push(&figure.note);
        notes.len() - 1
    });
    format!(" [{}]", number + 1)
}

fn cells(case: &CaseResult, figure: &Published) -> Vec<String> {
    let found = statistics(case, &figure.statistic, figure.series.as_deref()).into_iter().next();
    let (series, value, unit) = match found {
        Some((series, value, unit)) => (series, Some(value).filter(|_| case.is_proven()), unit),
        None => (figure.series.clone().unwrap_or_default(), None, "ns".to_owned()),
    };
    let has_nominal = !["sigma", "misses"].contains(&figure.statistic.as_str());
    let nominal = case.series.iter().find(|one| one.name == series && has_nominal).map_or(0.0, |one| one.nominal);
    // What is a time here, in whatever clock, is published in ns.
    let is_time = ["ns", "cycles", "instructions"].contains(&unit.as_str());
    let (published, published_nominal) = match (is_time, unit.as_str()) {
        (true, "ns") => ("ns", nominal),
        (true, _) => ("ns", 0.0),
        (false, unit) => (unit, nominal),
    };
    let mut case_name = name(case);
    if !series.is_empty() && series != case.experiment {
        case_name = format!("{case_name}, {series}");
    }
    vec![
        format!("  {case_name}"),
        figure.statistic.clone(),
        value.map_or("–".to_owned(), |value| whole(value - nominal, nominal, &unit)),
        whole(figure.value - published_nominal, published_nominal, published),
    ]
}
