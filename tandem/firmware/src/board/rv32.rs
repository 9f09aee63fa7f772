//! The board of QEMU's `virt`, an RV32IMC or RV32IMAC: CLINT, a UART, and the device that ends the emulation.
//!
//! # Soundness
//! Registers are accessed at the addresses of QEMU's documentation. Interrupts are enabled only if
//! they have a handler. `raise` stores the index of a handler.

use core::fmt;
pub use riscv_rt::entry;
use tandem::time::Driver;

const FINISHER: *mut u32 = 0x0010_0000 as *mut u32;
const MSIP: *mut u32 = 0x0200_0000 as *mut u32;
/// The addresses of registers of two words, low and high.
const MTIMECMP: *mut u32 = 0x0200_4000 as *mut u32;
const MTIME: *mut u32 = 0x0200_bff8 as *mut u32;
const UART: *mut u8 = 0x1000_0000 as *mut u8;

const NEVER: u32 = u32::MAX;
const SOFTWARE: u32 = 1 << 3;
const TIMER: u32 = 1 << 7;

/// The number of instructions executed, wrapping at 2³²: `mcycle`, which with `-icount shift=0`
/// counts virtual time in instructions.
#[inline(always)]
pub fn ticks() -> u32 {
    let count;
    // SAFETY: reading has no effect. Without `nomem` it is a barrier to the compiler: no measured
    // access moves across.
    unsafe {
        core::arch::asm!("csrr {}, mcycle", out(reg) count, options(nostack, preserves_flags))
    };
    count
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

fn enable(lines: u32) {
    // SAFETY: the handlers are defined below, or panic.
    unsafe { core::arch::asm!("csrs mie, {}", in(reg) lines, options(nostack, preserves_flags)) };
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
        #[unsafe(no_mangle)]
        extern "C" fn MachineTimer() {
            $handler();
        }
    };
}

// SAFETY: `interrupts!` defines both: the first of the handlers, and their number.
unsafe extern "C" {
    static INTERRUPTS: extern "C" fn();
    safe static INTERRUPT_COUNT_OF_BOARD: usize;
}

/// The number of the interrupt that was raised.
static RAISED: portable_atomic::AtomicUsize = portable_atomic::AtomicUsize::new(0);

#[unsafe(no_mangle)]
extern "C" fn MachineSoft() {
    // SAFETY: acknowledges the interrupt. `raise` has stored the index of an entry of the table.
    let handler = unsafe {
        MSIP.write_volatile(0);
        (&raw const INTERRUPTS).add(RAISED.load(portable_atomic::Ordering::Relaxed)).read()
    };
    handler();
}

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
        // SAFETY: the interrupt's handler is in the table.
        unsafe { MSIP.write_volatile(1) };
    });
}

/// Runs `body` with interrupts masked by hand, without the kernel's knowledge.
pub fn mask_by_hand(body: impl FnOnce()) {
    // SAFETY: interrupts are on before. A barrier to the compiler: no access moves across.
    unsafe { core::arch::asm!("csrci mstatus, 8", options(nostack, preserves_flags)) };
    body();
    // SAFETY: as above.
    unsafe { core::arch::asm!("csrsi mstatus, 8", options(nostack, preserves_flags)) };
}

/// Unmasks all interrupts.
pub fn unmask() {
    // SAFETY: the caller ends every critical section.
    unsafe { core::arch::asm!("csrsi mstatus, 8", options(nostack, preserves_flags)) };
}

/// The kernel's clock: CLINT's, 10 MHz, a tick for 100 instructions.
pub struct Clock;

tandem::drive_time_with!(Clock);

impl Driver for Clock {
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
        // SAFETY: registers of CLINT. The high word is set to "never" first, since the old high
        // word and the new low word could mean a time in the past.
        unsafe {
            MTIMECMP.add(1).write_volatile(NEVER);
            MTIMECMP.write_volatile(due as u32);
            MTIMECMP.add(1).write_volatile((due >> 32) as u32);
        }
    }
}

/// Stops the alarm until it is armed again.
#[inline(always)]
pub fn stop_alarm() {
    // SAFETY: a register of CLINT.
    unsafe { MTIMECMP.add(1).write_volatile(NEVER) };
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
