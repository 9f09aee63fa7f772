//! Links the images: where the memory of this chip lies, and that a kernel need not have a handler beside the processor's own.

use std::{env, fs, path::PathBuf};

include!("../image.rs");

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::copy("../cortex-m4/memory.x", out.join("memory.x"))
        .expect("the machine's script is in its folder");
    fs::write(out.join("device.x"), "PROVIDE(LINE = DefaultHandler);\n")
        .expect("the folder is this script's");
    println!("cargo:rustc-link-search={}", out.display());
    println!("cargo:rerun-if-changed=../cortex-m4/memory.x");
    link(&[]);
}
