//! `chronoscope export` and `chronoscope import`: runs as lines of JSON, from one store to another, and
//! results of other tools.

use std::{
    cell::Cell,
    collections::BTreeSet,
    io::{self, BufReader, Cursor, Read},
    mem,
    path::Path,
    rc::Rc,
    slice,
    sync::atomic::Ordering,
    time::SystemTime,
};

use anyhow::{Error, Result, anyhow, bail};
use serde_json::Value;

use super::{history::Filter, keep};
use crate::{cli, revision::REVISION};
use chronoscope_base::{console, digest, signals, signals::INTERRUPTED};
use chronoscope_engine::{import, runner::context};
use chronoscope_report as report;
use chronoscope_run::Run;
use chronoscope_store::{Store, reference, reference::MAX_FILE, reference::Reference};
use chronoscope_units::file;

/// Writes runs, each as one line of JSON, and names each run that cannot be read. Returns the exit
/// status.
///
/// # Errors
/// A run could not be read, or the output cannot be written.
pub fn export(arguments: &cli::Export) -> Result<u8> {
    let output = arguments.output.as_deref();
    report::check(output)?;
    let store = Store::open(&arguments.store.place()?)?;
    let filter = Filter::read(&arguments.filter)?;
    let numbers = match arguments.runs.as_slice() {
        [] => store.numbers_of(&filter.which())?,
        words => words.iter().map(|word| number(word, &store)).collect::<Result<_>>()?,
    };
    if numbers.is_empty() {
        bail!("there is no run in the store{}: `chronoscope history` lists all", filter.words());
    }
    let mut refused = Refused::default();
    report::emit_with(output, |sink| {
        for &number in &numbers {
            match store.run(number).and_then(|run| Ok(serde_json::to_string(&run)? + "\n")) {
                Ok(line) => sink.write_all(line.as_bytes())?,
                Err(error) => refused.add(&error),
            }
        }
        Ok(())
    })?;
    let done = format!("exported {}", runs(numbers.len() - refused.0));
    refused.none(&done)?;
    if !arguments.quiet && output.is_some() {
        console::remark(&done);
    }
    Ok(0)
}

/// The number of runs that could not be read or stored.
#[derive(Default)]
struct Refused(usize);

impl Refused {
    /// The most refusals that are printed.
    const PRINTED: usize = 20;

    /// Counts a refusal, and prints its reason.
    fn add(&mut self, error: &Error) {
        self.0 += 1;
        if self.0 <= Self::PRINTED {
            console::remark(&format!("{error:#}"));
        }
    }

    /// Fails if a run was refused; `done` is the sentence on the other runs.
    fn none(&self, done: &str) -> Result<()> {
        match self.0 {
            0 => Ok(()),
            1 => bail!("1 run was refused; {done}"),
            several => bail!("{several} runs were refused; {done}"),
        }
    }
}

/// The number in the store of the run that a word names.
fn number(word: &std::ffi::OsString, store: &Store) -> Result<i64> {
    Reference::try_from(word.as_os_str())?.number(store)
}

/// Stores the runs of files, and names each run that is refused. A run that the store has already
/// is left as it is. The results in a file of another tool make one run. Returns the exit status.
///
/// # Errors
/// A run was refused, or the store can no longer be written.
pub fn import(arguments: &cli::Import) -> Result<u8> {
    let mut store = Store::create(&arguments.store.place()?)?;
    store.check_writable()?;
    let mut import = Import {
        store: &mut store,
        counts: Counts::default(),
        refused: Refused(0),
        waiting: Batch::default(),
        quiet: arguments.quiet,
        clock: arguments.clock,
    };
    for path in &arguments.files {
        match path.as_os_str().to_str() {
            Some("-") => import.read(&Named { path, changed: None }, io::stdin().lock())?,
            _ if import::ctf::is_trace(path) => import.read_trace(path)?,
            _ => match file::open(path) {
                Ok(file) => {
                    let changed = file.metadata().and_then(|known| known.modified()).ok();
                    import.read(&Named { path, changed }, file)?;
                }
                Err(error) => import.refuse(path, error.into())?,
            },
        }
        if is_stopped() {
            console::remark(&format!("interrupted: {}", import.counts));
            return Ok(INTERRUPTED);
        }
    }
    let done = import.counts.to_string();
    import.refused.none(&done)?;
    if !arguments.quiet {
        console::remark(&done);
    }
    Ok(0)
}

