//! Gives the linker `machine-mode.x`.

use std::{env, fs, path::PathBuf};

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::copy("machine-mode.x", out.join("machine-mode.x")).expect("the script is beside build.rs");
    println!("cargo::rerun-if-changed=machine-mode.x");
    println!("cargo::rustc-link-search={}", out.display());
}
