//! The image to observe: its architecture, and the addresses of its symbols. Reads a file of the
//! user's with the crate `object`, which checks all bounds.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    ops::Range,
    path::{Path, PathBuf},
};

use addr2line::demangle_auto;
use anyhow::{Context as _, Error, Result, anyhow, bail};
use object::{
    Architecture, BinaryFormat, Object, ObjectSection, ObjectSegment, ObjectSymbol, SectionFlags,
    SymbolKind,
    elf::{SHF_ALLOC, SHF_WRITE},
    read::File,
};

use crate::{
    marks::{self, Kind, Mark},
    profile::Symbols,
    stream::StreamBuilder,
};
use chronoscope_base::digest::sha256;
use chronoscope_run::names::GIVEN_IMAGE;
use chronoscope_suite::wire::{Series, Unit};
use chronoscope_units::{printable, words};

/// The longest image that is read, in bytes.
const LONGEST: u64 = 256 << 20;

/// The longest name of a symbol that is read, in bytes. Symbols of a hostile file may share the
/// bytes of one name as long as the file.
const LONGEST_NAME: usize = 4096;

/// The number of symbols that are read; Linux has 200,000. Those beyond can be given by address.
const MOST_SYMBOLS: usize = 1_000_000;

/// The longest name that is suggested in place of an unknown one, in bytes.
const LONGEST_SUGGESTED: usize = 100;

/// An image. Its symbols are read from its bytes for each question, so that no file needs more
/// memory than its own size.
#[derive(Debug)]
pub struct Image {
    /// The path of the file.
    pub path: PathBuf,
    /// The processor that the image is for.
    pub architecture: Architecture,
    /// The SHA-256 of the file, in hexadecimal.
    pub sha256: String,
    bytes: Vec<u8>,
}

/// The bytes of an image on its chip: code, constants and initial values, and variables. Stacks and
/// heaps count where the image reserves them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sizes {
    flash: u64,
    memory: u64,
}

/// The names of the series of an image's sizes.
const SIZES: [&str; 2] = ["flash", "RAM"];

impl Sizes {
    /// The most series of an image's sizes.
    pub(crate) const SERIES: usize = SIZES.len();

    /// The sizes and their names, but for names that the image's own marks have.
    fn beside(self, marks: &[Mark]) -> impl Iterator<Item = (&'static str, u64)> {
        let all = SIZES.into_iter().zip([self.flash, self.memory]);
        all.filter(|(name, _)| marks.iter().all(|mark| mark.name != *name))
    }

    /// Appends a series for each size.
    pub(crate) fn send(self, stream: &mut StreamBuilder, marks: &[Mark]) -> Result<()> {
        for (name, size) in self.beside(marks) {
            let series = Series { unit: Unit::Count, ..Series::auxiliary(name) };
            stream.values(series, &[size])?;
        }
        Ok(())
    }
}

/// The sort of a symbol.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Sort {
    Code,
    Variable,
    /// A variable with a type: no end of a section that the linker names.
    Object,
}

impl Sort {
    fn words(self) -> &'static str {
        match self {
            Self::Code => "functions",
            Self::Variable | Self::Object => "variables",
        }
    }
}

/// A place in the image's code or memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// The user's name of it, without blanks.
    pub name: String,
    /// The address in the image's memory.
    pub address: u64,
}

impl Image {
    /// Reads an image.
    ///
    /// # Errors
    /// The file is missing, too long, or no ELF file.
    pub fn read(path: &Path) -> Result<Self> {
        Self::from_bytes(path, read(path)?)
    }

    /// Reads an image from the bytes of the file at `path`.
    ///
    /// # Errors
    /// They are no ELF file.
    pub fn from_bytes(path: &Path, bytes: Vec<u8>) -> Result<Self> {
        let Some(architecture) = parse(&bytes).map(|file| file.architecture()) else {
            let shown = printable(&path.display().to_string());
            bail!("{shown} is no image: it is no ELF file: name the file that the linker wrote");
        };
        Ok(Self { path: path.to_owned(), architecture, sha256: sha256(&bytes), bytes })
    }

    /// The bytes of the file.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The path, safe to print.
    pub(super) fn shown(&self) -> String {
        printable(&self.path.display().to_string())
    }

