//! Writes the linker script with the memory of the emulated Cortex-M4.

use std::{env, fs, path::PathBuf};

use chronoscope_chips::Table;

fn main() {
    let table = Table::read();
    let chip = table.chips.iter().find(|chip| chip.name == "cortex-m4");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let write =
        |name, text| fs::write(out.join(name), text).expect("the output directory can be written");
    write("memory.x", chip.expect("it is in machines.toml").linker_script());
    // The program has the whole vector table.
    write("device.x", String::new());
    println!("cargo::rustc-link-search={}", out.display());
    println!("cargo::rustc-link-arg-bins=-Tlink.x");
}
