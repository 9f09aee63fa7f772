//! Writes the linker script with the chip's memory map.

use std::{env, fs, path::PathBuf};

/// The second stage of the boot loader is in the first 256 bytes of the flash.
const PICO: &str = "MEMORY { BOOT2 : ORIGIN = 0x10000000, LENGTH = 256
 FLASH : ORIGIN = 0x10000100, LENGTH = 2048K - 256
 RAM : ORIGIN = 0x20000000, LENGTH = 256K }
SECTIONS { .boot2 ORIGIN(BOOT2) : { KEEP(*(.boot2)); } > BOOT2 } INSERT BEFORE .text;
";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("memory.x"), PICO).expect("the output directory can be written");
    fs::write(out.join("device.x"), "").expect("the output directory can be written");
    println!("cargo::rustc-link-search={}", out.display());
    println!("cargo::rustc-link-arg-bins=-Tlink.x");
}
