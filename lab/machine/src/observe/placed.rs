//! An image's place in the machine's memory. Flat files have none, files of Intel HEX have one a line,
//! and kernels may be linked at virtual addresses, where the machine has no memory. QEMU drops what lies
//! there without a word, so such an image is refused, or put where the user says: it becomes an ELF
//! file of its own in a temporary folder.

use std::{fs, ops::Range, path::Path};

use anyhow::{Context as _, Error, Result, anyhow, bail};
use ihex::{Reader, Record};
use object::{
    Endianness, FileKind,
    elf::PT_LOAD,
    read::{
        File,
        archive::ArchiveFile,
        elf::{ElfFile, FileHeader, ProgramHeader as _},
    },
};

use super::image::{self, Image};
use crate::qemu::chip::architecture;
use chronoscope_base::digest::sha256;
use chronoscope_child::Folder;
use chronoscope_chips::{Chip, Memory};
use chronoscope_units::printable;

/// The bytes of QEMU's `virt` for programs, from its start on, unless an option says otherwise.
const VIRT: u64 = 128 << 20;

/// The most pieces of a file in Intel HEX that do not follow each other.
const MOST_PIECES: usize = 1024;

/// The most programs of an archive that a message names.
const MOST_NAMED: usize = 5;

/// An image, and the folder with the file that QEMU loads in its place.
pub(super) struct Placed {
    pub(super) image: Image,
    pub(super) folder: Option<Folder>,
}

/// The name of the image in its folder.
pub(super) const FILE: &str = "image.elf";

/// Reads an image for a machine of these rows, and puts it at the address `at`, if one is given.
/// `start` is where the machine starts, or its firmware goes on.
///
/// # Errors
/// The file is missing, is no image, or would lie where the machine has no memory.
pub(super) fn read(
    path: &Path,
    at: Option<&str>,
    start: Option<u64>,
    rows: &[&Chip],
) -> Result<Placed> {
    let bytes = image::read(path)?;
    let shown = printable(&path.display().to_string());
    // Of two machines of one name, the one of 64 bits.
    let row = rows.iter().max_by_key(|row| row.triple.contains("64"));
    let row = row.context("no such machine")?;
    let start = start.unwrap_or(row.flash.origin);
    let address = at.map(|text| address(text, start)).transpose()?;
    let pieces = match (form(&bytes), address) {
        (Form::Elf, None) => {
            let image = Image::from_bytes(path, bytes)?;
            let loads = loads(image.bytes());
            let is_for = rows.iter().any(|row| architecture(row) == image.architecture);
            let reaches = loads.iter().any(|load| load.reaches(row));
            let Some(first) = loads.first().filter(|_| is_for && !reaches) else {
                return Ok(Placed { image, folder: None });
            };
            bail!(
                "{shown} is to be loaded at {:#x}, where {} has no memory: name its place, as \
                 --at {start:#x}",
                first.address,
                row.qemu.machine
            );
        }
        (Form::Elf, Some(address)) => {
            let moved = moved(&bytes, address).filter(|moved| is_in_memory(moved, row));
            let Some(moved) = moved else { return Err(no_room(&shown, at, row)) };
            return kept(path, &bytes, moved);
        }
        (Form::Archive(names), _) => {
            bail!("{shown} is an archive of {}: take one out of it, and name that", list(&names))
        }
        (Form::Hex(_), Some(_)) => {
            bail!("{shown} has an address in each of its lines: leave out --at")
        }
        (Form::Hex(text), None) => hex(text).with_context(|| shown.clone())?,
        (Form::Flat, Some(address)) => vec![(address, bytes.clone())],
        (Form::Flat, None) => bail!(
            "{shown} is no image: it is no ELF file: name the file that the linker wrote, or for a \
             flat file its place, as --at {start:#x}"
        ),
    };
    let elf = elf(&pieces, row);
    if loads(&elf).is_empty() {
        bail!("{shown} has no bytes to load: it is empty");
    }
    if !is_in_memory(&elf, row) {
        return Err(no_room(&shown, at, row));
    }
    kept(path, &bytes, elf)
}

