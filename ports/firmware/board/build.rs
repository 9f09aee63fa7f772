//! Selects the machine of the image by its target's name.

use std::env;

/// The beginnings of targets' names, and the values of `cfg(machine)`.
const MACHINES: [(&str, &str); 6] = [
    ("thumbv7em", "cortex-m4"),
    ("thumbv7m", "cortex-m4"),
    ("thumbv6m", "cortex-m0"),
    ("thumbv8m.main", "cortex-m33"),
    ("riscv32", "rv32"),
    ("riscv64", "rv64"),
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let names: Vec<String> = MACHINES.iter().map(|(_, name)| format!("\"{name}\"")).collect();
    println!("cargo::rustc-check-cfg=cfg(machine, values({}))", names.join(", "));
    let target = env::var("TARGET").expect("cargo sets it");
    let machine = MACHINES.iter().find(|(start, _)| target.starts_with(start));
    let (_, machine) = machine.expect("a target with a chip in ports/firmware/chips");
    println!("cargo::rustc-cfg=machine=\"{machine}\"");
}
