//! The machine `KERNEL@board:NAME`: a board on a serial line, by a name that stays when the cable
//! moves. The user's file `boards.toml` says where each board is connected, and how it is flashed
//! and reset; labgrid says it of a place that this process holds.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, Mutex, OnceLock, atomic::AtomicBool},
    time::Duration,
};

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde::Deserialize;

use super::{
    BAUD, BAUDS, DEFAULTS, Serial, description,
    flash::flash,
    labgrid::Place,
    line::{self, Address},
};
use crate::{
    Description, Machine, Provenance, Recording, Request, Start, description::Defaults,
    family::Family, images::Images, lock::lock,
};
use chronoscope_base::{folders, toml_text::from_toml};
use chronoscope_child as child;
use chronoscope_run::Target;
use chronoscope_units::{printable, words};

/// The prefix of the machine's name.
pub const PREFIX: &str = "board:";

/// The path of the file, where it is not in the user's configuration folder.
const VARIABLE: &str = "CHRONOSCOPE_BOARDS";

/// The limit for the file, in bytes; a larger file is something else.
const MAX_BYTES: u64 = 1 << 20;

/// The limit for flashing or resetting a board.
const LIMIT: Duration = Duration::from_secs(300);

/// The word that stands for the image's path in a command that flashes.
const IMAGE: &str = "{image}";

/// A board in the file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Board {
    line: Address,
    /// In bits a second; [`BAUD`], or what labgrid says of a place.
    baud: Option<u32>,
    /// The chip, as probe-rs calls it.
    chip: Option<String>,
    /// The command that flashes an image, instead of probe-rs.
    #[serde(default)]
    flash: Vec<String>,
    /// The command that resets the board, run once before its first repetition.
    #[serde(default)]
    reset: Vec<String>,
}

/// The boards of the file, by name.
type Table = BTreeMap<String, Board>;

/// A place of labgrid's that this process holds, as a board.
struct HeldPlace {
    place: Arc<Place>,
    board: Board,
}

/// The boards that targets can name: the boards of the file, which is read once, and places that
/// are held.
#[derive(Default)]
pub(crate) struct Boards {
    table: OnceLock<Result<Option<Table>, String>>,
    /// By the name of the place.
    held: Mutex<BTreeMap<String, HeldPlace>>,
    /// The names of the boards that were reset.
    reset: Mutex<BTreeSet<String>>,
}

