//! Sets `is_marked` where marks are wanted and the assembly is known.

use std::env;

/// The processors whose registers and notes are known.
const KNOWN: [&str; 5] = ["aarch64", "arm", "riscv32", "riscv64", "x86_64"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(is_marked)");
    let processor = env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    let is_off = env::var_os("CARGO_FEATURE_OFF").is_some();
    if KNOWN.contains(&&*processor) && !is_off {
        println!("cargo::rustc-cfg=is_marked");
    }
}
