//! Gives the linker the chip's memory, and riscv-rt's macros the base instruction set.

use std::{env, fs, path::PathBuf};

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::copy("memory.x", out.join("memory.x")).expect("the script is beside build.rs");
    println!("cargo:rerun-if-changed=memory.x");
    println!("cargo:rustc-link-search={}", out.display());
    println!("cargo:rustc-env=RISCV_RT_BASE_ISA=rv64i");
}
