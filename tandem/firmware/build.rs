//! Writes the linker script with the emulated board's memory map: an STM32F405, or RAM at the
//! addresses of QEMU's `virt`.

use std::{env, fs, path::PathBuf};

const STM32F405: &str = "MEMORY { FLASH : ORIGIN = 0x08000000, LENGTH = 1024K
 RAM : ORIGIN = 0x20000000, LENGTH = 128K }
";
const VIRT: &str = r#"MEMORY { FLASH : ORIGIN = 0x80000000, LENGTH = 128K
 RAM : ORIGIN = 0x80020000, LENGTH = 128K }
REGION_ALIAS("REGION_TEXT", FLASH); REGION_ALIAS("REGION_RODATA", FLASH);
REGION_ALIAS("REGION_DATA", RAM); REGION_ALIAS("REGION_BSS", RAM);
REGION_ALIAS("REGION_HEAP", RAM); REGION_ALIAS("REGION_STACK", RAM);
"#;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is_riscv = env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "riscv32");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let write =
        |name, text| fs::write(out.join(name), text).expect("the output directory can be written");
    println!("cargo::rustc-link-search={}", out.display());
    if is_riscv {
        write("memory.x", VIRT);
        println!("cargo::rustc-link-arg-bins=-Tmemory.x");
        println!("cargo::rustc-link-arg-bins=-Ttandem.x");
    } else {
        write("memory.x", STM32F405);
        write("device.x", "");
    }
    println!("cargo::rustc-link-arg-bins=-Tlink.x");
}
