//! Artificial captures, and their bytes in each format.

// Each test program uses its own part of this module.
#![allow(dead_code)]

use std::fmt::Write as _;

use chronoscope_capture::{Capture, Channel, Sampling, Source, Tick, sigrok};

/// A request on D0 and its answer on D1: `count` rounds of varying widths.
pub fn signal(hertz: u64, sampling: Sampling, count: u64, base: u64) -> Capture {
    let (mut at, mut edges) = (base, [Vec::new(), Vec::new()]);
    // Small differences without a pattern, the same in every test.
    let mut state = 1_u64;
    let mut vary = |up_to: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) % up_to
    };
    for _ in 0..count {
        let (answer, high) = (1 + vary(base / 2), base + vary(base / 2));
        edges[0].extend([at, at + high]);
        edges[1].extend([at + answer, at + high + 1 + vary(3)]);
        at += 2 * base + vary(base);
    }
    let channel =
        |(name, edges): (&str, Vec<u64>)| Channel { name: name.to_owned(), initial: false, edges };
    Capture {
        source: "made up".to_owned(),
        tick: Tick::from_hertz(hertz).unwrap(),
        sampling,
        start: 0,
        end: at + base,
        channels: ["D0", "D1"].into_iter().zip(edges).map(channel).collect(),
    }
}

pub fn vcd(capture: &Capture) -> Vec<u8> {
    let mut bytes = Vec::new();
    capture.to_vcd(&mut bytes).unwrap();
    bytes
}

pub fn sr(capture: &Capture) -> Vec<u8> {
    let mut bytes: Vec<u8> = Vec::new();
    let mut writer = sigrok::Writer::new(&capture.header(), &mut bytes).unwrap();
    capture.replay(&mut writer).unwrap();
    drop(writer);
    bytes
}

/// A capture's time in seconds.
fn seconds(capture: &Capture, at: u64) -> f64 {
    let (numerator, denominator) = capture.tick.fraction();
    (at * numerator) as f64 / denominator as f64
}

pub fn csv(capture: &Capture) -> Vec<u8> {
    let mut text = "Time [s]".to_owned();
    let mut levels = Vec::new();
    for channel in &capture.channels {
        write!(text, ",{}", channel.name).unwrap();
        levels.push(channel.initial);
    }
    let mut times: Vec<u64> =
        capture.channels.iter().flat_map(|channel| channel.edges.clone()).collect();
    times.extend([capture.start, capture.end]);
    times.sort_unstable();
    times.dedup();
    for time in times {
        write!(text, "\n{:.9}", seconds(capture, time)).unwrap();
        for (channel, level) in capture.channels.iter().zip(&mut levels) {
            *level ^= channel.edges.binary_search(&time).is_ok();
            write!(text, ",{}", u8::from(*level)).unwrap();
        }
    }
    (text + "\n").into_bytes()
}

/// The file of a channel in version 0 or 1; version 1 has two adjacent chunks.
pub fn binary(capture: &Capture, channel: usize, version: i32) -> Vec<u8> {
    let channel = &capture.channels[channel];
    let mut bytes = b"<SALEAE>".to_vec();
    bytes.extend(version.to_le_bytes());
    bytes.extend(0_i32.to_le_bytes());
    let rate = capture.tick.fraction().1 as f64;
    let mut chunk = |initial: bool, begin: u64, end: u64, edges: &[u64]| {
        bytes.extend(u32::from(initial).to_le_bytes());
        if version == 1 {
            bytes.extend(rate.to_le_bytes());
        }
        bytes.extend(seconds(capture, begin).to_le_bytes());
        bytes.extend(seconds(capture, end).to_le_bytes());
        bytes.extend((edges.len() as u64).to_le_bytes());
        edges.iter().for_each(|edge| bytes.extend(seconds(capture, *edge).to_le_bytes()));
    };
    if version == 0 || channel.edges.len() < 2 {
        chunk(channel.initial, capture.start, capture.end, &channel.edges);
    } else {
        let (first, second) = channel.edges.split_at(channel.edges.len() / 2);
        chunk(channel.initial, capture.start, first[first.len() - 1], first);
        chunk(
            channel.initial ^ (first.len() % 2 == 1),
            first[first.len() - 1],
            capture.end,
            second,
        );
    }
    if version == 1 {
        let chunks = if channel.edges.len() < 2 { 1_u64 } else { 2 };
        bytes.splice(16..16, chunks.to_le_bytes());
    }
    bytes
}

/// Reads a source to its end.
pub fn collect(mut source: impl Source) -> chronoscope_capture::Result<Capture> {
    Capture::collect(&mut source)
}
