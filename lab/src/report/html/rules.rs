//! Which charts an experiment gets: whatever its figures have the shape for. A rule draws nothing where they
//! have another. A new kind of chart is a file and a line here.

use super::{
    cases::ProvenCase,
    cycles,
    figure::Figure,
    heat, histogram, ladder,
    panel::{Panel, Subject},
    ranges, shape, slope, sweep, timeline, waveform,
};

type Draw = fn(&Panel<'_>) -> Vec<Figure>;

/// In the order in which the charts stand: from the answer to its details.
const RULES: [Draw; 8] = [
    // Cases have a `load`, and there are two loads and two targets.
    heat::figures,
    // Three cases differ in one number alone.
    sweep::figures,
    // So do published ones, taken with another clock.
    shape::figures,
    // The series of a case have an x, and a slope.
    slope::figures,
    // There are two series, or a published figure, on one axis.
    ranges::figures,
    // Samples were kept.
    timeline::figures,
    // A series has a thousand samples, of more than twenty values.
    ladder::figures,
    // A series has a hundred samples, of eight values.
    histogram::figures,
];

pub fn charts(panel: &Panel<'_>) -> Vec<Figure> {
    RULES.iter().flat_map(|draw| draw(panel)).collect()
}

/// Charts of what is known of cases besides their series, and what there is to say where one cannot be drawn.
pub fn charts_of_cases(experiment: &str, subjects: &[Subject<'_>]) -> (Vec<Figure>, Vec<String>) {
    let cases = ProvenCase::all(experiment, subjects);
    // Where a machine saw every instruction.
    let mut figures = cycles::figures(&cases);
    // What pins did was captured.
    let (waveforms, remarks) = waveform::figures(&cases);
    figures.extend(waveforms);
    (figures, remarks)
}