/// Keeps these bytes of an image as the file that QEMU loads. Its digest is of the user's own bytes.
fn kept(path: &Path, own: &[u8], bytes: Vec<u8>) -> Result<Placed> {
    let folder = Folder::new()?;
    fs::write(folder.path(FILE), &bytes)?;
    let mut image = Image::from_bytes(path, bytes)?;
    image.sha256 = sha256(own);
    Ok(Placed { image, folder: Some(folder) })
}

fn no_room(shown: &str, at: Option<&str>, row: &Chip) -> Error {
    let place = at.map_or_else(String::new, |at| format!("`--at {}`: ", printable(at)));
    let memories: Vec<String> = memories(row)
        .into_iter()
        .map(|memory| format!("{:#x} to {:#x}", memory.start, memory.end))
        .collect();
    let (machine, memories) = (&row.qemu.machine, memories.join(", "));
    anyhow!("{place}{shown} has no room there: {machine} has memory at {memories}")
}

/// # Errors
/// The text is no address.
fn address(text: &str, start: u64) -> Result<u64> {
    let digits = text.strip_prefix("0x");
    let address = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    let wrong = || format!("`--at {}` is no address: write it as {start:#x}", printable(text));
    address.with_context(wrong)
}

/// The addresses at which the machine has memory for programs. A Cortex-M's flash is at 0, too.
fn memories(row: &Chip) -> Vec<Range<u64>> {
    let of = |memory: &Memory| {
        memory.origin..memory.origin.saturating_add(memory.kib.saturating_mul(1024))
    };
    let flash = of(&row.flash);
    let memories = match row.is_virt() {
        true => [Some(flash.start..flash.start + VIRT), None, None],
        false => [Some(0..flash.end - flash.start), Some(flash), row.ram.as_ref().map(of)],
    };
    memories.into_iter().flatten().collect()
}

/// The form of a file.
enum Form<'a> {
    Elf,
    /// An archive of the linker's with these programs.
    Archive(Vec<String>),
    Hex(&'a str),
    Flat,
}

fn form(bytes: &[u8]) -> Form<'_> {
    match FileKind::parse(bytes) {
        Ok(FileKind::Elf32 | FileKind::Elf64) => return Form::Elf,
        Ok(FileKind::Archive) => {
            let members = ArchiveFile::parse(bytes).ok();
            let members = members.iter().flat_map(|file| file.members().map_while(Result::ok));
            let name = |name: &[u8]| printable(&String::from_utf8_lossy(name));
            let names = members.map(|member| name(member.name()));
            return Form::Archive(names.take(MOST_PIECES).collect());
        }
        _ => {}
    }
    match str::from_utf8(bytes) {
        Ok(text) if text.trim_start().starts_with(':') => Form::Hex(text),
        _ => Form::Flat,
    }
}

/// The names of an archive's programs, as far as a line has room.
fn list(names: &[String]) -> String {
    let shown: Vec<&str> = names.iter().take(MOST_NAMED).map(String::as_str).collect();
    let more = if names.len() > MOST_NAMED { ", …" } else { "" };
    format!("{} files ({}{more})", names.len(), shown.join(", "))
}

/// A part of an image that is copied to the machine's memory at the start.
struct Load {
    /// The place in the file of its physical address, in bytes, and the bytes of that.
    header: Range<usize>,
    address: u64,
    length: u64,
}

impl Load {
    fn end(&self) -> u64 {
        self.address.saturating_add(self.length)
    }

    /// Returns whether all of it lies in the machine's memory.
    fn is_in(&self, row: &Chip) -> bool {
        let holds = |memory: Range<u64>| memory.start <= self.address && self.end() <= memory.end;
        memories(row).into_iter().any(holds)
    }

    /// Returns whether a part of it does. Linkers put a file's own headers in front of the code.
    fn reaches(&self, row: &Chip) -> bool {
        let meets = |memory: Range<u64>| self.address < memory.end && memory.start < self.end();
        memories(row).into_iter().any(meets)
    }
}

