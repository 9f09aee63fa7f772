//! Extracts `vmlinux` from a compressed kernel image. QEMU starts it through the PVH entry in its
//! notes, without the decompressor, in a third of the time. This module knows image formats, not
//! machines.

use std::{
    io::{self, Cursor, Read},
    sync::atomic::{AtomicBool, Ordering},
};

use anyhow::{Context, Result, bail};
use flate2::read::GzDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::StreamingDecoder;

// Offsets in the header, from Documentation/arch/x86/boot.rst of Linux.
const SETUP_SECTORS: usize = 0x1f1;
const MAGIC: Magic = Magic { place: 0x202, bytes: b"HdrS" };
const VERSION: usize = 0x206;
const PAYLOAD_OFFSET: usize = 0x248;
const PAYLOAD_LENGTH: usize = 0x24c;

/// The most bytes that are unpacked, a bound for damaged data; no kernel image is larger.
const MAX_BYTES: u64 = 1 << 30;

/// The most bytes that are unpacked between two looks at `stop`: some milliseconds of work.
const PIECE: usize = 1 << 16;

const ELF: &[u8] = b"\x7fELF";

/// The bytes at a place of a file that identify its format.
pub struct Magic {
    pub place: usize,
    pub bytes: &'static [u8],
}

impl Magic {
    /// Returns whether a file has the bytes at their place.
    pub fn is_in(&self, file: &[u8]) -> bool {
        file.get(self.place..).is_some_and(|rest| rest.starts_with(self.bytes))
    }
}

/// Returns the `vmlinux` in a bzImage, or a copy of `image` if it is a `vmlinux` already. Unpacking
/// takes seconds; it ends within 0.1 s after `stop` becomes true.
///
/// # Errors
/// If the image is neither, its payload is packed in an unknown way or damaged, or `stop` becomes
/// true.
pub fn vmlinux(image: &[u8], stop: &AtomicBool) -> Result<Vec<u8>> {
    if image.starts_with(ELF) {
        return Ok(image.to_vec());
    }
    let payload = payload(image)
        .context("it is neither a bzImage of the boot protocol 2.08 or later nor a vmlinux")?;
    let unpacked = unpacked(payload, stop)?;
    if !unpacked.starts_with(ELF) {
        bail!("its payload is no ELF file");
    }
    Ok(unpacked)
}

/// Returns whether a file begins as a bzImage.
pub fn is_bzimage(head: &[u8]) -> bool {
    MAGIC.is_in(head)
}

/// Unpacks the payload of a kernel image.
///
/// # Errors
/// If it is packed in an unknown way or damaged, or `stop` becomes true.
pub fn unpacked(payload: &[u8], stop: &AtomicBool) -> Result<Vec<u8>> {
    let unpacked = match payload {
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => {
            read(XzReader::new(Cursor::new(payload), false), stop)
        }
        [0x28, 0xb5, 0x2f, 0xfd, ..] => read(StreamingDecoder::new(Cursor::new(payload))?, stop),
        [0x1f, 0x8b, ..] => read(GzDecoder::new(payload), stop),
        _ => bail!("its payload is packed in a way that is not known here: xz, zstd and gzip are"),
    };
    unpacked.context("its payload cannot be unpacked")
}

/// Unpacks a kernel module packed with xz, as in newer packages.
///
/// # Errors
/// If the data is not xz, or `stop` becomes true.
pub fn unpacked_module(packed: &[u8], stop: &AtomicBool) -> Result<Vec<u8>> {
    read(XzReader::new(Cursor::new(packed), false), stop).context("a module cannot be unpacked")
}

fn read(packed: impl Read, stop: &AtomicBool) -> io::Result<Vec<u8>> {
    let mut unpacked = Vec::new();
    Stoppable { packed, stop }.take(MAX_BYTES).read_to_end(&mut unpacked)?;
    Ok(unpacked)
}

/// A reader that gives at most [`PIECE`] bytes at once, and fails when `stop` becomes true.
struct Stoppable<'a, R> {
    packed: R,
    stop: &'a AtomicBool,
}

