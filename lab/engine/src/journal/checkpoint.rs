//! Checkpoints: the result so far of a case that takes hours in one process, in a file beside the
//! journal. A soak's stream grows without bound, and the result does not, so the journal keeps the
//! result in the stream's place. A file is replaced as a whole: the last checkpoint is there until the
//! next one is on the disk.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufWriter, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use chronoscope_base::private;
use chronoscope_run::CaseResult;

/// The extension of a checkpoint, behind the place of its case.
const EXTENSION: &str = "checkpoint";

/// The extension of a checkpoint that is being written.
const NEW: &str = "new";

/// The longest checkpoint that is read, in bytes. With every bound of a soak reached on 64 processors it
/// has 770 MB; without misses, 150 MB.
const MAX_BYTES: u64 = 1 << 30;

/// The result of a case so far.
#[derive(Debug, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The judged result. Of a repetition under way it has the samples and not the evidence, which comes
    /// at its end, so it is inconclusive.
    pub result: CaseResult,
    /// The time of the repetitions, that under way too.
    pub spent: Duration,
    /// The time since the run began.
    pub elapsed: Duration,
    /// No repetition was under way.
    pub is_whole: bool,
}

/// The file of a case's checkpoint; `place` is the case's in the journal's header.
fn file(journal: &Path, place: usize) -> PathBuf {
    journal.with_extension(format!("{place}.{EXTENSION}"))
}

/// Writes the checkpoint of a case, and returns once it is on the disk.
///
/// # Errors
/// If it cannot be written; the last one is still there.
pub fn write(journal: &Path, place: usize, checkpoint: &Checkpoint) -> Result<()> {
    let path = file(journal, place);
    let new = path.with_extension(NEW);
    let written = (|| {
        let mut options = OpenOptions::new();
        let options = options.write(true).create(true).truncate(true);
        let mut writer = BufWriter::new(options.mode(private::file_mode()).open(&new)?);
        serde_json::to_writer(&mut writer, checkpoint)?;
        writer.flush()?;
        writer.get_ref().sync_data()?;
        fs::rename(&new, &path)?;
        path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    })();
    written.inspect_err(|_: &io::Error| drop(fs::remove_file(&new)))?;
    Ok(())
}

/// Reads the checkpoint of a case; `None` if it has none.
///
/// # Errors
/// If the file cannot be read, is too long, or holds something else.
pub fn read(journal: &Path, place: usize) -> Result<Option<Checkpoint>> {
    let path = file(journal, place);
    let bytes = match fs::metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        metadata => metadata?.len(),
    };
    let cannot = || format!("the checkpoint {} cannot be read", path.display());
    if bytes > MAX_BYTES {
        bail!("{}: it has more than {} MiB", cannot(), MAX_BYTES >> 20);
    }
    let text = fs::read(&path).with_context(cannot)?;
    Ok(Some(serde_json::from_slice(&text).with_context(cannot)?))
}

/// Returns whether a case has a checkpoint.
pub fn exists(journal: &Path, place: usize) -> bool {
    file(journal, place).is_file()
}

/// Removes all checkpoints of a journal.
pub fn remove(journal: &Path) {
    let (Some(folder), Some(stem)) = (journal.parent(), journal.file_stem()) else { return };
    let own = format!("{}.", stem.to_string_lossy());
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let is_own = name.is_some_and(|name| name.starts_with(&own));
        let is_checkpoint = path.extension().is_some_and(|end| end == EXTENSION || end == NEW);
        if is_own && is_checkpoint {
            let _ = fs::remove_file(path);
        }
    }
}