    /// The bytes of a pointer.
    pub(super) fn pointer(&self) -> u64 {
        let is_64 = parse(&self.bytes).is_some_and(|file| file.is_64());
        if is_64 { 8 } else { 4 }
    }

    /// The functions of the image.
    ///
    /// # Errors
    /// The tables are damaged.
    pub fn symbols(&self) -> Result<Symbols<'_>> {
        Symbols::read(&self.bytes)
    }

    /// Returns whether the image measures itself by the suite. Its clocks are the timers that the emulator
    /// gives the machine.
    pub(super) fn is_of_suite(&self) -> bool {
        let is_its = |symbol: object::Symbol<'_, '_>| {
            symbol.name().is_ok_and(|name| name.contains("chronoscope_suite"))
        };
        parse(&self.bytes).is_some_and(|file| file.symbols().any(is_its))
    }

    /// The file's digest, as a fact of a case's identity.
    pub(crate) fn fact(&self) -> (String, String) {
        (GIVEN_IMAGE.to_owned(), format!("sha256 {}", self.sha256))
    }

    /// The image's own marks.
    ///
    /// # Errors
    /// Their notes are damaged.
    pub fn marks(&self) -> Result<Vec<Mark>> {
        parse(&self.bytes).map_or_else(|| Ok(Vec::new()), |file| marks::read(&file))
    }

    /// The names of the series of a watch, and their kinds: the marks' and the sizes'.
    pub(crate) fn series<'m>(&self, marks: &'m [Mark]) -> BTreeMap<&'m str, Kind> {
        let sizes = self.sizes().beside(marks).map(|(name, _)| (name, Kind::Value));
        marks.iter().map(|mark| (&*mark.name, mark.kind)).chain(sizes).collect()
    }

    /// The bytes that the image takes on its chip.
    pub(crate) fn sizes(&self) -> Sizes {
        let mut sizes = Sizes::default();
        let Some(file) = parse(&self.bytes) else { return sizes };
        for section in file.sections() {
            let SectionFlags::Elf { sh_flags, .. } = section.flags() else { continue };
            if !sh_flags.contains(SHF_ALLOC) {
                continue;
            }
            // Initial values of variables are kept with the constants.
            if section.file_range().is_some() {
                sizes.flash = sizes.flash.saturating_add(section.size());
            }
            if sh_flags.contains(SHF_WRITE) {
                sizes.memory = sizes.memory.saturating_add(section.size());
            }
        }
        sizes
    }

    /// The offset in the file of an address in the program's memory; `None` if nothing is loaded there.
    pub(crate) fn offset(&self, address: u64) -> Option<u64> {
        parse(&self.bytes)?.segments().find_map(|segment| {
            let (start, length) = segment.file_range();
            let inside =
                address.checked_sub(segment.address()).filter(|inside| *inside < length)?;
            Some(start + inside)
        })
    }

    /// The word at an address of the image's code; `None` if it has none there.
    pub fn word(&self, address: u64) -> Option<u32> {
        let file = parse(&self.bytes)?;
        let holds = |section: &object::Section<'_, '_>| {
            let end = section.address().saturating_add(section.size());
            (section.address()..end).contains(&address)
        };
        let section = file.sections().find(holds)?;
        let offset = usize::try_from(address - section.address()).ok()?;
        let bytes = section.data().ok()?.get(offset..)?;
        // The last instruction may be half a word.
        let byte = |place: usize| u32::from(bytes.get(place).copied().unwrap_or_default());
        Some((0..4).map(|place| byte(place) << (8 * place)).sum())
    }

    /// Finds the place of a symbol, or of an address as `0x80000000`.
    ///
    /// # Errors
    /// The image has no such symbol, or several.
    pub fn place(&self, text: &str) -> Result<Place> {
        self.find_place(text, Sort::Code)?.ok_or_else(|| self.unknown(text, Sort::Code))
    }

    /// Finds a variable by its symbol, or by an address.
    ///
    /// # Errors
    /// The image has no such symbol, or several.
    pub fn variable(&self, text: &str) -> Result<Place> {
        self.find_place(text, Sort::Variable)?.ok_or_else(|| self.unknown(text, Sort::Variable))
    }

    /// Finds the place of a symbol, or of an address; `None` if the image has no such symbol.
    ///
    /// # Errors
    /// The image has several, or the address is none.
    pub(super) fn find_place(&self, text: &str, sort: Sort) -> Result<Option<Place>> {
        let Some(digits) = text.strip_prefix("0x") else {
            let address = self.find(text, sort)?;
            return Ok(address.map(|address| Place { name: short(text, address), address }));
        };
        let address = u64::from_str_radix(digits, 16);
        let address = address.with_context(|| format!("`{}` is no address", printable(text)))?;
        let address = if sort == Sort::Code { self.instruction(address) } else { address };
        Ok(Some(Place { name: short(text, address), address }))
    }

    /// The addresses of a variable.
    ///
    /// # Errors
    /// The image has no such symbol, several, or one without a size.
    pub(super) fn extent(&self, text: &str) -> Result<Range<u64>> {
        let start = self.variable(text)?.address;
        let mut size = 0;
        let file = parse(&self.bytes);
        let symbols = file.iter().flat_map(|file| file.symbols().take(MOST_SYMBOLS));
        for symbol in symbols.filter(|symbol| symbol.address() == start) {
            size = size.max(symbol.size());
        }
        if size == 0 {
            bail!("`{}` of {} has no size", printable(text), self.shown());
        }
        Ok(start..start.saturating_add(size))
    }

    /// The variables that begin in these addresses, by their addresses; of several at one address, those with a
    /// type are first.
    pub(super) fn variables(&self, within: &Range<u64>) -> Vec<(u64, String)> {
        let mut found = Vec::new();
        for sort in [Sort::Object, Sort::Variable] {
            let typed = found.len();
            self.each_symbol(sort, |name, address| {
                if within.contains(&address) && name.len() <= LONGEST_SUGGESTED {
                    let name = demangled(name).unwrap_or_else(|| name.to_owned());
                    found.push((address, name));
                }
            });
            found[typed..].sort();
        }
        found.sort_by_key(|(address, _)| *address);
        found
    }

    /// The one symbol of the code at this address; `None` if there is none, or several, as where handlers
    /// that are not used share one function.
    pub(super) fn function_at(&self, address: u64) -> Option<String> {
        let mut found = BTreeSet::new();
        let address = self.instruction(address);
        self.each_symbol(Sort::Code, |name, at| {
            if at == address && name.len() <= LONGEST_SUGGESTED {
                found.insert(demangled(name).unwrap_or_else(|| name.to_owned()));
            }
        });
        let name = found.pop_first()?;
        found.is_empty().then_some(name)
    }

    /// Finds the address of a symbol; `None` if the image has none of that name.
    fn find(&self, text: &str, sort: Sort) -> Result<Option<u64>> {
        let mut found = BTreeSet::new();
        // Two are enough to say that the name is not of one symbol.
        self.each_symbol(sort, |name, address| {
            if found.len() < 2 && (name == text || demangled(name).as_deref() == Some(text)) {
                found.insert(address);
            }
        });
        match found.iter().copied().collect::<Vec<_>>()[..] {
            [address] => Ok(Some(address)),
            [] => Ok(None),
            [first, second, ..] => bail!(
                "`{}` is the name of several {}: give an address, as {first:#x} or \
                 {second:#x}",
                printable(text),
                sort.words()
            ),
        }
    }

    /// The error that the image has no such symbol, with the nearest names.
    pub(super) fn unknown(&self, text: &str, sort: Sort) -> Error {
        let shown = printable(&self.path.display().to_string());
        let mut near: Vec<(usize, String)> = Vec::new();
        self.each_symbol(sort, |name, _| {
            let names = [Some(name.to_owned()), demangled(name)].into_iter().flatten();
            for name in names.filter(|name| name.len() <= LONGEST_SUGGESTED) {
                let found = (words::distance(text, &name), name);
                if let Err(place) = near.binary_search(&found) {
                    near.insert(place, found);
                    near.truncate(3);
                }
            }
        });
        if near.is_empty() {
            return anyhow!(
                "{shown} has no symbols of {}: give an address, as 0x80000000",
                sort.words()
            );
        }
        let near = words::nearest_three(text, near.iter().map(|(_, name)| name.as_str()));
        anyhow!("{shown} has no symbol `{}`: did you mean {}?", printable(text), printable(&near))
    }

    /// Calls `take` with the name and the address of each symbol that can be of this sort.
    fn each_symbol(&self, sort: Sort, mut take: impl FnMut(&str, u64)) {
        let Some(file) = parse(&self.bytes) else { return };
        let symbols = file.symbols().take(MOST_SYMBOLS);
        for symbol in symbols.filter(|symbol| symbol.is_definition() || symbol.is_global()) {
            let may_be = match sort {
                Sort::Code => matches!(
                    symbol.kind(),
                    SymbolKind::Text | SymbolKind::Unknown | SymbolKind::Label
                ),
                Sort::Variable => matches!(symbol.kind(), SymbolKind::Data | SymbolKind::Unknown),
                Sort::Object => symbol.kind() == SymbolKind::Data,
            };
            let Ok(name) = symbol.name_bytes() else { continue };
            // Names such as `$x` and `.L5` are the assembler's own.
            if !may_be || name.len() > LONGEST_NAME || matches!(name, [] | [b'.' | b'$', ..]) {
                continue;
            }
            if let Ok(name) = str::from_utf8(name) {
                let address = symbol.address();
                take(name, if sort == Sort::Code { self.instruction(address) } else { address });
            }
        }
    }

    /// The address of the instruction that a pointer to code means: on Arm, its lowest bit selects
    /// the instruction set.
    fn instruction(&self, address: u64) -> u64 {
        if self.architecture == Architecture::Arm { address & !1 } else { address }
    }
}

