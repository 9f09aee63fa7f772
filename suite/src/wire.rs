//! The stream from the target to the lab: records in frames.
//!
//! A frame is one [`Record`] in postcard's encoding, followed by its CRC-32, in COBS encoding, closed by a
//! zero byte. A reader that starts in the middle, or meets damage, finds the next frame after the
//! next zero. Frames are bounded ([`MAX_FRAME`]), so neither side needs more than one small buffer.
//!
//! The order is: hello, clock, then series with their samples, figures and evidence in any order,
//! and last end or refused. A stream without one of these two was cut short.

use crc::{CRC_32_ISO_HDLC, Crc};
use serde::{Deserialize, Serialize};

use crate::refusal::Reason;

/// The version of everything in this module. The lab refuses a stream of another version.
pub const VERSION: u16 = 3;

/// The longest frame, in bytes, without its closing zero.
pub const MAX_FRAME: usize = 640;

/// The longest encoded record: what is left of a frame after COBS (a byte in 254, and one).
const MAX_RECORD: usize = MAX_FRAME - MAX_FRAME / 254 - 2;

/// Bytes of an attachment in one record at most.
pub const PART: usize = 512;

/// Samples in one block at most: each takes up to 20 bytes.
pub const BLOCK: usize = 28;

static CRC: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);

// One record exists at a time, on the stack; there is no heap to box the large one on.
#[allow(clippy::large_enum_variant)]
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub enum Record<'a> {
    /// Who is there. Always first.
    Hello {
        version: u16,
        /// The kernel's name, as in a target's: `linux`.
        kernel: &'a str,
        /// The kernel's own version.
        release: &'a str,
        /// The request, as understood.
        request: &'a str,
    },
    Clock(Clock),
    /// Announces a series; its samples follow.
    #[serde(borrow)]
    Series(Series<'a>),
    Samples(Samples),
    /// A single number found besides the samples.
    Figure {
        name: &'a str,
        unit: &'a str,
        value: f64,
    },
    #[serde(borrow)]
    Evidence(Evidence<'a>),
    /// A line for the user.
    Log(&'a str),
    /// A part of a file that the target leaves beside its samples, a trace for example. Parts of one name follow each other.
    Attachment {
        name: &'a str,
        bytes: &'a [u8],
    },
    /// The case could not run; nothing follows.
    Refused {
        reason: Reason,
        what: &'a str,
        mend: &'a str,
        code: i32,
    },
    /// The case is complete; nothing follows. `records`: how many came before this one.
    End {
        records: u32,
    },
}

/// What a tick means. Figures of different domains are never ranked against each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Domain {
    /// Time on the wall.
    Wall,
    /// Instructions executed by an emulator: exact, but not time.
    Instructions,
    /// Cycles of the core's clock.
    Cycles,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    pub domain: Domain,
    /// Ticks per second.
    pub hertz: u64,
    /// The smallest step seen between two reads that differ, in ticks.
    pub resolution: u64,
}

/// What a series is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// What the experiment is about: shown in the table.
    Measured,
    /// The same path without the thing measured.
    Control,
    /// Kept and shown beside, but no verdict hangs on it.
    Auxiliary,
}

/// What the values of a series count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// Ticks of the clock.
    Ticks,
    /// Plain numbers.
    Count,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series<'a> {
    /// Numbers the series of this stream from 0.
    pub id: u8,
    pub name: &'a str,
    pub role: Role,
    pub unit: Unit,
    /// Operations in one sample: each value is divided by it. Above 1 for what is too short to be timed
    /// alone, and where one step of the experiment takes more than one operation.
    pub per: f64,
    /// Added to every value, in the series' unit: the 50 ms of a 50 ms delay whose samples tell the excess.
    pub nominal: u64,
    /// What this series differs in from its sisters, when a slope over them tells something.
    pub x: Option<f64>,
    /// The pin that shows the same samples to a logic analyser, where pins are driven.
    pub pin: Option<Pin>,
}

/// How a pin shows samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pin {
    /// Each of them as a pulse: high from its start to its end.
    Pulse(u8),
    /// Each of them from one edge, rising or falling, to the next.
    Edges(u8),
}

