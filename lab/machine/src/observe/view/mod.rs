//! Views of kernels as data: where a kernel keeps its running task, the tasks' names and states, and
//! the objects for which tasks wait. A view is a file of `views/`; its checks must hold in the image,
//! so that no figure comes from a wrong structure.

mod resolve;
mod rings;
mod tasks;
mod types;

use std::{collections::BTreeSet, fs, path::Path, slice};

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

pub use self::{
    resolve::Resolved,
    tasks::{Share, TaskFigures, Tasks, Waited},
};
pub use crate::stream::Interval;
use chronoscope_base::{
    digest::sha256,
    toml_text::{from_toml, words as words_of},
};
use chronoscope_units::{printable, words};

include!(concat!(env!("OUT_DIR"), "/views.rs"));

/// The longest file of a view, in bytes.
const LONGEST: u64 = 1 << 20;

/// The most tables of one sort, or numbers of a state. Each costs time whenever a task runs.
const MOST: usize = 64;

/// The longest name of a task that is read, in bytes.
const LONGEST_NAME: u64 = 64;

/// A view, as its file has it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct View {
    /// The kernel's name.
    pub kernel: String,
    /// The SHA-256 of the text, in hexadecimal.
    #[serde(skip)]
    sha256: String,
    /// The releases that have the view's offsets.
    offsets_of: String,
    running: Option<Running>,
    task: Option<Task>,
    #[serde(default, rename = "object")]
    objects: Vec<Object>,
    /// The kernel's tasks are handlers of interrupts, which have a task's name.
    #[serde(default)]
    tasks_are_handlers: bool,
    /// The sequences of places.
    #[serde(default, rename = "sequence")]
    pub sequences: Vec<Sequence>,
}

/// The variable that holds the running task.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Running {
    variable: String,
    /// Bytes from the variable's start.
    #[serde(default)]
    offset: u64,
    /// The variable that is 0 until the scheduler runs: earlier events of tasks do not count.
    starts: Option<String>,
}

/// A member of a structure: by the image's types, or by its offset in images without them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Position {
    /// The path, as `outer.inner`, or the paths in several releases. Without one, the offset counts in all images.
    #[serde(default, deserialize_with = "words_of")]
    member: Vec<String>,
    offset: u64,
}

/// The record of a task.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Task {
    /// The structure's name in the image's types.
    #[serde(rename = "type")]
    kind: Option<String>,
    name: Option<Name>,
    priority: Option<Position>,
    stack: Option<Stack>,
    state: Option<State>,
    rings: Option<Rings>,
    wait: Option<Wait>,
    #[serde(default, rename = "check")]
    checks: Vec<Check>,
    /// A record for which this holds is no task: it stands for one while the kernel starts.
    dummy: Option<Check>,
}

/// A task's name: letters in the record, their address and number, or their address alone.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Name {
    at: Position,
    /// The most letters in the record, with a zero at their end.
    bytes: Option<u64>,
    /// The number of the letters at the address in `at`.
    length: Option<Position>,
    /// The most letters at the address in `at`, with a zero at their end.
    to_zero: Option<u64>,
    /// The name of a task that has none: no letters at the address, no address, or an empty name in the record.
    unnamed: Option<String>,
    /// A task may get its name after its start; of several names the last counts.
    #[serde(default)]
    changes: bool,
}

/// The lowest address of a task's stack, which is filled before the task runs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Stack {
    at: Position,
    fill: u8,
}

/// The list that a task is in, or a number: ready tasks have a list of `ready-in`, or a number of `ready-is` in
/// the bits of `mask`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct State {
    at: Position,
    /// The variable whose lists hold ready tasks.
    ready_in: Option<String>,
    ready_is: Option<Numbers>,
    /// The bits of the word that are the state; all of them, if absent.
    mask: Option<u64>,
}

/// A number, or several.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Numbers {
    One(u64),
    Several(Vec<u64>),
}

impl Numbers {
    fn all(&self) -> &[u64] {
        match self {
            Self::One(number) => slice::from_ref(number),
            Self::Several(numbers) => numbers,
        }
    }
}

/// Rings of ready tasks in a kernel of 32 bits, in place of a state: see the module `rings`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Rings {
    variable: String,
    /// Bytes from the variable's start to the heads of 32 rings, the most urgent first.
    heads: u64,
    /// Bytes from the variable's start to the word with a bit for each ring that is not empty.
    bitmap: u64,
    /// The link to the next task, the number of the ring, and its bit.
    next: Position,
    level: Position,
    bit: Position,
}

