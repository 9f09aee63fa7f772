//! Maps an instruction's address to its function, by the image's line tables, and by its symbols
//! for assembly, which has none. It knows nothing of cycles.

use std::{collections::BTreeMap, ops::Range};

use addr2line::{
    Context, demangle_auto,
    gimli::{Dwarf, EndianSlice, RunTimeEndian, SectionId},
};
use anyhow::{Context as _, Result};
use object::{Object, ObjectSection, ObjectSymbol};

/// The functions of an image.
pub struct Symbols<'image> {
    tables: Context<EndianSlice<'image, RunTimeEndian>>,
    /// The symbols by address; each reaches to the next.
    labels: BTreeMap<u64, &'image str>,
    /// The address ranges of the code sections.
    code: Vec<Range<u64>>,
}

impl<'image> Symbols<'image> {
    /// Reads the functions of an ELF image.
    ///
    /// # Errors
    /// If the image is not ELF, or its tables are damaged.
    pub fn read(image: &'image [u8]) -> Result<Self> {
        let file = object::File::parse(image).context("the image is no ELF file")?;
        let endian =
            if file.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
        let section = |id: SectionId| {
            let data =
                file.section_by_name(id.name()).map_or(Ok(&[][..]), |section| section.data())?;
            object::Result::Ok(EndianSlice::new(data, endian))
        };
        let tables = Dwarf::load(section).context("the image's line tables cannot be read")?;
        let tables =
            Context::from_dwarf(tables).context("the image's line tables cannot be read")?;
        // Labels that an assembler generates are inside functions.
        let is_name = |name: &&str| !name.is_empty() && !name.starts_with(['.', '$']);
        let labels = file
            .symbols()
            .filter(|symbol| symbol.is_definition() || symbol.is_global())
            .filter_map(|symbol| {
                let in_code =
                    symbol.section_index().and_then(|index| file.section_by_index(index).ok());
                in_code.filter(|section| section.kind() == object::SectionKind::Text)?;
                // On Arm the lowest bit of the address selects the instruction set.
                let mask = if file.architecture() == object::Architecture::Arm { !1 } else { !0 };
                let name = symbol.name().ok().filter(is_name)?;
                Some((symbol.address() & mask, name))
            });
        let is_code =
            |section: &object::Section<'_, '_>| section.kind() == object::SectionKind::Text;
        let code = file.sections().filter(is_code);
        let code = code
            .map(|section| section.address()..section.address().saturating_add(section.size()))
            .collect();
        Ok(Self { labels: labels.collect(), code, tables })
    }

    /// Returns the function of the instruction at `address`: the innermost inlined one that is not
    /// of the core library, since a name such as `Cell::get` does not identify the caller. An
    /// address without a known function is returned in hex.
    pub fn function(&self, address: u64) -> String {
        if !self.code.iter().any(|code| code.contains(&address)) {
            return format!("{address:#x}");
        }
        let frames = self.frames(address).unwrap_or_default();
        let own = || frames.iter().filter(|frame| !frame.is_core());
        // A closure is named by its enclosing function, if that is among the frames.
        let chosen = own().find(|frame| !frame.is_closure()).or(own().next()).or(frames.first());
        let label = || {
            let (_, name) = self.labels.range(..=address).next_back()?;
            Some(demangle_auto((*name).into(), None).into_owned())
        };
        chosen.map(Frame::name).or_else(label).unwrap_or_else(|| format!("{address:#x}"))
    }

    /// Returns the address of the function whose demangled name is the one; `None` unless there is exactly
    /// one.
    pub fn address(&self, is_it: impl Fn(&str) -> bool) -> Option<u64> {
        let is_it = |name: &str| is_it(&demangle_auto(name.into(), None));
        let mut all = self.labels.iter().filter(|(_, name)| is_it(name)).map(|(at, _)| *at);
        all.next().filter(|_| all.next().is_none())
    }

