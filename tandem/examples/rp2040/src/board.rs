//! The board: the crystal, the kernel's clock on the chip's timer, and the lamp.
//!
//! # Soundness
//! Registers are accessed at the addresses of the data sheet, as words. Of these, the clock's source
//! is changed before the kernel starts, and none affects memory.

// For its implementation of critical sections.
use cortex_m as _;
use tandem::time::{self, Driver};

/// The boot ROM loads these 256 bytes, which make the flash readable, and calls them.
#[unsafe(link_section = ".boot2")]
#[used]
static BOOT2: [u8; 256] = rp2040_boot2::BOOT_LOADER_W25Q080;

const RESETS_RESET: usize = 0x4000_c000;
const RESETS_DONE: usize = 0x4000_c008;
const XOSC_CTRL: usize = 0x4002_4000;
const XOSC_STATUS: usize = 0x4002_4004;
const XOSC_STARTUP: usize = 0x4002_400c;
const CLK_REF_CTRL: usize = 0x4000_8030;
const CLK_REF_SELECTED: usize = 0x4000_8038;
const WATCHDOG_TICK: usize = 0x4005_802c;
const TIMER_ALARM0: usize = 0x4005_4010;
const TIMER_RAWH: usize = 0x4005_4024;
const TIMER_RAWL: usize = 0x4005_4028;
const TIMER_INTR: usize = 0x4005_4034;
const TIMER_INTE: usize = 0x4005_4038;
const TIMER_INTERRUPT: usize = 0;

const NVIC_ISER: usize = 0xe000_e100;
const NVIC_ISPR: usize = 0xe000_e200;

/// Writing here clears the bits of the register that are 1.
const CLEAR: usize = 0x3000;

const LAMP: usize = 25;
const LAMP_CTRL: usize = 0x4001_4004 + 8 * LAMP;
const SIO_OUT_SET: usize = 0xd000_0014;
const SIO_OUT_CLR: usize = 0xd000_0018;
const SIO_OE_SET: usize = 0xd000_0024;

fn read(address: usize) -> u32 {
    // SAFETY: the callers pass addresses of registers.
    unsafe { (address as *const u32).read_volatile() }
}

fn write(address: usize, value: u32) {
    // SAFETY: the callers pass addresses of registers that control clocks, the timer, its interrupt
    // and a pin, and nothing that memory safety depends on.
    unsafe { (address as *mut u32).write_volatile(value) }
}

fn wait_for(address: usize, bits: u32) {
    while read(address) & bits != bits {}
}

/// Runs the processor from the crystal of 12 MHz, and starts the timer and the pins.
pub fn set_up() {
    const IO_BANK0: u32 = 1 << 5;
    const PADS_BANK0: u32 = 1 << 8;
    const TIMER: u32 = 1 << 21;
    write(XOSC_STARTUP, 47); // a millisecond, in 256 cycles
    write(XOSC_CTRL, 0xfab << 12 | 0xaa0); // on, 1 to 15 MHz
    wait_for(XOSC_STATUS, 1 << 31);
    write(CLK_REF_CTRL, 2); // the crystal; the processor's clock follows
    wait_for(CLK_REF_SELECTED, 1 << 2);
    write(WATCHDOG_TICK, 1 << 9 | 12); // the timer's microsecond
    write(RESETS_RESET + CLEAR, IO_BANK0 | PADS_BANK0 | TIMER);
    wait_for(RESETS_DONE, IO_BANK0 | PADS_BANK0 | TIMER);
    write(TIMER_INTE, 1);
    write(NVIC_ISER, 1 << TIMER_INTERRUPT);
}

/// The kernel's clock, in microseconds: the chip's timer, which has 64 bits.
struct Clock;

tandem::drive_time_with!(Clock);

// SAFETY: the functions call nothing of the kernel.
unsafe impl Driver for Clock {
    const HERTZ: u64 = 1_000_000;

    fn now() -> u64 {
        let mut high = read(TIMER_RAWH);
        loop {
            let low = read(TIMER_RAWL);
            let again = read(TIMER_RAWH);
            if again == high {
                return u64::from(high) << 32 | u64::from(low);
            }
            high = again;
        }
    }

    fn arm(due: u64) {
        // The comparison is with the low 32 bits: an alarm for later comes early, and is set again.
        write(TIMER_ALARM0, due as u32);
        if due <= Self::now() {
            write(NVIC_ISPR, 1 << TIMER_INTERRUPT);
        }
    }
}

/// The handler of the timer's first alarm.
extern "C" fn on_alarm() {
    write(TIMER_INTR, 1);
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
    table[TIMER_INTERRUPT] = on_alarm;
    table
};

/// The Pico's lamp, at GPIO 25.
pub struct Lamp;

impl Lamp {
    pub fn new() -> Self {
        const SIO: u32 = 5;
        write(LAMP_CTRL, SIO);
        write(SIO_OE_SET, 1 << LAMP);
        Self
    }

    pub fn switch(&mut self, on: bool) {
        write(if on { SIO_OUT_SET } else { SIO_OUT_CLR }, 1 << LAMP);
    }
}