/// The parts of an ELF file with bytes, the lowest first.
fn loads(bytes: &[u8]) -> Vec<Load> {
    let mut loads = match File::parse(bytes) {
        Ok(File::Elf32(file)) => loads_of(&file, 12..16),
        Ok(File::Elf64(file)) => loads_of(&file, 24..32),
        _ => Vec::new(),
    };
    loads.sort_by_key(|load| load.address);
    loads
}

/// The parts of a file whose program headers have the physical address in these of their bytes.
fn loads_of<H: FileHeader<Endian = Endianness>>(
    file: &ElfFile<'_, H>,
    field: Range<usize>,
) -> Vec<Load> {
    let endian = file.endian();
    let table: u64 = file.elf_header().e_phoff(endian).into();
    let headers = file.elf_program_headers();
    let (table, size) = (table as usize, size_of::<H::ProgramHeader>());
    let load = |(index, header): (usize, &H::ProgramHeader)| {
        let length: u64 = header.p_filesz(endian).into();
        let is_loaded = header.p_type(endian) == PT_LOAD && length > 0;
        let start = table + index * size;
        let header_field = start + field.start..start + field.end;
        let address = header.p_paddr(endian).into();
        is_loaded.then_some(Load { header: header_field, address, length })
    };
    headers.iter().enumerate().filter_map(load).collect()
}

/// The ELF file with its lowest part at this physical address, and the others as far from it as before;
/// `None` for one without parts.
fn moved(bytes: &[u8], address: u64) -> Option<Vec<u8>> {
    let loads = loads(bytes);
    let lowest = loads.first()?.address;
    let mut moved = bytes.to_vec();
    for load in &loads {
        let address = address.checked_add(load.address - lowest)?.to_le_bytes();
        let field = moved.get_mut(load.header.clone())?;
        let (address, rest) = address.split_at(field.len());
        // An address that its field is too narrow for is in no memory.
        if rest.iter().any(|byte| *byte != 0) {
            return None;
        }
        field.copy_from_slice(address);
    }
    Some(moved)
}

fn is_in_memory(elf: &[u8], row: &Chip) -> bool {
    loads(elf).iter().all(|load| load.is_in(row))
}

/// The pieces of a file in Intel HEX: addresses and bytes.
///
/// # Errors
/// A line is damaged, or there is no last one.
fn hex(text: &str) -> Result<Vec<(u64, Vec<u8>)>> {
    let mut pieces: Vec<(u64, Vec<u8>)> = Vec::new();
    let mut base = 0;
    for (line, record) in (1..).zip(Reader::new(text)) {
        match record.map_err(|error| anyhow!("{error}")).with_context(|| damaged(line))? {
            Record::Data { offset, value } => {
                let address = base + u64::from(offset);
                let last = pieces.last_mut().filter(|piece| {
                    let (start, bytes) = &**piece;
                    *start + bytes.len() as u64 == address
                });
                if let Some((_, bytes)) = last {
                    bytes.extend(value);
                } else if pieces.len() == MOST_PIECES {
                    bail!("more than {MOST_PIECES} pieces that do not follow each other");
                } else {
                    pieces.push((address, value));
                }
            }
            Record::ExtendedSegmentAddress(segment) => base = u64::from(segment) << 4,
            Record::ExtendedLinearAddress(upper) => base = u64::from(upper) << 16,
            Record::StartSegmentAddress { .. } | Record::StartLinearAddress(_) => {}
            Record::EndOfFile => {
                pieces.retain(|(_, bytes)| !bytes.is_empty());
                return Ok(pieces);
            }
        }
    }
    bail!("the file has no last line: it is cut short")
}

fn damaged(line: usize) -> String {
    format!("line {line} is no line of Intel HEX")
}

