//! The documentation site, made by MkDocs from `docs/`. It can be read from disk.

use std::{fs, path::Path, process::Command};

use anyhow::{Result, bail};

use crate::{command, packages, python, repository::root, say};

pub const USAGE: &str = "site FOLDER  \
    makes the documentation site in FOLDER, to be read from disk; a broken link is an error";

pub fn run(arguments: &[&str]) -> Result<()> {
    let [folder] = arguments else { bail!("usage: cargo xtask {USAGE}") };
    let folder = std::path::absolute(folder)?;
    if !has_venv() {
        packages::install(&["site"])?;
    }
    let venv = python::environment("site-venv", "tools/site/requirements.txt", "MkDocs")?;
    let mut mkdocs = Command::new(venv.join("bin/mkdocs"));
    mkdocs.args(["build", "--strict", "--quiet", "--config-file"]);
    mkdocs.arg(root().join("tools/site/mkdocs.yml")).arg("--site-dir").arg(&folder);
    command::run(&mut mkdocs)?;
    check_offline(&folder)?;
    say(&format!("{}", folder.join("index.html").display()));
    Ok(())
}

/// Checks that no page loads anything from a network.
///
/// # Errors
/// A page names a style, a script or a picture by the address of a server.
fn check_offline(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            check_offline(&path)?;
        } else if path.extension().is_some_and(|extension| extension == "html") {
            let text = fs::read_to_string(&path)?;
            let loads = ["src=\"http", "src=\"//", "<link href=\"http", "stylesheet\" href=\"http"];
            if let Some(load) = loads.iter().find(|load| text.contains(**load)) {
                bail!("{}: `{load}…` is loaded from a network", path.display());
            }
        }
    }
    Ok(())
}

/// Returns whether Python can make environments with pip in them.
fn has_venv() -> bool {
    let mut python = Command::new("/usr/bin/python3");
    command::succeeds(python.args(["-c", "import ensurepip, venv"]))
}
