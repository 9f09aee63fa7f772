//! Parts of the pictures on the first screen: their geometry is in percent, their labels are HTML.

use maud::{Markup, html};

use super::scale::Scale;

/// A path through points in percent.
pub fn line(class: &str, points: &[(f64, f64)]) -> Markup {
    let path: Vec<String> =
        points.iter().map(|(x, y)| format!("{:.1} {:.1}", x * 10.0, y * 10.0)).collect();
    html! {
        path class=(class) d={ "M" (path.join("L")) } vector-effect="non-scaling-stroke" {}
    }
}

/// A picture whose geometry is in percent, with labels of HTML.
pub fn plot(class: &str, paths: &Markup, labels: &Markup) -> Markup {
    html! {
        div class={ "pl " (class) } {
            svg viewBox="0 0 1000 1000" preserveAspectRatio="none" aria-hidden="true" { (paths) }
            (labels)
        }
    }
}

/// A label beside a point in percent: `above` or below it, to the left of the end.
pub fn at_end(class: &str, y: f64, above: bool, text: &str) -> Markup {
    let margin = if above { "-19px" } else { "5px" };
    let style = format!("right:0;top:{y:.2}%;margin-top:{margin}");
    html! { b class={ "lab " (class) } style=(style) { (text) } }
}

/// A label of the vertical axis at a height in percent.
pub fn tick(y: f64, text: &str) -> Markup {
    html! { span class="lab ya" style={ "top:" (format!("{y:.2}")) "%" } { (text) } }
}

/// A label of a horizontal axis at `x` in percent, moved by `shift`, a share of its own width.
pub fn label(class: &str, x: f64, shift: &str, text: &str) -> Markup {
    let style = format!("left:{x:.2}%;transform:translateX({shift})");
    html! { span class=(class) style=(style) { (text) } }
}

/// The labels of an axis of ratios, which stay within the ends of the axis.
pub fn ratio_labels(scale: &Scale, words: impl Fn(f64) -> String) -> Markup {
    html! {
        @for ratio in ratio_ticks(scale, 24.0) {
            @let x = scale.at(ratio);
            @let shift = if x < 12.0 { "0" } else if x > 88.0 { "-100%" } else { "-50%" };
            (label("lab", x, shift, &words(ratio)))
        }
    }
}

/// A mark at the end of a curve, in percent of the height.
pub fn mark(class: &str, x: f64, y: f64) -> Markup {
    html! { i class={ "mk " (class) } style=(format!("left:{x:.2}%;top:{y:.2}%")) {} }
}

/// A mark of a row at `x` in percent.
pub fn dot(class: &str, x: f64) -> Markup {
    html! { i class=(class) style=(format!("left:{x:.2}%")) {} }
}

/// A bar of a row between two places in percent; the part beyond the ends of the axis is left out.
pub fn bar(class: &str, from: f64, to: f64) -> Markup {
    let (from, to) = (from.clamp(0.0, 100.0), to.clamp(0.0, 100.0));
    let width = (to - from).max(0.0);
    html! { i class=(class) style=(format!("left:{from:.2}%;width:{width:.2}%")) {} }
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
