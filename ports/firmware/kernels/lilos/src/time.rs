//! Delays: lilos's own, which end with a tick of one millisecond.
//!
//! A due time of the suite is a value of the clock. The sleep ends with the first tick at or after
//! it, so it is late by up to a millisecond.
//!
//! lilos's tick is the exception SysTick. QEMU 7.2 loses ticks of that timer while the processor
//! sleeps (docs/machines/qemu.md). So the handler of the kernel's alarm pends the exception, with a
//! few instructions.

use core::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use board::{
    alarm, clock,
    lines::{Line, enable},
};
use cortex_m::peripheral::SCB;
use lilos::time::{TickTime, sleep_until};

/// lilos's are milliseconds.
pub const TICKS_PER_SECOND: u64 = 1000;

const TICK: u32 = (clock::HERTZ / TICKS_PER_SECOND) as u32;

/// The times of lilos's ticks.
pub struct Ticks {
    /// The clock's value at tick 0, or a few instructions before.
    zero: u64,
}

impl Ticks {
    /// Starts them: call it once.
    pub fn start() -> Self {
        let zero = clock::now();
        alarm::KERNEL.every(TICK);
        enable(Line::Alarm);
        Self { zero }
    }

    /// Returns the clock's value at the first tick at or after `time`.
    pub fn at_or_after(&self, time: u64) -> u64 {
        let tick = u64::from(TICK);
        self.zero + time.saturating_sub(self.zero).div_ceil(tick) * tick
    }

    /// The first one at or after `due`.
    fn not_before(&self, due: u64) -> TickTime {
        TickTime::from_millis_since_boot(due.saturating_sub(self.zero).div_ceil(TICK.into()))
    }

    pub fn delay_until(&self, due: u64) -> impl Future<Output = ()> + Send {
        OnTheExecutor(async move {
            if clock::now() < due {
                sleep_until(self.not_before(due)).await;
            }
        })
    }
}

#[unsafe(no_mangle)]
extern "C" fn ALARM() {
    SCB::set_pendst();
}

/// A future of lilos's that may not leave its thread.
struct OnTheExecutor<F>(F);

// SAFETY: all tasks run on the one executor, in the one thread that there is.
unsafe impl<F> Send for OnTheExecutor<F> {}

impl<F: Future> Future for OnTheExecutor<F> {
    type Output = F::Output;

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: the future is pinned where this one is.
        unsafe { self.map_unchecked_mut(|this| &mut this.0) }.poll(context)
    }
}
