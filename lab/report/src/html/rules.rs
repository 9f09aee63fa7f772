//! The rules that choose an experiment's charts by the shape of its figures. A rule returns no
//! chart where the figures do not fit. A new kind of chart is one file and one line here.

use super::{
    cases::ProvenCase,
    cycles,
    figure::Figure,
    heat, histogram, ladder,
    panel::{Panel, Subject},
    parts, ranges, shape, slope, sweep, timeline, waveform,
};

type Draw = fn(&Panel<'_>) -> Vec<Figure>;

/// The rules in the order of charts on the page: from overview to detail.
const RULES: [Draw; 9] = [
    // Cases have a `load` parameter, with at least two loads and two targets.
    heat::figures,
    // At least three cases differ in one numeric parameter only.
    sweep::figures,
    // Published figures, measured with another clock, vary with such a parameter too.
    shape::figures,
    // The series of a case have an x value, and the case a slope.
    slope::figures,
    // At least two series, or a series and a published figure, share an axis.
    ranges::figures,
    // Raw samples were kept.
    timeline::figures,
    // A trace of the kernel divides the worst samples.
    parts::figures,
    // A series has at least 1000 samples of more than 20 values.
    ladder::figures,
    // A series has at least 100 samples of 8 values.
    histogram::figures,
];

/// The charts of a panel's series.
pub fn charts(panel: &Panel<'_>) -> Vec<Figure> {
    RULES.iter().flat_map(|draw| draw(panel)).collect()
}

/// The charts of cycle profiles and captures, and remarks on captures that cannot be drawn.
pub fn charts_of_cases(experiment: &str, subjects: &[Subject<'_>]) -> (Vec<Figure>, Vec<String>) {
    let cases = ProvenCase::all(experiment, subjects);
    // The machine traced every instruction.
    let mut figures = cycles::figures(&cases);
    // The pins were captured.
    let (waveforms, remarks) = waveform::figures(&cases);
    figures.extend(waveforms);
    (figures, remarks)
}
