//! The stream of a board's marks, as `chronoscope_board.h` and the crate's feature `board` send it:
//! frames of COBS with a CRC-16, each ended by a zero. Garbage between frames is skipped and
//! counted.

/// The bytes of a frame without its zero: a byte of COBS, a letter, the words, and the CRC. A name
/// is as long as a head.
const HEAD: usize = 1 + 1 + 4 * 5 + 2;
const RECORD: usize = 1 + 1 + 4 * 4 + 2;

/// The version of the stream that is read.
pub const VERSION: u8 = 1;

/// The clock that a board's marks read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Ticks per second.
    pub hertz: u32,
    /// The largest value, after which the counter begins anew.
    pub top: u32,
    /// The counter counts down.
    pub is_down: bool,
}

/// A frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// The head of the stream, which is repeated.
    Head {
        /// The stream's version.
        version: u8,
        /// The clock of all records.
        counter: Counter,
        /// The number of records before it.
        position: u32,
        /// The clock's value.
        clock: u32,
    },
    /// The record of a mark.
    Record {
        /// The number of records before it.
        position: u32,
        /// The low word of the mark's address.
        place: u32,
        /// The clock's value.
        clock: u32,
        /// The id or the number; means nothing for a mark without.
        argument: u32,
    },
    /// The name of a task, which is repeated.
    Name {
        /// The task's number in the marks.
        id: u32,
        /// Zeros behind the name; a longer name is cut.
        letters: [u8; 16],
    },
}

/// Splits bytes into frames and garbage.
#[derive(Debug, Default)]
pub struct Frames {
    /// The bytes since the last zero, as many as a frame may have.
    since_zero: Vec<u8>,
    /// The bytes that were part of no frame.
    pub garbage: u64,
}

impl Frames {
    /// Takes more bytes, and passes each frame on.
    pub fn feed(&mut self, bytes: &[u8], each: &mut dyn FnMut(Frame)) {
        for byte in bytes {
            if *byte == 0 {
                self.close(each);
            } else {
                if self.since_zero.len() == HEAD {
                    self.since_zero.remove(0);
                    self.garbage += 1;
                }
                self.since_zero.push(*byte);
            }
        }
    }

    /// The number of bytes behind the last zero.
    pub fn rest(&self) -> u64 {
        self.since_zero.len() as u64
    }

    /// Ends a frame. Garbage has no zero at its end: the frame is the last bytes.
    fn close(&mut self, each: &mut dyn FnMut(Frame)) {
        let all = self.since_zero.len();
        let found = [HEAD, RECORD].into_iter().find_map(|length| {
            let start = all.checked_sub(length)?;
            Some((length, decode(&self.since_zero[start..])?))
        });
        self.garbage += (all - found.map_or(0, |(length, _)| length)) as u64;
        self.since_zero.clear();
        if let Some((_, frame)) = found {
            each(frame);
        }
    }
}

/// The frame in these bytes; `None` if they are none.
fn decode(bytes: &[u8]) -> Option<Frame> {
    let mut payload = Vec::with_capacity(HEAD);
    let mut rest = bytes;
    while let Some((&length, behind)) = rest.split_first() {
        let (block, next) = behind.split_at_checked(usize::from(length).checked_sub(1)?)?;
        payload.extend_from_slice(block);
        if !next.is_empty() {
            payload.push(0);
        }
        rest = next;
    }
    let (content, sum) = payload.split_last_chunk::<2>()?;
    let (letter, words) = content.split_first()?;
    if crc(content) != u16::from_le_bytes(*sum) {
        return None;
    }
    let (words, []) = words.as_chunks::<4>() else { return None };
    let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
    match (letter, &words[..]) {
        (b'H', &[form, hertz, top, position, clock]) => {
            let [version, direction, ..] = form.to_le_bytes();
            let counter = Counter { hertz, top, is_down: direction & 1 == 1 };
            Some(Frame::Head { version, counter, position, clock })
        }
        (b'N', &[id, ref letters @ ..]) if letters.len() == 4 => {
            let letters: Vec<u8> = letters.iter().flat_map(|word| word.to_le_bytes()).collect();
            Some(Frame::Name { id, letters: letters.try_into().ok()? })
        }
        (b'M', &[position, place, clock, argument]) => {
            Some(Frame::Record { position, place, clock, argument })
        }
        _ => None,
    }
}

/// CRC-16 of CCITT, from 0xffff on.
fn crc(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0xffff, |crc, byte| {
        (0..8).fold(crc ^ u16::from(*byte) << 8, |crc, _| {
            if crc & 0x8000 == 0 { crc << 1 } else { crc << 1 ^ 0x1021 }
        })
    })
}

