//! Writes a journal. Entries are gathered in memory and written when they are complete, between two
//! repetitions.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    process,
    time::{Duration, Instant},
};

use anyhow::{Context, Error, Result, bail};
use rustix::{
    fs::{FallocateFlags, fallocate},
    io::Errno,
};

use super::{
    Begin, Checkpoint, EXTENSION, End, Header, MAGIC, MAX_RECORDING, MadeForm, Pair, PairFrame,
    Stored, checkpoint, folder,
    frame::{Kind, push_json, push_pieces},
};
use chronoscope_base::{console, private};
use chronoscope_run::{CaseResult, Cycles};

/// How much of a stream is held in memory. The rest of a longer one is written as it comes: a port
/// sends its samples after it has measured.
pub const HELD: usize = 16 << 20;

/// The longest stream of a repetition that is kept. A port that never stops sending must not fill
/// the disk before the watchdog ends it.
const MAX_STREAM: u64 = 1 << 30;

/// The minimum time between synchronisations of the file with its disk. A power failure loses the
/// data written since the last; a killed process loses no written data.
const SYNC: Duration = Duration::from_secs(1);

/// The room on the disk that is reserved beyond the last entry, so that the repetition under way can
/// be kept when the disk is full, with the store on it.
const RESERVE: u64 = 1 << 20;

/// The entries of a journal that are on its disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// The complete repetitions that `recover` finds.
    pub entries: u64,
    /// The complete repetitions that could not be written.
    pub lost: u64,
}

/// The journal of a run that goes on, or none: then every method does nothing.
///
/// Dropped without an entry, the journal is removed; with entries it stays, as an unfinished run.
pub struct Journal(Option<Open>);

struct Open {
    file: File,
    path: PathBuf,
    start: Instant,
    /// The file's length up to the last complete entry.
    complete: u64,
    /// The number of bytes of the entry under way that are written after `complete`; `buffer` holds
    /// those still to be written.
    written: u64,
    buffer: Vec<u8>,
    /// The length of the stream under way.
    stream: u64,
    /// The entry under way cannot be kept.
    is_lost: bool,
    entries: u64,
    /// The entries that could not be kept.
    lost: u64,
    /// The length of the file for which the disk has room.
    reserved: u64,
    synchronised: Instant,
    has_complained: bool,
}

/// The results of a machine in one repetition, besides the stream.
#[derive(Default)]
pub struct Recorded<'a> {
    /// The time that the repetition took, without set-up.
    pub spent: Duration,
    /// Why the machine failed, if it did.
    pub failed: Option<String>,
    /// The edges of the pins, as a value change dump.
    pub capture: Option<&'a [u8]>,
    /// The order in which functions ran, as text.
    pub runs: Option<&'a str>,
    /// The cycles by function.
    pub cycles: Option<&'a Cycles>,
}

impl Journal {
    /// A journal that keeps nothing.
    pub fn none() -> Self {
        Self(None)
    }

    /// Creates and locks the journal of a run that begins now, beside `store`.
    ///
    /// # Errors
    /// If the journal cannot be written; the message gives its path.
    pub fn create(store: &Path, header: &Header) -> Result<Self> {
        let folder = folder(store);
        let place = || {
            format!(
                "the journals in {} cannot be written: get permission, or name another store with --store",
                folder.display()
            )
        };
        private::create_folder(&folder).with_context(place)?;
        let mut bytes = MAGIC.to_vec();
        push_json(&mut bytes, Kind::Header, header)?;
        let (file, path) = create(&folder, &header.context.date).with_context(place)?;
        let complete = bytes.len() as u64;
        let written = file.write_all_at(&bytes, 0).and_then(|()| reserve(&file, complete));
        let reserved = match written {
            Ok(reserved) => reserved,
            Err(error) => {
                let _ = fs::remove_file(&path);
                return Err(error).with_context(place);
            }
        };
        let now = Instant::now();
        Ok(Self(Some(Open {
            file,
            path,
            start: now,
            complete,
            written: 0,
            buffer: Vec::new(),
            stream: 0,
            is_lost: false,
            entries: 0,
            lost: 0,
            reserved,
            synchronised: now,
            has_complained: false,
        })))
    }

