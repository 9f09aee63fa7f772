//! Captures: for any bytes, a reader returns a valid capture or an error of one line.

// Each program that includes this module uses its own part.
#![allow(dead_code)]

use std::io::{Cursor, Write as _};

use chronoscope_capture::{
    Analyser, Capture, Edge, Error, Resampled, Result, Sampling, Sink, Source, measure::Measure,
    measure::Request, measure::analyse, saleae, sigrok, vcd as dump,
};
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

/// A sink that checks the guarantees of a source.
#[derive(Default)]
struct Checked {
    levels: Vec<bool>,
    latest: Vec<Option<u64>>,
    now: u64,
    begun: bool,
    ended: bool,
}

impl Sink for Checked {
    fn begin(&mut self, start: u64, levels: &[bool]) -> Result<()> {
        assert!(!self.begun);
        (self.begun, self.now, self.levels, self.latest) =
            (true, start, levels.to_vec(), vec![None; levels.len()]);
        Ok(())
    }

    fn edge(&mut self, edge: Edge) -> Result<()> {
        assert!(self.begun && !self.ended && edge.at >= self.now);
        assert_ne!(self.levels[edge.channel], edge.level, "each edge is to the other level");
        assert!(
            self.latest[edge.channel].is_none_or(|latest| latest < edge.at),
            "one edge an instant"
        );
        (self.levels[edge.channel], self.latest[edge.channel], self.now) =
            (edge.level, Some(edge.at), edge.at);
        Ok(())
    }

    fn end(&mut self, end: u64) -> Result<()> {
        assert!(self.begun && !self.ended && end >= self.now);
        self.ended = true;
        Ok(())
    }
}

/// Opens a capture.
pub type Open = fn(&[u8]) -> Result<Box<dyn Source>>;

/// The readers of VCD, sigrok's sessions, and Saleae's CSV and binary exports.
pub const READERS: [Open; 4] = [
    |bytes| Ok(Box::new(dump::Reader::new("a", Cursor::new(bytes.to_vec()))?)),
    |bytes| Ok(Box::new(sigrok::Reader::new("a", Cursor::new(bytes.to_vec()))?)),
    |bytes| Ok(Box::new(saleae::Csv::new("a", Cursor::new(bytes.to_vec()))?)),
    |bytes| {
        Ok(Box::new(saleae::Binary::new("a", vec![("c".to_owned(), Cursor::new(bytes.to_vec()))])?))
    },
];

/// Applies everything that the program does with a capture; returns `true` if the bytes are one.
pub fn exercise(open: Open, bytes: &[u8]) -> bool {
    let refuse = |error: Error| {
        let text = format!("{error:#}");
        assert!(!text.is_empty() && !text.contains(char::is_control), "{text:?}");
        false
    };
    let mut source = match open(bytes) {
        Ok(source) => source,
        Err(error) => return refuse(error),
    };
    let all: Vec<usize> = (0..source.header().channels.len()).collect();
    let mut checked = Checked::default();
    if let Err(error) = source.read(&all, &mut checked) {
        return refuse(error);
    }
    assert!(checked.ended && checked.levels.len() == all.len());
    let again = || open(bytes).unwrap();
    let capture = Capture::collect(&mut *again()).unwrap();
    let mut bytes = Vec::new();
    if capture.to_vcd(&mut bytes).is_ok() {
        let read = Capture::from_vcd("a", bytes.as_slice()).unwrap();
        assert!(
            read.channels
                .iter()
                .zip(&capture.channels)
                .all(|(read, wrote)| read.edges.len() == wrote.edges.len())
        );
    }
    // Each measure reads the file again, and 2 KB can define a thousand channels.
    for channels in all.chunks(8).take(2) {
        let channels = channels.iter().map(|place| capture.channels[*place].name.clone()).collect();
        let request = Request { channels, measures: Measure::ALL.to_vec(), ..Request::default() };
        let analysis = analyse(&mut *again(), &request).unwrap();
        let numbers = serde_json::to_string(&analysis.rows).unwrap();
        assert!(analysis.rows.is_empty() || !numbers.is_empty());
    }
    if capture.sampling == Sampling::Exact {
        let mut seen = Resampled::new(again(), Analyser::new(2_000_000, 0.3).unwrap()).unwrap();
        match seen.read(&all, &mut Checked::default()) {
            Ok(()) => {}
            Err(error) => drop(refuse(error)),
        }
    }
    true
}

/// A value change dump.
pub fn vcd(bytes: &[u8]) {
    exercise(READERS[0], bytes);
}

/// A sigrok session: an archive; or its metadata, a zero and the bytes of its samples, since
/// mutations would break an archive.
pub fn sigrok(bytes: &[u8]) {
    if bytes.starts_with(b"PK") {
        exercise(READERS[1], bytes);
        return;
    }
    let cut = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let samples = bytes.get(cut + 1..).unwrap_or_default();
    let halves = samples.split_at(samples.len() / 2);
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::DEFAULT.compression_method(CompressionMethod::Stored);
    for (name, content) in [
        ("version", &b"2"[..]),
        ("metadata", &bytes[..cut]),
        ("logic-1-1", halves.0),
        ("logic-1-2", halves.1),
    ] {
        writer.start_file(name, options).expect("an entry");
        writer.write_all(content).expect("room in memory");
    }
    exercise(READERS[1], &writer.finish().expect("an archive").into_inner());
}

/// A CSV export of Saleae's program.
pub fn saleae_csv(bytes: &[u8]) {
    exercise(READERS[2], bytes);
}

/// A binary export of Saleae's program.
pub fn saleae_binary(bytes: &[u8]) {
    exercise(READERS[3], bytes);
}
