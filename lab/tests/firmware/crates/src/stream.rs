//! The stream of marks of an emulated STM32F2: TIM2 counts at 1 GHz, a nanosecond an instruction, and
//! USART1 sends.

use chronoscope_mark::board::Board;
use cortex_m_semihosting::debug;

const TIMER: *mut u32 = 0x4000_0000 as *mut u32;
const SERIAL: *mut u32 = 0x4001_1000 as *mut u32;

/// Begins the stream.
pub fn start() -> Board {
    // SAFETY: registers of two devices that nothing else in the program uses; the counter can be read
    // at any time.
    let board = unsafe {
        TIMER.write_volatile(1);
        SERIAL.add(3).write_volatile(0x2008);
        Board::start_counter(TIMER.add(9), 1_000_000_000, u32::MAX, false)
    };
    board.expect("the first start")
}

/// Sends the marks so far and ends the emulation.
pub fn finish(board: &mut Board) -> ! {
    // SAFETY: the device's register of data, which takes each byte at once.
    board.drain(&mut |byte| unsafe { SERIAL.add(1).write_volatile(byte.into()) });
    debug::exit(debug::EXIT_SUCCESS);
    loop {}
}

/// Takes three instructions a turn.
#[inline(never)]
pub fn work(turns: u32) {
    for turn in 0..turns {
        core::hint::black_box(turn);
    }
}

/// No interrupt of a device is used.
#[unsafe(link_section = ".vector_table.interrupts")]
#[unsafe(no_mangle)]
static __INTERRUPTS: [usize; 1] = [0];
