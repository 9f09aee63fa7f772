//! Sets `is_marked` where marks are wanted and the assembly is known, `is_board` where they write
//! records, and the number of records that the ring has.

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
    println!("cargo::rustc-check-cfg=cfg(is_board)");
    let is_board = env::var_os("CARGO_FEATURE_BOARD").is_some() && !is_off;
    if is_board && is_microcontroller(&processor) {
        println!("cargo::rustc-cfg=is_board");
    } else if is_board {
        println!(
            "cargo::error=the feature `board` is for Cortex-M3 and newer (not M0), and for RISC-V: leave \
             it out for this target"
        );
    }
    println!("cargo::rerun-if-env-changed=CHRONO_MARK_SLOTS");
    let slots = env::var("CHRONO_MARK_SLOTS").unwrap_or_else(|_| "256".to_owned());
    match slots.parse::<u32>() {
        Ok(count) if count.is_power_of_two() && (2..=1024).contains(&count) => {
            println!("cargo::rustc-env=CHRONO_MARK_BITS={}", count.ilog2());
        }
        _ => println!("cargo::error=CHRONO_MARK_SLOTS is a power of two from 2 to 1024: {slots}"),
    }
}

/// Returns whether the target is one whose instructions the board's marks know.
fn is_microcontroller(processor: &str) -> bool {
    let target = env::var("TARGET").unwrap_or_default();
    let is_cortex = target.starts_with("thumbv7") || target.starts_with("thumbv8m.main");
    env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "none")
        && (is_cortex || processor.starts_with("riscv"))
}
