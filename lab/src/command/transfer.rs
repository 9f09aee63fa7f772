//! `chronoscope export` and `chronoscope import`: runs as lines of JSON, from one store to another.

use std::{
    cell::Cell,
    io::{self, BufReader, Read},
    path::Path,
    rc::Rc,
};

use anyhow::{Context as _, Error, Result, anyhow, bail};
use serde_json::Value;

use super::history::Filter;
use crate::{
    cli, console, digest,
    reference::{self, MAX_FILE, Reference},
    report,
    run::Run,
    store::Store,
    units::file,
};

/// Writes runs, each as one line of JSON.
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
    let mut fault = None;
    let written = report::emit_with(output, |sink| {
        for &number in &numbers {
            let line = store.run(number).and_then(|run| Ok(serde_json::to_string(&run)? + "\n"));
            match line {
                Ok(line) => sink.write_all(line.as_bytes())?,
                Err(error) => {
                    fault = Some(error);
                    return Err(io::Error::other("a run cannot be read"));
                }
            }
        }
        Ok(())
    });
    fault.map_or(written, Err)?;
    if !arguments.quiet && output.is_some() {
        console::remark(&format!("exported {}", runs(numbers.len())));
    }
    Ok(0)
}

fn number(word: &std::ffi::OsString, store: &Store) -> Result<i64> {
    Reference::try_from(word.as_os_str())?.number(store)
}

/// Stores the runs of files. A run that the store has already is left as it is.
pub fn import(arguments: &cli::Import) -> Result<u8> {
    let mut store = Store::create(&arguments.store.place()?)?;
    store.check_writable()?;
    let mut counts = Counts::default();
    for path in &arguments.files {
        let read = match path.as_os_str().to_str() {
            Some("-") => import_from(io::stdin().lock(), &mut store, &mut counts),
            _ => open(path).and_then(|file| import_from(file, &mut store, &mut counts)),
        };
        read.map_err(|error| anyhow!("{}: {error:#}: {counts}", path.display()))?;
    }
    if !arguments.quiet {
        console::remark(&counts.to_string());
    }
    Ok(0)
}

fn open(path: &Path) -> Result<std::fs::File> {
    Ok(file::open(path)?)
}

/// How many runs were stored, and how many the store had.
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

fn runs(count: usize) -> String {
    format!("{count} run{}", if count == 1 { "" } else { "s" })
}

/// Stores each run of a stream of JSON values, one by one.
///
/// # Errors
/// If a value is no run, or the store cannot be written. The runs before it are stored.
fn import_from(source: impl Read, store: &mut Store, counts: &mut Counts) -> Result<()> {
    let left = Rc::new(Cell::new(MAX_FILE));
    let source = Bounded { source: BufReader::new(source), left: Rc::clone(&left) };
    let values = serde_json::Deserializer::from_reader(source).into_iter::<Value>();
    let mut found = 0;
    for (value, place) in values.zip(1..) {
        let run = value.map_err(Error::from).and_then(reference::from_value);
        let run = run.with_context(|| format!("run {place}"))?;
        add(run, store, counts).with_context(|| format!("run {place}"))?;
        left.set(MAX_FILE);
        found = place;
    }
    if found == 0 {
        bail!("there is no run in it");
    }
    Ok(())
}

/// Stores a run. One of an older program gets a UUID from its content, so that it is stored once.
fn add(mut run: Run, store: &mut Store, counts: &mut Counts) -> Result<()> {
    if run.context.uuid.is_empty() {
        run.context.uuid = digest::uuid(&serde_json::to_vec(&run)?).into();
    }
    let is_known = store.find(&run.context.uuid)?.is_some();
    store.add(&[&run])?;
    *if is_known { &mut counts.known } else { &mut counts.stored } += 1;
    Ok(())
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
