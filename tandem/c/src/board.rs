//! The kernel's clock and alarm are the C program's functions.

use tandem::time::Driver;

unsafe extern "C" {
    fn tandem_board_now() -> u64;
    fn tandem_board_arm(due: u64);
}

struct Board;

// SAFETY: the functions call nothing of the kernel.
unsafe impl Driver for Board {
    /// The rate is the C program's affair: the kernel counts in ticks.
    const HERTZ: u64 = 1;

    #[inline(always)]
    fn now() -> u64 {
        // SAFETY: the program defines it, to be called with interrupts masked, as they are here.
        unsafe { tandem_board_now() }
    }

    #[inline(always)]
    fn arm(due: u64) {
        // SAFETY: as in `now`.
        unsafe { tandem_board_arm(due) }
    }
}

tandem::drive_time_with!(Board);

#[unsafe(no_mangle)]
extern "C" fn tandem_now() -> u64 {
    tandem::time::now()
}

#[unsafe(no_mangle)]
extern "C" fn tandem_expire() {
    tandem::time::expire();
}
