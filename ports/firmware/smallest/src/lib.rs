//! What the smallest images have in common: nothing but a way to show that they run, and what every program needs.

#![no_std]

use core::{arch::asm, panic::PanicInfo};

/// Of each task that has a stack of its own, in bytes. The lab takes it off what a task takes.
pub const STACK: usize = 256;

/// How many tasks an image has: the last character of its name.
#[macro_export]
macro_rules! tasks {
    () => {
        const {
            let name = env!("CARGO_BIN_NAME").as_bytes();
            (name[name.len() - 1] - b'0') as usize
        }
    };
}

/// Shows the host a task's letter: semihosting's SYS_WRITEC, four instructions.
#[inline(always)]
pub fn show(letter: u8) {
    const WRITE_CHARACTER: usize = 3;
    // SAFETY: the host reads one byte at the address.
    unsafe {
        asm!("bkpt 0xab", inout("r0") WRITE_CHARACTER => _, in("r1") &raw const letter, options(nostack))
    };
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {}
}

unsafe extern "C" {
    fn LINE();
}

/// The chip's part of the vector table: one interrupt, for kernels that run tasks in one.
#[unsafe(link_section = ".vector_table.interrupts")]
#[unsafe(no_mangle)]
static __INTERRUPTS: [unsafe extern "C" fn(); 1] = [LINE];
