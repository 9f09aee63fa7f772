//! The kernel's clock on the time driver of a chip's HAL. With the feature `embassy-clock`, on
//! Cortex-M.
//!
//! The kernel sets its alarm amid a change of its records, and the HAL's driver may call any waker
//! when it is asked for a wake-up, a coroutine's too, whose embassy timer it keeps. So
//! [`Driver::arm`] only notes the time, and SysTick's handler asks the HAL for it, outside of all
//! calls of the kernel. In the same way the HAL calls the kernel's waker amid a change of its own
//! queue, so that the waker only requests SysTick, too.
//!
//! # Soundness
//! The only unsafe access sets SysTick's pending bit. The waker has no state.

use crate::{
    arch::masked,
    shared::{Masked, Shared},
    time::{self, Driver},
    trace,
};
use core::task::{RawWaker, RawWakerVTable, Waker};

/// The kernel's clock on the time driver of a chip's HAL, such as `embassy-stm32` with its feature
/// `time-driver-…`. With the feature `embassy-clock`, on Cortex-M.
///
/// ```ignore
/// tandem::drive_time_with!(tandem::EmbassyClock);
///
/// #[cortex_m_rt::entry]
/// fn main() -> ! {
///     let chip = embassy_stm32::init(Default::default()); // starts the HAL's driver
///     tandem::start(&STACK, || {
///         // spawn tasks
///     })
/// }
/// ```
///
/// The feature `tick-hz-…` of `embassy-time-driver` or `embassy-time` sets its rate. Embassy's
/// timers work in coroutines, and in threads by [`Me::block_on`](crate::Me::block_on): the HAL's
/// driver keeps them. Its queue must take wakers of any kind: enable a feature `generic-queue-…` of
/// `embassy-time-queue-utils`, with one place for the kernel's alarm and one for each task that waits
/// for embassy's timers.
///
/// Takes SysTick's exception, whose counter is free. With the feature `basepri`, give SysTick and
/// the HAL's timer a priority that the kernel masks.
///
/// Setting the alarm requests SysTick, whose handler asks the HAL for a wake-up; the wake-up requests
/// SysTick again. So a tick takes two exceptions more than a [`Driver`] that sets a comparator, and
/// the HAL masks interrupts while it searches its queue.
pub struct EmbassyClock;

/// The time for which the HAL is still to be asked; `u64::MAX` for none.
static DUE: Shared<u64> = Shared::new(u64::MAX);
/// The HAL has woken the kernel.
static IS_DUE: Shared<bool> = Shared::new(false);

// SAFETY: `arm` calls nothing of the kernel, and a HAL's `now` reads a counter.
unsafe impl Driver for EmbassyClock {
    const HERTZ: u64 = embassy_time_driver::TICK_HZ;

    #[inline]
    fn now() -> u64 {
        embassy_time_driver::now()
    }

    fn arm(due: u64) {
        // SAFETY: called with interrupts masked, by the contract of `Driver`.
        let m = unsafe { Masked::assume() };
        DUE.set(m, due);
        request_handler(m);
    }
}

/// Makes SysTick pending.
fn request_handler(_: Masked) {
    const ICSR: *mut u32 = 0xe000_ed04 as *mut u32;
    const PENDSTSET: u32 = 1 << 26;
    // SAFETY: every Cortex-M has this register; zeros have no effect.
    unsafe { ICSR.write_volatile(PENDSTSET) };
}

/// Passes a wake-up of the HAL on to the kernel, and the kernel's alarm on to the HAL.
#[unsafe(no_mangle)]
extern "C" fn SysTick() {
    trace::interrupt(|| {
        if masked(|m| take(m, &IS_DUE, false)) {
            time::expire();
        }
        let due = masked(|m| take(m, &DUE, u64::MAX));
        if due < u64::MAX {
            // A time that has passed calls the waker at once, which requests this handler again.
            embassy_time_driver::schedule_wake(due, &waker());
        }
    });
}

fn take<T: Copy>(m: Masked, cell: &Shared<T>, rest: T) -> T {
    let value = cell.get(m);
    cell.set(m, rest);
    value
}

/// The kernel's only waker of the HAL's timers. All of them are equal, so that the HAL keeps one.
fn waker() -> Waker {
    fn clone(_: *const ()) -> RawWaker {
        RawWaker::new(core::ptr::null(), &TABLE)
    }
    fn wake(_: *const ()) {
        masked(|m| {
            IS_DUE.set(m, true);
            request_handler(m);
        });
    }
    static TABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake, |_| ());
    // SAFETY: the functions may be called anywhere, and use no data.
    unsafe { Waker::from_raw(clone(core::ptr::null())) }
}
