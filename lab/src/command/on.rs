//! `chronoscope run --on ENGINE`: the shards of a run on many machines, gathered and merged.

use std::{
    env,
    ffi::OsString,
    fs::{self, File, TryLockError},
    mem,
    path::{Path, PathBuf},
    slice,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};

use super::keep;
use crate::cli;
use crate::revision::REVISION;
use chronoscope_base::{console, signals::INTERRUPTED};
use chronoscope_engine::{
    case::Case, fleet, fleet::MOST_SHARDS, fleet::engine::Engine, fleet::engine::Pace,
    fleet::engine::Parts, fleet::engine::gather, fleet::slurm, fleet::slurm::Slurm,
    fleet::slurm::Words, runner::context,
};
use chronoscope_machine::Machines;
use chronoscope_report::{self as report, answer::decision};
use chronoscope_run::{Context, Run};
use chronoscope_store::{Store, reference::load_file};
use chronoscope_units::words::hint;

/// The number of shards, unless another is given.
const SHARDS: u64 = 8;

/// The interval between two questions to the engine, and the longest delay with which a network
/// file system shows a part.
const PACE: Pace = Pace { look: Duration::from_secs(1), late: Duration::from_secs(5) };

/// Makes an engine, given the jobs' name, the run's UUID, the words of a shard's command and the parts.
type Make = fn(&str, &str, &Words, &Parts, &[String]) -> Result<Box<dyn Engine>>;

/// The engines, by the words of `--on`.
const ENGINES: [(&str, Make); 1] = [("slurm", |name, uuid, words, parts, options| {
    Ok(Box::new(Slurm::new(name, uuid, words, parts, options)?))
})];

/// Runs the cases as shards on the engine of that name, and writes and stores the merged run.
///
/// # Errors
/// There is no such engine, the cases are measured in wall time, a shard fails for good, or the
/// results cannot be written.
pub fn execute(
    machines: &Machines,
    arguments: &cli::Run,
    cases: &[Case],
    word: &str,
    stop: &AtomicBool,
) -> Result<u8> {
    let names = ENGINES.map(|(name, _)| name);
    let Some((_, make)) = ENGINES.iter().find(|(name, _)| *name == word) else {
        bail!(
            "there is no engine `{word}`{} write --on {}",
            hint(word, names.into_iter()),
            names[0]
        );
    };
    let of = usize::try_from(arguments.shards.unwrap_or(SHARDS))?;
    ensure!(of <= MOST_SHARDS, "`--shards {of}`: write {MOST_SHARDS} or fewer");
    check(machines, arguments, cases)?;
    let output = &arguments.output;
    report::check(output.output.as_deref())?;
    let mut store = (!arguments.keep.no_store).then(|| store(&arguments.keep)).transpose()?;
    if output.quiet {
        console::be_quiet();
    }
    let start = Instant::now();
    let context = context::now(REVISION);
    let words = Words { program: env::current_exe()?, after: of_a_shard(env::args_os().skip(2)) };
    let (parts, context) = parts(arguments.resume, &words, of, context)?;
    let _gathering = alone(&parts)?;
    let name = name(&parts.folder);
    let show = &mut |counts| console::note(&format!("{counts} ({word}: {name})"));
    let gathered = make(&name, &context.uuid, &words, &parts, &arguments.on_option)
        .and_then(|mut engine| gather(engine.as_mut(), &parts, PACE, stop, show));
    if let Err(error) = gathered {
        let left = left(&parts);
        return match stop.load(Ordering::Relaxed) {
            true => {
                console::remark(&format!("interrupted: {left}"));
                Ok(INTERRUPTED)
            }
            false => Err(error.context(left)),
        };
    }
    let seconds = start.elapsed().as_secs_f64();
    let run = merged(&parts, context, seconds)
        .and_then(|run| kept(arguments, store.as_mut(), &run).map(|()| run))
        .map_err(|error| error.context(left(&parts)))?;
    // The run is written, so the parts are of no more use.
    let _ = fs::remove_dir_all(&parts.folder);
    Ok(decision::status(&run).exit_code())
}

/// The words of the command line without `--resume`, and without `--store` and its value: a shard
/// stores nothing, and the URL of a server may hold a password.
fn of_a_shard(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut is_value = false;
    let keep = |word: &OsString| {
        let was_value = mem::replace(&mut is_value, word == "--store");
        let is_left = is_value || word == "--resume";
        !was_value && !is_left && !word.as_encoded_bytes().starts_with(b"--store=")
    };
    words.filter(keep).collect()
}

/// The prefix of the folders of parts, which are also the names of the jobs.
const PREFIX: &str = "chronoscope-";

