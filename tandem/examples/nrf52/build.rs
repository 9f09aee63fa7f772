//! Writes the linker script with the chip's memory map.

use std::{env, fs, path::PathBuf};

const NRF52832: &str = "MEMORY { FLASH : ORIGIN = 0x00000000, LENGTH = 512K
 RAM : ORIGIN = 0x20000000, LENGTH = 64K }
";
/// The chip of the first micro:bit.
const NRF51822: &str = "MEMORY { FLASH : ORIGIN = 0x00000000, LENGTH = 256K
 RAM : ORIGIN = 0x20000000, LENGTH = 16K }
";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(nrf51)");
    let is_nrf51 = env::var("TARGET").expect("cargo sets it").starts_with("thumbv6m");
    if is_nrf51 {
        println!("cargo::rustc-cfg=nrf51");
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let memory = if is_nrf51 { NRF51822 } else { NRF52832 };
    fs::write(out.join("memory.x"), memory).expect("the output directory can be written");
    fs::write(out.join("device.x"), "").expect("the output directory can be written");
    println!("cargo::rustc-link-search={}", out.display());
    println!("cargo::rustc-link-arg-bins=-Tlink.x");
}
