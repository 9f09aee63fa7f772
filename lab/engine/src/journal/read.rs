//! Reading the journal of a lab that is dead. The file is not trusted: it may be cut, damaged or
//! hostile. Memory is bounded by the header, the longest recording and 16 bytes an entry.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    os::unix::fs::{FileExt, MetadataExt},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow, bail};

use super::{
    Begin, Checkpoint, DAMAGED, End, Header, MAGIC, MAX_RECORDING, MadeForm, Pair, PairFrame,
    Stored, checkpoint,
    frame::{self, Frame, HEAD, Kind, MAX_LENGTH, push_json},
    write::Recorded,
};

/// The most entries that are read: at a millisecond each, they take five hours.
const MAX_ENTRIES: usize = 1 << 24;

/// The journal of a lab that is dead, locked.
pub struct Unfinished {
    path: PathBuf,
    file: File,
    /// The description of the runs.
    pub header: Header,
    /// Each complete repetition: its case, and where its entry begins.
    repetitions: Vec<(usize, u64)>,
    /// The offset of each pair's entry.
    pairs: Vec<u64>,
    /// The offset of the last entry's end.
    end: u64,
    /// The numbers under which the runs were about to be stored.
    pub stored: Option<Stored>,
    /// The time from the run's begin to the last entry's end.
    pub elapsed: Duration,
    /// The offset of the valid entries' end, if the file has more after it than one truncated
    /// entry.
    pub damage: Option<u64>,
}