impl<'a> Series<'a> {
    pub const fn measured(name: &'a str) -> Self {
        Self {
            id: 0,
            name,
            role: Role::Measured,
            unit: Unit::Ticks,
            per: 1.0,
            nominal: 0,
            x: None,
            pin: None,
        }
    }

    pub const fn control(name: &'a str) -> Self {
        Self { role: Role::Control, ..Self::measured(name) }
    }

    pub const fn auxiliary(name: &'a str) -> Self {
        Self { role: Role::Auxiliary, ..Self::measured(name) }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Samples {
    /// The [`Series::id`].
    pub series: u8,
    pub block: heapless::Vec<Sample, BLOCK>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// Ticks from the start of the series' previous sample to the start of this one; 0 for the first.
    pub gap: i64,
    pub value: u64,
}

/// A count that proves, or refutes, that what the case names is what happened.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence<'a> {
    pub name: &'a str,
    pub value: f64,
    /// It holds when `low <= value <= high`.
    pub low: f64,
    pub high: f64,
}

/// Writes a record as a frame, with its closing zero; returns the frame's length with it.
///
/// # Errors
/// When the record is longer than a frame may be: a name of hundreds of bytes.
pub fn encode(
    record: &Record<'_>,
    frame: &mut [u8; MAX_FRAME + 1],
) -> Result<usize, postcard::Error> {
    let mut bytes = [0; MAX_RECORD];
    let bytes = postcard::to_slice_crc32(record, &mut bytes, CRC.digest())?;
    let length = cobs::encode(bytes, frame);
    frame[length] = 0;
    Ok(length + 1)
}

/// Reads one frame, without its closing zero, in place.
///
/// # Errors
/// When the frame is damaged. It never panics, whatever the bytes.
pub fn decode(frame: &mut [u8]) -> Result<Record<'_>, Damaged> {
    let length = cobs::decode_in_place(frame).map_err(|_| Damaged)?;
    match postcard::take_from_bytes_crc32(&frame[..length], CRC.digest()) {
        Ok((record, [])) => Ok(record),
        // The sum does not cover what stands behind it.
        Ok(_) | Err(_) => Err(Damaged),
    }
}

/// A frame that does not hold a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged;

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back(record: &Record<'_>) {
        let mut frame = [0; MAX_FRAME + 1];
        let length = encode(record, &mut frame).unwrap();
        assert_eq!(frame[..length].iter().position(|&byte| byte == 0), Some(length - 1));
        assert_eq!(decode(&mut frame[..length - 1]).as_ref(), Ok(record));
    }

    #[test]
    fn records_survive() {
        there_and_back(&Record::Hello {
            version: VERSION,
            kernel: "linux",
            release: "6.1",
            request: "switch",
        });
        there_and_back(&Record::Series(Series::measured("switch")));
        there_and_back(&Record::Evidence(Evidence {
            name: "switches",
            value: 3.0,
            low: 2.0,
            high: f64::INFINITY,
        }));
        there_and_back(&Record::End { records: 3 });
    }

    #[test]
    fn the_largest_block_fits_a_frame() {
        let sample = Sample { gap: i64::MIN, value: u64::MAX };
        let block = core::iter::repeat_n(sample, BLOCK).collect();
        there_and_back(&Record::Samples(Samples { series: u8::MAX, block }));
    }

    #[test]
    fn a_byte_too_many_is_noticed() {
        let mut frame = [0; MAX_FRAME + 1];
        let length = encode(&Record::Log("forty-two"), &mut frame).unwrap();
        // In COBS, a zero behind the data.
        frame[length - 1] = 1;
        assert_eq!(decode(&mut frame[..length]), Err(Damaged));
    }

    #[test]
    fn a_damaged_bit_is_noticed() {
        let mut frame = [0; MAX_FRAME + 1];
        let length = encode(&Record::Log("forty-two"), &mut frame).unwrap();
        for byte in 0..length - 1 {
            for bit in 0..8 {
                let mut damaged = frame;
                damaged[byte] ^= 1 << bit;
                assert!(decode(&mut damaged[..length - 1]).is_err(), "byte {byte} bit {bit}");
            }
        }
    }
}
