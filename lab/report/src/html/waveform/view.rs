//! The waveform chart: one or two windows of the capture, each with a lane for every pin, an axis,
//! and the measured widths of samples.

use super::{
    super::{
        frame::{Axis, RIGHT, x_axis},
        scale::Scale,
        svg::{Anchor, Svg, fit, text_width},
        text::joined,
    },
    lanes::{self, Window},
    pins::{Focus, Marks, Timebase},
};
use chronoscope_capture::{Capture, Channel};

/// The left end of lanes, in SVG units; names are left of it.
const LEFT: f64 = 58.0;
/// The distance between lanes.
const LANE_HEIGHT: f64 = 24.0;
/// The height above the first lane, for the window's title and the measured widths.
const HEAD: f64 = 46.0;
/// The height below the last lane, for the axis and the distance to the next window.
const FOOT: f64 = 44.0;

/// The most lanes of pins in a window.
const MAX_LANES: usize = 12;

/// The most samples in the first window.
const MAX_FIRST: usize = 4;
/// The least width of each sample in the first window, as a fraction of the window.
const MIN_SHARE: f64 = 0.04;

/// Draws the chart of the pin in `focus`, followed by other changing pins, and returns it with its
/// explanation. `marks` adds a lane of the timer's samples. The second window shows the widest
/// sample; it is absent if the first window shows that sample alone.
pub fn draw(
    capture: &Capture,
    focus: &Focus<'_>,
    timebase: &Timebase,
    marks: Option<&Marks>,
) -> (Svg, String) {
    // Pins that never change are left out.
    let changing: Vec<&Channel> =
        capture.channels.iter().filter(|channel| !channel.edges.is_empty()).collect();
    let others = changing.iter().copied().filter(|channel| !std::ptr::eq(*channel, focus.channel));
    let channels: Vec<&Channel> =
        std::iter::once(focus.channel).chain(others).take(MAX_LANES).collect();
    let left_out = changing.len() - channels.len();
    let (first, count) = first(capture, focus);
    let widest = focus.widest();
    let mut windows = vec![(first, 0, count)];
    if widest > 0 || count > 1 {
        windows.push((around(capture, focus, widest, widest), widest, 1));
    }
    let lanes = channels.len() + usize::from(marks.is_some());
    let height = HEAD + LANE_HEIGHT * lanes as f64 + FOOT;
    let mut svg = Svg::new(height * windows.len() as f64);
    for (index, ((from, to), sample, count)) in windows.into_iter().enumerate() {
        let origin = focus.samples[sample].at;
        let signed = |at: u64| {
            if at < origin { -timebase.value(origin - at) } else { timebase.value(at - origin) }
        };
        let x = Scale::exact(signed(from), signed(to), [LEFT, RIGHT]);
        let top = height * index as f64;
        let window = Window { from, to, origin, x, timebase };
        let base = top + HEAD + LANE_HEIGHT * lanes as f64;
        let what = match index {
            0 if count == 1 => format!("the first of {}", focus.samples.len()),
            0 => format!("the first {count} of {}", focus.samples.len()),
            _ => format!("the widest: number {}", sample + 1),
        };
        svg.text("group", [4.0, top + 13.0], Anchor::Start, &what);
        let title = format!("since number {} began", sample + 1);
        x_axis(&mut svg, &Axis::new(x, &title, timebase.unit.name()), LEFT, base, top + HEAD - 4.0);
        let mut place = top + HEAD;
        for (index, channel) in channels.iter().enumerate() {
            svg.text("row", [4.0, place + 16.0], Anchor::Start, &fit(&channel.name, LEFT - 8.0));
            let samples =
                (index == 0).then_some((focus.samples.as_slice(), sample..sample + count));
            lanes::draw(&mut svg, channel, index, &window, samples, place);
            place += LANE_HEIGHT;
            if let (Some(marks), 0) = (marks, index) {
                svg.text("row", [4.0, place + 16.0], Anchor::Start, "timer");
                lanes::timer(&mut svg, marks, &window, place);
                place += LANE_HEIGHT;
            }
        }
        measure(&mut svg, focus, &window, sample..sample + count, [top + HEAD, base]);
    }
    (svg, reading(focus, timebase, count, left_out))
}

/// The window of the first samples, in ticks of the capture, and their number: as many as stay wide
/// enough to be visible, at least one.
fn first(capture: &Capture, focus: &Focus<'_>) -> ((u64, u64), usize) {
    let count = focus.samples.len().min(MAX_FIRST);
    let is_seen = |count: &usize| {
        let samples = &focus.samples[..*count];
        let span = samples[*count - 1].at + samples[*count - 1].width - samples[0].at;
        let least = samples.iter().map(|sample| sample.width).min().unwrap_or(0);
        least as f64 >= MIN_SHARE * span as f64
    };
    let count = (2..=count).rev().find(is_seen).unwrap_or(1);
    (around(capture, focus, 0, count - 1), count)
}

/// The window from sample `one` to sample `other`, with a margin on both sides, in ticks of the
/// capture.
fn around(capture: &Capture, focus: &Focus<'_>, one: usize, other: usize) -> (u64, u64) {
    let (from, last) = (focus.samples[one].at, focus.samples[other]);
    let to = last.at.saturating_add(last.width);
    let margin = if one == other { (to - from) / 3 } else { (to - from) / 12 }.max(1);
    (from.saturating_sub(margin).max(capture.start), to.saturating_add(margin).min(capture.end))
}

/// Draws cursors at the start and the end of each sample, and its width between them. The text of a
/// width that would overlap the text before is left out; a tip shows that width.
fn measure(
    svg: &mut Svg,
    focus: &Focus<'_>,
    window: &Window<'_>,
    samples: std::ops::Range<usize>,
    [top, base]: [f64; 2],
) {
    let mut free = 0.0;
    let single = samples.len() == 1;
    for sample in &focus.samples[samples] {
        let ends = [sample.at, sample.at.saturating_add(sample.width)].map(|at| window.at(at));
        for end in ends {
            svg.line("marker", [end, top - 12.0], [end, base]);
        }
        svg.line("range", [ends[0], top - 8.0], [ends[1], top - 8.0]);
        let width_text = if single {
            window.timebase.full(sample.width)
        } else {
            window.timebase.show(sample.width)
        };
        let half = 0.5 * text_width(&width_text);
        let middle = f64::midpoint(ends[0], ends[1]).min(RIGHT - half).max(half + 2.0);
        if middle - half >= free {
            svg.text("row", [middle, top - 14.0], Anchor::Middle, &width_text);
            free = middle + half + 6.0;
        }
    }
}

/// The explanation: the number of pins left out, and, if the first window shows a single sample,
/// the time from its start to the start of the next.
fn reading(focus: &Focus<'_>, timebase: &Timebase, count: usize, left_out: usize) -> String {
    let mut parts = Vec::new();
    if let (1, [one, next, ..]) = (count, focus.samples.as_slice()) {
        parts.push(format!("from the first to the next: {}", timebase.full(next.at - one.at)));
    }
    match left_out {
        0 => {}
        1 => parts.push("one more pin changes".to_owned()),
        more => parts.push(format!("{more} more pins change")),
    }
    joined(&parts)
}
