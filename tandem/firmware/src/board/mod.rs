//! The board: one module for each chip, with the same interface.

#[cfg_attr(target_arch = "arm", path = "cortex_m4.rs")]
#[cfg_attr(target_arch = "riscv32", path = "rv32.rs")]
mod chip;

pub use chip::*;
use tandem::time::Driver;

/// Converts nanoseconds to ticks of the kernel's clock.
pub const fn nanoseconds(n: u64) -> u64 {
    n * Clock::HERTZ / 1_000_000_000
}

/// The default handler of an interrupt. Panics, since none is expected.
pub extern "C" fn stray() {
    panic!("stray interrupt")
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo) -> ! {
    crate::println!("task {}: {}", tandem::current().name(), info);
    exit(false)
}
