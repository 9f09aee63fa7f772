//! Decodes a target's stream, from bytes in pieces of any size to records in a checked order. It
//! knows framing, not the meaning of records.
//!
//! The bytes are not trusted, since they come from a serial line, a file or a port that may have
//! crashed. Memory is bounded by a frame, and damage is an error that gives the place.

use anyhow::{Result, bail};
use chronoscope_suite::wire::{self, MAX_FRAME, Record};

/// Splits the stream into frames and checks that it is complete.
#[derive(Default)]
pub struct Decoder {
    frame: Vec<u8>,
    bytes: u64,
    records: u32,
    ended: bool,
}

impl Decoder {
    /// Decodes more bytes and passes each complete record to `each`.
    ///
    /// # Errors
    /// If the stream is damaged, has another version or a wrong order, or `each` fails; a message
    /// about the stream gives the byte.
    pub fn feed(
        &mut self,
        mut bytes: &[u8],
        each: &mut dyn FnMut(&Record<'_>) -> Result<()>,
    ) -> Result<()> {
        while !bytes.is_empty() {
            let end = memchr::memchr(0, bytes);
            let piece = &bytes[..end.unwrap_or(bytes.len())];
            if self.frame.len() + piece.len() > MAX_FRAME {
                bail!(
                    "the stream is damaged at byte {}: a frame is longer than {MAX_FRAME} bytes",
                    self.bytes
                );
            }
            self.frame.extend_from_slice(piece);
            let Some(end) = end else { return Ok(()) };
            bytes = &bytes[end + 1..];
            let start = self.bytes;
            self.bytes += self.frame.len() as u64 + 1;
            let mut frame = std::mem::take(&mut self.frame);
            match wire::decode(&mut frame) {
                Ok(record) => {
                    self.check(&record, start)?;
                    each(&record)?;
                }
                Err(wire::Damaged) => bail!("the stream is damaged at byte {start}"),
            }
            // Keeps the allocation for the next frame.
            frame.clear();
            self.frame = frame;
        }
        Ok(())
    }

    fn check(&mut self, record: &Record<'_>, start: u64) -> Result<()> {
        match record {
            _ if self.ended => bail!("the stream goes on after its end, at byte {start}"),
            Record::Hello { version, .. } if *version != wire::VERSION => {
                bail!(
                    "the port speaks version {version} of the stream and the lab {}: build both from one tree",
                    wire::VERSION
                );
            }
            Record::Hello { .. } if self.records > 0 => {
                bail!("the stream starts again at byte {start}: the target was reset")
            }
            Record::Hello { .. } => {}
            _ if self.records == 0 => bail!("the stream does not start with a hello"),
            Record::End { records } if *records != self.records => {
                bail!("the stream lost records: {records} were sent and {} arrived", self.records);
            }
            Record::End { .. } | Record::Refused { .. } => self.ended = true,
            _ => {}
        }
        self.records += 1;
        Ok(())
    }

    /// Checks that the stream has ended with its last record.
    ///
    /// # Errors
    /// If the stream was cut short, or part of a frame follows its end.
    pub fn finish(&self) -> Result<()> {
        if !self.ended {
            bail!("the stream was cut short after {} bytes", self.bytes + self.frame.len() as u64);
        }
        if !self.frame.is_empty() {
            bail!("the stream goes on after its end, at byte {}", self.bytes);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(records: &[Record<'_>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for record in records {
            let mut frame = [0; MAX_FRAME + 1];
            let length = wire::encode(record, &mut frame).unwrap();
            bytes.extend_from_slice(&frame[..length]);
        }
        bytes
    }

    fn hello() -> Record<'static> {
        Record::Hello { version: wire::VERSION, kernel: "k", release: "1", request: "switch" }
    }

    fn read(bytes: &[u8], piece: usize) -> Result<usize> {
        let mut decoder = Decoder::default();
        let mut records = 0;
        for piece in bytes.chunks(piece) {
            decoder.feed(piece, &mut |_| {
                records += 1;
                Ok(())
            })?;
        }
        decoder.finish()?;
        Ok(records)
    }

    #[test]
    fn pieces_of_any_size_give_the_same_records() {
        let bytes = stream(&[hello(), Record::Log("a line"), Record::End { records: 2 }]);
        for piece in 1..=bytes.len() {
            assert_eq!(read(&bytes, piece).unwrap(), 3, "pieces of {piece}");
        }
    }

    #[test]
    fn what_is_not_whole_is_an_error() {
        let bytes = stream(&[hello(), Record::End { records: 1 }]);
        for length in 0..bytes.len() {
            assert!(read(&bytes[..length], 7).is_err(), "cut at {length}");
        }
        let more = [&bytes[..], &[7]].concat();
        assert!(read(&more, 7).unwrap_err().to_string().contains("goes on after its end"));
        let lost = stream(&[hello(), Record::End { records: 2 }]);
        assert!(read(&lost, 7).unwrap_err().to_string().contains("lost records"));
        let version = Record::Hello { version: 9, kernel: "k", release: "1", request: "" };
        assert!(read(&stream(&[version]), 7).unwrap_err().to_string().contains("version 9"));
        assert!(read(&[1; 4096], 7).unwrap_err().to_string().contains("longer than"));
    }

    #[test]
    fn each_fault_is_told_with_its_place() {
        let refused = || Record::Refused {
            reason: chronoscope_suite::Reason::NotOffered,
            what: "no threads",
            mend: "",
            code: 0,
        };
        let one = stream(&[hello()]).len();
        let two = stream(&[hello(), Record::Log("a")]).len();
        let end = |records| Record::End { records };
        let mut damaged = stream(&[hello(), Record::Log("a")]);
        damaged[one + 2] ^= 0x10;
        let table = [
            (stream(&[hello(), hello()]), format!("starts again at byte {one}: the target was")),
            (stream(&[Record::Log("a")]), "does not start with a hello".to_owned()),
            (
                stream(&[hello(), Record::Log("a"), end(1)]),
                "lost records: 1 were sent and 2 arrived".to_owned(),
            ),
            (stream(&[hello(), end(2)]), "lost records: 2 were sent and 1 arrived".to_owned()),
            (
                stream(&[hello(), end(1), Record::Log("a")]),
                format!("goes on after its end, at byte {}", stream(&[hello(), end(1)]).len()),
            ),
            (stream(&[hello(), refused(), Record::Log("a")]), "goes on after its end".to_owned()),
            (stream(&[hello(), Record::Log("a")]), format!("cut short after {two} bytes")),
            (damaged, format!("damaged at byte {one}")),
        ];
        for (bytes, why) in table {
            for piece in [1, 7, bytes.len()] {
                let error = read(&bytes, piece).unwrap_err().to_string();
                assert!(error.contains(&why), "{error}, not {why}");
            }
        }
        assert_eq!(read(&stream(&[hello(), refused()]), 7).unwrap(), 2);
    }

    #[test]
    fn a_frame_has_a_longest_length() {
        let feed = |length| Decoder::default().feed(&vec![1; length], &mut |_| Ok(()));
        assert!(feed(MAX_FRAME).is_ok());
        let error = feed(MAX_FRAME + 1).unwrap_err().to_string();
        assert!(error.contains("damaged at byte 0: a frame is longer than"), "{error}");
    }
}
