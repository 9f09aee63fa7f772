//! RTIC: a hardware task on TIM2's update, which spawns a software task for each; the software task's
//! interrupt is TIM5's, made pending by software. The chip runs at 16 MHz, as after a reset.

#![no_std]
#![no_main]

use cortex_m_rt as _;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

/// The part of the chip's description that RTIC needs.
mod device {
    pub const NVIC_PRIO_BITS: u8 = 4;

    #[derive(Clone, Copy)]
    #[allow(clippy::upper_case_acronyms, reason = "the manual's names")]
    pub enum Interrupt {
        TIM2 = 28,
        TIM5 = 50,
    }

    pub use Interrupt as interrupt;

    // SAFETY: the numbers are the reference manual's.
    unsafe impl cortex_m::interrupt::InterruptNumber for Interrupt {
        fn number(self) -> u16 {
            self as u16
        }
    }

    pub union Vector {
        handler: unsafe extern "C" fn(),
        reserved: usize,
    }

    unsafe extern "C" {
        fn TIM2();
        fn TIM5();
    }

    #[unsafe(link_section = ".vector_table.interrupts")]
    #[unsafe(no_mangle)]
    pub static __INTERRUPTS: [Vector; 51] = {
        let mut table = [const { Vector { reserved: 0 } }; 51];
        table[28] = Vector { handler: TIM2 };
        table[50] = Vector { handler: TIM5 };
        table
    };
}

/// Writes a register.
fn write(address: usize, value: u32) {
    // SAFETY: the callers' addresses are of registers, and each register has one task that writes it.
    unsafe { core::ptr::with_exposed_provenance_mut::<u32>(address).write_volatile(value) }
}

/// Reads a register.
fn read(address: usize) -> u32 {
    // SAFETY: as above.
    unsafe { core::ptr::with_exposed_provenance::<u32>(address).read_volatile() }
}

const TIMER: usize = 0x4000_0000;
const USART2: usize = 0x4000_4400;

/// The serial port's text, one byte at a time.
fn print(text: &str) {
    for byte in text.bytes() {
        while read(USART2) & 1 << 7 == 0 {}
        write(USART2 + 4, byte.into());
    }
    while read(USART2) & 1 << 6 == 0 {}
}

#[rtic::app(device = crate::device, peripherals = false, dispatchers = [TIM5])]
mod app {
    use cortex_m_semihosting::debug;

    use super::{TIMER, USART2, print, write};

    #[shared]
    struct Shared {
        ticks: u32,
    }

    #[local]
    struct Local {}

    #[init]
    fn init(_: init::Context) -> (Shared, Local) {
        // The clocks of TIM2 and USART2.
        write(0x4002_3840, 1 | 1 << 17);
        // 115,200 baud of 16 MHz; the transmitter.
        write(USART2 + 0x08, 139);
        write(USART2 + 0x0c, 1 << 13 | 1 << 3);
        // 16 MHz / 16 / 500: each 500 µs.
        for (offset, value) in [(0x28, 15), (0x2c, 499), (0x14, 1), (0x10, 0), (0x0c, 1), (0, 1)] {
            write(TIMER + offset, value);
        }
        (Shared { ticks: 0 }, Local {})
    }

    #[idle]
    fn idle(_: idle::Context) -> ! {
        loop {
            core::hint::spin_loop();
        }
    }

    #[task(binds = TIM2, shared = [ticks], priority = 3)]
    fn tick(mut context: tick::Context) {
        write(TIMER + 0x10, !1);
        let ticks = context.shared.ticks.lock(|ticks| {
            *ticks += 1;
            *ticks
        });
        if ticks == 8 {
            let _ = report::spawn();
        }
    }

    #[task(shared = [ticks], priority = 1)]
    async fn report(mut context: report::Context) {
        let ticks = context.shared.ticks.lock(|ticks| *ticks);
        print(if ticks == 8 { "eight ticks\r\n" } else { "other ticks\r\n" });
        debug::exit(debug::EXIT_SUCCESS);
    }
}
