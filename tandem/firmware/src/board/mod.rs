//! The board: one module per chip, with the same names.

#[cfg_attr(target_arch = "arm", path = "cortex_m4.rs")]
#[cfg_attr(target_arch = "riscv32", path = "rv32.rs")]
mod chip;

pub use chip::*;
use tandem::time::Driver;

/// A time in ticks of the kernel's clock.
pub const fn nanoseconds(n: u64) -> u64 {
    n * Clock::HERTZ / 1_000_000_000
}

/// The handler of an interrupt that should not come.
pub extern "C" fn stray() {
    panic!("stray interrupt")
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo) -> ! {
    crate::println!("task {}: {}", tandem::current().name(), info);
    exit(false)
}