impl<R: Read> Read for Stoppable<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.load(Ordering::Relaxed) {
            // An error of the kind `Interrupted` would be tried again.
            return Err(io::Error::other("interrupted"));
        }
        let length = buffer.len().min(PIECE);
        self.packed.read(&mut buffer[..length])
    }
}

fn payload(image: &[u8]) -> Option<&[u8]> {
    let number =
        |at: usize| Some(u32::from_le_bytes(image.get(at..at + 4)?.try_into().ok()?) as usize);
    let known = MAGIC.is_in(image) && number(VERSION)? & 0xffff >= 0x208;
    let sectors = usize::from(*image.get(SETUP_SECTORS)?);
    let kernel = 512 * (1 + if sectors == 0 { 4 } else { sectors });
    let start = kernel.checked_add(number(PAYLOAD_OFFSET)?)?;
    // The unpacked length follows the packed data.
    let end = start.checked_add(number(PAYLOAD_LENGTH)?)?.checked_sub(4)?;
    image.get(start..end).filter(|_| known)
}

#[cfg(test)]
mod tests {
    use std::{io::Write, thread, time::Duration};

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    static GO_ON: AtomicBool = AtomicBool::new(false);

    fn image(payload: &[u8]) -> Vec<u8> {
        let mut image = vec![0; 1024 + 16];
        image[SETUP_SECTORS] = 1;
        image[0x202..0x208].copy_from_slice(b"HdrS\x0f\x02");
        image[PAYLOAD_OFFSET..PAYLOAD_OFFSET + 4].copy_from_slice(&16_u32.to_le_bytes());
        image[PAYLOAD_LENGTH..PAYLOAD_LENGTH + 4]
            .copy_from_slice(&(payload.len() as u32 + 4).to_le_bytes());
        [&image[..], payload, &[0; 4]].concat()
    }

    #[test]
    fn a_packed_kernel_is_unpacked() {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(b"\x7fELF and so on").unwrap();
        let image = image(&gzip.finish().unwrap());
        assert_eq!(vmlinux(&image, &GO_ON).unwrap(), b"\x7fELF and so on");
    }

    /// The program hears a signal while it unpacks: a kernel takes seconds.
    #[test]
    fn unpacking_ends_when_it_is_stopped() {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(b"\x7fELF").unwrap();
        gzip.write_all(&vec![0; 16 << 20]).unwrap();
        let image = image(&gzip.finish().unwrap());
        let stop = AtomicBool::new(false);
        let stopped = thread::scope(|scope| {
            let unpacking = scope.spawn(|| vmlinux(&image, &stop));
            thread::sleep(Duration::from_millis(1));
            stop.store(true, Ordering::Relaxed);
            unpacking.join().unwrap()
        });
        let error = format!("{:#}", stopped.unwrap_err());
        assert!(error.ends_with("interrupted"), "{error}");
    }

    /// A piece is as small at the end of a large kernel, where the buffer is large, as at its
    /// begin.
    #[test]
    fn stop_is_looked_at_for_each_piece() {
        let packed = vec![7; 3 * PIECE + 5];
        let mut pieces = Stoppable { packed: packed.as_slice(), stop: &GO_ON };
        let mut buffer = vec![0; 2 * packed.len()];
        let lengths = [(); 5].map(|()| pieces.read(&mut buffer).unwrap());
        assert_eq!(lengths, [PIECE, PIECE, PIECE, 5, 0]);
        let stopped = Stoppable { packed: packed.as_slice(), stop: &AtomicBool::new(true) };
        assert!(stopped.take(1).read_to_end(&mut Vec::new()).is_err());
    }

    #[test]
    fn what_is_no_kernel_is_told() {
        for bad in [
            &b""[..],
            b"hello",
            &[0; 4096],
            &image(b"????"),
            &image(&[0x1f, 0x8b, 0, 0, 0]),
            &image(b"")[..0x250],
        ] {
            assert!(vmlinux(bad, &GO_ON).is_err());
        }
        let mut far = image(b"");
        far[PAYLOAD_OFFSET..PAYLOAD_OFFSET + 8].fill(0xff);
        assert!(vmlinux(&far, &GO_ON).is_err());
    }
}
