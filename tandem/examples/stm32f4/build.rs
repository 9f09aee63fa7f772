//! Writes the linker script with the chip's memory map, and the program in tandem's README, so that
//! it is compiled as it stands there.

use std::{env, fs, path::PathBuf};

const STM32F405: &str = "MEMORY { FLASH : ORIGIN = 0x08000000, LENGTH = 1024K
 RAM : ORIGIN = 0x20000000, LENGTH = 128K }
";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("memory.x"), STM32F405).expect("the output directory can be written");
    fs::write(out.join("device.x"), "").expect("the output directory can be written");
    println!("cargo::rerun-if-changed=../../README.md");
    let readme = fs::read_to_string("../../README.md").expect("tandem has a README");
    let program = readme.split("```rust,ignore\n").nth(1).and_then(|rest| rest.split("```").next());
    // The attributes of the crate are in the file that includes the program.
    let lines = program.expect("the README has a program").lines();
    let lines: Vec<&str> = lines.filter(|line| !line.starts_with("#![")).collect();
    fs::write(out.join("readme.rs"), lines.join("\n"))
        .expect("the output directory can be written");
    println!("cargo::rustc-link-search={}", out.display());
    println!("cargo::rustc-link-arg-bins=-Tlink.x");
    if env::var_os("CARGO_FEATURE_DEFMT").is_some() {
        println!("cargo::rustc-link-arg-bin=log=-Tdefmt.x");
    }
}
