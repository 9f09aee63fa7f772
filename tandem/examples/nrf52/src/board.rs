//! The board: the kernel's clock on TIMER0, and a lamp. The first micro:bit's nRF51 has the same
//! timer and pins at the same addresses.
//!
//! TIMER0 counts microseconds, and keeps the high-frequency clock on. A program that sleeps for
//! long uses RTC1 instead, which counts 32,768 times a second: extend its 24 bits likewise.
//!
//! # Soundness
//! Registers are accessed at the addresses of the product specification, as words. None of them
//! affects memory.

// For its implementation of critical sections.
use cortex_m as _;
use cortex_m_semihosting::debug;
use tandem::time::{self, Driver};

const TIMER0: usize = 0x4000_8000;
const START: usize = TIMER0;
const CAPTURE: usize = TIMER0 + 0x040;
const COMPARED: usize = TIMER0 + 0x140;
const INTENSET: usize = TIMER0 + 0x304;
const BITMODE: usize = TIMER0 + 0x508;
const PRESCALER: usize = TIMER0 + 0x510;
const CC: usize = TIMER0 + 0x540;
const TIMER0_INTERRUPT: usize = 8;

/// The timer's capture and compare registers: for the alarm, for reading the counter, and for an
/// interrupt when the counter wraps.
const ALARM: usize = 0;
const READ: usize = 1;
const WRAP: usize = 2;

const NVIC_ISER: usize = 0xe000_e100;
const NVIC_ISPR: usize = 0xe000_e200;

const GPIO_OUTSET: usize = 0x5000_0508;
const GPIO_OUTCLR: usize = 0x5000_050c;
const GPIO_DIRSET: usize = 0x5000_0518;

fn read(address: usize) -> u32 {
    // SAFETY: the callers pass addresses of registers.
    unsafe { (address as *const u32).read_volatile() }
}

fn write(address: usize, value: u32) {
    // SAFETY: the callers pass addresses of registers that control the timer, its interrupt and
    // pins, and nothing that memory safety depends on.
    unsafe { (address as *mut u32).write_volatile(value) }
}

/// Starts the clock and, where there is one, the FPU.
pub fn set_up() {
    if cfg!(not(nrf51)) {
        const CPACR: usize = 0xe000_ed88;
        write(CPACR, 0xf << 20);
        cortex_m::asm::dsb();
        cortex_m::asm::isb();
    }
    write(BITMODE, 3); // 32 bits
    write(PRESCALER, 4); // 16 MHz / 2^4
    write(INTENSET, 1 << (16 + ALARM) | 1 << (16 + WRAP));
    write(CC + 4 * WRAP, 0);
    write(NVIC_ISER, 1 << TIMER0_INTERRUPT);
    write(START, 1);
}

/// The kernel's clock, in microseconds.
struct Clock;

tandem::drive_time_with!(Clock);

// SAFETY: the functions call nothing of the kernel.
unsafe impl Driver for Clock {
    const HERTZ: u64 = 1_000_000;

    fn now() -> u64 {
        use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
        static HIGH: AtomicU32 = AtomicU32::new(0);
        static LAST: AtomicU32 = AtomicU32::new(0);
        write(CAPTURE + 4 * READ, 1);
        let low = read(CC + 4 * READ);
        // Called with interrupts masked, and at each wrap at least.
        let high = HIGH.load(Relaxed) + u32::from(low < LAST.load(Relaxed));
        HIGH.store(high, Relaxed);
        LAST.store(low, Relaxed);
        u64::from(high) << 32 | u64::from(low)
    }

    fn arm(due: u64) {
        // The comparison is with the low 32 bits: an alarm for later comes early, and is set again.
        write(CC + 4 * ALARM, due as u32);
        // The counter may have passed `due`, and is not compared while it is written.
        if due <= Self::now() + 2 {
            write(NVIC_ISPR, 1 << TIMER0_INTERRUPT);
        }
    }
}

/// The handler of TIMER0.
extern "C" fn on_timer() {
    write(COMPARED + 4 * ALARM, 0);
    write(COMPARED + 4 * WRAP, 0);
    // The chip's bus must have cleared the events before the handler ends.
    read(COMPARED + 4 * ALARM);
    // Notices that the counter has wrapped.
    let _ = time::now();
    time::expire();
}

/// The vector table behind the processor's own exceptions.
#[unsafe(link_section = ".vector_table.interrupts")]
#[unsafe(no_mangle)]
static __INTERRUPTS: [extern "C" fn(); 32] = {
    extern "C" fn stray() {
        panic!("an interrupt without a handler");
    }
    let mut table: [extern "C" fn(); 32] = [stray; 32];
    table[TIMER0_INTERRUPT] = on_timer;
    table
};

/// The lamp: on the DK, LED 1 between supply and P0.17; on the micro:bit, from P0.13 to P0.04.
pub struct Lamp;

impl Lamp {
    const LOW_WHEN_ON: u32 = if cfg!(nrf51) { 1 << 4 } else { 1 << 17 };
    const HIGH_WHEN_ON: u32 = if cfg!(nrf51) { 1 << 13 } else { 0 };

    pub fn new() -> Self {
        write(GPIO_DIRSET, Self::LOW_WHEN_ON | Self::HIGH_WHEN_ON);
        Self
    }

    pub fn switch(&mut self, on: bool) {
        let (high, low) = if on {
            (Self::HIGH_WHEN_ON, Self::LOW_WHEN_ON)
        } else {
            (Self::LOW_WHEN_ON, Self::HIGH_WHEN_ON)
        };
        write(GPIO_OUTSET, high);
        write(GPIO_OUTCLR, low);
    }
}

/// Ends the program in QEMU, or returns to the debugger.
pub fn exit(success: bool) -> ! {
    debug::exit(if success { debug::EXIT_SUCCESS } else { debug::EXIT_FAILURE });
    loop {
        cortex_m::asm::wfi();
    }
}