/// Makes the folder of the parts in the current folder; with `resume`, finds the one of a killed lab,
/// whose run's UUID goes into the context: the run is stored once.
///
/// # Errors
/// If the folder cannot be made, or there is not one of this command.
fn parts(resume: bool, words: &Words, of: usize, context: Context) -> Result<(Parts, Context)> {
    let here = env::current_dir()?;
    if !resume {
        let folder = here.join(format!("{PREFIX}{}", &context.uuid[..8]));
        fs::create_dir(&folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        return Ok((Parts { folder, of, is_begun: false }, context));
    }
    let entries = fs::read_dir(&here).with_context(|| format!("cannot read {}", here.display()))?;
    let folders = entries.flatten().map(|entry| here.join(entry.file_name()));
    let folders = folders.filter(|folder| name(folder).starts_with(PREFIX));
    let begun = folders.filter_map(|folder| {
        let uuid = slurm::begun(&folder, words, of)?;
        Some((folder, uuid))
    });
    match begun.collect::<Vec<_>>().as_slice() {
        [] => bail!(
            "no run of this command has begun in {}: write the words of the killed command, and --resume",
            here.display()
        ),
        [(folder, uuid)] => {
            let parts = Parts { folder: folder.clone(), of, is_begun: true };
            Ok((parts, Context { uuid: uuid.as_str().into(), ..context }))
        }
        [(first, _), (second, _), ..] => bail!(
            "two runs of this command have begun: {} and {}: remove one of them",
            first.display(),
            second.display()
        ),
    }
}

/// Locks the folder of the parts for as long as the result lives.
///
/// # Errors
/// If another lab gathers the parts.
fn alone(parts: &Parts) -> Result<File> {
    let path = parts.folder.join("lab.lock");
    let file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    if let Err(TryLockError::WouldBlock) = file.try_lock() {
        bail!("another lab gathers the parts in {}: wait for its end", parts.folder.display());
    }
    Ok(file)
}

/// Stores the run, if there is a store, and writes it.
fn kept(arguments: &cli::Run, store: Option<&mut Store>, run: &Run) -> Result<()> {
    let output = &arguments.output;
    let mut name = None;
    if let Some(store) = store {
        let runs = slice::from_ref(run);
        let numbers = keep::add(store, runs, |_| ())?;
        keep::publish(store, runs, &numbers, output.quiet)?;
        name = numbers.first().map(i64::to_string);
    }
    Ok(report::write(run, output.format(), output.output.as_deref(), name.as_deref())?)
}

/// Checks that the cases can be shared by machines.
fn check(machines: &Machines, arguments: &cli::Run, cases: &[Case]) -> Result<()> {
    if arguments.shard.is_some() {
        bail!("`--on` makes the shards: leave out --shard, or write --shards N");
    }
    if arguments.flash.is_some() {
        bail!("`--flash` writes to a board of this machine: leave out --on");
    }
    if arguments.machine_name.is_some() {
        return Ok(());
    }
    for case in cases {
        if !case.properties(machines)?.shares_the_host {
            bail!(
                "{} is measured in wall time, and figures of several machines are not mixed: leave it \
                 out with --target, or give equal machines one name with --as NAME",
                case.target
            );
        }
    }
    Ok(())
}

/// Opens the store of new runs, and checks that it can be written.
fn store(keep: &cli::Keep) -> Result<Store> {
    let store = Store::create(&keep.store.place()?)?;
    store.check_writable()?;
    store.rest();
    Ok(store)
}

/// Merges the parts into a run with the UUID, the date and the command line of this lab.
fn merged(parts: &Parts, context: Context, seconds: f64) -> Result<Run> {
    let load = |path: PathBuf| Ok((name(&path), load_file(&path)?));
    let loaded = (1..=parts.of).map(|shard| load(parts.path(shard))).collect::<Result<Vec<_>>>()?;
    let run = fleet::merge(loaded, context.command)?;
    let context = Context { uuid: context.uuid, date: context.date, seconds, ..run.context };
    Ok(Run { context, ..run })
}

/// A path's name without its folders.
fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().display().to_string()
}

/// Describes the parts that an ended run leaves; removes its own folder if there are none.
fn left(parts: &Parts) -> String {
    let complete = (1..=parts.of).filter(|shard| parts.path(*shard).is_file()).count();
    let folder = parts.folder.display();
    // The shards of a killed lab may go on, and write there.
    if complete == 0 && !parts.is_begun {
        let _ = fs::remove_dir_all(&parts.folder);
        return format!("0 of {} shards are complete", parts.of);
    }
    format!("{complete} of {} shards are complete, and their parts are in {folder}", parts.of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_s_command_names_no_store() {
        let words = [
            "quick",
            "--store",
            "postgres://u:pw@h/d",
            "-j",
            "2",
            "--resume",
            "--store=x",
            "--stored",
        ];
        let left = of_a_shard(words.iter().map(OsString::from));
        assert_eq!(left, ["quick", "-j", "2", "--stored"]);
    }
}
