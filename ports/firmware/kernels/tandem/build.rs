//! Links the image.

include!("../../image.rs");

fn main() {
    let riscv = std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch.starts_with("riscv"));
    // On RISC-V tandem has entries for more interrupts than riscv-rt has names.
    link(if riscv { &["defmt.x", "tandem.x"] } else { &["defmt.x"] });
    tell_release("tandem");
}
