//! The index of microcontrollers' images: which there are, where each is, and how it is built; and
//! of the tools that their machines need.
//!
//! The index is `index.json` in the folder of the images. `cargo xtask images` writes it from the
//! manifests in `ports/firmware`, of which this module knows nothing. An installed program has an
//! index without a builder, and needs no sources.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, OnceLock},
};

use anyhow::{Context, Result, anyhow, bail};
use serde::Deserialize;

use super::{builder, lock::lock};
use chronoscope_base::digest::sha256;
use chronoscope_chips::Table;
use chronoscope_run::names::BUILD;

/// The folder with the index, where it is neither of [`PLACES`].
const VARIABLE: &str = "CHRONOSCOPE_IMAGES";

/// The folders searched for the index, relative to the parent of the program's own folder:
/// `/usr/bin` goes with `/usr/share`, and `target/lab` with `target/firmware`.
const PLACES: [&str; 2] = ["share/chronoscope/firmware", "firmware"];

/// The version of the index's format.
const SCHEMA: u32 = 1;

/// The index of images and tools, as its file has it.
#[derive(Debug, Deserialize)]
struct Index {
    schema: u32,
    /// The command that builds an image, given a target and a variant. The first word is a path
    /// relative to the index.
    builder: Option<Vec<String>>,
    images: Vec<Row>,
    #[serde(default)]
    tools: Vec<Tool>,
    #[serde(skip)]
    folder: PathBuf,
    /// The files that are ready for use, or the errors of making them.
    #[serde(skip)]
    ready: Mutex<BTreeMap<PathBuf, Result<(), String>>>,
}

/// An image of a target, as the index has it.
#[derive(Debug, Deserialize)]
struct Row {
    target: String,
    kernel: String,
    /// The kind of task that is measured unless another is asked for.
    kind: String,
    variant: String,
    #[serde(flatten)]
    file: File,
    /// Compiler and options; `None` if the image sends them itself, or the index is an older one.
    build: Option<String>,
    /// How to read the figures, as a sentence.
    remark: Option<String>,
}

/// A program or a library that a machine needs.
#[derive(Debug, Deserialize)]
struct Tool {
    name: String,
    #[serde(flatten)]
    file: File,
}

/// A file of the index.
#[derive(Debug, Deserialize)]
struct File {
    /// The path relative to the index.
    path: String,
    /// The SHA-256 in hexadecimal; `None` until the file is built.
    sha256: Option<String>,
}

/// The variants of a port's image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Variant {
    Plain,
    /// Records the kernel's events.
    Traced,
    /// Drives pins at the marks.
    Pins,
    /// Has the experiment `taskset` too.
    TaskSet,
    /// Measures processes, each with an address space of its own.
    Processes,
    /// The plain image, compiled with other options; its name in the index.
    Built(&'static str),
}

impl Variant {
    /// The variant's name in the index.
    fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Traced => "traced",
            Self::Pins => "pins",
            Self::TaskSet => "taskset",
            Self::Processes => "processes",
            Self::Built(name) => name,
        }
    }
}

impl Index {
    fn read(folder: PathBuf) -> Result<Self> {
        let path = folder.join("index.json");
        let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text, folder).with_context(|| path.display().to_string())
    }

    fn parse(text: &[u8], folder: PathBuf) -> Result<Self> {
        let index: Self = serde_json::from_slice(text)?;
        match index.schema {
            SCHEMA => Ok(Self { folder, ..index }),
            other => {
                bail!("the index has schema {other}, not {SCHEMA}: write it anew or install again")
            }
        }
    }

    /// The path of a file. In a checkout the builder brings it up to date first, once for each
    /// index that is read: `words` are the builder's further arguments, and messages call the file `what`.
    /// Elsewhere its hash is compared with the index.
    ///
    /// # Errors
    /// The file cannot be built, is missing, or is not the one in the index.
    fn file(&self, file: &File, words: &[&str], what: &str) -> Result<PathBuf> {
        let path = self.folder.join(&file.path);
        let make = || match &self.builder {
            Some(builder) => self.build(builder, words, what),
            None => file.check(&path),
        };
        let mut ready = lock(&self.ready);
        let outcome = ready
            .entry(path.clone())
            .or_insert_with(|| make().map_err(|error| format!("{error:#}")));
        match outcome {
            Ok(()) => Ok(path),
            Err(error) => bail!("{error}"),
        }
    }

    fn build(&self, builder: &[String], words: &[&str], what: &str) -> Result<()> {
        let (program, arguments) = builder.split_first().context("the index names no builder")?;
        let mut command = Command::new(self.folder.join(program));
        command.args(arguments).args(words);
        // The builder writes to the index in this folder of its build folder.
        let build_folder = self.folder.parent().unwrap_or(&self.folder);
        command.env("CARGO_TARGET_DIR", build_folder);
        let retry = format!("cargo xtask images build {}", words.join(" "));
        builder::run(&mut command, build_folder, what, &retry)
            .with_context(|| format!("{what} could not be built"))
    }

    fn find(&self, target: &str, variant: &str) -> Option<Image<'_>> {
        let mut rows = self.images.iter();
        let row = rows.find(|row| row.target == target && row.variant == variant)?;
        Some(Image { index: self, row })
    }
}

