//! For any bytes, a capture reader returns a valid capture or an error.

use std::io::{Cursor, Write as _};

use chronoscope_capture::Sampling;
use proptest::{collection::vec, prelude::*, sample::Index, sample::select};
use zip::{ZipWriter, write::SimpleFileOptions};

use crate::{
    captures::{binary, csv, signal, sr, vcd},
    common::effort,
    readers::capture::{READERS, exercise},
};

/// A signal in the format of each reader.
fn valid() -> [Vec<u8>; 4] {
    let capture = signal(1_000_000, Sampling::Exact, 12, 40);
    [vcd(&capture), sr(&capture), csv(&capture), binary(&capture, 1, 1)]
}

#[derive(Clone, Debug)]
enum Change {
    Set(Index, u8),
    Remove(Index, usize),
    Repeat(Index, usize),
    Cut(Index),
}

fn change() -> impl Strategy<Value = Change> {
    let at = any::<Index>;
    let byte = prop_oneof![any::<u8>(), select(b"0123456789#!\"$xz,.-b \n".to_vec())];
    prop_oneof![
        4 => (at(), byte).prop_map(|(at, byte)| Change::Set(at, byte)),
        1 => (at(), 1..40_usize).prop_map(|(at, count)| Change::Remove(at, count)),
        1 => (at(), 1..40_usize).prop_map(|(at, count)| Change::Repeat(at, count)),
        1 => at().prop_map(Change::Cut),
    ]
}

fn changed(bytes: &[u8], changes: &[Change]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for change in changes.iter().filter(|_| !bytes.is_empty()).cloned().collect::<Vec<_>>() {
        let length = bytes.len().max(1);
        match change {
            Change::Set(at, byte) => {
                bytes.iter_mut().skip(at.index(length)).take(1).for_each(|old| *old = byte)
            }
            Change::Remove(at, count) => {
                let at = at.index(length).min(bytes.len());
                bytes.drain(at..(at + count).min(bytes.len()));
            }
            Change::Repeat(at, count) => {
                let at = at.index(length).min(bytes.len());
                let piece = bytes[at..(at + count).min(bytes.len())].to_vec();
                bytes.splice(at..at, piece);
            }
            Change::Cut(at) => bytes.truncate(at.index(length)),
        }
    }
    bytes
}

fn words() -> impl Strategy<Value = String> {
    let word = select(vec![
        "#0",
        "#5",
        "#7",
        "#7",
        "#9",
        "0!",
        "1!",
        "0\"",
        "1\"",
        "x!",
        "b01 (",
        "b1",
        "bz (",
        "r1.5 !",
        "s! !",
        "$dumpvars",
        "$end",
        "$comment",
        "$var",
        "wire",
        "1",
        "4",
        "!",
        "(",
        "v[3:0]",
        "[0:3]",
        "$scope",
        "$upscope",
        "$timescale",
        "1ns",
        "hertz",
        "chronoscope",
        "sampled",
        "84000000",
        "0",
        "#18446744073709551615",
    ]);
    vec(word, 0..40).prop_map(|words| words.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: effort(400), ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(bytes in vec(any::<u8>(), 0..600), reader in 0..4_usize) {
        let heads = [b"$var wire 1 ! a $end ".as_slice(), b"PK\x03\x04", b"Time [s],a\n", b"<SALEAE>\0\0\0\0\0\0\0\0"];
        exercise(READERS[reader], &bytes);
        exercise(READERS[reader], &[heads[reader], &bytes].concat());
    }

    #[test]
    fn damaged_captures(changes in vec(change(), 1..5), reader in 0..4_usize) {
        exercise(READERS[reader], &changed(&valid()[reader], &changes));
    }

    #[test]
    fn any_words_are_a_dump(head in words(), body in words(), sound in any::<bool>()) {
        let definitions = "$timescale 1 us $end $var wire 1 ! a $end $var wire 1 \" b $end $var reg 4 ( v [3:0] $end";
        let start = if sound { "#0 0! 0\" b0 (" } else { "" };
        exercise(READERS[0], format!("{definitions} {head} $enddefinitions $end {start} {body}").as_bytes());
    }

    /// Valid archives of invalid sessions.
    #[test]
    fn any_session(
        metadata in "([a-z0-9= ]{0,12}\n){0,3}",
        unit in 0..4_usize,
        probe in 0..20_usize,
        parts in vec(vec(select(vec![0_u8, 0, 0, 1, 255]), 0..300), 0..4),
        changes in vec(change(), 0..2),
    ) {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        let text = format!(
            "[device 1]\ncapturefile=logic-1\nsamplerate=1 MHz\nprobe{probe}=a\nprobe1=b\nunitsize={unit}\n{metadata}"
        );
        let text = changed(text.as_bytes(), &changes);
        let mut entries = vec![("version".to_owned(), b"2".to_vec()), ("metadata".to_owned(), text)];
        entries.extend(parts.into_iter().enumerate().map(|(place, part)| (format!("logic-1-{}", place + 1), part)));
        for (name, content) in entries {
            writer.start_file(name, SimpleFileOptions::DEFAULT).unwrap();
            writer.write_all(&content).unwrap();
        }
        exercise(READERS[1], &writer.finish().unwrap().into_inner());
    }
}

#[test]
fn the_originals_are_captures() {
    for (open, bytes) in READERS.into_iter().zip(valid()) {
        assert!(exercise(open, &bytes));
    }
}
