//! A side of a comparison: a checkout of the repository, with the program that its front script
//! `./chronoscope` builds. The module measures sets of cases, and does not compare them.

use std::{
    env,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::list::{self, CaseSet, Cases};
use crate::repository::{root, target};

/// The exit statuses of a program that has written a run: passed, limit missed, inconclusive.
const MEASURED: [i32; 3] = [0, 2, 4];

/// A checkout with a build folder of its own.
pub struct Revision {
    /// The name in messages, and in the names of files.
    pub name: &'static str,
    /// The root of the checkout.
    folder: PathBuf,
    /// The build folder.
    target: PathBuf,
}

/// The result of a set of cases.
pub struct Measured {
    /// The JSON of the run.
    pub run: Value,
    /// The program's exit status.
    pub status: i32,
}

impl Revision {
    /// The working tree, with the build folder of this build.
    pub fn working_tree() -> Result<Self> {
        Ok(Self { name: "tree", folder: root().to_owned(), target: target()? })
    }

    /// Checks `commit` out below the build folder, unless an earlier call has done so. The checkout
    /// has a build folder of its own, `target`, which later calls use again.
    ///
    /// # Errors
    /// git does not know the commit, or cannot check it out.
    pub fn check_out(commit: &str) -> Result<Self> {
        let commit = git(root(), &["rev-parse", "--verify", &format!("{commit}^{{commit}}")])?;
        let folder = target()?.join("same").join(&commit[..12]);
        if !is_unchanged(&folder, &commit) {
            // An interrupted call may have left the folder.
            let _ = fs::remove_dir_all(&folder);
            git(root(), &["worktree", "prune"])?;
            let path = folder.display().to_string();
            git(root(), &["worktree", "add", "--quiet", "--detach", &path, &commit])?;
        }
        Ok(Self { name: "base", target: folder.join("target"), folder })
    }

    /// Uses the checkout of `commit` in `folder`, with its build folder `target`.
    ///
    /// # Errors
    /// The folder has another commit, or changed files.
    pub fn from_checkout(commit: &str, folder: &Path) -> Result<Self> {
        let folder = std::path::absolute(folder)?;
        let commit = git(root(), &["rev-parse", "--verify", &format!("{commit}^{{commit}}")])?;
        let path = folder.display();
        ensure!(is_unchanged(&folder, &commit), "{path} is no unchanged checkout of {commit}");
        Ok(Self { name: "base", target: folder.join("target"), folder })
    }

    /// Builds the program, and returns the words that its command `list` prints. The names of all
    /// targets are among them.
    ///
    /// # Errors
    /// The program does not build.
    pub fn build(&self) -> Result<Vec<String>> {
        let output = self.front().arg("list").stderr(std::process::Stdio::inherit()).output();
        let output = output.context("cannot start ./chronoscope")?;
        ensure!(output.status.success(), "the {} does not build", self.name);
        let words = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(words.split_whitespace().map(str::to_owned).collect())
    }

    /// Measures a set of cases; the JSON is written to `folder`. `known` has the names of all
    /// targets; targets of the set that it lacks are left out.
    ///
    /// # Errors
    /// The program ends without a run; the message has its last line on standard error. Or `known`
    /// has no target of the set.
    pub fn measure(&self, set: &CaseSet, known: &[String], folder: &Path) -> Result<Measured> {
        let mut program = self.front();
        program.arg("run");
        match set.cases {
            Cases::Experiments { experiments, targets, options } => {
                let is_known = |target: &&&str| known.iter().any(|word| word == *target);
                let targets: Vec<_> = targets.iter().filter(is_known).copied().collect();
                ensure!(!targets.is_empty(), "the {} has no target of {}", self.name, set.name);
                program.args(experiments).args(options).args(["--target", &targets.join(",")]);
            }
            Cases::Study(name) => {
                let study = self.folder.join(format!("studies/{name}.toml"));
                let text =
                    fs::read_to_string(&study).with_context(|| study.display().to_string())?;
                let file = folder.join(format!("{name}-{}.toml", self.name));
                fs::write(&file, list::without_varying(&text)?)?;
                program.arg("--study").arg(file);
            }
        }
        let file = folder.join(format!("{}-{}.json", set.name, self.name));
        program.args(["--no-store", "-q", "--format", "json", "-o"]).arg(&file);
        let output = program.output().context("cannot start ./chronoscope")?;
        let status = output.status.code().filter(|status| MEASURED.contains(status));
        let Some(status) = status else {
            let ended = output.status;
            bail!("the program of the {} ended with {ended}: {}", self.name, last_line(&output));
        };
        let text = fs::read(&file).with_context(|| file.display().to_string())?;
        let run = serde_json::from_slice(&text).with_context(|| file.display().to_string())?;
        Ok(Measured { run, status })
    }

    /// The command `./chronoscope` of the checkout, without the variables `CHRONOSCOPE_*` of this
    /// process.
    fn front(&self) -> Command {
        let mut front = Command::new(self.folder.join("chronoscope"));
        for (name, _) in env::vars_os().filter(|(name, _)| is_setting(name)) {
            front.env_remove(name);
        }
        front.current_dir(&self.folder).env("CARGO_TARGET_DIR", &self.target);
        front
    }
}

fn is_setting(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| name.starts_with("CHRONOSCOPE_"))
}

/// Returns whether the folder has this commit, and no changed files.
fn is_unchanged(folder: &Path, commit: &str) -> bool {
    // A folder without a checkout would show the repository around it.
    let has_checkout = folder.join(".git").exists();
    has_checkout
        && git(folder, &["rev-parse", "HEAD"]).is_ok_and(|head| head == commit)
        && git(folder, &["status", "--porcelain", "--untracked-files=no"])
            .is_ok_and(|changes| changes.is_empty())
}

/// Runs git in a folder, and returns its output.
fn git(folder: &Path, arguments: &[&str]) -> Result<String> {
    let mut git = Command::new("git");
    let output = git.args(arguments).current_dir(folder).output().context("cannot start git")?;
    let words = arguments.join(" ");
    ensure!(output.status.success(), "git {words}: {}", last_line(&output));
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn last_line(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    text.trim_end().lines().next_back().unwrap_or("it printed nothing").to_owned()
}