impl Boards {
    /// Makes the place the board of its name, as [`Machines::hold`](crate::Machines::hold).
    pub(crate) fn hold(&self, place: Place, stop: &AtomicBool) -> Result<Holding<'_>> {
        ensure!(
            is_name(&place.name),
            "the place `{}` cannot be a target: a board's name has letters, digits, `-`, `_` and `.`",
            printable(&place.name)
        );
        let shown = place.resources(stop)?;
        let listed = match self.table()? {
            Some(boards) => boards.get(&place.name).cloned(),
            None => None,
        };
        let mut board = listed.unwrap_or_else(|| Board {
            line: shown.line.clone(),
            baud: None,
            chip: None,
            flash: Vec::new(),
            reset: Vec::new(),
        });
        board.line = shown.line;
        board.baud = board.baud.or(shown.baud);
        if board.flash.is_empty() && board.chip.is_none() {
            board.flash = place.command(&["bootstrap", IMAGE]);
        }
        if board.reset.is_empty() && shown.has_power {
            board.reset = place.command(&["power", "cycle"]);
        }
        let place = Arc::new(place);
        let name = place.name.clone();
        lock(&self.held).insert(name.clone(), HeldPlace { place, board });
        Ok(Holding { name, boards: self })
    }

    /// Writes `image` into the flash of a board, as
    /// [`Machines::flash_board`](crate::Machines::flash_board).
    pub(crate) fn flash(&self, name: &str, image: &Path, stop: &AtomicBool) -> Result<()> {
        let board = self.find(name)?;
        if board.flash.is_empty() {
            let chip = board.chip.as_deref().with_context(|| {
                format!("the board `{name}` has neither `flash` nor `chip`: add one to {}", place())
            })?;
            return flash(image, chip, stop);
        }
        let path = image.display().to_string();
        let words: Vec<String> =
            board.flash.iter().map(|word| word.replace(IMAGE, &path)).collect();
        command(name, "flash", &words, stop)
    }

    /// The board of that name: a place that is held, or an entry of the file.
    ///
    /// # Errors
    /// There is no file, it cannot be read, or it has no such board.
    fn find(&self, name: &str) -> Result<Board> {
        if let Some((_, board)) = self.held(name) {
            return Ok(board);
        }
        let boards = self.table()?.with_context(|| {
            format!(
                "there is no {}: describe the board there (docs/machines/serial.md), or name the line, as \
                 KERNEL@serial:/dev/ttyUSB0",
                place()
            )
        })?;
        boards.get(name).cloned().with_context(|| {
            let near = words::nearest(name, boards.keys().map(String::as_str));
            format!("{} has no board `{name}`{near}", place())
        })
    }

    /// The board of a target; `None` if the target names no board.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    fn look_up(&self, target: &Target) -> Result<Option<OnBoard<'_>>> {
        let Some(name) = target.machine.strip_prefix(PREFIX) else { return Ok(None) };
        let board = self.find(name)?;
        let (line, baud) = (board.line.clone(), board.baud.unwrap_or(BAUD));
        let line = Serial { kernel: target.kernel.clone(), given: None, line, baud };
        Ok(Some(OnBoard { boards: self, name: name.to_owned(), board, line }))
    }

    /// The board that is held under that name, with its place.
    fn held(&self, name: &str) -> Option<(Arc<Place>, Board)> {
        let held = lock(&self.held);
        let held = held.get(name)?;
        Some((held.place.clone(), held.board.clone()))
    }

    /// The boards of the file; `None` if there is no file.
    ///
    /// # Errors
    /// If it cannot be read.
    fn table(&self) -> Result<Option<&Table>> {
        let table = self.table.get_or_init(|| read().map_err(|error| format!("{error:#}")));
        table.as_ref().map(Option::as_ref).map_err(|error| anyhow!("{error}"))
    }
}

/// A place that is held. It is given back on drop.
#[must_use]
pub struct Holding<'m> {
    /// The name of the place.
    pub name: String,
    boards: &'m Boards,
}

impl Drop for Holding<'_> {
    fn drop(&mut self) {
        // Giving back takes a while, in which the other places stay usable.
        let held = lock(&self.boards.held).remove(&self.name);
        drop(held);
    }
}

/// A kernel on a board.
struct OnBoard<'m> {
    boards: &'m Boards,
    name: String,
    board: Board,
    line: Serial,
}

impl Family for Boards {
    fn describe(&self, images: &Images, target: &Target) -> Result<Option<Description>> {
        Ok(self.look_up(target)?.map(|_| description(images, target)))
    }

    fn open<'m>(&'m self, _: &'m Images, target: &Target) -> Result<Option<Box<dyn Machine + 'm>>> {
        Ok(self.look_up(target)?.map(|board| Box::new(board) as Box<dyn Machine>))
    }

    fn form(&self) -> Option<(&'static str, &'static str)> {
        Some((
            "KERNEL@board:NAME",
            "a board that boards.toml describes; board@…: with whatever kernel",
        ))
    }

    fn defaults(&self) -> &'static [&'static Defaults] {
        DEFAULTS
    }
}

impl Machine for OnBoard<'_> {
    fn prepare(&self, _request: &Request, stop: &AtomicBool) -> Result<Provenance> {
        self.reset(stop)?;
        let chip = self.board.chip.clone().map(|chip| ("chip".to_owned(), chip));
        Ok(Provenance { identity: chip.into_iter().collect(), ..Provenance::default() })
    }

    fn run(
        &self,
        start: &Start<'_>,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<Recording> {
        self.line.run_over(&mut *self.open(start.stop)?, start, sink)?;
        Ok(Recording::new())
    }
}

impl OnBoard<'_> {
    /// Opens the line. The exporter of a place may have restarted, and offers it elsewhere then.
    fn open(&self, stop: &AtomicBool) -> Result<Box<dyn line::Line>> {
        line::open(&self.board.line, self.line.baud).or_else(|error| {
            let Some((place, _)) = self.boards.held(&self.name) else { return Err(error) };
            line::open(&place.resources(stop)?.line, self.line.baud)
        })
    }

    /// Resets the board before its first repetition. Other boards are reset meanwhile.
    fn reset(&self, stop: &AtomicBool) -> Result<()> {
        if !lock(&self.boards.reset).contains(&self.name) {
            command(&self.name, "reset", &self.board.reset, stop)?;
            lock(&self.boards.reset).insert(self.name.clone());
        }
        Ok(())
    }
}

