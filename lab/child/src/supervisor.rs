//! The supervisor: a process that ends the children and removes the folders of a program that was
//! killed.
//!
//! ```text
//! program ──pipe──► supervisor        one line for each group or folder held or released
//!    ✗ killed: the pipe closes ─────► kills the groups, removes the folders, ends
//! ```
//!
//! The supervisor has a process group of its own and ignores the signals that end programs by hand,
//! so that a signal to the program's group, or to both groups, does not end it. It is started with
//! the first group or folder. It holds no file of the program's but the pipe.

use std::{
    collections::BTreeSet,
    env, fs,
    io::{BufRead, Write, stdin},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{ChildStdin, Command, Stdio},
    sync::{Mutex, OnceLock, PoisonError},
};

use rustix::process::{Pid, Signal, kill_process_group};
use serde::{Deserialize, Serialize};

/// A resource that the supervisor ends or removes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Thing {
    /// A process group, by its number.
    Group(i32),
    File(PathBuf),
    Folder(PathBuf),
}

/// A line that the program writes to the supervisor.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line {
    Hold(Thing),
    Release(Thing),
}

/// The arguments that make this program call [`serve`], once [`enable`] was called.
static ARGUMENTS: OnceLock<&'static [&'static str]> = OnceLock::new();

/// Allows this process to start a supervisor: its own program with `arguments`, which must call
/// [`serve`]. Without this call nothing is supervised.
pub fn enable(arguments: &'static [&'static str]) {
    let _ = ARGUMENTS.set(arguments);
}

/// Something that the supervisor ends or removes while this value lives.
#[derive(Debug)]
pub struct Held(Option<Thing>);

/// Has the supervisor kill the process group when this process is killed.
pub(crate) fn hold_group(group: Pid) -> Held {
    hold(Thing::Group(group.as_raw_pid()))
}

/// Has the supervisor remove `folder`, with its contents, when this process is killed.
pub fn hold_folder(folder: &Path) -> Held {
    // A relative path would mean another folder once the program changes its own.
    std::path::absolute(folder).map_or(Held(None), |path| hold(Thing::Folder(path)))
}

/// Has the supervisor remove the file at `path`, if there is one, when this process is killed.
pub fn hold_file(path: &Path) -> Held {
    std::path::absolute(path).map_or(Held(None), |path| hold(Thing::File(path)))
}

fn hold(thing: Thing) -> Held {
    tell(&Line::Hold(thing.clone()));
    Held(Some(thing))
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(thing) = self.0.take() {
            tell(&Line::Release(thing));
        }
    }
}

/// Writes a line to the supervisor, which is started first if it is not running. Does nothing if it
/// cannot be started.
fn tell(line: &Line) {
    static PIPE: OnceLock<Option<Mutex<ChildStdin>>> = OnceLock::new();
    let Some(arguments) = ARGUMENTS.get() else { return };
    let Some(pipe) = PIPE.get_or_init(|| start(arguments).map(Mutex::new)) else { return };
    let mut pipe = pipe.lock().unwrap_or_else(PoisonError::into_inner);
    if let Ok(mut text) = serde_json::to_vec(line) {
        text.push(b'\n');
        // One write, so that a kill leaves a whole line or none. A supervisor that is gone cannot
        // be helped.
        let _ = pipe.write_all(&text);
    }
}

fn start(arguments: &[&str]) -> Option<ChildStdin> {
    let mut command = Command::new(env::current_exe().ok()?);
    command.args(arguments).process_group(0);
    // A pipe held open here would keep its reader waiting.
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    command.current_dir("/").spawn().ok()?.stdin.take()
}

/// The supervisor's whole life: reads lines from standard input until it closes, then kills the
/// groups and removes the folders that are still held.
///
/// Lines that do not parse are left out: the last one may have been cut.
pub fn serve() {
    // What ends programs by hand must not end this one before its work is done.
    let _ = ctrlc::set_handler(|| {});
    let mut held = BTreeSet::new();
    for line in stdin().lock().lines() {
        let Ok(line) = line else { break };
        match serde_json::from_str(&line) {
            Ok(Line::Hold(thing)) => drop(held.insert(thing)),
            Ok(Line::Release(thing)) => drop(held.remove(&thing)),
            Err(_) => {}
        }
    }
    // Groups come first in the order: a folder must have no writer any more when it is removed.
    held.iter().for_each(end);
}

fn end(thing: &Thing) {
    match thing {
        Thing::Group(group) => {
            // A group of one's own is never 0 or 1: those would mean others.
            if let Some(group) = Some(*group).filter(|&group| group > 1).and_then(Pid::from_raw) {
                let _ = kill_process_group(group, Signal::KILL);
            }
        }
        Thing::File(path) => drop(fs::remove_file(path)),
        Thing::Folder(path) => {
            // A writer that dies just now may add a file behind the removal.
            for _ in 0..10 {
                match fs::remove_dir_all(path) {
                    Err(_) if path.exists() => {
                        std::thread::sleep(std::time::Duration::from_millis(20))
                    }
                    _ => break,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_back_and_groups_come_first() {
        let things = [Thing::Folder("/tmp/a\nb".into()), Thing::Group(77)];
        let lines: Vec<String> = things
            .iter()
            .map(|thing| serde_json::to_string(&Line::Hold(thing.clone())).unwrap())
            .collect();
        assert!(lines.iter().all(|line| !line.contains('\n')), "{lines:?}");
        let mut read = BTreeSet::new();
        for line in &lines {
            let Line::Hold(thing) = serde_json::from_str(line).unwrap() else { panic!("{line}") };
            read.insert(thing);
        }
        assert_eq!(read.first(), Some(&Thing::Group(77)));
    }

    #[test]
    fn folders_end_and_strange_groups_do_nobody_harm() {
        let path = env::temp_dir().join(format!("chronoscope-supervised-{}", std::process::id()));
        fs::create_dir_all(path.join("deep")).unwrap();
        end(&Thing::Folder(path.clone()));
        assert!(!path.exists());
        for group in [-1, 0, 1] {
            end(&Thing::Group(group));
        }
    }
}
