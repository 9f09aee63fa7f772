//! The experiment `worst` on a simulated core: the wait for the kernel's alarm, which arrives at every
//! cycle of a round of another experiment.
//!
//! The image runs twice, unchanged, on a board without random delays. In the first run the board writes the
//! reads of `mcycle`; one of them is the mark, the instruction at which a round begins. In the second run
//! the alarm becomes pending, a cycle later in each round (`bench/src/arrivals.rs`).

use std::{fs, path::PathBuf, process::Command};

use anyhow::{Result, ensure};
use chronoscope_child::{self as child, Folder};
use chronoscope_suite::{
    experiments,
    wire::{Clock, Domain, Record},
};

use super::{BoardRequest, Rtl, bench};
use crate::{
    Request, Start,
    arrivals::{Asked, HANDLER, ONE_AT_A_TIME, SKIPPED, Starts, Sweep, Tried, Waits, starts},
    profile::Symbols,
    scratch,
    stream::StreamBuilder,
};

/// The rounds of the run that finds the mark.
const FEW: u32 = 1000;

/// Checks that the board can try the arrivals of a request.
///
/// # Errors
/// The board cannot; the message says why.
pub(super) fn check(board: &BoardRequest<'_>, shows_instructions: bool) -> Result<()> {
    let has = |name| board.request.get(name).is_some_and(|value| !value.is_empty());
    ensure!(shows_instructions, "`worst`: the board of this core does not show its instructions");
    ensure!(!board.pins, "`worst` draws no pins: leave out `pins`");
    ensure!(
        !board.request.has("of", experiments::masked::SPEC.name),
        "`worst masked`: on this board the timer of `masked` shares its interrupt with the kernel's alarm"
    );
    ensure!(!has("nested"), "`worst`: {ONE_AT_A_TIME}");
    ensure!(
        !has("interrupt"),
        "`worst`: on this board only the kernel's alarm can be tried: leave out `interrupt`"
    );
    Ok(())
}

/// Tries every arrival, and passes the waits to `sink`.
///
/// # Errors
/// The board or the image cannot be built or run, or its round has no mark or does not repeat.
pub(super) fn run(
    rtl: &Rtl<'_>,
    start: &Start<'_>,
    board: &BoardRequest<'_>,
    sink: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let mut stream = StreamBuilder::begin(rtl.image.kernel(), start.request)?;
    let asked = Asked::new(&board.request, rtl.image.kind())?;
    let file = rtl.image.variant(board.variant)?;
    let program = bench(rtl.images, &rtl.core.name)?;
    let rounds = Rounds { program, file, board, asked, start, folder: scratch::folder()? };
    let Tried { mark, sweep } = match rounds.starts()? {
        (reads, Starts::Of(starts)) => Tried::new(&starts, &reads, |mark| rounds.sweep(mark, 0))?,
        (_, Starts::Refused(why)) => return sink(&stream.refuse(&why)?),
    };
    let all = sweep.completed(|first| rounds.sweep(mark, first))?;
    let image = fs::read(&rounds.file)?;
    let clock = Clock { domain: Domain::Cycles, hertz: board.hertz, resolution: 1 };
    stream.send(&Record::Clock(clock))?;
    all.write(&mut stream, Waits::Cycles, HANDLER, &Symbols::read(&image)?)?;
    sink(&stream.end()?)
}

/// The starts of a board for the rounds of an image.
struct Rounds<'a> {
    program: PathBuf,
    file: PathBuf,
    board: &'a BoardRequest<'a>,
    asked: Asked,
    start: &'a Start<'a>,
    folder: Folder,
}

impl Rounds<'_> {
    /// Runs the image. The board writes to the file behind `option`; `more` are further options. Returns the
    /// file's text.
    fn run(
        &self,
        request: &Request,
        option: &str,
        more: &[String],
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<String> {
        let written = self.folder.path("written");
        let mut command = Command::new(&self.program);
        command.arg(&self.file).args(["--request", &request.to_string()]);
        command.args(["--wait-states", self.board.wait_states]);
        command.args(["--hertz", &self.board.hertz.to_string()]);
        command.arg(option).arg(&written).args(more);
        child::run(&mut command, "chronoscope-bench", self.start.limit, self.start.stop, sink)?;
        Ok(fs::read_to_string(written)?)
    }

    /// The reads of `mcycle`, and the starts of the samples.
    fn starts(&self) -> Result<(String, Starts)> {
        let mut stream = Vec::new();
        let few = self.asked.request.clone().with("loops", FEW);
        let reads = self.run(&few, "--reads", &[], &mut |bytes| {
            stream.extend_from_slice(bytes);
            Ok(())
        })?;
        Ok((reads, starts(&stream)?))
    }

    /// Tries the arrivals from the cycle `first` of the round on.
    fn sweep(&self, mark: u64, first: usize) -> Result<Sweep> {
        let options = [("--mark", mark), ("--skip", SKIPPED.into()), ("--first", first as u64)];
        let more: Vec<String> = options
            .into_iter()
            .flat_map(|(name, value)| [name.to_owned(), value.to_string()])
            .collect();
        Sweep::parse(&self.run(&self.asked.request, "--arrivals", &more, &mut |_| Ok(()))?)
    }
}
