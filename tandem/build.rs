//! Sets `cfg`s for the processor's family, FPU, instruction set and stack guard, by the target's name.
//! The rules follow instruction sets; a list of chips would tie the crate to this repository.
//! Writes the linker script `tandem.x` for RISC-V: a default handler for every interrupt for which
//! the application defines none.

use std::{env, fmt::Write, fs, path::PathBuf};

/// Cortex-M processors, by the beginning of their targets' names: whether the instruction set is
/// ARMv6-M's, whether tasks may use an FPU, and what guards the stacks.
const CORTEX_M: [(&str, bool, bool, &str); 7] = [
    ("thumbv6m", true, false, "software"),
    ("thumbv7m", false, false, "mpu"),
    ("thumbv7em", false, true, "mpu"),
    ("thumbv8m.base", true, false, "software"),
    ("thumbv8m.main-none-eabihf", false, true, "limit"),
    ("thumbv8m.main-unknown-none-eabihf", false, true, "limit"),
    ("thumbv8m.main", false, false, "limit"),
];

/// The features with which the frequent paths are not those in assembly, or not always.
const IN_RUST: [&str; 4] = ["BASEPRI", "TRACE", "PROCESSOR_TIME", "TIME_SLICE"];

/// The features with which every event is reported: to the program's tracer, or to the account of the
/// processor's time.
const REPORTING: [&str; 2] = ["TRACE", "PROCESSOR_TIME"];

fn has_feature(name: &str) -> bool {
    env::var_os(format!("CARGO_FEATURE_{name}")).is_some()
}

/// Sets `cfg(direct)` where the frequent paths are in assembly (on a Cortex-M with time slices, until
/// a slice has been set), which reports no events. Sets `cfg(events)` where events are reported,
/// `cfg(riscv)`, `cfg(thumb1)`, `cfg(fpu)`,
/// `cfg(guard = "…")`, and with the features of these names `cfg(basepri)` and, on a Cortex-M4,
/// `cfg(layout)`.
fn describe_processor() {
    println!("cargo::rustc-check-cfg=cfg(basepri)");
    println!("cargo::rustc-check-cfg=cfg(direct)");
    println!("cargo::rustc-check-cfg=cfg(events)");
    println!("cargo::rustc-check-cfg=cfg(layout)");
    println!("cargo::rustc-check-cfg=cfg(riscv)");
    println!("cargo::rustc-check-cfg=cfg(thumb1)");
    println!("cargo::rustc-check-cfg=cfg(fpu)");
    println!(
        "cargo::rustc-check-cfg=cfg(guard, values(\"mpu\", \"limit\", \"none\", \"software\"))"
    );
    if REPORTING.into_iter().any(has_feature) {
        println!("cargo::rustc-cfg=events");
    }
    let target = env::var("TARGET").expect("cargo sets it");
    let row = CORTEX_M.iter().find(|(name, ..)| target.starts_with(name));
    if let Some((name, thumb1, fpu, guard)) = row {
        let guard = if *guard == "mpu" && has_feature("UNGUARDED") { "none" } else { guard };
        println!("cargo::rustc-cfg=guard=\"{guard}\"");
        if *name == "thumbv7em" && has_feature("LAYOUT") && !IN_RUST.into_iter().any(has_feature) {
            println!("cargo::rustc-cfg=layout");
        }
        if has_feature("BASEPRI") {
            assert!(!thumb1, "the feature basepri needs a Cortex-M3 or above");
            println!("cargo::rustc-cfg=basepri");
        }
        if !thumb1 && !["BASEPRI", "TRACE", "PROCESSOR_TIME"].into_iter().any(has_feature) {
            println!("cargo::rustc-cfg=direct");
        }
        for (name, _) in [("thumb1", thumb1), ("fpu", fpu)].iter().filter(|(_, has)| **has) {
            println!("cargo::rustc-cfg={name}");
        }
    }
}

/// The names of the handlers on RISC-V, by architecture: RV32 runs in machine mode, RV64 in
/// supervisor mode. `None` on other processors.
fn handlers(arch: &str) -> Option<Vec<String>> {
    let lines = |mode| ["Soft", "Timer", "External"].map(|line| format!("{mode}{line}"));
    let local = (16..32).map(|line| format!("Local{line}"));
    match arch {
        "riscv32" => Some(lines("Machine").into_iter().chain(local).collect()),
        "riscv64" => Some(lines("Supervisor").to_vec()),
        _ => None,
    }
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    describe_processor();
    let arch = env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets it");
    if let Some(names) = handlers(&arch) {
        println!("cargo::rustc-cfg=riscv");
        if !["TRACE", "PROCESSOR_TIME", "TIME_SLICE"].into_iter().any(has_feature) {
            println!("cargo::rustc-cfg=direct");
        }
        let mut script = String::new();
        for name in names {
            writeln!(script, "PROVIDE({name} = tandem_stray);").expect("a string takes everything");
        }
        let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
        fs::write(out.join("tandem.x"), script).expect("the output directory can be written");
        println!("cargo::rustc-link-search={}", out.display());
    }
}
