//! Sets `CHRONOSCOPE_REVISION` to the commit that the program is built from, with `-dirty` if the
//! sources differ from it; to nothing where there is no repository.

use std::{path::Path, process::Command};

/// The output of git in this folder, if it succeeds.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    output.status.success().then_some(text)
}

/// The sources of the program and of the crates below it, which alone are not compiled anew after a
/// commit.
const SOURCES: [&str; 19] = [
    "src",
    "base/src",
    "capture/src",
    "child/src",
    "engine/src",
    "machine/src",
    "report/src",
    "run/src",
    "statistics/src",
    "store/src",
    "trust/src",
    "units/src",
    "../chips/machines.toml",
    "../chips/src",
    "../cycles/src",
    "../suite/src",
    "../studies",
    "../views",
    "../Cargo.lock",
];

fn main() {
    let mut revision = None;
    println!("cargo::rerun-if-changed=build.rs");
    for sources in SOURCES {
        println!("cargo::rerun-if-changed={sources}");
    }
    // It grows with each commit.
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"]);
    if let Some(log) = log.filter(|log| Path::new(log).exists()) {
        println!("cargo::rerun-if-changed={log}");
        revision = git(&["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]);
    }
    println!("cargo::rustc-env=CHRONOSCOPE_REVISION={}", revision.unwrap_or_default());
}
