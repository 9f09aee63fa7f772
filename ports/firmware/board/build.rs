//! Selects the chip's crate by the target's name: a row of the table of chips.

use std::{env, fs, path::PathBuf};

use chronoscope_chips::Table;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = env::var("TARGET").expect("cargo sets it");
    let table = Table::read();
    let chip = table.with_images(&target);
    let sources = chip.and_then(|chip| chip.sources.as_ref());
    let name = sources.expect("a chip of machines.toml that has images").replace('-', "_");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("chip.rs"), format!("pub use chronoscope_{name}::*;\n"))
        .expect("OUT_DIR is writable");
}
