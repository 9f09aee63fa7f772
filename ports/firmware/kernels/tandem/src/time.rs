//! The kernel's clock and alarm, from this machine's.

use board::{alarm, clock};
use tandem::{
    time::{Driver, expire},
    trace::interrupt,
};

struct Time;

tandem::drive_time_with!(Time);

// SAFETY: the functions call nothing of the kernel.
unsafe impl Driver for Time {
    const HERTZ: u64 = clock::HERTZ;

    #[inline(always)]
    fn now() -> u64 {
        clock::now()
    }

    #[inline(always)]
    fn arm(due: u64) {
        alarm::KERNEL.set(due);
    }
}

#[unsafe(no_mangle)]
extern "C" fn ALARM() {
    interrupt(|| {
        alarm::KERNEL.stop();
        expire();
    });
}
