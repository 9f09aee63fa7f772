//! Selects the emulated board by the target's name, writes the linker script with its memory map,
//! and sets `cfg`s for its chip, FPU and instruction set.

use std::{env, fs, path::PathBuf};

/// An emulated board.
struct Board {
    /// The beginning of the target's name.
    target: &'static str,
    /// The feature that selects this board among the boards of its target.
    feature: Option<&'static str>,
    /// The value of `cfg(chip)`.
    chip: &'static str,
    has_fpu: bool,
    /// The instruction set is ARMv6-M's.
    is_thumb1: bool,
    /// A page of code in machine mode precedes the image.
    in_supervisor_mode: bool,
    flash: u32,
    ram: u32,
}

const BOARDS: [Board; 7] = [
    Board::new("thumbv7em", "an500", 0, 0x2000_0000).with_fpu().only_with("CORTEX_M7"),
    Board::new("thumbv7em", "stm32", 0x0800_0000, 0x2000_0000).with_fpu(),
    Board::new("thumbv7m", "stm32", 0x0800_0000, 0x2000_0000),
    Board::new("thumbv8m.main", "an505", 0x1000_0000, 0x3800_0000).with_fpu(),
    Board::new("thumbv6m", "nrf51", 0, 0x2000_0000).with_thumb1(),
    Board::new("riscv32", "virt", 0x8000_0000, 0x8002_0000),
    Board::new("riscv64", "virt", 0x8000_1000, 0x8004_0000).in_supervisor_mode(),
];

impl Board {
    const fn new(target: &'static str, chip: &'static str, flash: u32, ram: u32) -> Self {
        Self {
            target,
            feature: None,
            chip,
            has_fpu: false,
            is_thumb1: false,
            in_supervisor_mode: false,
            flash,
            ram,
        }
    }

    const fn with_fpu(self) -> Self {
        Self { has_fpu: true, ..self }
    }

    const fn with_thumb1(self) -> Self {
        Self { is_thumb1: true, ..self }
    }

    const fn in_supervisor_mode(self) -> Self {
        Self { in_supervisor_mode: true, ..self }
    }

    const fn only_with(self, feature: &'static str) -> Self {
        Self { feature: Some(feature), ..self }
    }

    fn is_selected(&self, target: &str) -> bool {
        target.starts_with(self.target) && self.feature.is_none_or(has_feature)
    }
}

fn has_feature(name: &str) -> bool {
    env::var_os(format!("CARGO_FEATURE_{name}")).is_some()
}

const ALIASES: &str = r#"
REGION_ALIAS("REGION_TEXT", FLASH); REGION_ALIAS("REGION_RODATA", FLASH);
REGION_ALIAS("REGION_DATA", RAM); REGION_ALIAS("REGION_BSS", RAM);
REGION_ALIAS("REGION_HEAP", RAM); REGION_ALIAS("REGION_STACK", RAM);
"#;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(fpu)");
    println!("cargo::rustc-check-cfg=cfg(thumb1)");
    println!(
        "cargo::rustc-check-cfg=cfg(chip, values(\"stm32\", \"an500\", \"an505\", \"nrf51\", \"virt\"))"
    );
    let target = env::var("TARGET").expect("cargo sets it");
    let board = BOARDS.iter().find(|board| board.is_selected(&target)).expect("a known chip");
    println!("cargo::rustc-cfg=chip=\"{}\"", board.chip);
    for (name, _) in [("fpu", board.has_fpu), ("thumb1", board.is_thumb1)].iter().filter(|x| x.1) {
        println!("cargo::rustc-cfg={name}");
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let write =
        |name, text| fs::write(out.join(name), text).expect("the output directory can be written");
    println!("cargo::rustc-link-search={}", out.display());
    let Board { flash, ram, .. } = board;
    let flash_size = if board.chip == "nrf51" { "256K" } else { "1024K" };
    let is_riscv = board.chip == "virt";
    let flash_size = if is_riscv { "128K" } else { flash_size };
    let ram_size = if board.in_supervisor_mode { "256K" } else { "128K" };
    let memory = format!(
        "MEMORY {{ FLASH : ORIGIN = {flash:#x}, LENGTH = {flash_size}\n \
         RAM : ORIGIN = {ram:#x}, LENGTH = {ram_size} }}\n"
    );
    let first = if board.in_supervisor_mode { "INCLUDE machine-mode.x\n" } else { "" };
    if is_riscv {
        write("memory.x", format!("{first}{memory}{ALIASES}"));
        println!("cargo::rustc-link-arg-bins=-Tmemory.x");
        println!("cargo::rustc-link-arg-bins=-Ttandem.x");
    } else {
        write("memory.x", memory);
        write("device.x", String::new());
    }
    println!("cargo::rustc-link-arg-bins=-Tlink.x");
}
