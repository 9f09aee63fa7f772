//! The readers of `chronoscope observe`: the user's image, and the file of QEMU's plugin.

use std::path::Path;

use chronoscope_machine::{
    marks::{Argument, Counter, Frame, Intake, Kind, Mark},
    observe::events::Figures,
    observe::events::Interval,
    observe::events::Sign,
    observe::image::Image,
    observe::view::View,
};

use super::{ok_with_message, one_line};

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

/// The text of a view.
pub fn view(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    one_line(View::parse(text));
}

/// A board's stream of marks; and its frames without checksums, which mutations would break, in 17 bytes
/// each.
pub fn marks(bytes: &[u8]) {
    let mark = |(place, kind)| Mark {
        name: "a".to_owned(),
        kind,
        address: place,
        argument: (place > 2).then_some(Argument { register: 0, size: 4 }),
    };
    let kinds = [Kind::Begin, Kind::End, Kind::Begin, Kind::End, Kind::Value];
    let marks: Vec<Mark> = (1..).zip(kinds).map(mark).collect();
    let mut intake = Intake::new(&marks);
    // Bytes arrive in pieces.
    ok_with_message(bytes.chunks(61).try_for_each(|piece| intake.feed(piece)));
    assert!(intake.counts().garbage <= bytes.len() as u64);
    let mut intake = Intake::new(&marks);
    let frames = bytes.as_chunks::<17>().0.iter().map(|[letter, words @ ..]| {
        let word = |place: usize| {
            words[4 * place..].first_chunk().map_or(0, |word| u32::from_le_bytes(*word))
        };
        let [position, place, clock, argument] = [0, 1, 2, 3].map(word);
        match letter {
            0..4 => {
                let counter = Counter { hertz: place, top: argument, is_down: letter & 1 == 1 };
                Frame::Head { version: 1, counter, position, clock }
            }
            _ => Frame::Record { position, place: place % 8, clock, argument },
        }
    });
    let records = frames.clone().count();
    ok_with_message(frames.into_iter().try_for_each(|frame| intake.take(frame)));
    assert!(intake.counts().records <= records as u64);
    let (all, _) = intake.finish();
    assert!(all.iter().map(|series| series.intervals.len()).sum::<usize>() <= records);
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