/// The images of microcontrollers, the tools of their machines, and the table of chips. Each is read
/// once, when it is first needed.
#[derive(Debug, Default)]
pub(super) struct Images {
    index: OnceLock<Result<Option<Index>, String>>,
    table: OnceLock<Table>,
}

/// An image of a target, with the index that has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Image<'m> {
    index: &'m Index,
    row: &'m Row,
}

impl Images {
    /// The chips and the simulated cores.
    pub(super) fn table(&self) -> &Table {
        self.table.get_or_init(Table::read)
    }

    /// The index; `None` if there is none.
    fn index(&self) -> Result<Option<&Index>> {
        let index = self.index.get_or_init(|| {
            let index = folder().map(Index::read).transpose();
            index.map_err(|error| format!("{error:#}"))
        });
        index.as_ref().map(Option::as_ref).map_err(|error| anyhow!("{error}"))
    }

    /// The targets of a machine, as `kernel@machine`. Empty if the index cannot be read:
    /// [`find`](Self::find) reports the reason.
    pub(super) fn targets(&self, machine: &str) -> Vec<String> {
        let rows = self.index().ok().flatten().map_or(&[][..], |index| &index.images);
        let is_here = |row: &&Row| {
            row.variant == Variant::Plain.name()
                && row.target.rsplit_once('@').is_some_and(|(_, name)| name == machine)
        };
        rows.iter().filter(is_here).map(|row| row.target.clone()).collect()
    }

    /// The plain image of a kernel for a machine.
    ///
    /// # Errors
    /// There is no index, or it cannot be read.
    pub(super) fn find(&self, kernel: &str, machine: &str) -> Result<Option<Image<'_>>> {
        let index = self.index()?.with_context(no_index)?;
        Ok(index.find(&format!("{kernel}@{machine}"), Variant::Plain.name()))
    }

    /// The path of a machine's tool, as of an image: brought up to date in a checkout, compared
    /// with its hash elsewhere. Messages call it `what`.
    ///
    /// # Errors
    /// There is no index, or it has no such tool; the tool cannot be built, is missing, or is
    /// another one.
    pub(super) fn tool(&self, name: &str, what: &str) -> Result<PathBuf> {
        let index = self.index()?.with_context(no_index)?;
        let tool = index.tools.iter().find(|tool| tool.name == name).with_context(|| {
            format!(
                "the index of images has no {what}: in a checkout, `cargo xtask images` writes it \
                 anew; otherwise install the images again"
            )
        })?;
        index.file(&tool.file, &[name], what)
    }

    /// The kind of task that is measured of a kernel unless another is asked for.
    pub(super) fn kind(&self, kernel: &str) -> Option<&str> {
        let rows = &self.index().ok().flatten()?.images;
        rows.iter().find(|row| row.kernel == kernel).map(|row| row.kind.as_str())
    }
}

/// The folder of the index.
fn folder() -> Option<PathBuf> {
    if let Some(folder) = env::var_os(VARIABLE) {
        return Some(folder.into());
    }
    let program_folder = builder::folder_of_the_lab().ok()?;
    let around = program_folder.parent()?;
    let mut places = PLACES.iter().map(|place| around.join(place));
    places.find(|place| place.join("index.json").is_file())
}

fn no_index() -> String {
    format!(
        "no index of images: the Debian package and the tarball have images (docs/install.md); in \
         a checkout, `cargo xtask images` writes it; otherwise set {VARIABLE} to the folder that \
         has it"
    )
}