    /// Begins a repetition of the case at this place in the header; `made` is `None` if the machine
    /// could not be prepared.
    pub fn begin(&mut self, case: usize, made: Option<MadeForm>) {
        self.with(|open| {
            open.restart();
            push_json(&mut open.buffer, Kind::Begin, &Begin { case, made })
        });
    }

    /// Takes in a piece of the stream.
    pub fn stream(&mut self, bytes: &[u8]) {
        self.with(|open| {
            if open.is_lost {
                return Ok(());
            }
            open.stream += bytes.len() as u64;
            if open.stream > MAX_STREAM {
                bail!("a stream is longer than {} MiB", MAX_STREAM >> 20);
            }
            push_pieces(&mut open.buffer, Kind::Stream, bytes);
            if open.buffer.len() > HELD { open.flush() } else { Ok(()) }
        });
    }

    /// Drops the repetition under way, which was stopped.
    pub fn discard(&mut self) {
        self.with(|open| {
            open.restart();
            Ok(())
        });
    }

    /// Writes the checkpoint of the case at this place in the header, whose repetition goes on.
    pub fn checkpoint(&mut self, case: usize, result: CaseResult, spent: Duration) {
        let Some(open) = &mut self.0 else { return };
        let checkpoint = open.checkpoint(result, spent, false);
        if let Err(error) = checkpoint::write(&open.path, case, &checkpoint) {
            open.complain(&error);
        }
    }

    /// Ends a repetition of a soak: writes the checkpoint of its case, and its entry, which has no stream.
    /// `spent` is the time of all its repetitions.
    pub fn end_soak(
        &mut self,
        case: usize,
        result: CaseResult,
        spent: Duration,
        recorded: &Recorded<'_>,
    ) {
        let Some(open) = &mut self.0 else { return };
        let checkpoint = open.checkpoint(result, spent, true);
        match checkpoint::write(&open.path, case, &checkpoint) {
            Ok(()) => self.end(recorded),
            Err(error) => self.entry(|_| Err(error)),
        }
    }

    /// Ends the repetition and writes its entry.
    pub fn end(&mut self, recorded: &Recorded<'_>) {
        self.entry(|open| {
            let parts =
                [(Kind::Capture, recorded.capture), (Kind::Runs, recorded.runs.map(str::as_bytes))];
            for (kind, part) in parts {
                let part = part.unwrap_or_default();
                if part.len() > MAX_RECORDING {
                    bail!("a recording is longer than {} MiB", MAX_RECORDING >> 20);
                }
                push_pieces(&mut open.buffer, kind, part);
            }
            let end = End {
                spent: recorded.spent,
                elapsed: open.start.elapsed(),
                failed: recorded.failed.clone(),
                capture: recorded.capture.is_some(),
                runs: recorded.runs.is_some(),
                cycles: recorded.cycles.cloned(),
            };
            push_json(&mut open.buffer, Kind::End, &end)?;
            open.commit()
        });
    }

    /// Writes the entry of a pair.
    pub fn pair(&mut self, pair: Pair) {
        self.entry(|open| {
            open.restart();
            let elapsed = open.start.elapsed();
            push_json(&mut open.buffer, Kind::Pair, &PairFrame { elapsed, pair })?;
            open.commit()
        });
    }

    /// Notes under which numbers the journal's runs are about to be stored. Called inside the
    /// store's transaction.
    pub fn storing(&mut self, stored: &Stored) {
        self.with(|open| {
            open.restart();
            push_json(&mut open.buffer, Kind::Stored, stored)?;
            open.flush()?;
            open.complete += std::mem::take(&mut open.written);
            Ok(())
        });
    }

    /// The entries that are on the disk for certain: the file is synchronised first.
    pub fn kept(&self) -> Kept {
        let Some(open) = &self.0 else { return Kept::default() };
        let Open { entries, lost, .. } = *open;
        match open.file.sync_all() {
            Ok(()) => Kept { entries, lost },
            Err(_) => Kept { entries: 0, lost: entries + lost },
        }
    }

