//! Gives the linker the chip's memory and the default of its interrupt handler, and selects the
//! chip's timers.

use std::{env, fs, path::PathBuf};

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::copy("memory.x", out.join("memory.x")).expect("the script is beside build.rs");
    fs::write(out.join("device.x"), "PROVIDE(ALARM = DefaultHandler);\n")
        .expect("OUT_DIR is writable");
    println!("cargo:rerun-if-changed=memory.x");
    println!("cargo:rustc-link-search={}", out.display());
    println!("cargo::rustc-check-cfg=cfg(timers, values(\"cmsdk\", \"nrf51\"))");
    let target = env::var("TARGET").expect("cargo sets it");
    let timers = if target.starts_with("thumbv6m") { "nrf51" } else { "cmsdk" };
    println!("cargo:rustc-cfg=timers=\"{timers}\"");
}
