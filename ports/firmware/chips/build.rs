//! Build script of every chip's crate: gives the linker the chip's memory, by the table of chips, and
//! the scripts of the crate's folder, and selects the chip's timers.

use std::{env, fs};

use chronoscope_chips::Table;

#[path = "../scripts.rs"]
mod scripts;

fn main() {
    let out = scripts::copy();
    let target = env::var("TARGET").expect("cargo sets it");
    let table = Table::read();
    let chip = table.with_images(&target).expect("a chip of machines.toml that has images");
    let mut memory = chip.linker_script();
    if out.join("sections.x").is_file() {
        memory += "INCLUDE sections.x\n";
    }
    fs::write(out.join("memory.x"), memory).expect("OUT_DIR is writable");
    let known = table.chips.iter().filter_map(|chip| chip.timers.as_ref());
    let known: Vec<String> = known.map(|timers| format!("\"{timers}\"")).collect();
    println!("cargo::rustc-check-cfg=cfg(timers, values({}))", known.join(", "));
    // A file of cortex-m4's that other chips share asks for it; they have no such kernel.
    println!("cargo::rustc-check-cfg=cfg(feature, values(\"basepri\"))");
    if let Some(timers) = &chip.timers {
        println!("cargo::rustc-cfg=timers=\"{timers}\"");
    }
    // The base instruction set, for riscv-rt's macros.
    if let Some(bits) = chip.architecture().strip_prefix("riscv") {
        println!("cargo::rustc-env=RISCV_RT_BASE_ISA=rv{bits}i");
    }
}
