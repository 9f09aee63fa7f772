//! The supervisor: a process that ends the children and removes the folders of a program that was
//! killed.
//!
//! ```text
//! program ──pipe──► supervisor        one line for each group or folder held or released
//!    ✗ killed: the pipe closes ─────► kills the groups, removes the folders, ends
//! ```
//!
//! The supervisor has a process group of its own and ignores SIGINT, SIGTERM and SIGHUP, so that a
//! signal to the program's group, or to both groups, does not end it. The first group or folder
//! starts it. The supervisor keeps no file of the program open but the pipe.

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
enum Resource {
    /// A process group, by its number.
    Group(i32),
    /// A file, by its absolute path.
    File(PathBuf),
    /// A folder with its contents, by its absolute path.
    Folder(PathBuf),
}

/// A line that the program writes to the supervisor.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line {
    Hold(Resource),
    Release(Resource),
}

/// The arguments that make this program call [`serve`], once [`enable`] was called.
static ARGUMENTS: OnceLock<&'static [&'static str]> = OnceLock::new();

/// Allows this process to start a supervisor: its own program with `arguments`, which must call
/// [`serve`]. Without this call nothing is supervised.
pub fn enable(arguments: &'static [&'static str]) {
    let _ = ARGUMENTS.set(arguments);
}

/// A registration: while this value lives, the supervisor ends or removes the resource when the
/// program is killed.
#[derive(Debug)]
pub struct Supervised(Option<Resource>);

/// Registers a process group, which the supervisor kills when this process is killed.
pub(crate) fn hold_group(group: Pid) -> Supervised {
    hold(Resource::Group(group.as_raw_pid()))
}

/// Registers `folder`, which the supervisor removes with its contents when this process is killed.
pub fn hold_folder(folder: &Path) -> Supervised {
    // A relative path would mean another folder after a change of the working directory.
    std::path::absolute(folder).map_or(Supervised(None), |path| hold(Resource::Folder(path)))
}

/// Registers the file at `path`, which the supervisor removes, if it exists, when this process is
/// killed.
pub fn hold_file(path: &Path) -> Supervised {
    std::path::absolute(path).map_or(Supervised(None), |path| hold(Resource::File(path)))
}

fn hold(resource: Resource) -> Supervised {
    send(&Line::Hold(resource.clone()));
    Supervised(Some(resource))
}

impl Drop for Supervised {
    fn drop(&mut self) {
        if let Some(resource) = self.0.take() {
            send(&Line::Release(resource));
        }
    }
}

/// Writes a line to the supervisor, and starts the supervisor at the first call. Does nothing if it
/// cannot be started.
fn send(line: &Line) {
    static PIPE: OnceLock<Option<Mutex<ChildStdin>>> = OnceLock::new();
    let Some(arguments) = ARGUMENTS.get() else { return };
    let Some(pipe) = PIPE.get_or_init(|| start(arguments).map(Mutex::new)) else { return };
    let mut pipe = pipe.lock().unwrap_or_else(PoisonError::into_inner);
    if let Ok(mut text) = serde_json::to_vec(line) {
        text.push(b'\n');
        // One write, so that a kill leaves a whole line or none. The error of a supervisor that has
        // ended has no remedy.
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

/// Runs the supervisor: reads lines from standard input until it closes, then kills the registered
/// groups and removes the registered folders. Lines that do not parse are left out, since the last
/// one may be incomplete.
pub fn serve() {
    // Ignores the signals: the work begins only when the program has ended.
    let _ = ctrlc::set_handler(|| {});
    let mut held = BTreeSet::new();
    for line in stdin().lock().lines() {
        let Ok(line) = line else { break };
        match serde_json::from_str(&line) {
            Ok(Line::Hold(resource)) => drop(held.insert(resource)),
            Ok(Line::Release(resource)) => drop(held.remove(&resource)),
            Err(_) => {}
        }
    }
    // Groups come first in the order: a folder must have no writer any more when it is removed.
    held.iter().for_each(end);
}

fn end(resource: &Resource) {
    match resource {
        Resource::Group(group) => {
            // The number of a child's group is never 0 or 1, which mean other processes.
            if let Some(group) = Some(*group).filter(|&group| group > 1).and_then(Pid::from_raw) {
                let _ = kill_process_group(group, Signal::KILL);
            }
        }
        Resource::File(path) => drop(fs::remove_file(path)),
        Resource::Folder(path) => {
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
        let resources = [Resource::Folder("/tmp/a\nb".into()), Resource::Group(77)];
        let lines: Vec<String> = resources
            .iter()
            .map(|resource| serde_json::to_string(&Line::Hold(resource.clone())).unwrap())
            .collect();
        assert!(lines.iter().all(|line| !line.contains('\n')), "{lines:?}");
        let mut read = BTreeSet::new();
        for line in &lines {
            let Line::Hold(resource) = serde_json::from_str(line).unwrap() else {
                panic!("{line}")
            };
            read.insert(resource);
        }
        assert_eq!(read.first(), Some(&Resource::Group(77)));
    }

    #[test]
    fn folders_are_removed_and_odd_groups_are_ignored() {
        let path = env::temp_dir().join(format!("chronoscope-supervised-{}", std::process::id()));
        fs::create_dir_all(path.join("deep")).unwrap();
        end(&Resource::Folder(path.clone()));
        assert!(!path.exists());
        for group in [-1, 0, 1] {
            end(&Resource::Group(group));
        }
    }
}