/// An ELF file for the machine that loads these pieces where they say.
fn elf(pieces: &[(u64, Vec<u8>)], row: &Chip) -> Vec<u8> {
    let machine: u16 = if row.is_virt() { 243 } else { 40 };
    let is_wide = row.triple.contains("64");
    let (header, segment): (u16, u16) = if is_wide { (64, 56) } else { (52, 32) };
    let mut file = Fields { bytes: Vec::new(), is_wide };
    file.bytes.extend([0x7f, b'E', b'L', b'F', 1 + u8::from(is_wide), 1, 1]);
    file.bytes.resize(16, 0);
    // A program of version 1.
    file.half(2).half(machine).word(1);
    let entry = pieces.first().map_or(0, |(address, _)| *address);
    file.long(entry).long(header.into()).long(0).word(0);
    file.half(header).half(segment).half(pieces.len() as u16).half(0).half(0).half(0);
    let mut offset = u64::from(header) + u64::from(segment) * pieces.len() as u64;
    // Read, written and executed.
    const ALL: u32 = 7;
    for (address, bytes) in pieces {
        let length = bytes.len() as u64;
        file.word(PT_LOAD.0);
        if is_wide {
            file.word(ALL);
        }
        file.long(offset).long(*address).long(*address).long(length).long(length);
        if !is_wide {
            file.word(ALL);
        }
        file.long(1);
        offset += length;
    }
    pieces.iter().for_each(|(_, bytes)| file.bytes.extend(bytes));
    file.bytes
}

/// The fields of an ELF file, the least byte of each first.
struct Fields {
    bytes: Vec<u8>,
    is_wide: bool,
}

impl Fields {
    fn half(&mut self, half: u16) -> &mut Self {
        self.bytes.extend(half.to_le_bytes());
        self
    }

    fn word(&mut self, word: u32) -> &mut Self {
        self.bytes.extend(word.to_le_bytes());
        self
    }

    /// A field of the width of an address.
    fn long(&mut self, long: u64) -> &mut Self {
        let width = if self.is_wide { 8 } else { 4 };
        self.bytes.extend(&long.to_le_bytes()[..width]);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_hex_become_pieces() {
        let text = ":020000040800F2\n:0400000001020304F2\n:0400040005060708DE\n:0200100000FFEF\n\
                    :00000001FF\n";
        let pieces = hex(text).unwrap();
        let expected = [(0x0800_0000, (1..=8).collect()), (0x0800_0010, vec![0, 0xff])];
        assert_eq!(pieces, expected);
        let wrong = |text: &str, part: &str| {
            let error = format!("{:#}", hex(text).unwrap_err());
            assert!(error.contains(part), "{error}");
        };
        wrong(":0400000001020304F3\n", "line 1 is no line of Intel HEX");
        wrong(":0400000001020304F2\n", "it is cut short");
        let holes: String = (0..=MOST_PIECES)
            .map(|piece| Record::Data { offset: 4 * piece as u16, value: vec![1] })
            .map(|record| record.to_record_string().unwrap() + "\n")
            .collect();
        wrong(&holes, "more than 1024 pieces");
    }

    #[test]
    fn a_damaged_file_is_moved_into_the_memory_or_not_at_all() {
        let machines = crate::Machines::default();
        let is_rv64 = |row: &&Chip| row.name == "rv64";
        let row = machines.table().targets().find(is_rv64).unwrap();
        let whole =
            elf(&[(0xffff_ffff_c020_0000, vec![1; 40]), (0xffff_ffff_c020_1000, vec![2])], row);
        assert!(!is_in_memory(&whole, row));
        let moved_whole = moved(&whole, 0x8020_0000).unwrap();
        assert!(is_in_memory(&moved_whole, row));
        let addresses: Vec<u64> = loads(&moved_whole).iter().map(|load| load.address).collect();
        assert_eq!(addresses, [0x8020_0000, 0x8020_1000]);
        // Each byte of the headers, with each of its extremes, and each length.
        for at in 0..200.min(whole.len()) {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut damaged = whole.clone();
                damaged[at] = value;
                let moved = moved(&damaged, 0x87ff_fff0);
                assert!(moved.is_none_or(|moved| moved.len() == whole.len()));
            }
        }
        (0..whole.len()).for_each(|length| drop(moved(&whole[..length], 0x8000_0000)));
    }
}