/// Returns whether a signal has asked the import to stop, which only the reading of a trace lets it do.
fn is_stopped() -> bool {
    signals::stop().load(Ordering::Relaxed)
}

/// The number of runs that were stored, and of runs that the store had.
#[derive(Default)]
struct Counts {
    stored: usize,
    known: usize,
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "imported {}, and the store had {}", runs(self.stored), runs(self.known))
    }
}

/// A number of runs in words.
fn runs(count: usize) -> String {
    format!("{count} run{}", if count == 1 { "" } else { "s" })
}

struct Import<'a> {
    store: &'a mut Store,
    counts: Counts,
    refused: Refused,
    waiting: Batch,
    quiet: bool,
    /// The rate of a clock that a file does not name, in Hz.
    clock: Option<u64>,
}

/// Runs that are stored in one transaction: a transaction each takes longer than the run itself.
#[derive(Default)]
struct Batch {
    /// Each run with its place in its file.
    runs: Vec<(usize, Run)>,
    /// The length of the runs' text.
    bytes: u64,
}

impl Batch {
    /// The number of runs, and the length of their text in bytes, at which a batch is stored.
    const FULL: (usize, u64) = (200, 16 << 20);

    fn is_full(&self) -> bool {
        self.runs.len() >= Self::FULL.0 || self.bytes >= Self::FULL.1
    }
}

/// A file that is read.
struct Named<'a> {
    path: &'a Path,
    /// The time of its last change; `None` for standard input.
    changed: Option<SystemTime>,
}

