//! The image to observe: its architecture, and the addresses of its symbols. Reads a file of the
//! user's with the crate `object`, which checks all bounds.

use std::{
    fs,
    path::{Path, PathBuf},
};

use addr2line::demangle_auto;
use anyhow::{Context as _, Result, bail};
use object::{Architecture, Object, ObjectSymbol, SymbolKind, read::File};

use crate::{
    digest::sha256,
    units::{printable, words},
};

/// The longest image that is read, in bytes.
const LONGEST: u64 = 256 << 20;

/// An image with the symbols of its code.
#[derive(Debug)]
pub struct Image {
    pub path: PathBuf,
    pub architecture: Architecture,
    pub sha256: String,
    /// Names as in the file, and demangled ones, each with its address.
    symbols: Vec<(String, u64)>,
}

/// A place in the image's code.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// The user's name of it, without blanks.
    pub name: String,
    pub address: u64,
}

impl Image {
    /// Reads an image.
    ///
    /// # Errors
    /// The file is missing, too long, or no ELF file.
    pub fn read(path: &Path) -> Result<Self> {
        let shown = printable(&path.display().to_string());
        let file = fs::metadata(path).ok().filter(fs::Metadata::is_file);
        let Some(file) = file else { bail!("{shown}: there is no such image: build it first") };
        if file.len() > LONGEST {
            bail!("{shown} is no image: it is longer than {} MiB", LONGEST >> 20);
        }
        let bytes = fs::read(path).with_context(|| format!("cannot read {shown}"))?;
        let Some((architecture, symbols)) = parse(&bytes) else {
            bail!("{shown} is no image: it is no ELF file: name the file that the linker wrote");
        };
        Ok(Self { path: path.to_owned(), architecture, sha256: sha256(&bytes), symbols })
    }

    /// Finds the place of a symbol, or of an address as `0x80000000`.
    ///
    /// # Errors
    /// The image has no such symbol, or several.
    pub fn place(&self, text: &str) -> Result<Place> {
        if let Some(digits) = text.strip_prefix("0x") {
            let address = u64::from_str_radix(digits, 16);
            let address = address.with_context(|| format!("`{text}` is no address"))?;
            return Ok(Place { name: text.to_owned(), address });
        }
        let mut found: Vec<u64> = self.named(text).collect();
        found.sort_unstable();
        found.dedup();
        match found[..] {
            [address] => Ok(Place { name: short(text, address), address }),
            [] => {
                let shown = printable(&self.path.display().to_string());
                if self.symbols.is_empty() {
                    bail!("{shown} has no symbols: give an address, as 0x80000000");
                }
                let names = self.symbols.iter().map(|(name, _)| name.as_str());
                let near = printable(&words::nearest_three(text, names));
                bail!("{shown} has no symbol `{}`: did you mean {near}?", printable(text))
            }
            [first, second, ..] => bail!(
                "`{}` is the name of several functions: give an address, as {first:#x} or \
                 {second:#x}",
                printable(text)
            ),
        }
    }

    fn named<'a>(&'a self, text: &'a str) -> impl Iterator<Item = u64> + 'a {
        self.symbols.iter().filter(move |(name, _)| name == text).map(|(_, address)| *address)
    }
}

/// A name that fits a case's parameters; the address instead of one that does not.
fn short(text: &str, address: u64) -> String {
    const LONGEST: usize = 60;
    let fits = text.len() <= LONGEST && text.chars().all(|letter| letter.is_ascii_graphic());
    if fits { text.to_owned() } else { format!("{address:#x}") }
}

/// Returns the architecture and the symbols of an ELF file; `None` for other bytes.
fn parse(bytes: &[u8]) -> Option<(Architecture, Vec<(String, u64)>)> {
    let file = File::parse(bytes).ok()?;
    if file.format() != object::BinaryFormat::Elf {
        return None;
    }
    let is_arm = file.architecture() == Architecture::Arm;
    let mut symbols = Vec::new();
    for symbol in file.symbols().filter(|symbol| symbol.is_definition() || symbol.is_global()) {
        let is_code =
            matches!(symbol.kind(), SymbolKind::Text | SymbolKind::Unknown | SymbolKind::Label);
        let Ok(name) = symbol.name() else { continue };
        // Names such as `$x` and `.L5` are the assembler's own.
        if !is_code || name.is_empty() || name.starts_with(['.', '$']) {
            continue;
        }
        // On Arm the lowest bit of the address selects the instruction set.
        let address = if is_arm { symbol.address() & !1 } else { symbol.address() };
        let demangled = demangle_auto(name.into(), None);
        if demangled != name {
            symbols.push((without_hash(&demangled).to_owned(), address));
        }
        symbols.push((name.to_owned(), address));
    }
    Some((file.architecture(), symbols))
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

    fn image(symbols: &[(&str, u64)]) -> Image {
        Image {
            path: "kernel.elf".into(),
            architecture: Architecture::Riscv64,
            sha256: String::new(),
            symbols: symbols.iter().map(|(name, at)| ((*name).to_owned(), *at)).collect(),
        }
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
    fn damage_is_no_image_or_has_fewer_symbols_but_no_panic() {
        assert!(parse(b"no image").is_none());
        let mut whole = fs::read(std::env::current_exe().unwrap()).unwrap();
        whole.truncate(1 << 16);
        for length in [0, 4, 16, 60, 64, 1000, whole.len()] {
            let _ = parse(&whole[..length]);
        }
        // Each byte of the header, with each of its extremes.
        for at in 0..64 {
            for value in [0, 1, 0x7f, 0xff] {
                let mut damaged = whole.clone();
                damaged[at] = value;
                let _ = parse(&damaged);
            }
        }
    }
}