/// Runs a board's command, if it has one.
fn command(name: &str, key: &str, words: &[String], stop: &AtomicBool) -> Result<()> {
    let Some((program, arguments)) = words.split_first() else { return Ok(()) };
    let what = format!("`{key}` of the board `{name}`");
    let ran =
        child::run(Command::new(program).args(arguments), program, LIMIT.into(), stop, &mut |_| {
            Ok::<_, child::Error>(())
        });
    ran.with_context(|| what)
}

/// The path of the file: the value of [`VARIABLE`], or `chronoscope/boards.toml` in the user's
/// configuration folder.
fn path() -> Option<PathBuf> {
    if let Some(path) = env::var_os(VARIABLE) {
        return Some(path.into());
    }
    let folder = folders::for_user("XDG_CONFIG_HOME", ".config")?;
    Some(folder.join("chronoscope/boards.toml"))
}

fn place() -> String {
    path().map_or_else(|| "boards.toml".to_owned(), |path| path.display().to_string())
}

fn read() -> Result<Option<Table>> {
    let path = path().context("there is no folder for boards.toml: set HOME")?;
    let shown = path.display();
    let size = match fs::metadata(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        found => found.with_context(|| format!("cannot read {shown}"))?.len(),
    };
    ensure!(size <= MAX_BYTES, "{shown} has more than {MAX_BYTES} bytes: it describes no boards");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {shown}"))?;
    parse(&text).map(Some).with_context(|| path.display().to_string())
}

/// Returns whether a word can be the name of a board.
pub fn is_name(word: &str) -> bool {
    let is_sound = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !word.is_empty() && word.chars().all(is_sound)
}

/// Parses the file.
///
/// # Errors
/// It is no TOML, an entry is invalid, or two boards have the same line.
fn parse(text: &str) -> Result<Table> {
    let boards: Table = from_toml(text)?;
    let mut lines: BTreeMap<&Address, &str> = BTreeMap::new();
    for (name, board) in &boards {
        ensure!(is_name(name), "the board `{name}`: a name has letters, digits, `-`, `_` and `.`");
        if let Some(baud) = board.baud.filter(|baud| !BAUDS.contains(baud)) {
            bail!(
                "the board `{name}`: `baud = {baud}`: write a number from {} to {}",
                BAUDS.start(),
                BAUDS.end()
            );
        }
        if let Some(other) = lines.insert(&board.line, name) {
            bail!("the boards `{other}` and `{name}` have the same line {}", board.line);
        }
    }
    Ok(boards)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boards_are_read() {
        let text = "
            [nucleo-1]
            line = '/dev/serial/by-id/usb-1'
            chip = 'STM32F446RETx'
            [hifive]
            line = '/dev/ttyUSB1'
            baud = 921600
            flash = ['openocd', '-c', 'program {image}']
            reset = ['openocd', '-c', 'reset']";
        let boards = parse(text).unwrap();
        assert_eq!((boards["nucleo-1"].baud, boards["hifive"].baud), (None, Some(921_600)));
        assert_eq!(boards["hifive"].flash[2], "program {image}");
    }

    #[test]
    fn boards_that_cannot_be_are_refused() {
        for (text, words) in [
            ("[a]", "line 1: missing field `line`"),
            ("[a]\nline = 'ttyUSB0'", "write the device's path"),
            ("[a]\nline = '/dev/a'\nbaud = 3", "a number from 300"),
            ("[a]\nline = '/dev/a'\nbout = 3", "did you mean `baud`"),
            ("['a b']\nline = '/dev/a'", "the board `a b`"),
            (
                "[a]\nline = '/dev/a'\n[b]\nline = '/dev/a'",
                "the boards `a` and `b` have the same line",
            ),
            ("[a]\nline = '/dev/a'\n[a]\nline = '/dev/b'", "line 3"),
        ] {
            let error = format!("{:#}", parse(text).unwrap_err());
            assert!(error.contains(words), "{error}");
        }
    }
}
