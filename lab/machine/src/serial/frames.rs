//! Separates frames from noise on a line. It checks each frame's integrity; the order of records is
//! checked elsewhere.

use anyhow::Result;
use chronoscope_suite::wire::{self, MAX_FRAME, Record};

/// The bytes between two zero bytes, or a part of them.
pub enum Piece<'a> {
    /// A frame without its closing zero, and the decoded record.
    Frame(&'a [u8], &'a Record<'a>),
    Noise(&'a [u8]),
}

/// Splits the bytes of a line into frames and noise. Noise does not end with a zero, so it may run
/// into a frame; the frame is then the suffix with a valid checksum.
#[derive(Default)]
pub struct Frames {
    since_zero: Vec<u8>,
}

impl Frames {
    /// Takes more bytes and passes each complete piece to `each`, in order.
    ///
    /// # Errors
    /// If `each` fails.
    pub fn feed(
        &mut self,
        bytes: &[u8],
        each: &mut dyn FnMut(Piece<'_>) -> Result<()>,
    ) -> Result<()> {
        for part in bytes.split_inclusive(|byte| *byte == 0) {
            let (part, closed) = part.strip_suffix(&[0]).map_or((part, false), |part| (part, true));
            self.since_zero.extend_from_slice(part);
            // Bytes further back than the longest frame are noise.
            let excess = self.since_zero.len().saturating_sub(MAX_FRAME);
            if excess > 0 {
                each(Piece::Noise(&self.since_zero[..excess]))?;
                self.since_zero.drain(..excess);
            }
            if closed {
                let piece = std::mem::take(&mut self.since_zero);
                close(&piece, each)?;
            }
        }
        Ok(())
    }

    /// Passes on the bytes since the last zero as noise; for a board that fell silent they may be
    /// all there is.
    ///
    /// # Errors
    /// If `each` fails.
    pub fn rest(&mut self, each: &mut dyn FnMut(Piece<'_>) -> Result<()>) -> Result<()> {
        let rest = std::mem::take(&mut self.since_zero);
        if rest.is_empty() { Ok(()) } else { each(Piece::Noise(&rest)) }
    }
}

fn close(piece: &[u8], each: &mut dyn FnMut(Piece<'_>) -> Result<()>) -> Result<()> {
    let mut room = [0; MAX_FRAME];
    for start in 0..piece.len() {
        let (noise, frame) = piece.split_at(start);
        let room = &mut room[..frame.len()];
        room.copy_from_slice(frame);
        if let Ok(record) = wire::decode(room) {
            if !noise.is_empty() {
                each(Piece::Noise(noise))?;
            }
            return each(Piece::Frame(frame, &record));
        }
    }
    if piece.is_empty() { Ok(()) } else { each(Piece::Noise(piece)) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame(line: &str) -> Vec<u8> {
        let mut frame = [0; MAX_FRAME + 1];
        let length = wire::encode(&Record::Log(line), &mut frame).unwrap();
        frame[..length].to_vec()
    }

    /// Returns the lines in the stream and the number of noise bytes.
    fn read(bytes: &[u8], piece: usize) -> (Vec<String>, usize) {
        let (mut frames, mut lines, mut noise) = (Frames::default(), Vec::new(), 0);
        for bytes in bytes.chunks(piece) {
            let each = &mut |piece: Piece<'_>| {
                match piece {
                    Piece::Frame(_, Record::Log(line)) => lines.push((*line).to_owned()),
                    Piece::Frame(_, record) => panic!("{record:?}"),
                    Piece::Noise(bytes) => noise += bytes.len(),
                }
                Ok(())
            };
            frames.feed(bytes, each).unwrap();
        }
        (lines, noise)
    }

    #[test]
    fn frames_are_found_wherever_noise_is() {
        let noise = b"U-Boot 2024.01\r\n\xff\xfe";
        let stream = [
            &noise[..],
            &[0],
            &frame("one"),
            noise,
            &frame("two"),
            &[0, 0],
            noise,
            &[0],
            &frame("three"),
        ]
        .concat();
        for piece in 1..=stream.len() {
            let (lines, skipped) = read(&stream, piece);
            assert_eq!(
                (lines, skipped),
                (["one", "two", "three"].map(str::to_owned).to_vec(), 3 * noise.len())
            );
        }
    }

    #[test]
    fn noise_without_end_takes_no_memory() {
        let (lines, skipped) = read(&[&[1; 100_000][..], &[0], &frame("one")].concat(), 4096);
        assert_eq!((lines.len(), skipped), (1, 100_000));
    }

    proptest! {
        #[test]
        fn no_bytes_do_harm(bytes in prop::collection::vec(0_u8..4, 0..3000), piece in 1..800_usize) {
            let (_, noise) = read(&bytes, piece);
            prop_assert!(noise <= bytes.len());
        }
    }
}
