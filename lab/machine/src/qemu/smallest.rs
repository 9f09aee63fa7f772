//! The experiment `image` on an emulated chip: measures the sizes of a kernel's smallest images and
//! checks that they run.
//!
//! The figures form a stream of records like a port's.

use std::{fs, path::Path};

use anyhow::{Context, Result, anyhow, bail};
use chronoscope_suite::wire::{Evidence, Record, Series, Unit};

use super::{Chip, Qemu, chip};
use crate::{Start, stream::StreamBuilder};
use chronoscope_child as child;

/// The stack size of each task with a stack of its own, in bytes: `STACK` in the images.
const STACK: u64 = 256;

/// The number of letters after which an image is ended.
const LETTERS: usize = 600;

/// Builds the kernel's images, measures and runs them, and passes the figures to `sink`.
///
/// # Errors
/// An image cannot be built, read or run.
pub fn run(
    qemu: &Qemu<'_>,
    start: &Start<'_>,
    sink: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let Qemu { chip, image, .. } = qemu;
    let kernel = image.kernel();
    let mut stream = StreamBuilder::begin(kernel, start.request)?;
    let (Some(two), Some(three)) = (image.smallest(2), image.smallest(3)) else {
        return sink(&stream.refuse("there is no smallest image of this kernel for this chip")?);
    };
    let mut sizes = Vec::new();
    for (tasks, smallest) in [(2, two), (3, three)] {
        let file = smallest.file()?;
        sizes.push(Size::from_elf(
            &fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?,
        )?);
        let letters = letters(chip, &file, start)?;
        let (all, fewest) = ((LETTERS / tasks) as f64, fewest(&letters, tasks) as f64);
        let name = format!("turns of each of {tasks} tasks");
        stream.send(&Record::Evidence(Evidence {
            name: &name,
            value: fewest,
            low: all - 1.0,
            high: all + 1.0,
        }))?;
    }
    let [Size { text, read_only, memory }, three] = &sizes[..] else {
        bail!("there are two images")
    };
    let stack = if image.kind() == "thread" { STACK } else { 0 };
    let task = three
        .memory
        .checked_sub(memory + stack)
        .context("a third task takes less than its stack")?;
    let bytes = |name| Series { unit: Unit::Count, ..Series::measured(name) };
    stream.values(bytes("text"), &[*text])?;
    stream.values(bytes("read-only data"), &[*read_only])?;
    stream.values(bytes("memory"), &[*memory])?;
    // No task takes nothing.
    if task > 0 {
        stream.values(bytes("a task"), &[task])?;
    } else {
        let line =
            format!("a task of {kernel} lies on the main program's stack, which is not counted");
        stream.send(&Record::Log(&line))?;
    }
    sink(&stream.end()?)
}

/// The first letters that the image shows. It would go on for ever.
fn letters(chip: &Chip, image: &Path, start: &Start<'_>) -> Result<Vec<u8>> {
    let mut command = chip::command(chip);
    command
        .args(["-chardev", "stdio,id=host"])
        .args(["-semihosting-config", "enable=on,target=native,chardev=host", "-kernel"])
        .arg(image);
    let mut letters = Vec::new();
    let ended = child::run(&mut command, chip.program(), start.limit, start.stop, &mut |bytes| {
        letters.extend_from_slice(bytes);
        if letters.len() < LETTERS { Ok(()) } else { Err(anyhow!("that is enough")) }
    });
    if letters.len() < LETTERS {
        ended?;
        bail!("{} ended by itself after {} letters", image.display(), letters.len());
    }
    letters.truncate(LETTERS);
    Ok(letters)
}

/// The number of turns of the task with the fewest.
fn fewest(letters: &[u8], tasks: usize) -> usize {
    let turns = |letter: u8| letters.iter().filter(|&&shown| shown == letter).count();
    (b'a'..).take(tasks).map(turns).min().unwrap_or(0)
}

/// Bytes of an image.
#[derive(Debug, PartialEq)]
struct Size {
    text: u64,
    read_only: u64,
    memory: u64,
}

impl Size {
    /// The sums over the sections that are in memory at run time. `elf`: a program in ELF for 32
    /// bits.
    ///
    /// # Errors
    /// The file is not an ELF program for 32 bits.
    fn from_elf(elf: &[u8]) -> Result<Self> {
        let is_elf = elf.starts_with(b"\x7FELF\x01\x01");
        let size = if is_elf { Self::sum(elf) } else { None };
        size.filter(|size| size.text > 0).context("the image is no program for a chip of 32 bits")
    }

    /// Sums the sections, with the offsets and numbers of the ELF specification. `None` if the file is
    /// cut short.
    fn sum(elf: &[u8]) -> Option<Self> {
        const NO_BITS: u32 = 8;
        const WRITE: u32 = 1;
        const ALLOCATED: u32 = 2;
        const EXECUTABLE: u32 = 4;
        let half = |at: usize| Some(u16::from_le_bytes(*elf.get(at..)?.first_chunk()?));
        let word = |at: usize| Some(u32::from_le_bytes(*elf.get(at..)?.first_chunk()?));
        let (table, each, sections) =
            (word(0x20)? as usize, usize::from(half(0x2E)?), usize::from(half(0x30)?));
        let mut size = Self { text: 0, read_only: 0, memory: 0 };
        for at in (0..sections).map(|section| table + section * each) {
            let (kind, flags, bytes) = (word(at + 4)?, word(at + 8)?, u64::from(word(at + 20)?));
            if flags & ALLOCATED == 0 {
                continue;
            }
            if flags & EXECUTABLE != 0 {
                size.text += bytes;
            } else if flags & WRITE != 0 {
                size.memory += bytes;
            }
            // Initial values of variables are kept with the constants.
            if flags & EXECUTABLE == 0 && kind != NO_BITS {
                size.read_only += bytes;
            }
        }
        Some(size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of nothing but a header and sections: type, flags, size.
    fn elf(sections: &[(u32, u32, u32)]) -> Vec<u8> {
        let mut elf = vec![0; 0x34];
        elf[..6].copy_from_slice(b"\x7FELF\x01\x01");
        elf[0x20] = 0x34;
        elf[0x2E] = 40;
        elf[0x30] = sections.len() as u8;
        for (kind, flags, bytes) in sections {
            let words = [0, *kind, *flags, 0, 0, *bytes, 0, 0, 0, 0];
            elf.extend(words.iter().flat_map(|word: &u32| word.to_le_bytes()));
        }
        elf
    }

    #[test]
    fn sections_are_summed_by_what_they_are_for() {
        let whole = elf(&[(1, 6, 100), (1, 2, 20), (1, 3, 4), (8, 3, 300), (1, 0, 5000)]);
        assert_eq!(Size::from_elf(&whole).unwrap(), Size { text: 100, read_only: 24, memory: 304 });
    }

    #[test]
    fn what_is_no_image_is_an_error() {
        let whole = elf(&[(1, 6, 100)]);
        for length in 0..whole.len() {
            assert!(
                Size::from_elf(&whole[..length]).is_err() || length >= whole.len() - 16,
                "{length}"
            );
        }
        assert!(Size::from_elf(&elf(&[])).is_err());
    }

    #[test]
    fn a_task_without_a_turn_shows() {
        assert_eq!(fewest(b"abcabcab", 3), 2);
        assert_eq!(fewest(b"aaaa", 2), 0);
    }
}