/// Makes one time of a counter that begins anew at its largest value.
#[derive(Clone, Copy, Debug)]
pub struct Extended {
    counter: Counter,
    /// The counter's last value, and the ticks until then.
    last: u32,
    now: u64,
}

impl Extended {
    /// Begins with the counter at a value, half a period after the time 0.
    pub fn new(counter: Counter, value: u32) -> Self {
        let last = value.min(counter.top);
        Self { counter, last, now: u64::from(counter.top) / 2 }
    }

    /// The time in ticks of a value that is less than half a period before or after the last one.
    /// The largest time becomes the last. `None` if the counter has no such value.
    pub fn at(&mut self, value: u32) -> Option<u64> {
        let period = u64::from(self.counter.top) + 1;
        let after = self.after(value)?;
        let time = if after > period / 2 {
            self.now.saturating_sub(period - after)
        } else {
            self.now + after
        };
        if time > self.now {
            (self.now, self.last) = (time, value);
        }
        Some(time)
    }

    /// The time of a value that is after the last one by an unknown number of periods: by none.
    /// `None` if the counter has no such value.
    pub fn jump(&mut self, value: u32) -> Option<u64> {
        self.now += self.after(value)?;
        self.last = value;
        Some(self.now)
    }

    /// The ticks from the last value to this one, less than a period.
    fn after(&self, value: u32) -> Option<u64> {
        let period = u64::from(self.counter.top) + 1;
        let (from, to) = if self.counter.is_down { (value, self.last) } else { (self.last, value) };
        (value <= self.counter.top).then(|| (u64::from(to) + period - u64::from(from)) % period)
    }
}

/// The frame of a letter and words, as a board sends it.
#[cfg(test)]
pub fn encode(letter: u8, words: &[u32]) -> Vec<u8> {
    let mut content = vec![letter];
    content.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    content.extend(crc(&content).to_le_bytes());
    let blocks = content.split(|byte| *byte == 0);
    let mut frame: Vec<u8> =
        blocks.flat_map(|block| [&[block.len() as u8 + 1], block].concat()).collect();
    frame.push(0);
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    const UP: Counter = Counter { hertz: 1_000_000, top: u32::MAX, is_down: false };

    fn read(bytes: &[u8], piece: usize) -> (Vec<Frame>, u64) {
        let (mut frames, mut all) = (Frames::default(), Vec::new());
        for bytes in bytes.chunks(piece) {
            frames.feed(bytes, &mut |frame| all.push(frame));
        }
        (all, frames.garbage)
    }

    #[test]
    fn frames_are_found_behind_garbage_which_is_counted() {
        let head = encode(b'H', &[1, 1_000_000, u32::MAX, 7, 0x0102_0000]);
        let record = encode(b'M', &[7, 0x0800_0100, 0, 3]);
        let expected = [
            Frame::Head { version: 1, counter: UP, position: 7, clock: 0x0102_0000 },
            Frame::Record { position: 7, place: 0x0800_0100, clock: 0, argument: 3 },
        ];
        let garbage = b"booting\r\n a line that is longer than any frame has ever been";
        let broken = [&record[..5], &[9], &record[6..]].concat();
        let bytes = [garbage, &head[..], &broken, &record].concat();
        for piece in 1..40 {
            let (frames, lost) = read(&bytes, piece);
            assert_eq!(frames, expected);
            assert_eq!(lost, garbage.len() as u64 + record.len() as u64 - 1);
        }
        for place in 0..record.len() - 1 {
            let mut broken = record.clone();
            broken[place] ^= 0x10;
            assert_eq!(read(&broken, 9).0, []);
        }
    }

    #[test]
    fn a_counter_that_begins_anew_goes_on() {
        let mut up = Extended::new(UP, u32::MAX - 9);
        let start = up.now;
        assert_eq!(up.at(u32::MAX), Some(start + 9));
        assert_eq!(up.at(5), Some(start + 15));
        // A record from before the head.
        assert_eq!(up.at(u32::MAX), Some(start + 9));
        assert_eq!(up.at(6), Some(start + 16));
        let mut down = Extended::new(Counter { top: 99, is_down: true, ..UP }, 3);
        let start = down.now;
        assert_eq!((down.at(0), down.at(99)), (Some(start + 3), Some(start + 4)));
        assert_eq!((down.at(90), down.at(100)), (Some(start + 13), None));
        let mut damaged = Extended::new(Counter { top: 99, ..UP }, u32::MAX);
        assert!(damaged.at(0).is_some());
    }
}