/// The list of an object for which a task waits; 0 if it waits for none.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Wait {
    at: Position,
    /// The list of tasks that a handler has made ready, and the scheduler will move.
    ready_in: Option<String>,
}

/// A word that must have a value.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Check {
    at: Position,
    /// The bits of the word that are compared; all of them, if absent.
    mask: Option<u64>,
    is: Option<Expected>,
    at_most: Option<u64>,
}

/// The value of a check.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum Expected {
    Number(u64),
    Address(Address),
}

/// An address that a check expects.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Address {
    /// The task's record.
    Task,
}

/// An object for which tasks wait, found by the list that a task is in. With a `state`, tasks of that state
/// alone wait for it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Object {
    #[serde(rename = "type")]
    kind: Option<String>,
    list: Position,
    state: Option<u64>,
    check: Check,
    /// The object is held by a task if this holds.
    held_if: Option<Check>,
    holder: Option<Position>,
}

/// Places that execute one after the other.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Sequence {
    /// The series' name; by turns with several names, a name for each interval in turn.
    #[serde(deserialize_with = "words_of")]
    pub name: Vec<String>,
    /// The symbol or address at which intervals start.
    pub from: String,
    /// The symbol or address at which intervals end.
    pub to: String,
    /// Published figures of it, as a sentence.
    pub published: Option<String>,
}

impl View {
    /// Reads a view: one of this version by its name, or a file.
    ///
    /// # Errors
    /// There is none, or the text is no view.
    pub fn read(name: &str) -> Result<Self> {
        let shipped = VIEWS.iter().find(|(own, _)| *own == name);
        let (text, shown) = match shipped {
            Some((_, text)) => ((*text).to_owned(), format!("the view {name}")),
            None => (file(name)?, format!("the view {}", printable(name))),
        };
        Self::parse(&text).map_err(|error| anyhow::anyhow!("{shown}: {error:#}"))
    }

    /// Returns whether the name is of a view of this version, and not of a file.
    pub fn is_of_this_version(name: &str) -> bool {
        VIEWS.iter().any(|(known, _)| *known == name)
    }

    /// Reads the text of a view.
    ///
    /// # Errors
    /// The text is no view; the message is one line.
    pub fn parse(text: &str) -> Result<Self> {
        let view: Self = from_toml(text)?;
        view.check()?;
        Ok(Self { sha256: sha256(text.as_bytes()), ..view })
    }

    /// Checks the rules that the form does not have.
    fn check(&self) -> Result<()> {
        if self.running.is_some() != self.task.is_some() {
            bail!("[running] and [task] belong together: write both or none");
        }
        if self.running.is_none() && self.sequences.is_empty() && !self.tasks_are_handlers {
            bail!(
                "it shows nothing: write [running] with [task], a [[sequence]], or tasks-are-handlers"
            );
        }
        if self.task.as_ref().is_some_and(|task| task.name.is_none() && task.checks.is_empty()) {
            bail!(
                "[task] has no name and no [[task.check]], so a wrong structure would go unseen: write one"
            );
        }
        if let Some(name) = self.task.as_ref().and_then(|task| task.name.as_ref())
            && [name.bytes, name.to_zero, name.length.as_ref().map(|_| 0)].iter().flatten().count()
                != 1
        {
            bail!(
                "a name has `bytes` in the record, or at its address a `length` beside it or letters \
                 `to-zero`: write one"
            );
        }
        let state = self.task.as_ref().and_then(|task| task.state.as_ref());
        if state.is_some_and(|state| state.ready_in.is_some() == state.ready_is.is_some()) {
            bail!("[task.state] tells ready tasks by `ready-in` or by `ready-is`: write one");
        }
        if state.is_some_and(|state| state.mask.is_some() && state.ready_is.is_none()) {
            bail!("[task.state] has a `mask`, which goes with `ready-is`");
        }
        if state.is_none() && self.objects.iter().any(|object| object.state.is_some()) {
            bail!("an [[object]] has a `state`, and there is no [task.state]");
        }
        if self.task.as_ref().is_some_and(|task| task.state.is_some() && task.rings.is_some()) {
            bail!("a task is ready by [task.state] or by [task.rings]: write one");
        }
        if self.sequences.iter().any(|sequence| sequence.name.is_empty()) {
            bail!("a [[sequence]] has a name, or one for each turn");
        }
        let mut names = BTreeSet::new();
        let all = self.sequences.iter().flat_map(|sequence| &sequence.name);
        if let Some(twice) = all.into_iter().find(|name| !names.insert(printable(name))) {
            bail!("two intervals are called `{}`: give each a name of its own", printable(twice));
        }
        let checks = self.task.as_ref().map_or(0, |task| task.checks.len());
        let ready = state.and_then(|state| state.ready_is.as_ref()).map_or(1, |is| is.all().len());
        if ready == 0 {
            bail!("[task.state] has no number in `ready-is`: write those of ready tasks");
        }
        for (what, count) in [
            ("tables [[sequence]]", self.sequences.len()),
            ("tables [[object]]", self.objects.len()),
            ("tables [[task.check]]", checks),
            ("numbers of `ready-is`", ready),
        ] {
            if count > MOST {
                bail!("it has {count} {what}, and at most {MOST} are watched");
            }
        }
        Ok(())
    }
}

