//! The file `index.json` beside the images. The lab reads it (`lab/machine/src/images.rs`).

use std::{
    env, fmt,
    fs::{self, File},
    io::ErrorKind,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The format's version. The lab refuses an index with another.
const SCHEMA: u32 = 1;

#[derive(Debug, Deserialize, Serialize)]
pub struct Index {
    schema: u32,
    /// The command that builds an image, given a target and a variant. The first word is a path
    /// relative to the index. An installed index has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    builder: Option<Vec<String>>,
    pub images: Vec<Row>,
    /// Programs and libraries that machines need besides images.
    #[serde(default)]
    pub tools: Vec<Built>,
}

/// A program or a library that a machine needs.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Built {
    pub name: String,
    /// The file's path relative to the index.
    pub path: String,
    /// The file's SHA-256, as in [`Row`].
    #[serde(default)]
    pub sha256: Option<String>,
}

/// An image of a target.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Row {
    /// `kernel@machine`.
    pub target: String,
    pub kernel: String,
    pub chip: String,
    pub triple: String,
    /// The kind of task that is measured unless another is asked for.
    pub kind: String,
    /// `plain`, `traced`, `pins`, `smallest-N` for the smallest image with N tasks, `operations` or
    /// `operations-slices` for the builds of the kernel's own benchmark.
    pub variant: String,
    /// The image's path relative to the index.
    pub path: String,
    /// The file's SHA-256 in lower-case hexadecimal; absent until the image is built.
    #[serde(default)]
    pub sha256: Option<String>,
    /// Compiler and options, for images that do not send them themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
    /// A sentence shown beside the figures of this target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
}

impl Index {
    pub fn new(builder: Option<Vec<String>>, images: Vec<Row>, tools: Vec<Built>) -> Self {
        Self { schema: SCHEMA, builder, images, tools }
    }
}

impl Row {
    /// Sets the hash to that of the file in `folder`. Returns whether it changed.
    ///
    /// # Errors
    /// The file exists and cannot be read.
    pub fn renew(&mut self, folder: &Path) -> Result<bool> {
        renew(&mut self.sha256, &folder.join(&self.path))
    }
}

impl Built {
    /// Sets the hash to that of the file in `folder`, like [`Row::renew`].
    pub fn renew(&mut self, folder: &Path) -> Result<bool> {
        renew(&mut self.sha256, &folder.join(&self.path))
    }
}

fn renew(known: &mut Option<String>, path: &Path) -> Result<bool> {
    let hash = match fs::read(path) {
        Ok(bytes) => Some(sha256(&bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error).context(format!("cannot read {}", path.display())),
    };
    let changed = *known != hash;
    *known = hash;
    Ok(changed)
}

/// The SHA-256 of some bytes in lower-case hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// Returns the command that makes this program the builder of the index in `folder`.
///
/// # Errors
/// The system does not report the program's path.
pub fn builder(folder: &Path) -> Result<Vec<String>> {
    let program = env::current_exe()?;
    let inside = folder.parent().and_then(|target| program.strip_prefix(target).ok());
    let program = inside.map_or_else(|| program.clone(), |path| Path::new("..").join(path));
    Ok(vec![program.display().to_string(), "images".to_owned(), "build".to_owned()])
}

/// The folder of an index that no other process writes meanwhile.
pub struct Locked {
    folder: PathBuf,
    /// Unlocked when it is closed.
    _lock: File,
}

impl Locked {
    /// Waits until other writers have ended. Creates the folder.
    pub fn open(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder).with_context(|| cannot("create", folder.display()))?;
        let path = folder.join(".index.lock");
        let lock = File::create(&path).with_context(|| cannot("create", path.display()))?;
        lock.lock().with_context(|| cannot("lock", path.display()))?;
        Ok(Self { folder: folder.to_owned(), _lock: lock })
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn read(&self) -> Result<Index> {
        let path = self.folder.join("index.json");
        let text = fs::read(&path).with_context(|| cannot("read", path.display()))?;
        serde_json::from_slice(&text).with_context(|| path.display().to_string())
    }

    /// Replaces the index in one step: a reader sees the old one or the new one.
    pub fn write(&self, index: &Index) -> Result<()> {
        let (path, part) = (self.folder.join("index.json"), self.folder.join("index.json.part"));
        fs::write(&part, serde_json::to_string_pretty(index)? + "\n")
            .with_context(|| cannot("write", part.display()))?;
        fs::rename(&part, &path).with_context(|| cannot("write", path.display()))
    }
}

fn cannot(what: &str, path: impl fmt::Display) -> String {
    format!("cannot {what} {path}")
}
