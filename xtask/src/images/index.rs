//! The file `index.json` in the folder of the images. The lab reads it.

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

/// The file's content.
#[derive(Debug, Deserialize, Serialize)]
pub struct Index {
    schema: u32,
    /// The command that builds an image, given a target and a variant. The first word is a path
    /// relative to the index. An installed index has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    builder: Option<Vec<String>>,
    pub images: Vec<ImageRow>,
    /// Programs and libraries that machines need besides images.
    #[serde(default)]
    pub tools: Vec<ToolRow>,
}

/// A program or a library that a machine needs.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ToolRow {
    pub name: String,
    /// The file's path relative to the index.
    pub path: String,
    /// The file's SHA-256, as in [`ImageRow`].
    #[serde(default)]
    pub sha256: Option<String>,
}

/// An image of a target.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ImageRow {
    /// `kernel@machine`.
    pub target: String,
    pub kernel: String,
    pub chip: String,
    pub triple: String,
    /// The kind of task that is measured unless another is asked for.
    pub kind: String,
    /// `plain`, `traced`, `pins`, `smallest-N` for the smallest image with N tasks, `operations`,
    /// `operations-slices` or `crowded` for the builds of the kernel's own benchmarks.
    pub variant: String,
    /// The image's path relative to the index.
    pub path: String,
    /// The file's SHA-256 in lower-case hexadecimal; absent until the image is built.
    #[serde(default)]
    pub sha256: Option<String>,
    /// Compiler and options, for images that do not send them themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
    /// A sentence shown with the figures of this target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
}

impl Index {
    pub fn new(builder: Option<Vec<String>>, images: Vec<ImageRow>, tools: Vec<ToolRow>) -> Self {
        Self { schema: SCHEMA, builder, images, tools }
    }

    /// Sets the hashes of the files in `folder` whose paths are `wanted`. Returns whether one
    /// changed.
    ///
    /// # Errors
    /// A file exists and cannot be read.
    pub fn renew(&mut self, folder: &Path, wanted: impl Fn(&str) -> bool) -> Result<bool> {
        let images = self.images.iter_mut().map(|row| (&row.path, &mut row.sha256));
        let tools = self.tools.iter_mut().map(|row| (&row.path, &mut row.sha256));
        let mut changed = false;
        for (path, hash) in images.chain(tools).filter(|(path, _)| wanted(path)) {
            changed |= renew(hash, &folder.join(path))?;
        }
        Ok(changed)
    }
}

/// Sets a hash to the one of the file. Returns whether it changed.
fn renew(known: &mut Option<String>, path: &Path) -> Result<bool> {
    let hash = match fs::read(path) {
        Ok(bytes) => Some(sha256(&bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error).context(cannot("read", path.display())),
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
pub struct LockedFolder {
    folder: PathBuf,
    /// Unlocked when it is closed.
    _lock: File,
}

impl LockedFolder {
    /// Waits until other writers have ended. Creates the folder.
    ///
    /// # Errors
    /// The folder or the lock cannot be created.
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

    /// Renews the hashes of the files whose paths are `wanted`, and writes the index if one changed.
    ///
    /// # Errors
    /// There is no index, or it cannot be replaced.
    pub fn renew(&self, wanted: impl Fn(&str) -> bool) -> Result<()> {
        let path = self.folder.join("index.json");
        let text = fs::read(&path).with_context(|| cannot("read", path.display()))?;
        let mut index: Index =
            serde_json::from_slice(&text).with_context(|| path.display().to_string())?;
        if index.renew(&self.folder, wanted)? { self.write(&index) } else { Ok(()) }
    }

    /// Replaces the index in one step: a reader sees the old one or the new one.
    ///
    /// # Errors
    /// A file of the folder cannot be written.
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
