//! Extracts the kernel of a 64-bit Arm from its image: QEMU starts the plain `Image`. This module
//! knows image formats, not machines.

use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, bail};

use super::bzimage::{Magic, unpacked};

/// The magic of an `Image`, from Documentation/arm64/booting.rst of Linux.
const MAGIC: Magic = Magic { place: 56, bytes: b"ARM\x64" };

/// The magic of an image that unpacks itself under EFI, and the places of its payload's start and
/// length: `drivers/firmware/efi/libstub/zboot-header.S` of Linux.
const ZBOOT: Magic = Magic { place: 4, bytes: b"zimg" };
const PAYLOAD_OFFSET: usize = 8;
const PAYLOAD_LENGTH: usize = 12;

const GZIP: &[u8] = &[0x1f, 0x8b];

/// Returns the `Image` in a kernel's file: a plain one, one packed as a whole, or one that unpacks
/// itself under EFI.
///
/// # Errors
/// If the file is none of these, its payload is packed in an unknown way or damaged, or `stop`
/// becomes true.
pub fn image(file: &[u8], stop: &AtomicBool) -> Result<Vec<u8>> {
    if MAGIC.is_in(file) {
        return Ok(file.to_vec());
    }
    let is_packed = file.starts_with(GZIP);
    let payload = if ZBOOT.is_in(file) { payload(file) } else { is_packed.then_some(file) };
    let payload =
        payload.context("it is neither an Image of a 64-bit Arm nor a packed one (gzip, EFI)")?;
    let image = unpacked(payload, stop)?;
    if !MAGIC.is_in(&image) {
        bail!("its payload is no Image of a 64-bit Arm");
    }
    Ok(image)
}

/// Returns whether a file begins as one of the forms of an `Image`. A file that is packed as a
/// whole is taken for one.
pub fn is_image(head: &[u8]) -> bool {
    MAGIC.is_in(head) || ZBOOT.is_in(head) || head.starts_with(GZIP)
}

fn payload(file: &[u8]) -> Option<&[u8]> {
    let number =
        |at: usize| Some(u32::from_le_bytes(file.get(at..at + 4)?.try_into().ok()?) as usize);
    let start = number(PAYLOAD_OFFSET)?;
    file.get(start..start.checked_add(number(PAYLOAD_LENGTH)?)?)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    static GO_ON: AtomicBool = AtomicBool::new(false);

    fn plain() -> Vec<u8> {
        let mut image = vec![7; 100];
        image[56..60].copy_from_slice(MAGIC.bytes);
        image
    }

    fn packed(image: &[u8]) -> Vec<u8> {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(image).unwrap();
        gzip.finish().unwrap()
    }

    fn zboot(payload: &[u8]) -> Vec<u8> {
        let head =
            [b"MZ\0\0zimg", &64_u32.to_le_bytes()[..], &(payload.len() as u32).to_le_bytes()];
        let mut file = head.concat();
        file.resize(64, 0);
        [&file[..], payload, b"more"].concat()
    }

    #[test]
    fn an_image_is_found_in_every_form() {
        let image = plain();
        for file in [image.clone(), packed(&image), zboot(&packed(&image))] {
            assert_eq!(super::image(&file, &GO_ON).unwrap(), image);
        }
    }

    #[test]
    fn other_files_are_refused() {
        let mut far = zboot(&packed(&plain()));
        far[8..16].fill(0xff);
        for bad in [&b""[..], b"hello", &[0; 4096], &packed(b"text"), &zboot(b"????"), &far] {
            assert!(super::image(bad, &GO_ON).is_err());
        }
    }
}
