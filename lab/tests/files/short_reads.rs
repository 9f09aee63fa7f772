//! A reader gives the same result however few bytes its source has at a time, and whatever
//! interrupts it.

use std::io::{self, Cursor, Read, Seek, SeekFrom};

use chronoscope_capture::{Capture, Sampling, Source, saleae, sigrok, vcd as dump};

use crate::captures::{binary, csv, signal, sr, vcd};

/// A source that gives a byte at a time and is interrupted before each.
struct Trickle {
    bytes: Cursor<Vec<u8>>,
    interrupted: bool,
}

impl Trickle {
    fn new(bytes: &[u8]) -> Self {
        Self { bytes: Cursor::new(bytes.to_vec()), interrupted: false }
    }
}

impl Read for Trickle {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.interrupted = !self.interrupted;
        if self.interrupted {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let length = buffer.len().min(1);
        self.bytes.read(&mut buffer[..length])
    }
}

impl Seek for Trickle {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.bytes.seek(to)
    }
}

fn collect(mut source: impl Source) -> Capture {
    Capture::collect(&mut source).unwrap()
}

#[test]
fn captures_are_the_same_byte_by_byte() {
    let capture = signal(1_000_000, Sampling::Exact, 12, 40);
    let bytes = vcd(&capture);
    let whole = collect(dump::Reader::new("a", bytes.as_slice()).unwrap());
    assert_eq!(collect(dump::Reader::new("a", Trickle::new(&bytes)).unwrap()), whole);
    let bytes = csv(&capture);
    let whole = collect(saleae::Csv::new("a", bytes.as_slice()).unwrap());
    assert_eq!(collect(saleae::Csv::new("a", Trickle::new(&bytes)).unwrap()), whole);
    let bytes = sr(&capture);
    let whole = collect(sigrok::Reader::new("a", Cursor::new(bytes.clone())).unwrap());
    assert_eq!(collect(sigrok::Reader::new("a", Trickle::new(&bytes)).unwrap()), whole);
    let bytes = binary(&capture, 1, 1);
    let named = |input| vec![("c".to_owned(), input)];
    let whole = collect(saleae::Binary::new("a", named(Cursor::new(bytes.clone()))).unwrap());
    let trickle = Trickle::new(&bytes);
    assert_eq!(collect(saleae::Binary::new("a", vec![("c".to_owned(), trickle)]).unwrap()), whole);
    assert!(whole.channels[0].edges.len() > 20);
}