/// A file that is put into the machine as it is.
#[derive(Debug)]
pub struct Given {
    /// The path of the file.
    pub path: PathBuf,
    /// The SHA-256 of the file, in hexadecimal.
    pub sha256: String,
}

impl Given {
    /// Reads the file's digest.
    ///
    /// # Errors
    /// The file is missing or too long.
    pub fn read(path: &Path) -> Result<Self> {
        Ok(Self { path: path.to_owned(), sha256: sha256(&read(path)?) })
    }
}

/// Reads a file of at most [`LONGEST`] bytes.
pub(super) fn read(path: &Path) -> Result<Vec<u8>> {
    let shown = printable(&path.display().to_string());
    let file = fs::metadata(path).ok().filter(fs::Metadata::is_file);
    let Some(file) = file else { bail!("{shown}: there is no such image: build it first") };
    if file.len() > LONGEST {
        bail!("{shown} is no image: it is longer than {} MiB", LONGEST >> 20);
    }
    fs::read(path).with_context(|| format!("cannot read {shown}"))
}

/// A name that fits a case's parameters; the address instead of one that does not.
fn short(text: &str, address: u64) -> String {
    const LONGEST: usize = 60;
    let fits = text.len() <= LONGEST && text.chars().all(|letter| letter.is_ascii_graphic());
    if fits { text.to_owned() } else { format!("{address:#x}") }
}