impl<'m> Image<'m> {
    /// The name of the kernel.
    pub(super) fn kernel(&self) -> &'m str {
        &self.row.kernel
    }

    /// The kind of task that is measured unless another is asked for.
    pub(super) fn kind(&self) -> &'m str {
        &self.row.kind
    }

    /// How to read the figures, as a sentence.
    pub(super) fn remark(&self) -> Option<&'m str> {
        self.row.remark.as_deref()
    }

    /// Returns whether the same target has an image of that variant.
    pub(super) fn has(&self, variant: Variant) -> bool {
        self.other(variant.name()).is_some()
    }

    /// The file of the same target's image of that variant, as by [`file`](Self::file).
    ///
    /// # Errors
    /// The target has no such image, or as [`file`](Self::file).
    pub(super) fn variant(&self, variant: Variant) -> Result<PathBuf> {
        let (target, name) = (&self.row.target, variant.name());
        self.other(name).with_context(|| format!("{target} has no image `{name}`"))?.file()
    }

    /// How the same target's image of that variant was compiled, as a fact of a case's identity.
    pub(super) fn build(&self, variant: Variant) -> Option<(String, String)> {
        let row = self.other(variant.name()).map_or(self.row, |image| image.row);
        Some((BUILD.to_owned(), row.build.clone()?))
    }

    /// The kernel's smallest image with that number of tasks, for the same chip.
    pub(super) fn smallest(&self, tasks: usize) -> Option<Self> {
        self.other(&format!("smallest-{tasks}"))
    }

    /// The same target's image of that variant, if it has one.
    pub(super) fn other(&self, variant: &str) -> Option<Self> {
        self.index.find(&self.row.target, variant)
    }

    /// The path of the image's file. In a checkout the builder brings it up to date first, once for
    /// each index that is read; elsewhere its hash is compared with the index.
    ///
    /// # Errors
    /// The image cannot be built, is missing, or is not the one in the index.
    pub(super) fn file(&self) -> Result<PathBuf> {
        let Row { target, variant, file, .. } = self.row;
        let what = match variant.as_str() {
            "plain" => target.clone(),
            _ => format!("{target} ({variant})"),
        };
        self.index.file(file, &[target, variant], &what)
    }
}

impl File {
    /// Compares the file, which is at `path`, with the hash that the index has of it.
    fn check(&self, path: &Path) -> Result<()> {
        let bytes = fs::read(path)
            .with_context(|| format!("{} is missing: install the images again", path.display()))?;
        if self.sha256.as_ref().is_none_or(|expected| *expected != sha256(&bytes)) {
            bail!(
                "{} is not the file that the index names: install the images again",
                path.display()
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_found_by_target_and_variant() {
        let text = r#"{"schema": 1, "images": [{"target": "mine@rv32", "kernel": "mine",
            "kind": "thread", "variant": "pins", "path": "a/b", "sha256": null}]}"#;
        let index = Index::parse(text.as_bytes(), "/nowhere".into()).unwrap();
        let pins = index.find("mine@rv32", Variant::Pins.name()).unwrap();
        assert_eq!(pins.row.file.path, "a/b");
        assert!(index.find("mine@rv32", Variant::Plain.name()).is_none());
        assert!(index.builder.is_none());
        assert_eq!(pins.build(Variant::Pins), None);
    }

    #[test]
    fn an_image_tells_how_it_was_compiled() {
        let text = r#"{"schema": 1, "images": [{"target": "mine@rv32", "kernel": "mine",
            "kind": "thread", "variant": "plain", "path": "a/b", "sha256": null,
            "build": "rustc 1.95.0, opt-level 3"}]}"#;
        let index = Index::parse(text.as_bytes(), "/nowhere".into()).unwrap();
        let expected = ("build".to_owned(), "rustc 1.95.0, opt-level 3".to_owned());
        let plain = index.find("mine@rv32", Variant::Plain.name()).unwrap();
        assert_eq!(plain.build(Variant::Plain), Some(expected));
    }

    #[test]
    fn another_schema_is_refused() {
        let error = Index::parse(br#"{"schema": 2, "images": []}"#, PathBuf::new()).unwrap_err();
        assert!(error.to_string().contains("schema 2, not 1"), "{error}");
    }

    #[test]
    fn an_installed_image_is_compared_with_its_hash() {
        let path = env::current_exe().unwrap();
        let hash = sha256(&fs::read(&path).unwrap());
        let file = |sha256: Option<String>| File { path: "image".to_owned(), sha256 };
        assert!(file(Some(hash)).check(&path).is_ok());
        for other in [None, Some("00".to_owned())] {
            assert!(file(other).check(&path).unwrap_err().to_string().contains("install"));
        }
        let index = Index::parse(br#"{"schema": 1, "images": []}"#, "/nowhere".into()).unwrap();
        let missing = index.file(&file(None), &[], "image").unwrap_err();
        assert!(missing.to_string().contains("is missing"), "{missing}");
    }

    #[test]
    fn an_index_names_tools() {
        let text = r#"{"schema": 1, "images": [],
            "tools": [{"name": "ibex", "path": "../bench/board", "sha256": null}]}"#;
        let index = Index::parse(text.as_bytes(), "/folder".into()).unwrap();
        assert_eq!((index.tools[0].name.as_str(), index.tools.len()), ("ibex", 1));
    }
}