/// The text of a view's file.
fn file(name: &str) -> Result<String> {
    let path = Path::new(name);
    let Some(file) = fs::metadata(path).ok().filter(fs::Metadata::is_file) else {
        let near = words::nearest_three(name, VIEWS.iter().map(|(name, _)| *name));
        bail!("there is no view `{}`: name a file, or did you mean {near}?", printable(name));
    };
    if file.len() > LONGEST {
        bail!("the view {} is longer than {} KiB", printable(name), LONGEST >> 10);
    }
    fs::read_to_string(path).with_context(|| format!("cannot read the view {}", printable(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_view_of_this_version_is_one() {
        assert!(VIEWS.len() >= 2);
        VIEWS.iter().for_each(|(name, _)| drop(View::read(name).unwrap()));
        let error = View::read("freertoss").unwrap_err().to_string();
        assert!(error.contains("did you mean freertos"), "{error}");
    }

    #[test]
    fn a_view_that_shows_nothing_or_contradicts_itself_is_refused() {
        let head = "kernel = \"a\"\noffsets-of = \"a\"\n";
        let check = |text: &str| {
            let view: View = from_toml(&format!("{head}{text}")).unwrap();
            view.check().unwrap_err().to_string()
        };
        assert!(check("").contains("shows nothing"));
        assert!(check("tasks-are-handlers = false").contains("shows nothing"));
        assert!(check("[running]\nvariable = \"a\"").contains("belong together"));
        let name = "[task]\nname = { at = { offset = 0 } }\n[running]\nvariable = \"a\"";
        assert!(check(name).contains("`bytes`"));
        let state =
            "[running]\nvariable = \"a\"\n[task]\nname = { at = { offset = 0 }, to-zero = 8 }\n";
        let both = "state = { at = { offset = 0 }, ready-in = \"a\", ready-is = 0 }";
        for end in ["state = { at = { offset = 0 } }", both] {
            assert!(check(&format!("{state}{end}")).contains("`ready-in` or by `ready-is`"));
        }
        let mask = "state = { at = { offset = 0 }, ready-in = \"a\", mask = 1 }";
        assert!(check(&format!("{state}{mask}")).contains("goes with `ready-is`"));
        for (numbers, why) in
            [("", "no number in"), (&"7, ".repeat(65), "65 numbers of `ready-is`")]
        {
            let list =
                format!("{state}state = {{ at = {{ offset = 0 }}, ready-is = [{numbers}] }}");
            assert!(check(&list).contains(why));
        }
        let object =
            "[[object]]\nlist = { offset = 0 }\nstate = 1\ncheck = { at = { offset = 0 }, is = 1 }";
        assert!(check(&format!("{state}{object}")).contains("there is no [task.state]"));
        assert!(check("[task]\n[running]\nvariable = \"a\"").contains("would go unseen"));
        let sequence = "[[sequence]]\nname = []\nfrom = \"a\"\nto = \"b\"";
        assert!(check(sequence).contains("has a name"));
        let sequence = "[[sequence]]\nname = \"a\"\nfrom = \"a\"\nto = \"b\"\n";
        assert!(check(&sequence.repeat(2)).contains("two intervals are called `a`"));
        let many: String =
            (0..65).map(|n| sequence.replacen("\"a\"", &format!("\"{n}\""), 1)).collect();
        assert!(check(&many).contains("65 tables [[sequence]], and at most 64"));
    }
}
