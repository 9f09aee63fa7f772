//! Selects the emulated board by the target's name and the features: a row of the table of chips.
//! Writes the linker script with its memory map, and sets `cfg`s for its chip, FPU and instruction
//! set.

use std::{env, fs, path::PathBuf};

use chronoscope_chips::{Chip, Table};

fn has_feature(name: &str) -> bool {
    let name = name.to_uppercase().replace('-', "_");
    env::var_os(format!("CARGO_FEATURE_{name}")).is_some()
}

/// The feature that selects a chip among the chips of its target.
fn feature(chip: &Chip) -> Option<&str> {
    chip.tandem.as_ref()?.feature.as_deref()
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = env::var("TARGET").expect("cargo sets it");
    let table = Table::read();
    let is_selected = |chip: &&Chip| chip.triple == target && feature(chip).is_none_or(has_feature);
    let known = table.chips.iter().filter(|chip| chip.tandem.is_some());
    let chip = known.clone().filter(is_selected).max_by_key(|chip| feature(chip).is_some());
    let chip = chip.expect("a chip of machines.toml with tandem's images");
    let board = |chip: &Chip| chip.tandem.as_ref().map(|tandem| format!("\"{}\"", tandem.board));
    let boards: Vec<String> = known.filter_map(board).collect();
    println!("cargo::rustc-check-cfg=cfg(chip, values({}))", boards.join(", "));
    println!("cargo::rustc-cfg=chip={}", board(chip).expect("selected by it"));
    let (has_fpu, is_thumb1) = (target.ends_with("hf"), target.starts_with("thumbv6m"));
    for (name, has) in [("fpu", has_fpu), ("thumb1", is_thumb1)] {
        println!("cargo::rustc-check-cfg=cfg({name})");
        if has {
            println!("cargo::rustc-cfg={name}");
        }
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let write =
        |name, text| fs::write(out.join(name), text).expect("the output directory can be written");
    println!("cargo::rustc-link-search={}", out.display());
    write("memory.x", chip.linker_script());
    if chip.architecture() == "arm" {
        write("device.x", String::new());
    } else {
        println!("cargo::rustc-link-arg-bins=-Tmemory.x");
        println!("cargo::rustc-link-arg-bins=-Ttandem.x");
    }
    println!("cargo::rustc-link-arg-bins=-Tlink.x");
    if has_feature("guards") {
        // Where that image's heap is.
        let symbol = "--defsym=_tandem_handlers_guard=__sheap";
        println!("cargo::rustc-link-arg-bin=heap_overlaps={symbol}");
    }
}
