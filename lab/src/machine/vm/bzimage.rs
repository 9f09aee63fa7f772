//! Extracts `vmlinux` from a compressed kernel image. QEMU starts it through the PVH entry in its
//! notes, without the decompressor, in a third of the time. This module knows image formats, not
//! machines.

use std::io::{Cursor, Read};

use anyhow::{Context, Result, bail};
use flate2::read::GzDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::StreamingDecoder;

// Offsets in the header, from Documentation/arch/x86/boot.rst of Linux.
const SETUP_SECTORS: usize = 0x1f1;
const MAGIC: (usize, &[u8]) = (0x202, b"HdrS");
const VERSION: usize = 0x206;
const PAYLOAD_OFFSET: usize = 0x248;
const PAYLOAD_LENGTH: usize = 0x24c;

/// The most bytes that are unpacked, a bound for damaged data; no kernel image is larger.
const MAX_BYTES: u64 = 1 << 30;

const ELF: &[u8] = b"\x7fELF";

/// Returns the `vmlinux` in a bzImage, or a copy of `image` if it is a `vmlinux` already.
///
/// # Errors
/// If the image is neither, or its payload is packed in an unknown way or damaged.
pub fn vmlinux(image: &[u8]) -> Result<Vec<u8>> {
    if image.starts_with(ELF) {
        return Ok(image.to_vec());
    }
    let payload = payload(image)
        .context("it is neither a bzImage of the boot protocol 2.08 or later nor a vmlinux")?;
    let mut unpacked = Vec::new();
    let read = match payload {
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => {
            read(XzReader::new(Cursor::new(payload), false), &mut unpacked)
        }
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            read(StreamingDecoder::new(Cursor::new(payload))?, &mut unpacked)
        }
        [0x1f, 0x8b, ..] => read(GzDecoder::new(payload), &mut unpacked),
        _ => bail!("its payload is packed in a way that is not known here: xz, zstd and gzip are"),
    };
    read.context("its payload cannot be unpacked")?;
    if !unpacked.starts_with(ELF) {
        bail!("its payload is no ELF file");
    }
    Ok(unpacked)
}

/// Unpacks a kernel module packed with xz, as in newer packages.
///
/// # Errors
/// If the data is not xz.
pub fn unpacked_module(packed: &[u8]) -> Result<Vec<u8>> {
    let mut unpacked = Vec::new();
    read(XzReader::new(Cursor::new(packed), false), &mut unpacked)
        .context("a module cannot be unpacked")?;
    Ok(unpacked)
}

fn read(packed: impl Read, unpacked: &mut Vec<u8>) -> std::io::Result<usize> {
    packed.take(MAX_BYTES).read_to_end(unpacked)
}

fn payload(image: &[u8]) -> Option<&[u8]> {
    let number =
        |at: usize| Some(u32::from_le_bytes(image.get(at..at + 4)?.try_into().ok()?) as usize);
    let known = image.get(MAGIC.0..)?.starts_with(MAGIC.1) && number(VERSION)? & 0xffff >= 0x208;
    let sectors = usize::from(*image.get(SETUP_SECTORS)?);
    let kernel = 512 * (1 + if sectors == 0 { 4 } else { sectors });
    let start = kernel.checked_add(number(PAYLOAD_OFFSET)?)?;
    // The unpacked length follows the packed data.
    let end = start.checked_add(number(PAYLOAD_LENGTH)?)?.checked_sub(4)?;
    image.get(start..end).filter(|_| known)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, write::GzEncoder};

    use super::*;

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
        assert_eq!(vmlinux(&image(&gzip.finish().unwrap())).unwrap(), b"\x7fELF and so on");
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
            assert!(vmlinux(bad).is_err());
        }
        let mut far = image(b"");
        far[PAYLOAD_OFFSET..PAYLOAD_OFFSET + 8].fill(0xff);
        assert!(vmlinux(&far).is_err());
    }
}
