//! Journals: for any file, `recover` makes runs that can be stored and read again, or an error of one
//! line.

use std::{fs, time::Duration};

use chronoscope_engine::{journal::Unfinished, runner};
use chronoscope_report::{Screen, answer, json, table};
use chronoscope_store::reference;
use flate2::Crc;

use super::{file, ok_with_message, one_line};

/// The first bytes of a journal.
const MAGIC: &[u8] = b"chronoscope\n1\n";

/// A whole journal; or its frames without their checksums, which mutations would break.
pub fn read(bytes: &[u8]) {
    let path = file("journal");
    let journal = if bytes.starts_with(MAGIC) { bytes.to_vec() } else { framed(bytes) };
    fs::write(&path, journal).expect("room for a file");
    let opened = one_line(Unfinished::open(&path, Duration::ZERO)).flatten();
    let recovered = opened.and_then(|journal| ok_with_message(runner::recovered(&journal)));
    for run in recovered.into_iter().flatten().filter(|run| !run.cases.is_empty()) {
        table::render(&run, &Screen::plain());
        answer::terminal::render(&run, &Screen::plain());
        let written = json::render(&run).expect("JSON");
        reference::parse(&written).expect("a run as it was recovered");
    }
    // A journal without a whole header has been removed.
    let _ = fs::remove_file(&path);
}

/// A journal of these frames. Each is its kind, the length of its payload (two bytes, little-endian)
/// and the payload, of which the last may be cut.
fn framed(mut bytes: &[u8]) -> Vec<u8> {
    let mut journal = MAGIC.to_vec();
    while let [kind, low, high, rest @ ..] = bytes {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(rest.len());
        let (payload, next) = rest.split_at(length);
        let size = (length as u32).to_le_bytes();
        let mut sum = Crc::new();
        [&[*kind][..], &size, payload].into_iter().for_each(|part| sum.update(part));
        [&[*kind][..], &size, &sum.sum().to_le_bytes(), payload]
            .into_iter()
            .for_each(|part| journal.extend_from_slice(part));
        bytes = next;
    }
    journal
}
