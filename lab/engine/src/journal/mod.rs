//! Journals: files next to the store, each of which keeps the complete repetitions of a run under
//! way. A lab that is killed loses only the repetition under way. A journal keeps the targets'
//! streams and the recordings of the machines' instruments; it does not judge them.
//!
//! The journal of a run is a file of its own in the folder `STORE.journals`, such as
//! `runs.sqlite.journals`. So labs that share a store never wait for each other, and the store is
//! never open during a measurement. The living lab holds a lock (flock) on its journal, which the
//! system releases however the lab ends: a journal without a lock is an unfinished run.
//!
//! ```text
//! file   = "chronoscope\n1\n" frame*
//! frame  = kind (1 byte) · length (4, little-endian) · CRC-32 (4) · payload
//! frames = header · (begin · piece of stream or recording* · end | pair | stored)*
//! ```
//!
//! The CRC-32 covers kind, length and payload. Streams are kept as the bytes received, in
//! binary frames instead of lines of text: writing them costs a copy, and a checksum distinguishes
//! a whole entry from a truncated one. An entry becomes valid with its last frame; anything after
//! the last valid entry is not part of the journal.
//!
//! A soak has no stream here: the result so far of its case stands in a checkpoint beside the journal.

mod checkpoint;
mod frame;
mod header;
mod read;
#[cfg(test)]
mod tests;
mod write;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Serialize};

pub use self::{
    checkpoint::Checkpoint,
    header::{CaseForm, Header, PeerForm},
    read::{Event, Unfinished, cannot_be_read, discard},
    write::{HELD, Journal, Kept, Recorded},
};
use chronoscope_run::Cycles;

/// The file name extension of a journal.
const EXTENSION: &str = "journal";

/// The extension of a journal that was damaged, after its valid entries were stored.
const DAMAGED: &str = "damaged";

/// The first bytes of a journal, with the version of its form.
const MAGIC: &[u8] = b"chronoscope\n1\n";

/// The most bytes of one recording (a capture, or the runs of functions) in a journal.
const MAX_RECORDING: usize = 256 << 20;

/// The first frame of a repetition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Begin {
    /// The case's place in the header.
    case: usize,
    /// `None` if the machine could not be prepared.
    made: Option<MadeForm>,
}

/// The provenance of a repetition's figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MadeForm {
    /// Everything that determines the figures, by name.
    pub identity: BTreeMap<String, String>,
    /// How to read the figures; may be empty.
    pub remark: String,
}

/// The last frame of a repetition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct End {
    /// The time that the repetition took.
    spent: Duration,
    /// The time since the run began.
    elapsed: Duration,
    /// Why the machine failed, if it did.
    failed: Option<String>,
    /// A capture exists, and runs of functions exist; each may be empty.
    capture: bool,
    runs: bool,
    cycles: Option<Cycles>,
}

/// A pair of a peer: complete values, or a failure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// The peer's place in the header.
    pub peer: usize,
    /// The time that the pair took, without set-up.
    pub spent: Duration,
    /// The values, or why there are none.
    pub outcome: PairOutcome,
}

/// The outcome of a pair.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PairOutcome {
    /// The values of each of the peer's statistics, in their order.
    Values(Vec<PairValue>),
    /// A side failed, for this reason.
    Failed(String),
    /// The pair could not be set up: a program is missing, or a build or a download failed.
    Unprepared(String),
}

/// The values of a statistic in a pair; a side without the statistic is `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PairValue {
    /// Chronoscope's value.
    pub ours: Option<f64>,
    /// The tool's value, in the same unit.
    pub theirs: Option<f64>,
    /// The unit of both values.
    pub unit: String,
    /// Why this pair has no value of the statistic; both sides are `None` then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

/// A pair, as a frame.
#[derive(Debug, Serialize, Deserialize)]
struct PairFrame {
    elapsed: Duration,
    #[serde(flatten)]
    pair: Pair,
}

/// Under which numbers the journal's runs are about to be stored, written inside the store's
/// transaction. If the lab is killed before it removes the journal, the store tells whether the
/// transaction was completed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stored {
    /// The number of each run.
    pub numbers: Vec<i64>,
    /// [`Context::seconds`](chronoscope_run::Context::seconds) of the stored runs.
    pub seconds: f64,
}

/// The folder of a store's journals.
fn folder(store: &Path) -> PathBuf {
    let mut name = OsString::from(store);
    name.push(".journals");
    name.into()
}

/// All journals beside a store, of living labs too, in the order in which they were begun; empty
/// when there is no such folder.
///
/// # Errors
/// When the folder cannot be read.
pub fn all(store: &Path) -> io::Result<Vec<PathBuf>> {
    with_extension(store, EXTENSION)
}

/// All journals beside a store that were damaged, whose valid entries have been stored.
///
/// # Errors
/// When the folder cannot be read.
pub fn damaged(store: &Path) -> io::Result<Vec<PathBuf>> {
    with_extension(store, DAMAGED)
}

fn with_extension(store: &Path, extension: &str) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder(store)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.retain(|path| path.extension().is_some_and(|known| known == extension));
    paths.sort();
    Ok(paths)
}
