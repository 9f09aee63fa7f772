//! Writes the linker script `tandem.x` for RISC-V: a default handler for every interrupt for which
//! the application defines none.

use std::{env, fmt::Write, fs, path::PathBuf};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "riscv32") {
        let machine = ["MachineSoft", "MachineTimer", "MachineExternal"].map(String::from);
        let local = (16..32).map(|line| format!("Local{line}"));
        let mut script = String::new();
        for name in machine.into_iter().chain(local) {
            writeln!(script, "PROVIDE({name} = tandem_stray);").expect("a string takes everything");
        }
        let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
        fs::write(out.join("tandem.x"), script).expect("the output directory can be written");
        println!("cargo::rustc-link-search={}", out.display());
    }
}