/// A step of a repetition that is replayed.
pub enum Event<'a> {
    /// A repetition begins; without provenance, the machine could not be prepared.
    Begin(Option<MadeForm>),
    /// The next bytes of the target's stream.
    Stream(&'a [u8]),
    /// The repetition has ended.
    End(Recorded<'a>),
}

impl Unfinished {
    /// Opens and locks a journal, and finds its valid entries. Waits up to `patience` for its lock,
    /// which another lab that searches for unfinished runs holds briefly. Returns `None` for the
    /// journal of a living lab, for one that is gone, and for one without a whole header, which is
    /// removed.
    ///
    /// # Errors
    /// If the file cannot be read, or its header is damaged or of another version.
    pub fn open(path: &Path, patience: Duration) -> Result<Option<Self>> {
        let Some(file) = lock(path, patience)? else { return Ok(None) };
        let read = Self::read(path, file);
        read.with_context(|| cannot_be_read(path))
    }

    /// Reads a locked journal. Removes one that was cut within its header, before anything was
    /// measured.
    fn read(path: &Path, file: File) -> Result<Option<Self>> {
        let size = file.metadata()?.len();
        let begin = MAGIC.len() as u64;
        let mut magic = vec![0; usize::try_from(size.min(begin))?];
        file.read_exact_at(&mut magic, 0)?;
        if !MAGIC.starts_with(&magic) {
            bail!("it is no journal, or one of another version");
        }
        if size <= begin || is_cut(&file, begin, size)? {
            fs::remove_file(path)?;
            checkpoint::remove(path);
            return Ok(None);
        }
        let frame = Frame::at(&file, begin, size)?;
        let header = frame.filter(|frame| frame.kind == Kind::Header).map(|frame| {
            let header = frame.json::<Header>(&file)?;
            anyhow::Ok((frame.end(), header.context("its header is damaged")?))
        });
        let (start, header) = header.context("its header is damaged")??;
        header.check()?;
        let mut journal = Self {
            path: path.to_owned(),
            file,
            header,
            repetitions: Vec::new(),
            pairs: Vec::new(),
            end: start,
            stored: None,
            elapsed: Duration::ZERO,
            damage: None,
        };
        journal.scan(start, size)?;
        Ok(Some(journal))
    }

    /// Finds all valid entries.
    fn scan(&mut self, start: u64, size: u64) -> Result<()> {
        let mut at = start;
        let mut under_way: Option<(usize, u64)> = None;
        let mut payload = Vec::new();
        while at < size {
            let Some(frame) = Frame::at(&self.file, at, size)? else {
                // A cut entry is the file's end; a head that makes no sense is not.
                self.damage = (!is_cut(&self.file, at, size)?).then_some(at);
                break;
            };
            if !frame.read(&self.file, &mut payload)?
                || !self.take(&frame, &payload, at, &mut under_way)
            {
                self.damage = Some(at);
                break;
            }
            at = frame.end();
            if matches!(frame.kind, Kind::End | Kind::Pair | Kind::Stored) {
                self.end = at;
            }
            if self.repetitions.len() + self.pairs.len() >= MAX_ENTRIES {
                self.damage = Some(at);
                break;
            }
        }
        Ok(())
    }

    /// Takes in a frame. Returns `false` if it does not fit those before it.
    fn take(
        &mut self,
        frame: &Frame,
        payload: &[u8],
        at: u64,
        under_way: &mut Option<(usize, u64)>,
    ) -> bool {
        let Self { header, .. } = self;
        match frame.kind {
            Kind::Header => return false,
            Kind::Begin => {
                let Ok(Begin { case, .. }) = serde_json::from_slice(payload) else { return false };
                *under_way = (case < header.cases.len()).then_some((case, at));
                return under_way.is_some();
            }
            Kind::Stream | Kind::Capture | Kind::Runs => return under_way.is_some(),
            Kind::End => {
                let Ok(End { elapsed, .. }) = serde_json::from_slice(payload) else { return false };
                let Some(repetition) = under_way.take() else { return false };
                self.repetitions.push(repetition);
                self.elapsed = elapsed;
            }
            Kind::Pair => {
                let Ok(frame) = serde_json::from_slice::<PairFrame>(payload) else { return false };
                if frame.pair.peer >= header.peers.len() {
                    return false;
                }
                self.pairs.push(at);
                self.elapsed = frame.elapsed;
            }
            Kind::Stored => match serde_json::from_slice(payload) {
                Ok(stored) => self.stored = Some(stored),
                Err(_) => return false,
            },
        }
        true
    }

    /// The number of complete repetitions and pairs, and of soaks that were under way.
    pub fn entries(&self) -> usize {
        let has_ended = |place: usize| self.repetitions.iter().any(|(of, _)| *of == place);
        let soaks = (0..self.header.cases.len())
            .filter(|&place| !has_ended(place) && checkpoint::exists(&self.path, place));
        self.repetitions.len() + self.pairs.len() + soaks.count()
    }

    /// The last checkpoint of a case, if it is a soak.
    ///
    /// # Errors
    /// If the checkpoint cannot be read, or is of another case.
    pub fn checkpoint(&self, place: usize) -> Result<Option<Checkpoint>> {
        let Some(found) = checkpoint::read(&self.path, place)? else { return Ok(None) };
        if !self.header.cases[place].has(&found.result) {
            bail!("the checkpoint of case {} is of another case", place + 1);
        }
        Ok(Some(found))
    }

    /// The number of cases and peers.
    pub fn cases(&self) -> usize {
        self.header.cases.len() + self.header.peers.len()
    }

    /// The journal's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Passes each complete repetition of a case to `each`, in the order in which they ran.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn replay(&self, case: usize, each: &mut dyn FnMut(Event<'_>)) -> Result<()> {
        let size = self.file.metadata()?.len();
        let ours = self.repetitions.iter().filter(|(of, _)| *of == case);
        for &(_, start) in ours {
            self.repetition(start, size, each).with_context(|| self.changed())?;
        }
        Ok(())
    }

    fn repetition(&self, start: u64, size: u64, each: &mut dyn FnMut(Event<'_>)) -> Result<()> {
        let (mut capture, mut runs, mut payload) = (Vec::new(), Vec::new(), Vec::new());
        let mut at = start;
        loop {
            let frame = Frame::at(&self.file, at, size)?.context("an entry has gone")?;
            at = frame.end();
            if !frame.read(&self.file, &mut payload)? {
                bail!("an entry has changed");
            }
            match frame.kind {
                Kind::Begin => each(Event::Begin(serde_json::from_slice::<Begin>(&payload)?.made)),
                Kind::Stream => each(Event::Stream(&payload)),
                Kind::Capture => append(&mut capture, &payload)?,
                Kind::Runs => append(&mut runs, &payload)?,
                Kind::End => {
                    let end: End = serde_json::from_slice(&payload)?;
                    let runs = String::from_utf8_lossy(&runs);
                    each(Event::End(Recorded {
                        spent: end.spent,
                        failed: end.failed,
                        capture: end.capture.then_some(capture.as_slice()),
                        runs: end.runs.then_some(runs.as_ref()),
                        cycles: end.cycles.as_ref(),
                    }));
                    return Ok(());
                }
                Kind::Header | Kind::Pair | Kind::Stored => bail!("an entry has changed"),
            }
        }
    }

    /// All pairs, in the order in which they ran.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn pairs(&self) -> Result<Vec<Pair>> {
        let size = self.file.metadata()?.len();
        let pair = |&at: &u64| {
            let frame = Frame::at(&self.file, at, size)?.with_context(|| self.changed())?;
            let frame = frame.json::<PairFrame>(&self.file)?.with_context(|| self.changed())?;
            Ok(frame.pair)
        };
        self.pairs.iter().map(pair).collect()
    }

    fn changed(&self) -> String {
        format!("the journal {} changed while it was read", self.path.display())
    }

    /// Notes under which numbers the journal's runs are about to be stored. Called inside the
    /// store's transaction.
    pub fn storing(&self, stored: &Stored) {
        let mut bytes = Vec::new();
        if self.damage.is_some() {
            return;
        }
        // Without the note, a run is stored twice if this process is killed before it removes the
        // journal.
        let _ = push_json(&mut bytes, Kind::Stored, stored)
            .and_then(|()| Ok(self.file.set_len(self.end)?))
            .and_then(|()| Ok(self.file.write_all_at(&bytes, self.end)?));
    }

    /// Removes the journal, whose runs are stored or not wanted. A damaged one is renamed instead,
    /// since the damaged part may be of use.
    ///
    /// # Errors
    /// If the file cannot be removed or renamed.
    pub fn remove(self) -> Result<()> {
        let outcome = match self.damage {
            None => fs::remove_file(&self.path),
            Some(_) => fs::rename(&self.path, self.path.with_extension(DAMAGED)),
        };
        checkpoint::remove(&self.path);
        outcome.with_context(|| format!("the journal {} cannot be removed", self.path.display()))
    }
}

