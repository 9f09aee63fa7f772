//! Writes the linker script with the chip's memory map, and the programs in tandem's README and
//! guide, so that they are compiled as they stand there.

use std::{env, fs, path::PathBuf};

const GUIDE: &str = "../../src/guide/guide.md";

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
    // The attributes of the crate and of its entry are in the file that includes the program.
    let lines = program.expect("the README has a program").lines();
    let is_elsewhere = |line: &str| line.starts_with("#![") || line == "#[cortex_m_rt::entry]";
    let lines: Vec<&str> = lines.filter(|line| !is_elsewhere(line)).collect();
    fs::write(out.join("readme.rs"), lines.join("\n"))
        .expect("the output directory can be written");
    println!("cargo::rerun-if-changed={GUIDE}");
    let guide = fs::read_to_string(GUIDE).expect("tandem has a guide");
    fs::write(out.join("guide.rs"), programs(&guide)).expect("the output directory can be written");
    println!("cargo::rustc-link-search={}", out.display());
    println!("cargo::rustc-link-arg-bins=-Tlink.x");
    if env::var_os("CARGO_FEATURE_DEFMT").is_some() {
        println!("cargo::rustc-link-arg-bin=log=-Tdefmt.x");
    }
}

/// A module for each program of the guide, and a table of them with the headings above them. Lines
/// that rustdoc hides are left out.
fn programs(guide: &str) -> String {
    let (mut modules, mut table) = (String::new(), String::new());
    for (number, section) in guide.split("\n# ").enumerate() {
        let heading = section.lines().next().unwrap_or_default();
        let Some(program) = section.split("```no_run\n").nth(1) else { continue };
        let program = program.split("```").next().unwrap_or_default();
        let lines: Vec<&str> = program.lines().filter(|line| !line.starts_with("# ")).collect();
        modules += &format!(
            "mod program_{number} {{\n{}\npub fn start(me: &tandem::Me) {{ run(me) }}\n}}\n",
            lines.join("\n")
        );
        table += &format!("    ({heading:?}, program_{number}::start),\n");
    }
    format!(
        "type Program = (&'static str, fn(&tandem::Me));\n{modules}\
         static PROGRAMS: &[Program] = &[\n{table}];\n"
    )
}
