//! The kernel's clock and alarm, from this machine's.

use board::{
    alarm, clock,
    lines::{Line, enable, set_urgency},
};
use tandem::time::{Driver, expire};

struct Time;

tandem::drive_time_with!(Time);

/// Lets the alarm interrupt.
pub fn start() {
    set_urgency(Line::Alarm, 1);
    enable(Line::Alarm);
}

impl Driver for Time {
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
    alarm::KERNEL.stop();
    expire();
}
