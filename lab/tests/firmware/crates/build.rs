//! Gives the linker the chip's memories, the script of `cortex-m-rt`, and a script with the names of the
//! program's interrupts, which RTIC's alone has: embassy-stm32 brings its own.

use std::{env, fs, path::Path};

fn main() {
    let out = env::var("OUT_DIR").expect("cargo sets it");
    let memories = "MEMORY { FLASH : ORIGIN = 0x08000000, LENGTH = 1024K \
                    RAM : ORIGIN = 0x20000000, LENGTH = 128K }\n";
    fs::write(Path::new(&out).join("memory.x"), memories).expect("the folder is there");
    let has = |feature: &str| env::var_os(format!("CARGO_FEATURE_{feature}")).is_some();
    if !has("EMBASSY") {
        let handlers = "PROVIDE(TIM2 = DefaultHandler); PROVIDE(TIM5 = DefaultHandler);\n";
        let handlers = if has("RTIC") { handlers } else { "" };
        fs::write(Path::new(&out).join("device.x"), handlers).expect("the folder is there");
    }
    println!("cargo:rustc-link-search={out}");
    println!("cargo:rustc-link-arg=-Tlink.x");
    println!("cargo:rerun-if-changed=build.rs");
}
