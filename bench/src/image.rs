//! Loads the program: an ELF file, each segment at its physical address.

use std::path::Path;

use object::{
    LittleEndian,
    elf::{EM_RISCV, FileHeader32, PT_LOAD},
    read::elf::{FileHeader, ProgramHeader},
};

use crate::model::{Model, WORDS};

/// Loads an ELF file for 32-bit RISC-V into the board's memory and returns its entry point. Fails
/// with a message if the file is unreadable, of another kind, or does not fit the memory.
pub fn load(path: &Path, model: &mut Model) -> Result<u32, String> {
    let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let unfit = |what: &str| format!("{}: {what}", path.display());
    let header =
        FileHeader32::<LittleEndian>::parse(&*bytes).map_err(|_| unfit("not a 32-bit ELF file"))?;
    let endian = header.endian().map_err(|_| unfit("not little-endian"))?;
    if header.e_machine(endian) != EM_RISCV {
        return Err(unfit("not for RISC-V"));
    }
    let segments = header
        .program_headers(endian, &*bytes)
        .map_err(|_| unfit("its program headers are cut short"))?;
    let mut room = 4 * WORDS;
    for segment in segments.iter().filter(|segment| segment.p_type(endian) == PT_LOAD) {
        let data = segment.data(endian, &*bytes).map_err(|()| unfit("a segment is cut short"))?;
        let start = segment.p_paddr(endian);
        // Segments may overlap; the sum of their sizes is limited so that a crafted file loads in
        // bounded time.
        room = room
            .checked_sub(data.len())
            .ok_or_else(|| unfit("its segments are larger than the board's memory"))?;
        for (offset, &byte) in data.iter().enumerate() {
            let fits = u32::try_from(offset).ok().and_then(|offset| start.checked_add(offset));
            if !fits.is_some_and(|address| model.set_byte(address, byte)) {
                return Err(unfit(&format!(
                    "the segment at {start:#010x} does not fit the board's memory"
                )));
            }
        }
    }
    Ok(header.e_entry(endian))
}
