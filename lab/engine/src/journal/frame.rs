//! Frames of a journal: a kind, a length, a checksum and a payload.

use std::{fs::File, os::unix::fs::FileExt};

use anyhow::{Result, bail};
use flate2::Crc;
use serde::{Serialize, de::DeserializeOwned};

/// The number of bytes before a payload.
pub const HEAD: usize = 9;

/// The longest payload of a piece.
pub const MAX_PIECE: usize = 1 << 20;

/// The longest payload of a frame of JSON.
const MAX_JSON: usize = 64 << 20;

/// The longest payload of any frame.
pub const MAX_LENGTH: u64 = MAX_JSON as u64;

/// The most bytes of payloads that a search for a frame reads.
const MAX_SEARCH: u64 = 4 * MAX_LENGTH;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    Header = b'H',
    Begin = b'B',
    Stream = b'S',
    Capture = b'C',
    Runs = b'R',
    End = b'E',
    Pair = b'P',
    Stored = b'N',
}

impl Kind {
    const ALL: [Self; 8] = [
        Self::Header,
        Self::Begin,
        Self::Stream,
        Self::Capture,
        Self::Runs,
        Self::End,
        Self::Pair,
        Self::Stored,
    ];

    fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == byte)
    }

    fn max(self) -> usize {
        if self.is_json() { MAX_JSON } else { MAX_PIECE }
    }

    fn is_json(self) -> bool {
        !matches!(self, Self::Stream | Self::Capture | Self::Runs)
    }
}

fn sum(kind: u8, length: [u8; 4], payload: &[u8]) -> [u8; 4] {
    let mut crc = Crc::new();
    crc.update(&[kind]);
    crc.update(&length);
    crc.update(payload);
    crc.sum().to_le_bytes()
}

/// Appends a frame; `payload` is at most as long as its kind's longest.
pub fn push(bytes: &mut Vec<u8>, kind: Kind, payload: &[u8]) {
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX).to_le_bytes();
    bytes.push(kind as u8);
    bytes.extend_from_slice(&length);
    bytes.extend_from_slice(&sum(kind as u8, length, payload));
    bytes.extend_from_slice(payload);
}

/// Appends frames of at most [`MAX_PIECE`] bytes each, and none for no bytes.
pub fn push_pieces(bytes: &mut Vec<u8>, kind: Kind, payload: &[u8]) {
    payload.chunks(MAX_PIECE).for_each(|piece| push(bytes, kind, piece));
}

/// Appends a frame of JSON.
///
/// # Errors
/// If the value has no JSON form, or one that is too long.
pub fn push_json(bytes: &mut Vec<u8>, kind: Kind, value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_vec(value)?;
    if text.len() > MAX_JSON {
        bail!("an entry is longer than {} MiB", MAX_JSON >> 20);
    }
    push(bytes, kind, &text);
    Ok(())
}

/// The head of a frame in a file.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    pub kind: Kind,
    length: [u8; 4],
    sum: [u8; 4],
    /// The payload's offset in the file, in bytes.
    start: u64,
}

impl Frame {
    /// Reads the head at `at` of a file of `size` bytes; `None` if it is no frame, or one that the
    /// file does not hold whole.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn at(file: &File, at: u64, size: u64) -> Result<Option<Self>> {
        let start = at.saturating_add(HEAD as u64);
        if start > size {
            return Ok(None);
        }
        let mut head = [0; HEAD];
        file.read_exact_at(&mut head, at)?;
        let [kind, l0, l1, l2, l3, s0, s1, s2, s3] = head;
        let Some(kind) = Kind::from_byte(kind) else { return Ok(None) };
        let frame = Self { kind, length: [l0, l1, l2, l3], sum: [s0, s1, s2, s3], start };
        let is_whole = frame.len() <= kind.max() && frame.end() <= size;
        Ok(is_whole.then_some(frame))
    }

    fn len(&self) -> usize {
        u32::from_le_bytes(self.length) as usize
    }

    /// The offset of the next frame.
    pub fn end(&self) -> u64 {
        self.start.saturating_add(self.len() as u64)
    }

    /// Reads the payload into `buffer`, replacing its content. Returns `false` if its checksum is
    /// wrong.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read(&self, file: &File, buffer: &mut Vec<u8>) -> Result<bool> {
        buffer.resize(self.len(), 0);
        file.read_exact_at(buffer, self.start)?;
        Ok(sum(self.kind as u8, self.length, buffer) == self.sum)
    }

    /// Reads and parses the payload of a frame of JSON; `None` if it is damaged.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn json<T: DeserializeOwned>(&self, file: &File) -> Result<Option<T>> {
        let mut text = Vec::new();
        let is_valid = self.read(file, &mut text)?;
        Ok(serde_json::from_slice(&text).ok().filter(|_| is_valid))
    }
}

/// Returns whether a whole frame of JSON begins at `from` or after it. Reads each byte once, and
/// [`MAX_SEARCH`] bytes of what looks like a frame's payload; returns `true` if there is more.
///
/// # Errors
/// If the file cannot be read.
pub fn follows(file: &File, from: u64, size: u64) -> Result<bool> {
    let (mut window, mut payload) = (vec![0; MAX_PIECE], Vec::new());
    let (mut at, mut searched) = (from, 0);
    while at.saturating_add(HEAD as u64) < size {
        let length = usize::try_from(size - at)?.min(window.len());
        file.read_exact_at(&mut window[..length], at)?;
        let starts = length - HEAD;
        for place in 0..starts {
            let is_head = Kind::from_byte(window[place]).is_some_and(Kind::is_json);
            if !is_head || window[place + HEAD] != b'{' {
                continue;
            }
            let Some(frame) = Frame::at(file, at + place as u64, size)? else { continue };
            searched += frame.len() as u64;
            if searched > MAX_SEARCH || frame.read(file, &mut payload)? {
                return Ok(true);
            }
        }
        at += starts as u64;
    }
    Ok(false)
}
