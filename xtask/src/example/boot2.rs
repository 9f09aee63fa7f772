//! Checks an image of the RP2040 as its boot ROM does: QEMU has no model of the chip.

use std::{fs, path::Path};

use anyhow::{Context, Result, ensure};
use object::{Object, ObjectSection};

/// The second stage of the boot loader: its address and size.
const ADDRESS: u64 = 0x1000_0000;
const SIZE: usize = 256;

/// Checks the second stage of the boot loader, and that the vector table follows it.
///
/// # Errors
/// The boot ROM or the second stage would not start the image.
pub fn check(image: &Path) -> Result<()> {
    let bytes = fs::read(image).with_context(|| image.display().to_string())?;
    let file = object::File::parse(&*bytes)?;
    let section = |name| file.section_by_name(name).with_context(|| format!("no section {name}"));
    let boot2 = section(".boot2")?;
    ensure!(boot2.address() == ADDRESS, ".boot2 is at {:#x}", boot2.address());
    let stage = boot2.data()?;
    ensure!(stage.len() == SIZE, ".boot2 has {} bytes", stage.len());
    let (code, sum) = stage.split_at(SIZE - 4);
    ensure!(checksum(code).to_le_bytes() == sum, ".boot2 has a wrong checksum");
    let vectors = section(".vector_table")?.address();
    ensure!(vectors == ADDRESS + SIZE as u64, "the vector table is at {vectors:#x}");
    Ok(())
}

/// The data sheet's CRC-32: polynomial 0x04c11db7, from all ones, not reflected, not inverted.
fn checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte) << 24, |sum, _| {
            if sum >> 31 == 0 { sum << 1 } else { sum << 1 ^ 0x04c1_1db7 }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::checksum;

    #[test]
    fn the_checksum_is_that_of_the_data_sheet() {
        // CRC-32/MPEG-2 of the usual check string.
        assert_eq!(checksum(b"123456789"), 0x0376_e6e7);
    }
}
