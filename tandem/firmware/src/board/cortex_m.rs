//! The boards with a Cortex-M: interrupts, the alarm, and semihosting for output. Each chip's clock
//! is a module of its own.
//!
//! # Soundness
//! Registers are accessed at the addresses of Arm's manuals, as words. Interrupts that callers
//! enable have a handler in the vector table.

#[cfg_attr(chip = "stm32", path = "cortex_m/stm32.rs")]
#[cfg_attr(not(chip = "stm32"), path = "cortex_m/scaled.rs")]
mod clock;

#[cfg(feature = "layout")]
pub use clock::{CLOCK, EXTENSION, RATIO, SOONEST};
pub use clock::{Mark, instructions, mark, set_ticks, ticks};
// For its implementation of critical sections.
use cortex_m as _;
pub use cortex_m_rt::entry;
use cortex_m_semihosting::debug;
use tandem::time::Driver;

const SYST_CSR: *mut u32 = 0xe000_e010 as *mut u32;
const SYST_RVR: *mut u32 = 0xe000_e014 as *mut u32;
const SYST_CVR: *mut u32 = 0xe000_e018 as *mut u32;

/// The priority of an interrupt that may call the kernel, also with the feature `basepri`.
pub const USUAL: u8 = 0x80;

/// Sets the priority of SysTick; 0 is the most urgent.
#[cfg(not(thumb1))]
pub fn set_alarm_priority(priority: u8) {
    const SYSTICK: *mut u8 = 0xe000_ed23 as *mut u8;
    // SAFETY: every ARMv7-M has this register.
    unsafe { SYSTICK.write_volatile(priority) };
}

/// Gives all interrupts the usual priority: with the feature `basepri`, more urgent ones must not
/// call the kernel.
#[cfg(feature = "basepri")]
fn set_priorities() {
    const IPR: *mut u8 = 0xe000_e400 as *mut u8;
    for number in 0..32 {
        // SAFETY: every ARMv7-M has these registers.
        unsafe { IPR.add(number).write_volatile(USUAL) };
    }
    set_alarm_priority(USUAL);
}

/// Starts the clock and enables the FPU.
pub fn set_up() {
    clock::start();
    #[cfg(feature = "basepri")]
    set_priorities();
    #[cfg(fpu)]
    {
        const CPACR: *mut u32 = 0xe000_ed88 as *mut u32;
        // SAFETY: allows access to coprocessors 10 and 11.
        unsafe {
            CPACR.write_volatile(0xf << 20);
            core::arch::asm!("dsb", "isb");
        }
    }
}

/// Defines the handlers of interrupts 0, 1 and so on, in this order.
#[macro_export]
macro_rules! interrupts {
    () => {
        $crate::interrupts![$crate::board::stray];
    };
    ($($handler:expr),*) => {
        #[unsafe(link_section = ".vector_table.interrupts")]
        #[unsafe(no_mangle)]
        static __INTERRUPTS: [extern "C" fn(); INTERRUPT_COUNT] = [$($handler),*];
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
        extern "C" fn SysTick() {
            $handler();
        }
    };
}

// SAFETY: `interrupts!` defines it, with this type.
unsafe extern "C" {
    safe static INTERRUPT_COUNT_OF_BOARD: usize;
}

/// Enables an interrupt.
///
/// # Panics
/// If `interrupts!` defines no handler for it.
pub fn enable_interrupt(number: usize) {
    assert!(number < INTERRUPT_COUNT_OF_BOARD, "interrupt {number} has no handler");
    const ISER: *mut u32 = 0xe000_e100 as *mut u32;
    // SAFETY: the interrupt's handler is in the vector table.
    unsafe { ISER.add(number / 32).write_volatile(1 << (number % 32)) };
}

/// Raises an interrupt in software. No effect unless it is enabled.
#[cfg(not(thumb1))]
#[inline(always)]
pub fn raise(number: usize) {
    const STIR: *mut u32 = 0xe000_ef00 as *mut u32;
    // SAFETY: an interrupt that is enabled has a handler.
    unsafe { STIR.write_volatile(number as u32) };
}

