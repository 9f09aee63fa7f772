//! `chronoscope watch`: measures a program of the user's between its own marks or its functions, and
//! stores and shows the figures as a run.

use std::{collections::BTreeMap, path::Path, time::Duration};

use anyhow::{Result, bail};

use super::{run, single};
use crate::cli;
use chronoscope_engine::case::Case;
use chronoscope_machine::{
    Machines,
    marks::Kind,
    observe::{self, Observed},
    watch::{
        self, Watched,
        board::{self, Board},
        wakeups::{self, Wakeups},
    },
};
use chronoscope_run::Limit;
use chronoscope_units::{printable, words};

pub fn execute(arguments: &cli::Watch) -> Result<u8> {
    match &arguments.image {
        Some(_) if arguments.from.is_some() => bail!(
            "between places of an image: chronoscope observe IMAGE --from …; --from here names a \
             function of a process"
        ),
        Some(image) if arguments.stream.is_some() => board(arguments, image),
        Some(_) if arguments.duration.is_some() => {
            bail!("an emulator ends after a number of instructions: --instructions, in place of -D")
        }
        Some(_) => image(arguments),
        None if arguments.wakeups => wakeups(arguments),
        None => program(arguments),
    }
}

/// Watches an image in an emulator.
fn image(arguments: &cli::Watch) -> Result<u8> {
    let Some(image) = &arguments.image else { bail!("name an image") };
    let machines = Machines::default();
    let chip = arguments.chip.as_ref().map(|chip| run::chip(chip, arguments.clock.as_deref()));
    if arguments.machine.is_none() && chip.is_none() {
        bail!(
            "{} is an image: name its machine or its chip, as --chip stm32f405, or the line of a board \
             that sends its marks, as --stream /dev/ttyUSB0; a program of this computer stands behind --",
            printable(&image.display().to_string())
        );
    }
    let question = observe::Question {
        machine: arguments.machine.as_deref(),
        chip: chip.as_deref(),
        limit: arguments.instructions,
        is_watched: true,
        ..observe::Question::new(image)
    };
    let observed = Observed::new(&machines, &question)?;
    let limits = limits(&arguments.limit, &observed.marks(), chip.is_some())?;
    let case = Case::watch(observed.target(), observed.settings(), limits);
    observed.check()?;
    single::measure(&case, Box::new(observed), &arguments.output, &arguments.keep)
}

/// Watches a board that sends its marks.
fn board(arguments: &cli::Watch, image: &Path) -> Result<u8> {
    let question = board::Question {
        image,
        stream: arguments.stream.as_deref().unwrap_or_default(),
        duration: duration(arguments)?,
    };
    let board = Board::new(&question)?;
    let limits = limits(&arguments.limit, &board.marks(), true)?;
    let board = board.with_bounds(bounds(&limits));
    let case = Case::watch(board.target(), board.settings(), limits);
    single::measure(&case, Box::new(board), &arguments.output, &arguments.keep)
}

/// The time after which the watch ends.
fn duration(arguments: &cli::Watch) -> Result<Option<Duration>> {
    arguments.duration.as_deref().map(|text| run::duration("-D", text)).transpose()
}

/// The longest lengths that the limits allow, by the name of the series.
fn bounds(limits: &[Limit]) -> BTreeMap<String, f64> {
    let longest = limits.iter().filter(|limit| &*limit.statistic == "max");
    let bound = |limit: &Limit| Some((limit.series.as_ref()?.to_string(), limit.at_most?.0));
    longest.filter_map(bound).collect()
}

/// Watches a program on this computer.
fn program(arguments: &cli::Watch) -> Result<u8> {
    let question = watch::Question {
        command: &arguments.command,
        pid: arguments.pid,
        marks: arguments.marks.as_deref(),
        from: arguments.from.as_deref(),
        to: arguments.to.as_deref(),
        duration: duration(arguments)?,
    };
    let watched = Watched::new(&question)?;
    let limits = limits(&arguments.limit, &watched.marks(), true)?;
    let watched = watched.with_bounds(bounds(&limits));
    let case = Case::watch(watched.target(), watched.settings(), limits);
    watched.check()?;
    single::measure(&case, Box::new(watched), &arguments.output, &arguments.keep)
}

/// Watches the wake-ups of a program's threads.
fn wakeups(arguments: &cli::Watch) -> Result<u8> {
    let wakeups = Wakeups::new(&arguments.command, arguments.pid, duration(arguments)?)?;
    let series = BTreeMap::from([(wakeups::ALL, Kind::Begin)]);
    let limits = limits(&arguments.limit, &series, true)?;
    let case = Case::watch(wakeups.target(), wakeups.settings(), limits);
    single::measure(&case, Box::new(wakeups), &arguments.output, &arguments.keep)
}

/// The limits of the command line.
///
/// # Errors
/// A limit has another form, names no mark of the program, or its bound has another unit than the
/// mark's series: times of a clock, instructions without one, and plain numbers of values.
fn limits(texts: &[String], marks: &BTreeMap<&str, Kind>, has_clock: bool) -> Result<Vec<Limit>> {
    let read = |text: &String| {
        let shown = printable(text);
        let limit: Limit = text.parse()?;
        let name = limit.series.as_deref().unwrap_or_default();
        let Some(kind) = marks.get(name) else {
            let near = words::nearest_three(name, marks.keys().copied());
            bail!(
                "`--limit {shown}`: there is no mark `{}`: did you mean {near}?",
                printable(name)
            );
        };
        match (text.ends_with(char::is_alphabetic), has_clock && *kind != Kind::Value) {
            (true, false) if *kind == Kind::Value => {
                bail!("`--limit {shown}`: `{name}` is a number: give one without a unit")
            }
            (true, false) => bail!(
                "`--limit {shown}`: an emulator counts instructions: give a number of them, or a \
                 chip, as --chip stm32f405"
            ),
            (false, true) => bail!("`--limit {shown}`: give a time, as 200us"),
            _ => {}
        }
        limit.check("watch", None)?;
        Ok(limit)
    };
    texts.iter().map(read).collect()
}
