//! Loads the program: an ELF file, each segment at its physical address.

use std::path::Path;

use object::{
    LittleEndian,
    elf::{EM_RISCV, FileHeader32, FileHeader64, PT_LOAD},
    read::elf::{FileHeader, ProgramHeader},
};

use crate::model::{MEMORY, Model, WIDE, WORDS};

/// Loads an ELF file for RISC-V, of the core's width, into the board's memory. Returns the address
/// at which the program begins: its entry point, or with 64 bits the start of the memory, where the
/// image has its code in machine mode. Fails with a message if the file is unreadable, of another
/// kind, or does not fit the memory.
pub fn load(path: &Path, model: &mut Model) -> Result<u32, String> {
    let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let loaded = if WIDE {
        load_as::<FileHeader64<LittleEndian>>(&bytes, model, "not a 64-bit ELF file")
            .map(|_| MEMORY)
    } else {
        load_as::<FileHeader32<LittleEndian>>(&bytes, model, "not a 32-bit ELF file")
    };
    loaded.map_err(|what| format!("{}: {what}", path.display()))
}

/// Loads a file with that header, and returns its entry point. `other` is the complaint about a file
/// of another kind.
fn load_as<H: FileHeader<Endian = LittleEndian>>(
    bytes: &[u8],
    model: &mut Model,
    other: &str,
) -> Result<u32, String> {
    let header = H::parse(bytes).map_err(|_| other)?;
    let endian = header.endian().map_err(|_| "not little-endian")?;
    if header.e_machine(endian) != EM_RISCV {
        return Err("not for RISC-V".into());
    }
    let segments =
        header.program_headers(endian, bytes).map_err(|_| "its program headers are cut short")?;
    let mut room = 4 * WORDS;
    for segment in segments.iter().filter(|segment| segment.p_type(endian) == PT_LOAD) {
        let data = segment.data(endian, bytes).map_err(|()| "a segment is cut short")?;
        let start: u64 = segment.p_paddr(endian).into();
        // Segments may overlap; the sum of their sizes is limited so that a crafted file loads in
        // bounded time.
        room = room
            .checked_sub(data.len())
            .ok_or("its segments are larger than the board's memory")?;
        for (address, &byte) in (start..).zip(data) {
            if !u32::try_from(address).is_ok_and(|address| model.set_byte(address, byte)) {
                return Err(format!(
                    "the segment at {start:#010x} does not fit the board's memory"
                ));
            }
        }
    }
    u32::try_from(header.e_entry(endian).into()).map_err(|_| "its entry is not in memory".into())
}
