//! Build script of packages with linker scripts: gives the linker every `.x` file of the package's
//! folder.

use std::{env, fs, path::PathBuf};

/// Copies the scripts to OUT_DIR, where the linker searches, and returns that folder.
pub fn copy() -> PathBuf {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    for entry in fs::read_dir(".").expect("cargo starts in the package's folder") {
        let path = entry.expect("the folder is readable").path();
        if path.extension().is_some_and(|extension| extension == "x") {
            let name = path.file_name().expect("a file has a name");
            fs::copy(&path, out.join(name)).expect("OUT_DIR is writable");
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    // A package that has no script yet.
    println!("cargo::rerun-if-changed=Cargo.toml");
    println!("cargo::rustc-link-search={}", out.display());
    out
}

#[allow(dead_code, reason = "chips/build.rs has a main function of its own")]
fn main() {
    copy();
}