impl Import<'_> {
    /// Stores the runs of a file.
    ///
    /// # Errors
    /// The store cannot be written.
    fn read(&mut self, from: &Named<'_>, source: impl Read) -> Result<()> {
        self.take(from, source)?;
        self.store_waiting(from.path)
    }

    /// Stores the run of a folder with a trace in the Common Trace Format.
    ///
    /// # Errors
    /// The store cannot be written.
    fn read_trace(&mut self, path: &Path) -> Result<()> {
        let text = match import::ctf::text_of(path, MAX_FILE, signals::watch()?) {
            Ok(text) => text,
            // The trace is not refused: nobody has read it.
            Err(_) if is_stopped() => return Ok(()),
            Err(error) => return self.refuse(path, error),
        };
        let changed = path.metadata().and_then(|known| known.modified()).ok();
        let recording = import::from_bytes(&text, self.clock);
        self.add_recording(&Named { path, changed }, recording, &text)
    }

    /// Takes each run of a stream of JSON values into the batch, or stores the one run of another tool's
    /// file. Text that is no JSON ends the stream, because the values behind it cannot be found.
    ///
    /// # Errors
    /// The store cannot be written.
    fn take(&mut self, from: &Named<'_>, source: impl Read) -> Result<()> {
        let left = Rc::new(Cell::new(MAX_FILE));
        let mut source = Bounded { source: BufReader::new(source), left: Rc::clone(&left) };
        let mut head = Vec::new();
        if let Err(error) = source.by_ref().take(import::HEAD as u64).read_to_end(&mut head) {
            return self.refuse(from.path, error.into());
        }
        if import::is_of_a_tool(&head) {
            let read = source.read_to_end(&mut head).map_err(Error::from);
            let recording = read.and_then(|_| import::from_bytes(&head, self.clock));
            return self.add_recording(from, recording, &head);
        }
        if let Err(error) = import::has_own_times(self.clock) {
            return self.refuse(from.path, error);
        }
        let source = Cursor::new(head).chain(source);
        let mut values = serde_json::Deserializer::from_reader(source).into_iter::<Value>();
        for place in 1.. {
            let (run, is_last) = match values.next() {
                None if place == 1 => {
                    return self.refuse(from.path, anyhow!("there is no run in it"));
                }
                None => return Ok(()),
                Some(Ok(value)) if place == 1 && import::is_json_of_a_tool(&value) => {
                    // The results make one run, whose values all have to fit the limit.
                    let rest = values.collect::<Result<Vec<_>, _>>().map_err(Error::from);
                    let all = rest.map(|rest| [vec![value], rest].concat());
                    let bytes = all.as_ref().ok().map(serde_json::to_vec).transpose()?;
                    let recording = all.and_then(|all| import::from_values(from.path, &all));
                    return self.add_recording(from, recording, &bytes.unwrap_or_default());
                }
                Some(Ok(value)) => (reference::from_value(value).map_err(Error::from), false),
                Some(Err(error)) => {
                    (Err(Error::from(error).context("the rest of the file is not read")), true)
                }
            };
            self.waiting.bytes += MAX_FILE - left.get();
            if let Err(error) = run.and_then(|run| self.wait(place, run)) {
                self.store_waiting(from.path)?;
                self.refuse(from.path, error.context(format!("run {place}")))?;
            }
            if self.waiting.is_full() {
                self.store_waiting(from.path)?;
            }
            if is_last {
                return Ok(());
            }
            left.set(MAX_FILE);
        }
        Ok(())
    }

    /// Stores the run of another tool's file. The run has a UUID from the file's content, so that it
    /// is stored once.
    fn add_recording(
        &mut self,
        from: &Named<'_>,
        recording: Result<import::Recording>,
        bytes: &[u8],
    ) -> Result<()> {
        let recording = match recording {
            Ok(recording) => recording,
            Err(error) => return self.refuse(from.path, error),
        };
        // With another rate of its clock it is another run.
        let rate = self.clock.map(u64::to_le_bytes);
        let uuid = digest::uuid(&[bytes, rate.as_ref().map_or(&[], |rate| &rate[..])].concat());
        if self.store.find(&uuid)?.is_some() {
            self.counts.known += 1;
            return Ok(());
        }
        let origin = import::Origin { path: from.path, changed: from.changed, uuid };
        let run = recording.into_run(context::now(REVISION), origin);
        match self.store.add(&[&run]) {
            Ok(numbers) => {
                self.counts.stored += 1;
                keep::publish(self.store, slice::from_ref(&run), &numbers, self.quiet)
            }
            Err(error) => self.refuse(from.path, error),
        }
    }

    /// Adds a run to the batch. A run of an older program gets a UUID from its content, so that it is
    /// stored once. Such a run is known also if the store has it from the older program.
    fn wait(&mut self, place: usize, mut run: Run) -> Result<()> {
        if run.context.uuid.is_empty() {
            if self.store.find_unnamed(&run)?.is_some() {
                self.counts.known += 1;
                return Ok(());
            }
            run.context.uuid = digest::uuid(&serde_json::to_vec(&run)?).into();
        }
        self.waiting.runs.push((place, run));
        Ok(())
    }

    /// Stores the batch in one transaction. If a run of it is refused, each is stored by itself.
    ///
    /// # Errors
    /// The store cannot be written.
    fn store_waiting(&mut self, path: &Path) -> Result<()> {
        let Batch { runs, .. } = mem::take(&mut self.waiting);
        let all: Vec<&Run> = runs.iter().map(|(_, run)| run).collect();
        if self.add(&all).is_ok() {
            return Ok(());
        }
        for (place, run) in &runs {
            if let Err(error) = self.add(&[run]) {
                self.refuse(path, error.context(format!("run {place}")))?;
            }
        }
        Ok(())
    }

    /// Stores runs, all or none.
    fn add(&mut self, runs: &[&Run]) -> Result<()> {
        let uuids: BTreeSet<&str> = runs.iter().map(|run| run.context.uuid.as_str()).collect();
        let uuids: Vec<&str> = uuids.into_iter().collect();
        let known = self.store.known(&uuids)?.len();
        // For known runs, `add` compares the two.
        self.store.add(runs)?;
        self.counts.stored += uuids.len() - known;
        self.counts.known += runs.len() - (uuids.len() - known);
        Ok(())
    }

    /// Counts and names a run or a file that is refused.
    ///
    /// # Errors
    /// The store itself fails: it would refuse all other runs as well.
    fn refuse(&mut self, path: &Path, error: Error) -> Result<()> {
        let error = error.context(path.display().to_string());
        if self.store.check_writable().is_err() {
            return Err(error.context(self.counts.to_string()));
        }
        self.refused.add(&error);
        Ok(())
    }
}

/// A source whose next value has a bounded length.
struct Bounded<R> {
    source: R,
    left: Rc<Cell<u64>>,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        let left = self.left.get().checked_sub(count as u64);
        self.left.set(left.ok_or_else(|| {
            io::Error::other(format!("it is larger than {} MiB", MAX_FILE >> 20))
        })?);
        Ok(count)
    }
}
