//! The readers of `chronoscope observe`: the user's image, and the file of QEMU's plugin.

use std::path::Path;

use chronoscope_machine::{
    observe::events::Figures, observe::events::Interval, observe::events::Sign,
    observe::image::Image,
};

use super::ok_with_message;

/// The name of a place, a line feed, and the image that is to have it, and perhaps marks.
pub fn image(bytes: &[u8]) {
    let cut = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(0);
    let name = String::from_utf8_lossy(&bytes[..cut]);
    let image = bytes.get(cut + 1..).unwrap_or_default();
    let Some(image) = ok_with_message(Image::from_bytes(Path::new("kernel.elf"), image.to_vec()))
    else {
        return;
    };
    ok_with_message(image.marks());
    for place in [image.place(&name), image.variable(&name)] {
        let is_short = |name: &str| name.len() <= 60 && !name.contains(char::is_whitespace);
        assert!(ok_with_message(place).is_none_or(|place| is_short(&place.name)));
    }
}

/// The first bytes of a file as the plugin writes it.
const WHOLE: &[u8] = b"whole\n";

/// The plugin's file behind [`WHOLE`]; or its events in four bytes each, since most mutations would
/// break it: kind, instructions since the event before, value, and the bit by which the value is
/// shifted.
pub fn events(bytes: &[u8]) {
    let file = match bytes.strip_prefix(WHOLE) {
        Some(file) => file.to_vec(),
        None => unpacked(bytes),
    };
    for sign in [Sign::Space, Sign::Task, Sign::Place] {
        if let Some(figures) = ok_with_message(Figures::from_events(&file, sign, &[])) {
            check(&figures);
        }
    }
}

/// The file of events in four bytes each, and an end.
fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let mut now = 0;
    let mut words = Vec::new();
    for [kind, gap, value, shift] in bytes.as_chunks::<4>().0 {
        now += u64::from(*gap);
        words.extend([u64::from(*kind), now, u64::from(*value) << (shift & 63)]);
    }
    words.extend([0, now, 0]);
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// All that was observed happened before the observation's end, and in one place at a time.
fn check(figures: &Figures) {
    let end = figures.instructions;
    let all = [&figures.between, &figures.switches, &figures.masked, &figures.supervisor_masked];
    let maps = figures.traps.values().chain(figures.spaces.values()).chain(figures.tasks.values());
    for Interval { start, length } in all.into_iter().chain(maps).flatten() {
        assert!(start.checked_add(*length).is_some_and(|until| until <= end), "{start} {length}");
    }
    for stays in [&figures.spaces, &figures.tasks] {
        assert!(stays.values().flatten().map(|stay| stay.length).sum::<u64>() <= end);
    }
    let latencies = figures.latencies.values().flatten();
    assert!(latencies.map(|latency| latency.start).all(|start| start <= end));
}