/// Reads the headers of an ELF file; `None` for other bytes.
fn parse(bytes: &[u8]) -> Option<File<'_>> {
    File::parse(bytes).ok().filter(|file| file.format() == BinaryFormat::Elf)
}

/// A name as its programmer wrote it; `None` if the compiler has not changed it.
fn demangled(name: &str) -> Option<String> {
    let demangled = demangle_auto(name.into(), None);
    (demangled != name).then(|| without_hash(&demangled).to_owned())
}

/// A demangled name of Rust's without the compiler's hash (`::h` and 16 digits).
fn without_hash(name: &str) -> &str {
    match name.rsplit_once("::h") {
        Some((rest, hash))
            if hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) =>
        {
            rest
        }
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ELF file of 64 bits for this processor, with the sections that symbols need.
    fn elf(machine: u16, symbols: &[(&str, u64)]) -> Vec<u8> {
        const HEADER: u64 = 64;
        const FUNCTION: u8 = 0x12;
        let (mut names, mut table) = (vec![0], vec![0; 24]);
        for (name, address) in symbols {
            table.extend(u32::try_from(names.len()).unwrap().to_le_bytes());
            table.extend([FUNCTION, 0, 1, 0]);
            table.extend([*address, 4].iter().flat_map(|word| word.to_le_bytes()));
            names.extend(name.bytes().chain([0]));
        }
        let (symbols_at, names_at) = (HEADER, HEADER + table.len() as u64);
        let sections_at = names_at + names.len() as u64;
        let mut elf = b"\x7fELF\x02\x01\x01".to_vec();
        elf.resize(16, 0);
        elf.extend([2, machine].iter().flat_map(|half| half.to_le_bytes()));
        elf.extend(1_u32.to_le_bytes());
        elf.extend([0, 0, sections_at].iter().flat_map(|word| word.to_le_bytes()));
        elf.extend(0_u32.to_le_bytes());
        elf.extend([64_u16, 56, 0, 64, 4, 3].iter().flat_map(|half| half.to_le_bytes()));
        elf.extend(&table);
        elf.extend(&names);
        // None, the code, the symbols (2) with the index of their names, the names (3).
        let sections = [
            (0, 0, 0, 0, 0),
            (1, 0, 0, 0, 0),
            (2, symbols_at, table.len() as u64, 3, 24),
            (3, names_at, names.len() as u64, 0, 0),
        ];
        for (kind, at, length, names, entry) in sections {
            let kind = u64::from(kind as u32) << 32;
            let words = [kind, 0, 0, at, length, names, 0, entry];
            elf.extend(words.iter().flat_map(|word: &u64| word.to_le_bytes()));
        }
        elf
    }

    const RISC_V: u16 = 243;
    const ARM_64: u16 = 183;

    fn image(symbols: &[(&str, u64)]) -> Image {
        let bytes = elf(RISC_V, symbols);
        let architecture = parse(&bytes).unwrap().architecture();
        Image { path: "kernel.elf".into(), architecture, sha256: String::new(), bytes }
    }

    #[test]
    fn a_symbol_is_found_or_the_nearest_three_are_named() {
        let image = image(&[
            ("give", 16),
            ("take", 32),
            ("give", 16),
            ("gave", 48),
            ("twice", 1),
            ("twice", 2),
        ]);
        assert_eq!(image.place("give").unwrap(), Place { name: "give".into(), address: 16 });
        assert_eq!(image.place("0x80").unwrap().address, 128);
        let error = image.place("giv").unwrap_err().to_string();
        assert!(error.ends_with("did you mean give, gave or take?"), "{error}");
        assert!(image.place("twice").is_err() && image.place("0xg").is_err());
    }

    #[test]
    fn names_of_rust_lose_their_hash() {
        assert_eq!(without_hash("core::give::h0123456789abcdef"), "core::give");
        assert_eq!(without_hash("core::h12"), "core::h12");
    }

    #[test]
    fn names_are_found_as_written_and_as_mangled() {
        let mangled = "_ZN4core4give17h0123456789abcdefE";
        let image = image(&[(mangled, 16), (".L5", 20), ("$x", 24)]);
        for name in ["core::give", mangled] {
            assert_eq!(image.place(name).unwrap().address, 16);
        }
        let error = image.place("core::gave").unwrap_err().to_string();
        assert!(error.contains("core::give") && !error.contains(".L5"), "{error}");
    }

    #[test]
    fn the_lowest_bit_of_a_pointer_to_thumb_code_is_no_part_of_the_address() {
        let mut image = image(&[("give", 0x101)]);
        assert_eq!(image.place("0x101").unwrap().address, 0x101);
        image.architecture = Architecture::Arm;
        for text in ["give", "0x101"] {
            assert_eq!(image.place(text).unwrap().address, 0x100);
        }
    }

    #[test]
    fn a_name_as_long_as_the_file_costs_no_memory_of_its_own() {
        let long = "a".repeat(LONGEST_NAME + 1);
        let image = image(&[(&long, 16), ("take", 32)]);
        assert!(image.place(&long).is_err());
        assert_eq!(image.place("take").unwrap().address, 32);
    }

    #[test]
    fn damage_is_no_image_or_has_other_symbols_but_no_panic() {
        assert!(parse(b"no image").is_none());
        let whole = elf(ARM_64, &[("give", 16), ("_ZN4core4take17h0123456789abcdefE", 32)]);
        let look = |bytes: Vec<u8>| {
            let Some(architecture) = parse(&bytes).map(|file| file.architecture()) else { return };
            let sha256 = String::new();
            let image = Image { path: "kernel.elf".into(), architecture, sha256, bytes };
            let _ = image.place("core::take");
        };
        (0..=whole.len()).for_each(|length| look(whole[..length].to_vec()));
        // Each byte, with each of its extremes.
        for at in 0..whole.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut damaged = whole.clone();
                damaged[at] = value;
                look(damaged);
            }
        }
    }
}