/// Returns whether the file ends in a truncated frame: its head or its payload is incomplete. A frame
/// that comes later shows that the head's length was damaged instead.
fn is_cut(file: &File, at: u64, size: u64) -> Result<bool> {
    if size - at < HEAD as u64 {
        return Ok(true);
    }
    let is_whole = Frame::at(file, at, size)?.is_some();
    // A head that promises more than the longest payload is no head.
    let is_head = !is_whole && Frame::at(file, at, size.saturating_add(MAX_LENGTH))?.is_some();
    Ok(is_head && !frame::follows(file, at + 1, size)?)
}

/// The context of an error in a journal.
pub fn cannot_be_read(path: &Path) -> String {
    format!(
        "the journal {} cannot be read (`chronoscope recover --discard` removes it)",
        path.display()
    )
}

fn append(recording: &mut Vec<u8>, piece: &[u8]) -> Result<()> {
    if recording.len() + piece.len() > MAX_RECORDING {
        bail!("a recording is longer than {} MiB", MAX_RECORDING >> 20);
    }
    recording.extend_from_slice(piece);
    Ok(())
}

/// Opens and locks a journal; `None` if its lab lives, or it is gone.
fn lock(path: &Path, patience: Duration) -> Result<Option<File>> {
    let start = Instant::now();
    let file = match OpenOptions::new().read(true).write(true).open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        file => file.with_context(|| format!("cannot read {}", path.display()))?,
    };
    loop {
        match file.try_lock() {
            // Whoever held the lock before may have removed the file.
            Ok(()) => return Ok((file.metadata()?.nlink() > 0).then_some(file)),
            Err(TryLockError::WouldBlock) if start.elapsed() >= patience => return Ok(None),
            Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(20)),
            Err(TryLockError::Error(error)) => {
                return Err(anyhow!("cannot lock {}: {error}", path.display()));
            }
        }
    }
}

/// Removes a dead lab's journal, whatever it holds. Returns `false` for a living lab's.
///
/// # Errors
/// If the file cannot be locked or removed.
pub fn discard(path: &Path, patience: Duration) -> Result<bool> {
    let Some(_file) = lock(path, patience)? else { return Ok(false) };
    fs::remove_file(path).with_context(|| format!("cannot remove {}", path.display()))?;
    checkpoint::remove(path);
    Ok(true)
}
