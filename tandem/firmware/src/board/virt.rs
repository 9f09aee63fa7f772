//! The board of QEMU's `virt`: an RV32IMC or RV32IMAC in machine mode, or an RV64IMAC in supervisor
//! mode. CLINT, a UART, and the device that ends the emulation.
//!
//! # Soundness
//! Registers are accessed at the addresses of QEMU's documentation. Interrupts are enabled only if
//! they have a handler. `raise` stores the index of a handler.

#[cfg_attr(target_arch = "riscv32", path = "virt/machine.rs")]
#[cfg_attr(target_arch = "riscv64", path = "virt/supervisor.rs")]
mod privilege;

use core::fmt;
pub use privilege::unmask;
use privilege::{SOFTWARE, TIMER, enable};
pub use riscv_rt::entry;
use tandem::time::Driver;

const FINISHER: *mut u32 = 0x0010_0000 as *mut u32;
/// The address of a register of two words, low and high.
const MTIME: *mut u32 = 0x0200_bff8 as *mut u32;
const UART: *mut u8 = 0x1000_0000 as *mut u8;

/// The number of instructions executed, wrapping at 2³²: the processor's cycle counter, which
/// with `-icount shift=0` counts virtual time in instructions.
#[inline(always)]
pub fn ticks() -> u32 {
    privilege::cycles()
}

/// A reading of the clock in the fewest instructions, for [`instructions`].
pub type Mark = u32;

/// Reads the clock.
#[inline(always)]
pub fn mark() -> Mark {
    ticks()
}

/// The number of instructions executed at a mark.
#[inline(always)]
pub fn instructions(mark: Mark) -> u32 {
    mark
}

/// Sets the low word of the clock to `count`, to test that it may wrap.
pub fn set_ticks(count: u32) {
    // SAFETY: a register of CLINT, and any count is allowed.
    unsafe { MTIME.write_volatile(count) };
}

/// Enables the alarm's interrupt.
pub fn set_up() {
    stop_alarm();
    enable(TIMER);
}

/// Defines the handlers of interrupts 0, 1 and so on, in this order. The processor has one
/// interrupt that software can raise, which they share.
#[macro_export]
macro_rules! interrupts {
    () => {
        $crate::interrupts![$crate::board::stray];
    };
    ($($handler:expr),*) => {
        #[unsafe(no_mangle)]
        static INTERRUPTS: [extern "C" fn(); INTERRUPT_COUNT] = [$($handler),*];
        #[unsafe(no_mangle)]
        static INTERRUPT_COUNT_OF_BOARD: usize = INTERRUPT_COUNT;
        const INTERRUPT_COUNT: usize = <[&str]>::len(&[$(stringify!($handler)),*]);
    };
}

/// Defines the alarm's handler.
#[macro_export]
macro_rules! alarm {
    ($handler:path) => {
        $crate::handler!(timer: $handler);
    };
}

// SAFETY: `interrupts!` defines both: the first of the handlers, and their number.
unsafe extern "C" {
    static INTERRUPTS: extern "C" fn();
    safe static INTERRUPT_COUNT_OF_BOARD: usize;
}

/// The number of the interrupt that was raised.
static RAISED: portable_atomic::AtomicUsize = portable_atomic::AtomicUsize::new(0);

fn interrupted() {
    privilege::set_software(false);
    // SAFETY: `raise` has stored the index of an entry of the table.
    let handler = unsafe {
        (&raw const INTERRUPTS).add(RAISED.load(portable_atomic::Ordering::Relaxed)).read()
    };
    handler();
}

crate::handler!(software: interrupted);

/// Enables an interrupt.
///
/// # Panics
/// If `interrupts!` defines no handler for it.
pub fn enable_interrupt(number: usize) {
    assert!(number < INTERRUPT_COUNT_OF_BOARD, "interrupt {number} has no handler");
    enable(SOFTWARE);
}

/// Raises an interrupt in software.
///
/// # Panics
/// If `interrupts!` defines no handler for it.
#[inline(always)]
pub fn raise(number: usize) {
    assert!(number < INTERRUPT_COUNT_OF_BOARD, "interrupt {number} has no handler");
    critical_section::with(|_| {
        RAISED.store(number, portable_atomic::Ordering::Relaxed);
        privilege::set_software(true);
    });
}

/// Raises the external interrupt, for which no program of this folder defines a handler: the
/// UART's, whose transmitter is empty.
pub fn raise_stray() {
    const UART_LINE: usize = 10;
    const PLIC: *mut u32 = 0x0c00_0000 as *mut u32;
    const EMPTY: u8 = 2;
    // SAFETY: registers of the PLIC, in words, and the UART's register of enabled interrupts.
    unsafe {
        PLIC.add(UART_LINE).write_volatile(1);
        PLIC.byte_add(0x2000 + 0x80 * privilege::CONTEXT).write_volatile(1 << UART_LINE);
        PLIC.byte_add(0x20_0000 + 0x1000 * privilege::CONTEXT).write_volatile(0);
        UART.add(1).write_volatile(EMPTY);
    }
    enable(privilege::EXTERNAL);
}

/// Runs `body` with interrupts masked by hand, without the kernel's knowledge.
pub fn mask_by_hand(body: impl FnOnce()) {
    mask();
    body();
    privilege::unmask();
}

/// Masks interrupts by hand.
pub fn mask() {
    privilege::mask();
}

/// The kernel's clock: CLINT's, 10 MHz, a tick for 100 instructions.
pub struct Clock;

#[cfg(not(feature = "own-clock"))]
tandem::drive_time_with!(Clock);

// SAFETY: the functions call nothing of the kernel.
unsafe impl Driver for Clock {
    const HERTZ: u64 = 10_000_000;

    #[inline(always)]
    fn now() -> u64 {
        loop {
            // SAFETY: registers of CLINT; reading them has no effect.
            let (before, low, high) = unsafe {
                (MTIME.add(1).read_volatile(), MTIME.read_volatile(), MTIME.add(1).read_volatile())
            };
            if before == high {
                return u64::from(high) << 32 | u64::from(low);
            }
        }
    }

    #[inline(always)]
    fn arm(due: u64) {
        privilege::set_timer(due);
    }
}

/// Stops the alarm until it is armed again.
#[inline(always)]
pub fn stop_alarm() {
    privilege::stop_timer();
}

struct Uart;

impl fmt::Write for Uart {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            // SAFETY: the transmitter's register. The emulated UART is always ready.
            unsafe { UART.write_volatile(byte) };
        }
        Ok(())
    }
}

#[doc(hidden)]
pub fn print(text: fmt::Arguments) {
    // Writing to the UART cannot fail.
    let _ = fmt::write(&mut Uart, text);
}

/// Prints a line on the host's standard output.
#[macro_export]
macro_rules! println {
    ($($text:tt)*) => {
        $crate::board::print(format_args!("{}\n", format_args!($($text)*)))
    };
}

/// Ends the emulation with status 0 or 1.
pub fn exit(success: bool) -> ! {
    const PASS: u32 = 0x5555;
    const FAIL_WITH_1: u32 = 0x1_3333;
    // SAFETY: a register of the device that ends the emulation.
    unsafe { FINISHER.write_volatile(if success { PASS } else { FAIL_WITH_1 }) };
    loop {
        core::hint::spin_loop();
    }
}
