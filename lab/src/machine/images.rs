//! The index of microcontrollers' images: which there are, where each is, and how it is built.
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

use super::{builder, firmware::once};
use crate::digest::sha256;

/// The folder with the index, where it is neither of [`PLACES`].
const VARIABLE: &str = "CHRONOSCOPE_IMAGES";

/// The folders searched for the index, relative to the parent of the program's own folder:
/// `/usr/bin` goes with `/usr/share`, and `target/release` with `target/firmware`.
const PLACES: [&str; 2] = ["share/chronoscope/firmware", "firmware"];

/// The version of the index's format.
const SCHEMA: u32 = 1;

#[derive(Debug, Deserialize)]
struct Index {
    schema: u32,
    /// The command that builds an image, given a target and a variant. The first word is a path
    /// relative to the index.
    builder: Option<Vec<String>>,
    images: Vec<Image>,
    #[serde(skip)]
    folder: PathBuf,
}

/// An image of a target: a row of the index.
#[derive(Debug, Deserialize)]
pub(super) struct Image {
    target: String,
    pub(super) kernel: String,
    /// The kind of task that is measured unless another is asked for.
    pub(super) kind: String,
    variant: String,
    /// The image's path relative to the index.
    path: String,
    /// The file's SHA-256 in hexadecimal; `None` until the image is built.
    sha256: Option<String>,
    /// A sentence shown beside the figures.
    pub(super) remark: Option<String>,
}

/// The variants of a port's image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Variant {
    Plain,
    /// Records the kernel's events.
    Traced,
    /// Drives pins at the marks.
    Pins,
}

impl Variant {
    /// The variant's name in the index.
    fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Traced => "traced",
            Self::Pins => "pins",
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

    fn find(&self, target: &str, variant: &str) -> Option<&Image> {
        self.images.iter().find(|image| image.target == target && image.variant == variant)
    }
}

/// The index, read once; `None` if there is none.
fn index() -> Result<Option<&'static Index>> {
    static INDEX: OnceLock<Result<Option<Index>, String>> = OnceLock::new();
    let index = INDEX.get_or_init(|| {
        let index = folder().map(Index::read).transpose();
        index.map_err(|error| format!("{error:#}"))
    });
    index.as_ref().map(Option::as_ref).map_err(|error| anyhow!("{error}"))
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

/// The targets of a machine, as `kernel@machine`. Empty if the index cannot be read: [`find`] says
/// why.
pub(super) fn targets(machine: &'static str) -> impl Iterator<Item = String> {
    let images = index().ok().flatten().map_or(&[][..], |index| &index.images);
    let is_here = move |image: &&Image| {
        image.variant == Variant::Plain.name()
            && image.target.rsplit_once('@').is_some_and(|(_, name)| name == machine)
    };
    images.iter().filter(is_here).map(|image| image.target.clone())
}

/// The plain image of a kernel for a machine.
///
/// # Errors
/// There is no index, or it cannot be read.
pub(super) fn find(kernel: &str, machine: &str) -> Result<Option<&'static Image>> {
    let index = index()?.with_context(|| {
        format!(
            "no index of images: in a checkout, `cargo xtask images` writes it; otherwise set \
             {VARIABLE} to the folder that has it"
        )
    })?;
    Ok(index.find(&format!("{kernel}@{machine}"), Variant::Plain.name()))
}

/// The kind of task that is measured of a kernel unless another is asked for.
pub(super) fn kind(kernel: &str) -> Option<&'static str> {
    let images = &index().ok().flatten()?.images;
    images.iter().find(|image| image.kernel == kernel).map(|image| image.kind.as_str())
}

impl Image {
    /// Returns whether the same target has an image of that variant.
    pub(super) fn has(&self, variant: Variant) -> bool {
        self.other(variant.name()).is_some()
    }

    /// The file of the same target's image of that variant, as by [`file`](Self::file).
    ///
    /// # Errors
    /// The target has no such image, or as [`file`](Self::file).
    pub(super) fn variant(&self, variant: Variant) -> Result<PathBuf> {
        let (target, name) = (&self.target, variant.name());
        self.other(name).with_context(|| format!("{target} has no image `{name}`"))?.file()
    }

    /// The kernel's smallest image with that number of tasks, for the same chip.
    pub(super) fn smallest(&self, tasks: usize) -> Option<&'static Self> {
        self.other(&format!("smallest-{tasks}"))
    }

    fn other(&self, variant: &str) -> Option<&'static Self> {
        index().ok().flatten()?.find(&self.target, variant)
    }

    /// The path of the image's file. In a checkout the builder brings it up to date first, once in
    /// the lab's life; elsewhere its hash is compared with the index.
    ///
    /// # Errors
    /// The image cannot be built, is missing, or is not the one in the index.
    pub(super) fn file(&self) -> Result<PathBuf> {
        static READY: Mutex<BTreeMap<PathBuf, Result<(), String>>> = Mutex::new(BTreeMap::new());
        let index = index()?.context("an image without an index")?;
        let path = index.folder.join(&self.path);
        once(&READY, &path, || match &index.builder {
            Some(builder) => self.build(builder, &index.folder),
            None => self.check(&path),
        })
    }

    fn build(&self, builder: &[String], folder: &Path) -> Result<()> {
        let (program, arguments) = builder.split_first().context("the index names no builder")?;
        let mut command = Command::new(folder.join(program));
        command.args(arguments).args([&self.target, &self.variant]);
        // The builder writes to the index in this folder of its build folder.
        let build_folder = folder.parent().unwrap_or(folder);
        command.env("CARGO_TARGET_DIR", build_folder);
        let retry = format!("cargo xtask images build {} {}", self.target, self.variant);
        let name = self.path.rsplit('/').next().unwrap_or(&self.path);
        builder::run(&mut command, build_folder, name, &retry)
            .with_context(|| format!("{name} could not be built"))
    }

    fn check(&self, path: &Path) -> Result<()> {
        let image = fs::read(path).with_context(|| {
            format!("the image {} is missing: install the images again", path.display())
        })?;
        if self.sha256.as_ref().is_none_or(|expected| *expected != sha256(&image)) {
            bail!(
                "{} is not the image that the index names: install the images again",
                path.display()
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(sha256: Option<String>) -> Image {
        let text = serde_json::json!({
            "target": "mine@cortex-m4", "kernel": "mine", "kind": "thread", "variant": "plain",
            "path": "image", "sha256": sha256,
        });
        serde_json::from_value(text).unwrap()
    }

    #[test]
    fn images_are_found_by_target_and_variant() {
        let text = r#"{"schema": 1, "images": [{"target": "mine@rv32", "kernel": "mine",
            "kind": "thread", "variant": "pins", "path": "a/b", "sha256": null}]}"#;
        let index = Index::parse(text.as_bytes(), "/nowhere".into()).unwrap();
        assert_eq!(index.find("mine@rv32", Variant::Pins.name()).unwrap().path, "a/b");
        assert!(index.find("mine@rv32", Variant::Plain.name()).is_none());
        assert!(index.builder.is_none());
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
        assert!(image(Some(hash)).check(&path).is_ok());
        for other in [image(None), image(Some("00".to_owned()))] {
            assert!(other.check(&path).unwrap_err().to_string().contains("install"));
        }
        let missing = image(None).check(Path::new("/nowhere/image")).unwrap_err();
        assert!(missing.to_string().contains("is missing"), "{missing}");
    }
}
