//! Recognises a capture file by its content; a file's name is not trusted. The module knows the
//! first bytes of each format and nothing more of it.

use std::{
    fs::{self, File},
    io::{Cursor, Read, Seek},
    path::{Path, PathBuf},
};

use super::{Source, saleae, sigrok, vcd};
use crate::error::{Result, bail, ensure, within};

/// The number of leading bytes that identify a format.
const HEAD: u64 = 256;

/// Opens a capture in any known format, or the folder of a Saleae export, which has a file for each
/// channel.
///
/// # Errors
/// If the file cannot be read, is of no known format, or has a malformed head.
pub fn open(path: &Path) -> Result<Box<dyn Source>> {
    open_sampled(path, None)
}

/// Opens a capture as [`open`] does. `sampled` is the rate in hertz of a file without one, where
/// the times of its samples follow from the rate: sigrok's, and a dump without a timescale.
///
/// # Errors
/// As [`open`].
pub fn open_sampled(path: &Path, sampled: Option<u64>) -> Result<Box<dyn Source>> {
    let source = path.display().to_string();
    if path.is_dir() {
        return Ok(Box::new(saleae::Binary::new(&source, folder(path)?)?));
    }
    let mut file = chronoscope_units::file::open(path).map_err(within("cannot be opened"))?;
    let mut head = Vec::new();
    file.by_ref().take(HEAD).read_to_end(&mut head).map_err(within("cannot be read"))?;
    if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") {
        file.rewind().map_err(within("it is a zip archive, which cannot be read from a pipe"))?;
        return Ok(Box::new(sigrok::Reader::sampled(&source, file, sampled)?));
    }
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&head).trim_ascii_start();
    let is_dump = text.starts_with(b"$");
    let is_rows = text.strip_prefix(b"\"").unwrap_or(text).starts_with(b"Time");
    if head.starts_with(saleae::MAGIC) {
        let input = Cursor::new(head).chain(file);
        return Ok(Box::new(saleae::Binary::new(&source, vec![(name(path), input)])?));
    }
    ensure!(!head.is_empty(), "it is empty");
    if is_dump {
        let text = text.to_vec();
        return Ok(Box::new(vcd::Reader::sampled(
            &source,
            Cursor::new(text).chain(file),
            sampled,
        )?));
    }
    if is_rows {
        return Ok(Box::new(saleae::Csv::new(&source, Cursor::new(head).chain(file))?));
    }
    if head.starts_with(b"\x1f\x8b")
        || head.starts_with(b"\xfd7zXZ")
        || head.starts_with(b"(\xb5/\xfd")
    {
        bail!("it is compressed: unpack it first");
    }
    bail!("its format is unknown: VCD, sigrok's .sr, and Saleae's CSV and binary exports are read")
}

/// The channel's name for a file that stores none: the file's stem.
fn name(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// The files of an export by length of their name, so that `digital_2.bin` precedes
/// `digital_10.bin`.
fn folder(path: &Path) -> Result<Vec<(String, File)>> {
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(path).map_err(within("cannot be read"))? {
        let file = entry.map_err(within("cannot be read"))?.path();
        if file.extension().is_some_and(|extension| extension == "bin") {
            files.push(file);
        }
    }
    files.sort_by_key(|file| (file.as_os_str().len(), file.clone()));
    let open = |file: &PathBuf| {
        Ok((name(file), chronoscope_units::file::open(file).map_err(within(name(file)))?))
    };
    files.iter().map(open).collect()
}
