//! Gives the linker `program.x`.

use std::{env, fs, path::PathBuf};

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::copy("program.x", out.join("program.x")).expect("the script is beside build.rs");
    println!("cargo::rerun-if-changed=program.x");
    println!("cargo::rustc-link-search={}", out.display());
}
