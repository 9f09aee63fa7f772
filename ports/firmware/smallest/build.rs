//! Gives the linker the memory of the chip `cortex-m4`, and a default for the only interrupt.

use std::{env, fs, path::PathBuf};

const MEMORY: &str = "../chips/cortex-m4/memory.x";

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::copy(MEMORY, out.join("memory.x")).expect("the chip's folder has memory.x");
    fs::write(out.join("device.x"), "PROVIDE(LINE = DefaultHandler);\n")
        .expect("OUT_DIR is writable");
    println!("cargo:rustc-link-search={}", out.display());
    println!("cargo:rerun-if-changed={MEMORY}");
}
