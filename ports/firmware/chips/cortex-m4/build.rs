//! Gives the linker the chip's memory and the defaults of its interrupt handlers.

use std::{env, fs, path::PathBuf};

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    for script in ["memory.x", "device.x"] {
        fs::copy(script, out.join(script)).expect("the script is beside build.rs");
        println!("cargo:rerun-if-changed={script}");
    }
    println!("cargo:rustc-link-search={}", out.display());
}
