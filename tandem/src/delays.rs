//! Delays for drivers of devices: the traits `DelayNs` of `embedded-hal` and `embedded-hal-async`.
//!
//! # Soundness
//! No unsafe code: the kernel's own delays, with units converted.

use crate::{
    me::Me,
    time::{self, Driver},
};
use core::marker::PhantomData;

/// Units in a second.
const NANOSECONDS: u64 = 1_000_000_000;
const MICROSECONDS: u64 = 1_000_000;
const MILLISECONDS: u64 = 1_000;

/// The least number of ticks of a clock of `hertz` that last at least `amount`, of which
/// `per_second` are a second. Rounded up; no division at run time where one rate divides the other.
#[inline(always)]
const fn ticks(amount: u32, per_second: u64, hertz: u64) -> u64 {
    if hertz.is_multiple_of(per_second) {
        amount as u64 * (hertz / per_second)
    } else if per_second.is_multiple_of(hertz) && per_second / hertz <= u32::MAX as u64 {
        amount.div_ceil((per_second / hertz) as u32) as u64
    } else {
        (amount as u128 * hertz as u128).div_ceil(per_second as u128) as u64
    }
}

/// The time at which a delay that begins now ends. The current tick has begun already, so one more
/// is added, except to a delay of 0.
#[inline(always)]
fn due<D: Driver>(amount: u32, per_second: u64) -> u64 {
    let ticks = ticks(amount, per_second, D::HERTZ);
    time::now().saturating_add(ticks + u64::from(ticks > 0))
}

/// Delays for asynchronous drivers: `embedded_hal_async::delay::DelayNs`. `D` is the board's clock,
/// the type given to [`drive_time_with!`](crate::drive_time_with).
///
/// A delay lasts at least as long as asked for, and one tick of the clock longer at most, besides
/// the time that more urgent tasks take. The task waits meanwhile; the processor is free.
///
/// ```no_run
/// use embedded_hal_async::delay::DelayNs;
///
/// struct Clock;
/// tandem::drive_time_with!(Clock);
/// # // SAFETY: the functions call nothing of the kernel.
/// # unsafe impl tandem::time::Driver for Clock {
/// #     const HERTZ: u64 = 1_000_000;
/// #     fn now() -> u64 { 0 }
/// #     fn arm(_: u64) {}
/// # }
///
/// async fn start(mut reset: impl FnMut(bool), delay: &mut impl DelayNs) {
///     reset(true);
///     delay.delay_us(50).await;
///     reset(false);
/// }
///
/// async fn in_a_coroutine() {
///     start(|_| (), &mut tandem::Delays::<Clock>::new()).await;
/// }
/// # fn main() {}
/// ```
pub struct Delays<D>(PhantomData<fn() -> D>);

impl<D> Delays<D> {
    /// A source of delays; it has no state.
    #[must_use]
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<D> Default for Delays<D> {
    fn default() -> Self {
        Self::new()
    }
}

impl<D> Clone for Delays<D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D> Copy for Delays<D> {}

impl<D: Driver> embedded_hal_async::delay::DelayNs for Delays<D> {
    async fn delay_ns(&mut self, amount: u32) {
        time::delay_until(due::<D>(amount, NANOSECONDS)).await;
    }

    async fn delay_us(&mut self, amount: u32) {
        time::delay_until(due::<D>(amount, MICROSECONDS)).await;
    }

    async fn delay_ms(&mut self, amount: u32) {
        time::delay_until(due::<D>(amount, MILLISECONDS)).await;
    }
}

/// Delays for blocking drivers in a thread: `embedded_hal::delay::DelayNs`. `D` is the board's
/// clock, the type given to [`drive_time_with!`](crate::drive_time_with).
///
/// A delay is as long as one of [`Delays`]; the thread is blocked meanwhile, and others run. A
/// delay panics in a critical section.
pub struct ThreadDelays<'a, 'me, D>(&'a Me<'me>, PhantomData<fn() -> D>);

impl<'a, 'me, D> ThreadDelays<'a, 'me, D> {
    /// A source of delays of this thread.
    #[must_use]
    pub const fn new(me: &'a Me<'me>) -> Self {
        Self(me, PhantomData)
    }
}

impl<D: Driver> embedded_hal::delay::DelayNs for ThreadDelays<'_, '_, D> {
    fn delay_ns(&mut self, amount: u32) {
        self.0.delay_until(due::<D>(amount, NANOSECONDS));
    }

    fn delay_us(&mut self, amount: u32) {
        self.0.delay_until(due::<D>(amount, MICROSECONDS));
    }

    fn delay_ms(&mut self, amount: u32) {
        self.0.delay_until(due::<D>(amount, MILLISECONDS));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_is_never_shorter_than_asked_for() {
        let rates = [1, 1000, 32_768, 1_000_000, 16_000_000, 168_000_000, 3_000_000_000];
        for hertz in rates {
            for per_second in [NANOSECONDS, MICROSECONDS, MILLISECONDS] {
                for amount in [0, 1, 2, 999, 1000, 1001, 30_517, 30_518, u32::MAX] {
                    let ticks = u128::from(ticks(amount, per_second, hertz));
                    let exact = u128::from(amount) * u128::from(hertz);
                    let per_second = u128::from(per_second);
                    assert!(ticks * per_second >= exact, "{amount} {per_second} {hertz}");
                    assert!(ticks * per_second < exact + per_second, "one tick more at most");
                }
            }
        }
    }
}
