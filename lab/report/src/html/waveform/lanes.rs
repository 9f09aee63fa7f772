//! Lanes of a waveform: one pin, or the timer's samples, over a window of time.

use std::ops::Range;

use super::{
    super::{scale::Scale, svg::Svg},
    pins::{Marks, Timebase},
};
use chronoscope_capture::{Channel, Pulse};
use chronoscope_units::show;

/// The heights of the two levels below the top of a lane, in SVG units.
const HIGH: f64 = 5.0;
const LOW: f64 = 19.0;

/// The most pulses of a lane that get a tip.
const MAX_TIPS: usize = 40;

/// A window of a capture, in ticks of the capture, and its scale.
pub struct Window<'a> {
    pub from: u64,
    pub to: u64,
    /// The tick at the 0 of the axis.
    pub origin: u64,
    pub x: Scale,
    pub timebase: &'a Timebase,
}

impl Window<'_> {
    /// The horizontal position of a time, in SVG units.
    pub fn at(&self, ticks: u64) -> f64 {
        let timebase = self.timebase;
        self.x.at(if ticks < self.origin {
            -timebase.value(self.origin - ticks)
        } else {
            timebase.value(ticks - self.origin)
        })
    }

    /// The indices of the items that overlap the window. Items must be in order of time.
    fn visible<T>(
        &self,
        all: &[T],
        end: impl Fn(&T) -> u64,
        start: impl Fn(&T) -> u64,
    ) -> Range<usize> {
        let from = all.partition_point(|one| end(one) <= self.from);
        from..all.partition_point(|one| start(one) < self.to).max(from)
    }
}

/// Draws a channel's level as a line below `top`. Edges within one SVG unit are drawn as one. Tips
/// are added to `samples`, a slice and the visible range in it, or else to the channel's high
/// pulses if there are at most [`MAX_TIPS`].
pub fn draw(
    svg: &mut Svg,
    channel: &Channel,
    index: usize,
    window: &Window<'_>,
    samples: Option<(&[Pulse], Range<usize>)>,
    top: f64,
) {
    let y = |level: bool| top + if level { HIGH } else { LOW };
    let visible = window.visible(&channel.edges, |at| *at, |at| *at);
    let mut level = channel.initial != (visible.start % 2 == 1);
    let mut points = vec![[window.at(window.from), y(level)]];
    let edges = &channel.edges[visible.clone()];
    for edges in edges.chunk_by(|one, next| window.at(*one).floor() == window.at(*next).floor()) {
        let place = window.at(edges[0]);
        points.extend([[place, y(level)], [place, y(!level)]]);
        if edges.len() % 2 == 0 {
            points.push([place, y(level)]);
        } else {
            level = !level;
        }
    }
    points.push([window.at(window.to), y(level)]);
    let class = format!("c{}", index % 8);
    let end = |pulse: &Pulse| pulse.at.saturating_add(pulse.width);
    let add_tip = |svg: &mut Svg, pulse: &Pulse, what: &str| {
        let ends = [pulse.at, end(pulse)].map(|at| window.at(at));
        let tip = format!("{what}: {}", window.timebase.full(pulse.width));
        svg.bar(
            &format!("pulse {class}"),
            [ends[0], top + HIGH],
            [ends[1] - ends[0], LOW - HIGH],
            &tip,
        );
    };
    match samples {
        Some((all, shown)) => {
            let first = shown.start;
            for (place, pulse) in all[shown].iter().enumerate() {
                add_tip(svg, pulse, &format!("{}, number {}", channel.name, first + place + 1));
            }
        }
        None if edges.len() <= 2 * MAX_TIPS => {
            // The pulse before may extend into the window.
            let near = Channel {
                name: String::new(),
                initial: channel.initial != (visible.start.saturating_sub(1) % 2 == 1),
                edges: channel.edges
                    [visible.start.saturating_sub(1)..(visible.end + 1).min(channel.edges.len())]
                    .to_vec(),
            };
            near.pulses(true).for_each(|pulse| add_tip(svg, &pulse, &channel.name));
        }
        None => {}
    }
    svg.curve(&format!("wave {class}"), &points);
}

/// Draws the samples by the timer's marks as bars below `top`, [`MAX_TIPS`] at most.
pub fn timer(svg: &mut Svg, marks: &Marks, window: &Window<'_>, top: f64) {
    let origin = window.timebase.value(window.origin);
    let (low, high) = (window.x.low + origin, window.x.high + origin);
    let visible =
        marks.spans.iter().enumerate().filter(|(_, (start, end))| *end > low && *start < high);
    for (index, (start, end)) in visible.take(MAX_TIPS) {
        let ends = [start, end].map(|at| window.x.at(at - origin));
        let tip = format!(
            "by the timer, number {}: {}",
            index + 1,
            show(end - start, window.timebase.unit.name())
        );
        svg.bar("ink", [ends[0], top + 9.0], [ends[1] - ends[0], 6.0], &tip);
    }
}
