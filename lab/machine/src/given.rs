//! Images that the user gives in a target: `NAME=IMAGE@MACHINE`. The module checks that a file is
//! an image for a machine; it does not know the machines.

use std::{
    collections::BTreeMap,
    fs,
    ops::Range,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Error, Result, anyhow, bail};
use chronoscope_suite::wire::{self, MAX_FRAME, Record};
use object::{Architecture, Object, read::File};

use super::Provenance;
use chronoscope_base::digest::sha256;
use chronoscope_child::{self as child, Limit};
use chronoscope_run::{Target, names::GIVEN_IMAGE};

/// The user's file, checked to be an image for a machine.
#[derive(Debug)]
pub(super) struct GivenImage {
    /// The name that the user gives to the kernel.
    pub(super) name: String,
    pub(super) path: PathBuf,
    sha256: String,
}

/// The kind of task that a given image is measured with, since the lab does not know its kernel.
pub(super) const KIND: &str = "thread";

impl GivenImage {
    /// The image of a target for a chip of this architecture with code at the addresses `code`;
    /// `None` if the target has no image.
    ///
    /// # Errors
    /// The file is missing, is no ELF file, or is an image for another chip.
    pub(super) fn for_chip(
        target: &Target,
        architecture: Architecture,
        code: &Range<u64>,
    ) -> Result<Option<Self>> {
        let Some(path) = &target.image else { return Ok(None) };
        let (bytes, shown, machine) = (read(path)?, path.display(), &target.machine);
        let Ok(elf) = File::parse(&*bytes) else {
            bail!("{shown} is no image for {machine}: it is no ELF file");
        };
        if elf.architecture() != architecture {
            bail!(
                "{shown} is an image for {:?} processors, and {machine} is {architecture:?}: build it \
                 for {machine}",
                elf.architecture()
            );
        }
        if !code.contains(&elf.entry()) {
            bail!(
                "{shown} is an image for another chip: it starts at {:#010x}, and the code of \
                 {machine} is at {:#010x} to {:#010x}",
                elf.entry(),
                code.start,
                code.end
            );
        }
        Ok(Some(Self::new(target, path, &bytes)))
    }

    /// The program of a target for this computer; `None` if the target has no image.
    ///
    /// # Errors
    /// The file is missing, not executable, or a program for another processor.
    pub(super) fn for_this_computer(target: &Target) -> Result<Option<Self>> {
        let Some(path) = &target.image else { return Ok(None) };
        let (bytes, shown) = (read(path)?, path.display());
        let own = if cfg!(target_arch = "aarch64") {
            Architecture::Aarch64
        } else {
            Architecture::X86_64
        };
        if let Ok(elf) = File::parse(&*bytes)
            && elf.architecture() != own
        {
            bail!(
                "{shown} is a program for {:?} processors, and this computer is {own:?}",
                elf.architecture()
            );
        }
        let mode = fs::metadata(path).map_or(0, |file| file.permissions().mode());
        if mode & 0o111 == 0 {
            bail!("{shown} is no program: make it executable (chmod +x), or name a chip's machine");
        }
        // A path without a folder would be searched for in PATH.
        let path = fs::canonicalize(path).with_context(|| format!("cannot find {shown}"))?;
        Ok(Some(Self::new(target, &path, &bytes)))
    }

    /// The image of a target that the user has written into a board, in any format; `None` if the
    /// target has no image.
    ///
    /// # Errors
    /// The file is missing.
    pub(super) fn for_a_board(target: &Target) -> Result<Option<Self>> {
        let own = |path: &PathBuf| Ok(Self::new(target, path, &read(path)?));
        target.image.as_ref().map(own).transpose()
    }

    fn new(target: &Target, path: &Path, bytes: &[u8]) -> Self {
        Self { name: target.kernel.clone(), path: path.to_owned(), sha256: sha256(bytes) }
    }

    /// The provenance of the image's figures: its hash. The image reports more of itself in its
    /// stream.
    pub(super) fn provenance(&self) -> Provenance {
        let hash = format!("sha256 {}", self.sha256);
        let identity = BTreeMap::from([(GIVEN_IMAGE.to_owned(), hash)]);
        Provenance { identity, ..Provenance::default() }
    }
}

/// The time after which an image that has sent nothing is ended: a port says hello at once.
const SILENCE: Duration = Duration::from_secs(2);

/// Listens to the first record of an image, which an image without a port does not send.
struct FirstRecord {
    frame: Vec<u8>,
    is_heard: bool,
}

impl FirstRecord {
    /// Takes in more bytes. Returns whether they can still be a stream.
    fn listen(&mut self, bytes: &[u8]) -> bool {
        if self.is_heard {
            return true;
        }
        let end = bytes.iter().position(|&byte| byte == 0);
        self.frame.extend_from_slice(&bytes[..end.unwrap_or(bytes.len())]);
        if end.is_some() {
            self.is_heard = matches!(wire::decode(&mut self.frame), Ok(Record::Hello { .. }));
        }
        self.is_heard || end.is_none() && self.frame.len() <= MAX_FRAME
    }
}

impl GivenImage {
    /// Runs the image by `start`, which gets a limit and passes on what the image sends. An image that
    /// sends no stream is ended after [`SILENCE`], or at its first bytes.
    ///
    /// # Errors
    /// The image sends no stream; or the errors of `start` and of `sink`.
    pub(super) fn run(
        &self,
        limit: Limit,
        start: impl FnOnce(Limit, &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut first = FirstRecord { frame: Vec::new(), is_heard: false };
        let limit = Limit { silence: Some(SILENCE), ..limit };
        let outcome = start(limit, &mut |bytes| match first.listen(bytes) {
            true => sink(bytes),
            false => Err(self.without_a_stream()),
        });
        match &outcome {
            Ok(()) if !first.is_heard => Err(self.without_a_stream()),
            Err(error) if matches!(error.downcast_ref(), Some(child::Error::Silent { .. })) => {
                Err(self.without_a_stream())
            }
            _ => outcome,
        }
    }

    fn without_a_stream(&self) -> Error {
        anyhow!(
            "{} sends no stream of Chronoscope's: `chronoscope observe` measures any image as it \
             is, and a port (`./chronoscope c-kit` for C) makes it run experiments",
            self.name
        )
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    if !path.is_file() {
        bail!("{} is not there: build the image first", path.display());
    }
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}