/// Raises an interrupt in software, with a number less than 32. No effect unless it is enabled.
#[cfg(thumb1)]
#[inline(always)]
pub fn raise(number: usize) {
    const ISPR: *mut u32 = 0xe000_e200 as *mut u32;
    // SAFETY: an interrupt that is enabled has a handler.
    unsafe { ISPR.write_volatile(1 << number) };
}

/// Raises an interrupt for which the program defines no handler: the vector table's runs.
pub fn raise_stray() {
    enable_interrupt(0);
    raise(0);
}

/// Runs `body` with interrupts masked by hand, without the kernel's knowledge.
pub fn mask_by_hand(body: impl FnOnce()) {
    mask();
    body();
    // SAFETY: interrupts were on before.
    unsafe { cortex_m::interrupt::enable() };
}

/// Masks interrupts by hand.
pub fn mask() {
    cortex_m::interrupt::disable();
}

/// Unmasks all interrupts, whatever masks them.
pub fn unmask() {
    // SAFETY: the caller ends every critical section.
    unsafe {
        #[cfg(not(thumb1))]
        cortex_m::register::basepri::write(0);
        cortex_m::interrupt::enable();
    }
}

/// The kernel's clock: counts instructions at 1 GHz. Its alarm is SysTick.
pub struct Clock;

#[cfg(not(feature = "own-clock"))]
tandem::drive_time_with!(Clock);

/// SysTick's ticks in 1000 instructions.
pub const SYSTICK_PER_1000: u32 = clock::SYSTICK_PER_1000;

// SAFETY: the functions call nothing of the kernel.
unsafe impl Driver for Clock {
    const HERTZ: u64 = 1_000_000_000;

    #[inline(always)]
    fn now() -> u64 {
        // SAFETY: interrupts are masked, by the contract of `Driver::now`.
        unsafe { clock::now() }
    }

    #[inline]
    fn arm(due: u64) {
        Self::arm_from(Self::now(), due);
    }

    #[inline]
    fn arm_from(now: u64, due: u64) {
        let left = due.wrapping_sub(now);
        let (high, low) = ((left >> 32) as u32, left as u32);
        let reload = if high | (low >> LONGEST.ilog2()) == 0 {
            clock::systick(low) + clock::SOONEST
        } else if high.cast_signed() < 0 {
            clock::SOONEST // past
        } else {
            FAR
        };
        // SAFETY: registers of SysTick, whose handler calls `expire`.
        unsafe {
            SYST_RVR.write_volatile(reload);
            SYST_CVR.write_volatile(reload); // any value clears it
            SYST_CSR.write_volatile(0b111);
        }
    }
}

/// The greatest reload value of SysTick, which has 24 bits.
const MOST: u32 = 0xff_ffff;

/// The longest alarm in instructions. One for a later time comes early, and is set again.
pub const LONGEST: u64 = 1 << ((MOST as u64 + 1) * 1000 / SYSTICK_PER_1000 as u64).ilog2();

/// The reload value of an alarm for a later time than the longest: a power of two, which every chip
/// loads in an instruction or two.
const FAR: u32 = 1 << (LONGEST * SYSTICK_PER_1000 as u64 / 1000 - 1).ilog2();

/// Stops the alarm until it is armed again.
#[inline(always)]
pub fn stop_alarm() {
    // SAFETY: a register of SysTick.
    unsafe { SYST_CSR.write_volatile(0b100) };
}

#[doc(hidden)]
pub use cortex_m_semihosting::hprintln;

/// Prints a line on the host's standard output.
#[macro_export]
macro_rules! println {
    ($($text:tt)*) => {
        $crate::board::hprintln!($($text)*)
    };
}

/// Ends the emulation with status 0 or 1.
pub fn exit(success: bool) -> ! {
    debug::exit(if success { debug::EXIT_SUCCESS } else { debug::EXIT_FAILURE });
    loop {
        core::hint::spin_loop();
    }
}
