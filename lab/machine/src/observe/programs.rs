//! The files with symbols of other programs in the machine than the image: a kernel's user programs, or
//! what a flat file was made from. Programs may lie at equal addresses in address spaces of their own.

use std::path::Path;

use anyhow::{Result, bail};

use super::{
    image::{Image, Place, Sort},
    question::file_and_number,
};
use chronoscope_units::printable;

/// A program in the machine.
pub(super) struct Program {
    image: Image,
    /// The value of `satp` while it runs; `None` if all of them count.
    space: Option<u64>,
}

impl Program {
    /// Reads a program that is given as `FILE` or `FILE@0xSATP`, beside this image.
    ///
    /// # Errors
    /// The file is missing, is no ELF file, or is for another processor.
    pub(super) fn read(text: &str, beside: &Image) -> Result<Self> {
        let parts = file_and_number(text);
        let (file, space) = parts.map_or((text, None), |(file, space)| (file, Some(space)));
        let image = Image::read(Path::new(file))?;
        if image.architecture != beside.architecture {
            bail!("{} is for other processors than {}", image.shown(), beside.shown());
        }
        Ok(Self { image, space })
    }

    /// The parameter that names the program.
    pub(super) fn name(&self) -> String {
        let name = super::name(&self.image.path);
        self.space.map_or(name.clone(), |space| format!("{name}@{space:#x}"))
    }

    /// The program's file and its digest, as a fact of a case's identity.
    pub(super) fn fact(&self) -> (String, String) {
        (format!("symbols of {}", self.name()), format!("sha256 {}", self.image.sha256))
    }
}

/// Finds a place by its symbol in the image, or in the one program that has it, and the address space
/// in which it counts.
///
/// # Errors
/// None of them has such a symbol, or several have.
pub(super) fn place(
    image: &Image,
    programs: &[Program],
    text: &str,
    sort: Sort,
) -> Result<(Place, Option<u64>)> {
    if let Some(place) = image.find_place(text, sort)? {
        return Ok((place, None));
    }
    let mut found: Option<(&Program, Place)> = None;
    for program in programs {
        let Some(place) = program.image.find_place(text, sort)? else { continue };
        if let Some((other, _)) = found {
            bail!(
                "`{}` is in {} and in {}: name one of them as --symbols",
                printable(text),
                other.image.shown(),
                program.image.shown()
            );
        }
        found = Some((program, place));
    }
    match found {
        Some((program, place)) => Ok((place, program.space)),
        None => Err(image.unknown(text, sort)),
    }
}
