//! The parts that all smallest images share: showing a letter, the panic handler, and the vector
//! table.

#![no_std]

use core::{arch::asm, panic::PanicInfo};

/// The stack of each thread, in bytes. The lab subtracts it from the size of a task.
pub const STACK: usize = 256;

/// The number of tasks in this image: the last character of its name.
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
