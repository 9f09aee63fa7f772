//! Parts of the pictures on the first screen: their geometry is in percent, their labels are HTML.

use super::{scale::Scale, text::escape};

/// A path through points in percent.
pub fn line(class: &str, points: &[(f64, f64)]) -> String {
    let path: Vec<String> =
        points.iter().map(|(x, y)| format!("{:.1} {:.1}", x * 10.0, y * 10.0)).collect();
    format!(
        "<path class=\"{class}\" d=\"M{}\" vector-effect=\"non-scaling-stroke\"/>",
        path.join("L")
    )
}

/// A picture whose geometry is in percent, with labels of HTML.
pub fn plot(class: &str, paths: &str, labels: &str) -> String {
    format!(
        "<div class=\"pl {class}\"><svg viewBox=\"0 0 1000 1000\" preserveAspectRatio=\"none\" aria-hidden=\"true\">{paths}</svg>{labels}</div>\n"
    )
}

/// A label beside a point in percent: `above` or below it, to the left of the end.
pub fn at_end(class: &str, y: f64, above: bool, text: &str) -> String {
    let place = if above { "-19px" } else { "5px" };
    format!(
        "<b class=\"lab {class}\" style=\"right:0;top:{y:.2}%;margin-top:{place}\">{}</b>",
        escape(text)
    )
}

/// A label of the vertical axis at a height in percent.
pub fn tick(y: f64, text: &str) -> String {
    format!("<span class=\"lab ya\" style=\"top:{y:.2}%\">{}</span>", escape(text))
}

/// A mark at the end of a curve, in percent of the height.
pub fn mark(class: &str, x: f64, y: f64) -> String {
    format!("<i class=\"mk {class}\" style=\"left:{x:.2}%;top:{y:.2}%\"></i>")
}

/// Round ratios for ticks at least `apart` percent of the axis from each other, with 1 first.
pub fn ratio_ticks(scale: &Scale, apart: f64) -> Vec<f64> {
    const FACTORS: [f64; 15] =
        [1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 5.0, 10.0, 50.0, 100.0, 1e3, 1e4, 1e5, 1e6];
    let mut ticks = vec![1.0];
    let percents = [0.99, 0.98, 0.95, 0.9, 0.8, 0.7];
    let lower = percents.into_iter().chain(FACTORS.into_iter().skip(6).map(|one| 1.0 / one));
    for ratio in FACTORS.into_iter().chain(lower) {
        let inside = (scale.low..=scale.high).contains(&ratio);
        let is_free = |other: &f64| (scale.at(*other) - scale.at(ratio)).abs() >= apart;
        if inside && ticks.iter().all(is_free) {
            ticks.push(ratio);
        }
    }
    ticks
}
