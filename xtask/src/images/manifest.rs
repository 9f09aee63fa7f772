//! The parts of a kernel's manifest that define the images.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use serde::{Deserialize, de::DeserializeOwned};

use crate::repository;

/// `Cargo.toml`, with `T` as the table `package.metadata.chronoscope`.
#[derive(Debug, Deserialize)]
pub struct Manifest<T> {
    pub package: Package<T>,
    #[serde(default)]
    pub features: BTreeMap<String, Vec<String>>,
    #[serde(default, rename = "bin")]
    pub programs: Vec<Program>,
}

impl<T> Manifest<T> {
    /// The table `package.metadata.chronoscope`.
    pub fn metadata(&self) -> &T {
        &self.package.metadata.chronoscope
    }
}

#[derive(Debug, Deserialize)]
pub struct Package<T> {
    pub name: String,
    pub metadata: Metadata<T>,
}

#[derive(Debug, Deserialize)]
pub struct Metadata<T> {
    pub chronoscope: T,
}

#[derive(Debug, Deserialize)]
pub struct Program {
    pub name: String,
}

/// A folder of `ports/firmware/kernels`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// The kind of task that is measured unless another is asked for.
    pub kind: String,
    /// The names of the chips that the port has been written for.
    pub chips: Vec<String>,
    /// The language of the kernel's source.
    #[serde(default)]
    pub language: Language,
    /// The file with the kernel's licence, relative to the port's folder: for a kernel whose
    /// objects may be passed on only with it.
    pub licence: Option<String>,
    /// The kernel's own benchmark, for the experiment `operations`.
    pub operations: Option<Benchmark>,
    /// The kernel's own benchmark, for the experiment `crowded`.
    pub crowded: Option<Benchmark>,
    /// The machines of these chips on which the port has been run. Absent: all of them.
    pub only: Option<Vec<String>>,
    /// Further kernels of the package, by their names in targets.
    #[serde(default)]
    pub kernels: BTreeMap<String, Further>,
    /// Machines that need another image than the other machines of their chip.
    #[serde(default)]
    pub machines: BTreeMap<String, Exception>,
}

/// A kernel that differs from the package's own in features alone.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Further {
    /// The additional features of the kernel's images.
    pub features: Vec<String>,
    /// The images have the package's default features.
    #[serde(default = "yes", rename = "default-features")]
    pub default_features: bool,
    /// The machines on which it has been run.
    pub only: Vec<String>,
    /// The variants of its image besides the plain one.
    #[serde(default)]
    pub variants: Vec<String>,
}

fn yes() -> bool {
    true
}

/// A benchmark that the kernel's developers wrote.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Benchmark {
    /// The package of the workspace `firmware` that has the program among others.
    pub package: String,
    pub program: String,
    /// The chips that the program is written for.
    pub chips: Vec<String>,
    /// The features of each build, by the variant that it is.
    pub builds: BTreeMap<String, Vec<String>>,
}

/// The language of a kernel's source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    #[default]
    Rust,
    /// The port's build script runs the chip's C compiler.
    C,
}

/// A machine's difference from the other machines of its chip.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exception {
    /// Additional features of the images for this machine.
    #[serde(default)]
    pub features: Vec<String>,
    /// A sentence shown with the figures of this machine.
    pub remark: Option<String>,
}

/// The smallest images of a kernel: one program for each number of tasks.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Smallest {
    /// The chips that the smallest images are written for.
    pub chips: Vec<String>,
}

/// The image of a kernel that measures processes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Processes {
    /// The chips that the image is written for.
    pub chips: Vec<String>,
    /// The package of the program in user mode, which the image contains.
    pub program: String,
}

/// Reads `folder/Cargo.toml`.
///
/// # Errors
/// The file cannot be read, or has no table `package.metadata.chronoscope` of this form.
pub fn read<T: DeserializeOwned>(folder: &Path) -> Result<Manifest<T>> {
    let path = folder.join("Cargo.toml");
    toml::from_str(&repository::read(&path)?).with_context(|| path.display().to_string())
}

/// Reads `folder/Cargo.toml`, if there is such a folder.
///
/// # Errors
/// As [`read`].
pub fn read_if_present<T: DeserializeOwned>(folder: &Path) -> Result<Option<Manifest<T>>> {
    folder.is_dir().then(|| read(folder)).transpose()
}

/// The subfolders that have a manifest, with their names, sorted.
///
/// # Errors
/// The folder cannot be read.
pub fn packages(folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut packages = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if let Some(name) = path.file_name().and_then(|name| name.to_str())
            && path.join("Cargo.toml").is_file()
        {
            packages.push((name.to_owned(), path.clone()));
        }
    }
    packages.sort();
    Ok(packages)
}
