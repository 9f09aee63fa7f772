//! The charts of a page, as pixels of a screenshot.

use std::{collections::BTreeMap, io::Cursor};

use serde_json::Value;

/// The kind and the rectangle of each chart's picture, in pixels of the page.
pub const CHARTS: &str = "[...document.querySelectorAll('figure.chart')].map(figure => {
    const {x, y, width, height} = figure.querySelector('svg').getBoundingClientRect();
    return {kind: figure.dataset.kind, x: x + scrollX, y: y + scrollY, width, height};
})";

/// A screenshot as colours.
pub struct Picture {
    width: usize,
    colours: Vec<[u8; 3]>,
}

impl Picture {
    pub fn read(png: &[u8]) -> Self {
        let mut decoder = png::Decoder::new(Cursor::new(png));
        decoder.set_transformations(png::Transformations::normalize_to_color8());
        let mut reader = decoder.read_info().expect("a screenshot is a PNG");
        let mut bytes = vec![0; reader.output_buffer_size().expect("it fits into memory")];
        let info = reader.next_frame(&mut bytes).expect("it has a picture");
        let colours = bytes
            .chunks_exact(info.color_type.samples())
            .map(|pixel| [pixel[0], pixel[1], pixel[2]]);
        Self { width: info.width as usize, colours: colours.collect() }
    }

    /// The share of a chart's pixels whose colour differs from its most frequent one.
    pub fn drawn(&self, chart: &Value) -> f64 {
        let place = |name: &str| chart[name].as_f64().expect("a place is a number") as usize;
        let (x, y, width, height) = (place("x"), place("y"), place("width"), place("height"));
        let rows = self.colours.chunks(self.width).skip(y).take(height);
        let mut counts: BTreeMap<[u8; 3], usize> = BTreeMap::new();
        rows.flat_map(|row| row.iter().skip(x).take(width))
            .for_each(|colour| *counts.entry(*colour).or_default() += 1);
        let all: usize = counts.values().sum();
        let most = counts.values().max().copied().unwrap_or_default();
        if all == 0 { 0.0 } else { 1.0 - most as f64 / all as f64 }
    }
}
