//! The stream from the target to the lab: records in frames.
//!
//! A frame is a [`Record`] in postcard encoding, followed by its CRC-32, both COBS-encoded, and a
//! terminating zero byte. A reader that starts in the middle, or meets damage, resumes after the
//! next zero. Frames are at most [`MAX_FRAME`] bytes long, so both sides need only one small
//! buffer.
//!
//! The order is: `Hello`, `Clock`, then series with their samples, figures and evidence in any
//! order, and last `End` or `Refused`. A stream without one of these two is truncated.

use crc::{CRC_32_ISO_HDLC, Crc};
use serde::{Deserialize, Serialize};

use crate::refusal::Reason;

/// The version of this format. The lab refuses a stream of another version.
pub const VERSION: u16 = 3;

/// The maximum length of a frame, in bytes, without its terminating zero.
pub const MAX_FRAME: usize = 640;

/// The maximum length of an encoded record: a frame less the overhead of COBS (one byte in 254, and
/// one).
const MAX_RECORD: usize = MAX_FRAME - MAX_FRAME / 254 - 2;

/// The name of the attachment that says how the kernel was compiled: compiler, options,
/// configuration. Ports of kernels that their users compile send it. It is no record of its own,
/// because another record would change the code, and so the figures, of every port.
pub const BUILD: &str = "build";

/// The maximum number of an attachment's bytes in one record.
pub const PART: usize = 512;

/// The maximum number of samples in one block. A sample takes up to 20 bytes.
pub const BLOCK: usize = 28;

static CRC: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);

/// A record of the stream from the target to the lab.
// One record exists at a time, on the stack; there is no heap to box the large one on.
#[allow(clippy::large_enum_variant)]
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub enum Record<'a> {
    /// The sender. Always the first record.
    Hello {
        /// The version of the wire format.
        version: u16,
        /// The kernel's part of the target's name: `linux`.
        kernel: &'a str,
        /// The kernel's version.
        release: &'a str,
        /// The request that the target has read.
        request: &'a str,
    },
    /// The clock of the series that follow.
    Clock(Clock),
    /// The header of a series; its samples follow.
    #[serde(borrow)]
    Series(Series<'a>),
    /// A block of samples.
    Samples(Samples),
    /// A single number beside the samples.
    Figure {
        /// The figure's name.
        name: &'a str,
        /// The unit's name.
        unit: &'a str,
        /// The figure, in the unit.
        value: f64,
    },
    /// A count with its bounds.
    #[serde(borrow)]
    Evidence(Evidence<'a>),
    /// A line for the user.
    Log(&'a str),
    /// A part of a file, such as a trace. Parts of the same name are appended to each other.
    Attachment {
        /// The file's name.
        name: &'a str,
        /// The part's bytes.
        bytes: &'a [u8],
    },
    /// The last record of a case that could not run.
    Refused {
        /// The kind of refusal.
        reason: Reason,
        /// The refused thing, in words for the user.
        what: &'a str,
        /// The remedy, in words for the user; may be empty.
        mend: &'a str,
        /// The operating system's error number, or 0.
        code: i32,
    },
    /// The last record of a complete case.
    End {
        /// The number of records before this one.
        records: u32,
    },
}

/// The meaning of a tick. Figures of different domains are never ranked against each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Domain {
    /// Wall-clock time.
    Wall,
    /// Instructions executed by an emulator: exact, but not time.
    Instructions,
    /// Cycles of the core's clock.
    Cycles,
}

/// A clock of the target.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    /// The quantity that the clock counts.
    pub domain: Domain,
    /// Ticks per second.
    pub hertz: u64,
    /// The smallest difference between two reads that differ, in ticks.
    pub resolution: u64,
}

/// The role of a series in the case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// A result of the experiment, shown in the table and judged.
    Measured,
    /// The measured path without the operation: the instrument's own cost.
    Control,
    /// Shown, but not judged.
    Auxiliary,
}

/// The unit of a series' values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// Ticks of the clock.
    Ticks,
    /// Plain numbers.
    Count,
}

/// The header of a series of samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series<'a> {
    /// The number of the series in this stream, from 0.
    pub id: u8,
    /// The series' name, unique in the stream.
    pub name: &'a str,
    /// The role of the series in the verdict.
    pub role: Role,
    /// The unit of a sample.
    pub unit: Unit,
    /// The number of operations in one sample; each value is divided by it. Above 1 for an
    /// operation too short to be timed alone, and for a step that takes more than one operation.
    pub per: f64,
    /// An offset to add to every value, in the series' unit: 50 ms for a delay of 50 ms whose
    /// samples are the excess.
    pub nominal: u64,
    /// The independent variable, when a slope over the series of the case is meaningful.
    pub x: Option<f64>,
    /// The pin that shows exactly these samples, in an image that drives pins.
    pub pin: Option<Pin>,
}

/// The encoding of samples on a pin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pin {
    /// A pulse for each sample: high from its start to its end.
    Pulse(u8),
    /// Each sample reaches from one edge, rising or falling, to the next.
    Edges(u8),
}

impl<'a> Series<'a> {
    /// Creates the header of a measured series, in ticks.
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

    /// Creates the header of a control: the cost of the measurement itself.
    pub const fn control(name: &'a str) -> Self {
        Self { role: Role::Control, ..Self::measured(name) }
    }

    /// Creates the header of an auxiliary series, which is shown and not judged.
    pub const fn auxiliary(name: &'a str) -> Self {
        Self { role: Role::Auxiliary, ..Self::measured(name) }
    }
}

/// A block of samples of one series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Samples {
    /// The [`Series::id`] of the samples' series.
    pub series: u8,
    /// The samples, in the order of time.
    pub block: heapless::Vec<Sample, BLOCK>,
}

/// A sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// Ticks from the start of the series' previous sample to the start of this one; 0 for the
    /// first.
    pub gap: i64,
    /// The value, in the unit of the series.
    pub value: u64,
}

/// A count that proves or refutes that the mechanism of the case happened.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence<'a> {
    /// The evidence's name.
    pub name: &'a str,
    /// The count.
    pub value: f64,
    /// The lower bound: the evidence holds when `low <= value <= high`.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
}

/// Encodes a record as a frame with its terminating zero. Returns the length, the zero included.
///
/// # Errors
/// An error for a record that does not fit a frame, such as one with a name of hundreds of bytes.
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

/// Decodes one frame, without its terminating zero, in place.
///
/// # Errors
/// [`Damaged`] for bytes that are no frame. Never panics.
pub fn decode(frame: &mut [u8]) -> Result<Record<'_>, Damaged> {
    let length = cobs::decode_in_place(frame).map_err(|_| Damaged)?;
    match postcard::take_from_bytes_crc32(&frame[..length], CRC.digest()) {
        Ok((record, [])) => Ok(record),
        // Bytes behind the checksum are not covered by it.
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
        // In COBS this byte stands for a zero behind the data.
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