    /// Returns the function of an instruction, with the file and the line where they are known.
    pub fn place(&self, address: u64) -> String {
        let function = self.function(address);
        let own = |location: &addr2line::Location<'_>| {
            let (file, line) = (location.file?, location.line?);
            (!file.contains("/library/")).then(|| {
                let name = file.rsplit('/').next().unwrap_or(file);
                format!("{function}, {name}:{line}")
            })
        };
        let frames = self.tables.find_frames(address).skip_all_loads();
        let mut found = None;
        if let Ok(mut frames) = frames {
            while let Ok(Some(frame)) = frames.next() {
                found = found.or_else(|| own(&frame.location?));
            }
        }
        found.unwrap_or(function)
    }

    /// The functions inlined at an address, innermost first, and last the function that contains
    /// them.
    fn frames(&self, address: u64) -> Result<Vec<Frame>> {
        let mut frames = self.tables.find_frames(address).skip_all_loads()?;
        let mut found = Vec::new();
        while let Some(frame) = frames.next()? {
            if let Some(function) = frame.function {
                let file = frame
                    .location
                    .and_then(|location| location.file)
                    .unwrap_or_default()
                    .to_owned();
                found.push(Frame { function: function.demangle()?.into_owned(), file });
            }
        }
        Ok(found)
    }
}

/// A function, and the file of the instruction's line.
#[derive(Debug)]
struct Frame {
    function: String,
    file: String,
}

impl Frame {
    /// `true` if the function is of Rust's standard library.
    fn is_core(&self) -> bool {
        self.file.contains("/library/")
    }

    fn is_closure(&self) -> bool {
        self.function.starts_with('{')
    }

    /// The function's name with its module. Line tables without further debug information name
    /// functions without a module; the file's path then gives it.
    fn name(&self) -> String {
        let function = match self.function.find('<') {
            Some(generic) if generic > 0 => &self.function[..generic],
            _ => &self.function,
        };
        let has_module = self.file.ends_with(".rs") && !function.contains("::");
        if has_module { module(&self.file) + function } else { function.to_owned() }
    }
}

/// Returns the module path of a file: `tandem::wait::` for `…/tandem/src/wait.rs`. A version in the
/// package's folder name is left out.
fn module(file: &str) -> String {
    let Some((folder, modules)) = file.rsplit_once("/src/") else { return String::new() };
    let package = folder.rsplit('/').next().unwrap_or_default();
    let is_version = |text: &str| text.starts_with(|letter: char| letter.is_ascii_digit());
    let package = match package.rsplit_once('-') {
        Some((name, version)) if is_version(version) => name,
        _ => package,
    };
    let modules = modules
        .trim_end_matches(".rs")
        .split('/')
        .filter(|module| !["lib", "main", "mod"].contains(module));
    let path: Vec<String> =
        [package].into_iter().chain(modules).map(|module| module.replace('-', "_")).collect();
    path.join("::") + "::"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(never)]
    fn somewhere() -> u32 {
        std::hint::black_box(7)
    }

    #[test]
    fn a_function_is_known_by_an_address_in_it() {
        assert_eq!(somewhere(), 7);
        let image = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let file = object::File::parse(&*image).unwrap();
        let symbol = file
            .symbols()
            .find(|symbol| symbol.name().is_ok_and(|name| name.contains("9somewhere")));
        let symbols = Symbols::read(&image).unwrap();
        let address = symbol.expect("a debug build has symbols").address();
        let name = symbols.function(address);
        // Line tables do not name modules within a file.
        assert!(name.contains("profile::symbols::") && name.ends_with("::somewhere"), "{name}");
    }

    #[test]
    fn damage_is_an_error_and_nothing_worse() {
        assert!(Symbols::read(b"no image").is_err());
        let image = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        for length in [4, 60, 1000, image.len() / 2] {
            // Any result is allowed, but no panic.
            let _ = Symbols::read(&image[..length]).map(|symbols| symbols.function(0x1000));
        }
    }

    #[test]
    fn files_tell_modules() {
        let name = |function: &str, file: &str| {
            Frame { function: function.to_owned(), file: file.to_owned() }.name()
        };
        assert_eq!(name("give", "/here/tandem/src/wait.rs"), "tandem::wait::give");
        assert_eq!(name("mark<K>", "/here/suite/src/mark/mod.rs"), "suite::mark::mark");
        let registry = "/there/embassy-executor-0.9.1/src/raw/mod.rs";
        assert_eq!(name("wake_task", registry), "embassy_executor::raw::wake_task");
        assert_eq!(name("tandem::core::give", "/here/tandem/src/core.rs"), "tandem::core::give");
        assert_eq!(name("tandem_enter", ""), "tandem_enter");
    }
}
