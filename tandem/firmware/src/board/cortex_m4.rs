//! The board of QEMU's `netduinoplus2`, an STM32F405: timers, interrupts, and semihosting for
//! output.
//!
//! # Soundness
//! Registers are accessed at the addresses of the STM32F405's manual, as words. Interrupts that
//! callers enable have a handler in the vector table. The clock's extension is accessed with
//! interrupts masked.

use core::cell::UnsafeCell;
// For its implementation of critical sections.
use cortex_m as _;
pub use cortex_m_rt::entry;
use cortex_m_semihosting::debug;
use tandem::time::Driver;

/// The 32-bit timer TIM5. With `-icount shift=0`, it counts one tick per instruction.
const TIM5: *mut u32 = 0x4000_0c00 as *mut u32;
const CR1: usize = 0;
const CNT: usize = 9;
const ARR: usize = 11;

const SYST_CSR: *mut u32 = 0xe000_e010 as *mut u32;
const SYST_RVR: *mut u32 = 0xe000_e014 as *mut u32;
const SYST_CVR: *mut u32 = 0xe000_e018 as *mut u32;

/// The number of instructions executed. Wraps at 2³².
#[inline(always)]
pub fn ticks() -> u32 {
    // SAFETY: a register of the timer; reading it has no effect.
    unsafe { TIM5.add(CNT).read_volatile() }
}

/// Sets the low word of the clock to `count`, to test that it may wrap.
pub fn set_ticks(count: u32) {
    // SAFETY: a register of the timer, and any count is allowed.
    unsafe { TIM5.add(CNT).write_volatile(count) };
}

/// Starts the timer and enables the FPU.
pub fn set_up() {
    const CPACR: *mut u32 = 0xe000_ed88 as *mut u32;
    // SAFETY: registers of the timer, and CPACR, which allows access to coprocessors 10 and 11.
    unsafe {
        TIM5.add(ARR).write_volatile(u32::MAX);
        TIM5.add(CR1).write_volatile(1);
        CPACR.write_volatile(0xf << 20);
        core::arch::asm!("dsb", "isb");
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
#[inline(always)]
pub fn raise(number: usize) {
    const STIR: *mut u32 = 0xe000_ef00 as *mut u32;
    // SAFETY: an interrupt that is enabled has a handler.
    unsafe { STIR.write_volatile(number as u32) };
}

/// Runs `body` with interrupts masked by hand, without the kernel's knowledge.
pub fn mask_by_hand(body: impl FnOnce()) {
    cortex_m::interrupt::disable();
    body();
    // SAFETY: interrupts were on before.
    unsafe { cortex_m::interrupt::enable() };
}

/// Unmasks all interrupts, whatever masks them.
pub fn unmask() {
    // SAFETY: the caller ends every critical section.
    unsafe {
        cortex_m::register::basepri::write(0);
        cortex_m::interrupt::enable();
    }
}

/// The kernel's clock: counts instructions at 1 GHz. Its alarm is SysTick, at 168 MHz.
pub struct Clock;

tandem::drive_time_with!(Clock);

/// The clock's upper half, and the last reading of its lower half.
struct Extension(UnsafeCell<(u32, u32)>);
// SAFETY: accessed only with interrupts masked.
unsafe impl Sync for Extension {}
static EXTENSION: Extension = Extension(UnsafeCell::new((0, 0)));

impl Driver for Clock {
    const HERTZ: u64 = 1_000_000_000;

    #[inline(always)]
    fn now() -> u64 {
        // SAFETY: interrupts are masked, by the contract of `Driver::now`.
        let (high, last) = unsafe { &mut *EXTENSION.0.get() };
        let low = ticks();
        if low < *last {
            *high += 1;
        }
        *last = low;
        u64::from(*high) << 32 | u64::from(low)
    }

    #[inline]
    fn arm(due: u64) {
        let left = due.saturating_sub(Self::now());
        // From ticks of 1 GHz to ticks of 168 MHz, rounded up. SysTick has 24 bits; an alarm that
        // comes early is set again.
        let reload = (left.min(0x400_0000) as u32 >> 6) * 2753 / 256 + 12;
        // SAFETY: registers of SysTick, whose handler calls `expire`.
        unsafe {
            SYST_RVR.write_volatile(reload);
            SYST_CVR.write_volatile(0);
            SYST_CSR.write_volatile(0b111);
        }
    }
}

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