    /// Removes the journal, whose runs are stored.
    pub fn remove(mut self) {
        if let Some(open) = self.0.take() {
            // A file that cannot be removed contains the note of the stored runs.
            let _ = fs::remove_file(&open.path);
            checkpoint::remove(&open.path);
        }
    }

    /// Does `work` that adds an entry, and counts the entry as lost if it does not.
    fn entry(&mut self, work: impl FnOnce(&mut Open) -> Result<()>) {
        let entries = |journal: &Self| journal.0.as_ref().map_or(0, |open| open.entries);
        let before = entries(self);
        self.with(work);
        if entries(self) == before
            && let Some(open) = &mut self.0
        {
            open.lost += 1;
        }
    }

    /// Does `work` on an open journal. When it fails, the entry under way is dropped: the run goes
    /// on and keeps its results in memory.
    fn with(&mut self, work: impl FnOnce(&mut Open) -> Result<()>) {
        let Some(open) = &mut self.0 else { return };
        if let Err(error) = work(open) {
            open.lose(&error);
        }
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        if let Some(open) = self.0.take().filter(|open| open.entries == 0) {
            let _ = fs::remove_file(&open.path);
            checkpoint::remove(&open.path);
        }
    }
}

impl Open {
    /// Forgets the entry under way.
    fn restart(&mut self) {
        self.buffer.clear();
        (self.stream, self.is_lost) = (0, false);
        if std::mem::take(&mut self.written) > 0 {
            // The next entry overwrites any part that cannot be cut off.
            let _ = self.file.set_len(self.complete);
        }
    }

    fn flush(&mut self) -> Result<()> {
        let place = self.complete + self.written;
        self.written += self.buffer.len() as u64;
        self.file.write_all_at(&self.buffer, place)?;
        self.buffer.clear();
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        if self.is_lost {
            self.restart();
            return Ok(());
        }
        self.flush()?;
        self.complete += std::mem::take(&mut self.written);
        self.entries += 1;
        if self.reserved < self.complete + RESERVE / 2 {
            // The next entry says so, if the disk is full by then.
            self.reserved = reserve(&self.file, self.complete).unwrap_or(self.reserved);
        }
        self.buffer.shrink_to(HELD);
        if self.synchronised.elapsed() >= SYNC {
            self.file.sync_data()?;
            self.synchronised = Instant::now();
        }
        Ok(())
    }

    fn lose(&mut self, error: &Error) {
        self.restart();
        self.is_lost = true;
        self.complain(error);
    }

    fn checkpoint(&self, result: CaseResult, spent: Duration, is_whole: bool) -> Checkpoint {
        Checkpoint { result, spent, elapsed: self.start.elapsed(), is_whole }
    }

    /// Tells once that the journal cannot be written.
    fn complain(&mut self, error: &Error) {
        if !std::mem::replace(&mut self.has_complained, true) {
            console::remark(&format!(
                "the journal {} cannot be written ({error:#}): the run goes on, and what the journal lacks is lost if the lab is killed",
                self.path.display()
            ));
        }
    }
}

/// Reserves room beyond the end of a file, where the file system can. Returns the length that has room.
fn reserve(file: &File, end: u64) -> io::Result<u64> {
    match fallocate(file, FallocateFlags::KEEP_SIZE, end, RESERVE) {
        Ok(()) => Ok(end + RESERVE),
        // The limit on the size of files is another matter.
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::FBIG) => Ok(u64::MAX),
        Err(error) => Err(error.into()),
    }
}

/// Creates a journal's file, locked, with a name that no other has. Names begin with the date, so
/// that they sort in the order of time.
fn create(folder: &Path, date: &str) -> Result<(File, PathBuf)> {
    for number in 0_u64.. {
        let name = format!("{date}-{}-{number}", process::id()).replace(':', "");
        let path = folder.join(name).with_extension(EXTENSION);
        let file = match OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(private::file_mode())
            .open(&path)
        {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => continue,
            file => file?,
        };
        // Another lab that looks for unfinished runs may hold the lock for a moment, and may even
        // remove the empty file.
        file.lock()?;
        if file.metadata()?.nlink() > 0 {
            return Ok((file, path));
        }
    }
    bail!("there is no free name")
}
