//! The board of the examples, an STM32F405 or STM32F407: a clock for the kernel, pins, two serial
//! ports with interrupts, and printing through the debugger.
//!
//! A program of your own would take pins and ports from a HAL crate. This file shows what tandem
//! itself asks for: [`Clock`], in `clock.rs`, whose alarm's handler calls `time::expire`, and interrupt handlers
//! that signal.
//!
//! # Soundness
//! Registers are accessed at the addresses of the reference manual (RM0090), as words. A port is
//! used by one task, which its `&mut self` makes sure of, and by its handler.
#![no_std]

pub mod bridge;
pub mod button;
#[cfg(not(feature = "embassy-clock"))]
mod clock;
#[cfg(feature = "embassy-clock")]
pub mod hal;
mod serial;

#[cfg(not(feature = "embassy-clock"))]
pub use clock::Clock;
pub use serial::{PORT_1, PORT_2, Port};

use core::convert::Infallible;
// For its implementation of critical sections.
use cortex_m as _;
use cortex_m_semihosting::debug;
use embedded_hal::digital::{ErrorType, OutputPin};
#[cfg(feature = "embassy-clock")]
pub use tandem::EmbassyClock as Clock;
use tandem::time;

pub use cortex_m_rt::entry;
pub use cortex_m_semihosting::hprintln;

/// Cycles of the timer's clock in a microsecond.
const TIMER_MHZ: u32 = if cfg!(feature = "qemu") { 1000 } else { 16 };

fn read(address: usize) -> u32 {
    // SAFETY: the callers pass addresses of registers.
    unsafe { (address as *const u32).read_volatile() }
}

fn write(address: usize, value: u32) {
    // SAFETY: the callers pass addresses of registers that control the clock, pins and ports of
    // this file, and nothing that memory safety depends on.
    unsafe { (address as *mut u32).write_volatile(value) }
}

fn modify(address: usize, change: impl FnOnce(u32) -> u32) {
    cortex_m::interrupt::free(|_| write(address, change(read(address))));
}

const RCC_AHB1ENR: usize = 0x4002_3830;
const RCC_APB1ENR: usize = 0x4002_3840;
const RCC_APB2ENR: usize = 0x4002_3844;
const TIM5: usize = 0x4000_0c00;
const TIM5_CR1: usize = TIM5;
const TIM5_EGR: usize = TIM5 + 0x14;
const TIM5_CNT: usize = TIM5 + 0x24;
const TIM5_PSC: usize = TIM5 + 0x28;
const TIM5_ARR: usize = TIM5 + 0x2c;
const CPACR: usize = 0xe000_ed88;

/// Starts the clock, the FPU, the ports A and D of pins, and the serial ports.
pub fn set_up() {
    write(CPACR, 0xf << 20);
    cortex_m::asm::dsb();
    cortex_m::asm::isb();
    modify(RCC_AHB1ENR, |bits| bits | 1 << 3 | 1);
    modify(RCC_APB1ENR, |bits| bits | 1 << 17 | 1 << 3);
    modify(RCC_APB2ENR, |bits| bits | 1 << 4);
    write(TIM5_PSC, TIMER_MHZ - 1);
    write(TIM5_ARR, u32::MAX);
    write(TIM5_EGR, 1);
    write(TIM5_CR1, 1);
    #[cfg(feature = "embassy-clock")]
    hal::set_up();
    serial::set_up();
}

// The program's clock, or the HAL's.
tandem::drive_time_with!(Clock);

/// A counter of 32 bits, read often enough that it wraps at most once in between.
mod tandem_clock {
    use core::cell::Cell;

    pub struct Wide(Cell<(u32, u32)>);

    // SAFETY: used with interrupts masked, on one core.
    unsafe impl Sync for Wide {}

    impl Wide {
        pub const fn new() -> Self {
            Self(Cell::new((0, 0)))
        }

        pub fn extend(&self, low: u32) -> u64 {
            let (mut high, last) = self.0.get();
            high += u32::from(low < last);
            self.0.set((high, low));
            u64::from(high) << 32 | u64::from(low)
        }
    }
}

const GPIOA: usize = 0x4002_0000;
const GPIOD: usize = 0x4002_0c00;
const MODER: usize = 0;
const BSRR: usize = 0x18;
const AFRL: usize = 0x20;

/// An output pin.
pub struct Pin {
    port: usize,
    number: usize,
}

impl Pin {
    fn output(port: usize, number: usize) -> Self {
        modify(port + MODER, |bits| bits & !(3 << (2 * number)) | 1 << (2 * number));
        Self { port, number }
    }

    /// PD12, the green lamp of the Discovery board.
    pub fn lamp() -> Self {
        Self::output(GPIOD, 12)
    }

    /// PA8, to DE and /RE of an RS-485 transceiver at USART1.
    pub fn transmit() -> Self {
        Self::output(GPIOA, 8)
    }

    /// Gives a pin of port A to the serial port whose alternate function 7 it has.
    fn serial(number: usize) {
        let (register, shift) = (GPIOA + AFRL + number / 8 * 4, number % 8 * 4);
        modify(register, |bits| bits & !(0xf << shift) | 7 << shift);
        modify(GPIOA + MODER, |bits| bits & !(3 << (2 * number)) | 2 << (2 * number));
    }
}

impl ErrorType for Pin {
    type Error = Infallible;
}

impl OutputPin for Pin {
    fn set_high(&mut self) -> Result<(), Infallible> {
        write(self.port + BSRR, 1 << self.number);
        Ok(())
    }

    fn set_low(&mut self) -> Result<(), Infallible> {
        write(self.port + BSRR, 1 << (self.number + 16));
        Ok(())
    }
}

/// The time since the clock's start, for a timeline: milliseconds and their thousandths.
pub fn timestamp() -> (u32, u32) {
    let now = time::now();
    ((now / 1000) as u32, (now % 1000) as u32)
}

/// Prints a line of a timeline: the time, the running task, and the text.
#[macro_export]
macro_rules! event {
    ($($text:tt)*) => {{
        let (milliseconds, microseconds) = $crate::timestamp();
        $crate::hprintln!(
            "{:>6}.{:03} ms  {:<10}{}",
            milliseconds,
            microseconds,
            $crate::task_name(),
            format_args!($($text)*)
        );
    }};
}

/// The name of the running task.
pub fn task_name() -> &'static str {
    tandem::current().name()
}

/// Ends the program in QEMU, or returns to the debugger.
pub fn exit(success: bool) -> ! {
    debug::exit(if success { debug::EXIT_SUCCESS } else { debug::EXIT_FAILURE });
    loop {
        cortex_m::asm::wfi();
    }
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo) -> ! {
    hprintln!("task {}: {}", task_name(), info);
    exit(false)
}

/// The vector table behind the processor's own exceptions: the handlers of the button and of the
/// serial ports.
#[unsafe(link_section = ".vector_table.interrupts")]
#[unsafe(no_mangle)]
static __INTERRUPTS: [extern "C" fn(); 82] = {
    extern "C" fn stray() {
        panic!("an interrupt without a handler");
    }
    let mut table: [extern "C" fn(); 82] = [stray; 82];
    table[button::INTERRUPT] = button::on_interrupt;
    #[cfg(feature = "embassy-clock")]
    {
        table[hal::INTERRUPT] = hal::on_alarm;
    }
    table[serial::INTERRUPT_1] = serial::on_port_1;
    table[serial::INTERRUPT_2] = serial::on_port_2;
    table
};
