//! The user's repository, as `git` shows it to a bisection.

use std::{process::Command, sync::atomic::AtomicBool};

use anyhow::{Context, Result, bail};
use chronoscope_base::console;
use chronoscope_child as child;
use chronoscope_units::printable;

/// A repository whose checkout a bisection changes. Dropping it puts the checkout back.
pub struct Repository<'a> {
    stop: &'a AtomicBool,
}

/// The answer of `git bisect` to a verdict.
pub enum Next {
    /// Another commit is checked out.
    Try,
    /// The first commit with the change.
    Found(String),
}

impl<'a> Repository<'a> {
    /// Begins a bisection in the repository of the present folder.
    ///
    /// # Errors
    /// There is no repository, it has changes, or it is in a bisection already.
    pub fn begin(stop: &'a AtomicBool) -> Result<Self> {
        let changes = git(&["status", "--porcelain", "--untracked-files=no"], stop)?;
        if let Some(first) = changes.lines().next() {
            bail!("the checkout has changes, as {}: commit or stash them first", printable(first));
        }
        if git(&["bisect", "log"], stop).is_ok() {
            bail!("the repository is in a bisection: `git bisect reset` ends it");
        }
        git(&["bisect", "start"], stop)?;
        Ok(Self { stop })
    }

    /// The full hash of the commit that a word names.
    ///
    /// # Errors
    /// The word names no commit.
    pub fn commit(&self, word: &str) -> Result<String> {
        let name = format!("{word}^{{commit}}");
        let found = git(&["rev-parse", "--verify", "--end-of-options", &name], self.stop);
        let found = found.with_context(|| format!("`{word}` names no commit"))?;
        Ok(found.trim().to_owned())
    }

    /// The number of commits after `good` up to `bad`.
    ///
    /// # Errors
    /// `good` is not an ancestor of `bad`.
    pub fn distance(&self, good: &str, bad: &str) -> Result<usize> {
        let is_before = git(&["merge-base", "--is-ancestor", good, bad], self.stop);
        let [before, after] = [good, bad].map(|commit| &commit[..10]);
        is_before
            .with_context(|| format!("{before} is not before {after}: name an earlier commit"))?;
        let count = git(&["rev-list", "--count", &format!("{good}..{bad}")], self.stop)?;
        Ok(count.trim().parse()?)
    }

    /// Checks a commit out.
    pub fn check_out(&self, commit: &str) -> Result<()> {
        git(&["checkout", "-q", "--detach", commit], self.stop).map(drop)
    }

    /// The commit that is checked out.
    pub fn head(&self) -> Result<String> {
        self.commit("HEAD")
    }

    /// Tells `git bisect` a verdict on a commit: `good`, `bad` or `skip`.
    ///
    /// # Errors
    /// Commits were skipped, so that several may be the first bad one.
    pub fn tell(&self, verdict: &str, commit: &str) -> Result<Next> {
        let answer = git(&["bisect", verdict, commit], self.stop);
        let text = answer.map_err(|error| match error.to_string().contains("could be any of") {
            true => {
                error.context("the change is in one of several commits, since some cannot be built")
            }
            false => error,
        })?;
        let found = text.lines().find_map(|line| line.strip_suffix(" is the first bad commit"));
        Ok(found.map_or(Next::Try, |commit| Next::Found(commit.to_owned())))
    }

    /// A commit's short name, its author's date and its subject.
    pub fn described(&self, commit: &str) -> Result<String> {
        let text = git(&["show", "-s", "--format=%h %as %s", commit], self.stop)?;
        Ok(printable(text.trim()))
    }
}

impl Drop for Repository<'_> {
    fn drop(&mut self) {
        let never = AtomicBool::new(false);
        if let Err(error) = git(&["bisect", "reset"], &never) {
            let mend = "call `git bisect reset` yourself";
            console::remark(&format!(
                "the checkout is still at a commit of the bisection: {error:#}: {mend}"
            ));
        }
    }
}

/// The output of a git command.
fn git(arguments: &[&str], stop: &AtomicBool) -> Result<String> {
    let output =
        child::output(Command::new("git").args(arguments), stop).context("bisect needs git")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        let words = if errors.trim().is_empty() { text.trim() } else { errors.trim() };
        let words: Vec<String> = words.lines().map(printable).collect();
        match words.is_empty() {
            true => bail!("git {} says no", arguments[0]),
            false => bail!("git {}: {}", arguments[0], words.join("; ")),
        }
    }
    Ok(text)
}
