//! One pin over a stretch of time.

use std::ops::Range;

use super::{
    super::{scale::Scale, svg::Svg},
    pins::{Marks, Ruler},
};
use crate::capture::{Channel, Pulse};

/// From high to low.
const HIGH: f64 = 5.0;
const LOW: f64 = 19.0;

/// More pulses than can be pointed at.
const TOLD: usize = 40;

/// What of a capture is drawn, in ticks, and where.
pub struct Stretch<'a> {
    pub from: u64,
    pub to: u64,
    /// Where the axis has its 0.
    pub origin: u64,
    pub x: Scale,
    pub ruler: &'a Ruler<'a>,
}

impl Stretch<'_> {
    /// The place of a time.
    pub fn at(&self, ticks: u64) -> f64 {
        let ruler = self.ruler;
        self.x.at(if ticks < self.origin {
            -ruler.value(self.origin - ticks)
        } else {
            ruler.value(ticks - self.origin)
        })
    }

    /// The part of these, in the order of time, that is seen.
    fn seen<T>(
        &self,
        all: &[T],
        end: impl Fn(&T) -> u64,
        start: impl Fn(&T) -> u64,
    ) -> Range<usize> {
        let from = all.partition_point(|one| end(one) <= self.from);
        from..all.partition_point(|one| start(one) < self.to).max(from)
    }
}

/// The level as a line. Where it changes more often than the picture is fine, one change stands for all of a place.
pub fn draw(
    svg: &mut Svg,
    channel: &Channel,
    index: usize,
    stretch: &Stretch<'_>,
    samples: Option<(&[Pulse], Range<usize>)>,
    top: f64,
) {
    let y = |level: bool| top + if level { HIGH } else { LOW };
    let seen = stretch.seen(&channel.edges, |at| *at, |at| *at);
    let mut level = channel.initial != (seen.start % 2 == 1);
    let mut points = vec![[stretch.at(stretch.from), y(level)]];
    let edges = &channel.edges[seen.clone()];
    for together in
        edges.chunk_by(|one, next| stretch.at(*one).floor() == stretch.at(*next).floor())
    {
        let place = stretch.at(together[0]);
        points.extend([[place, y(level)], [place, y(!level)]]);
        if together.len() % 2 == 0 {
            points.push([place, y(level)]);
        } else {
            level = !level;
        }
    }
    points.push([stretch.at(stretch.to), y(level)]);
    let class = format!("c{}", index % 8);
    let end = |pulse: &Pulse| pulse.at.saturating_add(pulse.width);
    let tell = |svg: &mut Svg, pulse: &Pulse, what: &str| {
        let ends = [pulse.at, end(pulse)].map(|at| stretch.at(at));
        let tip = format!("{what}: {}", stretch.ruler.full(pulse.width));
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
                tell(svg, pulse, &format!("{}, number {}", channel.name, first + place + 1));
            }
        }
        None if edges.len() <= 2 * TOLD => {
            // One more before, which may reach into the stretch.
            let near = Channel {
                name: String::new(),
                initial: channel.initial != (seen.start.saturating_sub(1) % 2 == 1),
                edges: channel.edges
                    [seen.start.saturating_sub(1)..(seen.end + 1).min(channel.edges.len())]
                    .to_vec(),
            };
            near.pulses(true).for_each(|pulse| tell(svg, &pulse, &channel.name));
        }
        None => {}
    }
    svg.curve(&format!("wave {class}"), &points);
}

/// The samples as the timer has them.
pub fn timer(svg: &mut Svg, marks: &Marks, stretch: &Stretch<'_>, top: f64) {
    let origin = stretch.ruler.value(stretch.origin);
    let (low, high) = (stretch.x.low + origin, stretch.x.high + origin);
    let seen =
        marks.spans.iter().enumerate().filter(|(_, (start, end))| *end > low && *start < high);
    for (index, (start, end)) in seen.take(TOLD) {
        let ends = [start, end].map(|at| stretch.x.at(at - origin));
        let tip =
            format!("by the timer, number {}: {}", index + 1, stretch.ruler.unit.show(end - start));
        svg.bar("ink", [ends[0], top + 9.0], [ends[1] - ends[0], 6.0], &tip);
    }
}
