//! A stand-in for the time driver of a HAL: `embassy-time-driver`'s trait on TIM5, which counts
//! microseconds, and TIM2, whose update interrupt is the alarm.
//!
//! `embassy-stm32` has such a driver for each chip. Its alarm is a comparator of the counting timer,
//! which QEMU's model lacks. The queue is the one that HALs of embassy use.

use crate::{modify, read, tandem_clock::Wide, write};
use core::{
    cell::{Cell, RefCell},
    task::Waker,
};
use critical_section::{CriticalSection, Mutex};
use embassy_time_driver::Driver;
use embassy_time_queue_utils::Queue;

pub(crate) const INTERRUPT: usize = 28;

const RCC_APB1ENR: usize = 0x4002_3840;
const NVIC_ISER0: usize = 0xe000_e100;
const TIM2: usize = 0x4000_0000;
const CR1: usize = TIM2;
const DIER: usize = TIM2 + 0x0c;
const SR: usize = TIM2 + 0x10;
const EGR: usize = TIM2 + 0x14;
const PSC: usize = TIM2 + 0x28;
const ARR: usize = TIM2 + 0x2c;
const ENABLED: u32 = 1 << 0;
/// Only a wrap interrupts, and the timer stops there.
const ONE_SHOT: u32 = 1 << 3 | 1 << 2;

struct Hal {
    queue: Mutex<RefCell<Queue>>,
}

embassy_time_driver::time_driver_impl!(static HAL: Hal = Hal {
    queue: Mutex::new(RefCell::new(Queue::new())),
});

/// Prepares TIM2. TIM5 has been started.
pub(crate) fn set_up() {
    modify(RCC_APB1ENR, |bits| bits | 1);
    write(PSC, crate::TIMER_MHZ - 1);
    write(CR1, ONE_SHOT);
    write(EGR, 1);
    write(DIER, 1);
    write(NVIC_ISER0, 1 << INTERRUPT);
}

impl Driver for Hal {
    fn now(&self) -> u64 {
        static WIDE: Wide = Wide::new();
        critical_section::with(|_| WIDE.extend(read(crate::TIM5_CNT)))
    }

    fn schedule_wake(&self, at: u64, waker: &Waker) {
        critical_section::with(|cs| {
            if self.queue.borrow(cs).borrow_mut().schedule_wake(at, waker) {
                self.set_alarm(cs);
            }
        });
    }
}

impl Hal {
    /// Wakes whatever is due, and sets the alarm for the rest.
    fn set_alarm(&self, cs: CriticalSection) {
        let now = self.now();
        let next = self.queue.borrow(cs).borrow_mut().next_expiration(now);
        write(CR1, ONE_SHOT);
        if next < u64::MAX {
            let left = next.saturating_sub(self.now()).clamp(1, u64::from(u32::MAX));
            write(ARR, left as u32);
            write(EGR, 1);
            write(CR1, ONE_SHOT | ENABLED);
        }
    }
}

/// The time of the latest alarm, in microseconds. QEMU's TIM2 interrupts late, by the host's clock.
pub fn last_alarm() -> u64 {
    critical_section::with(|cs| LAST.borrow(cs).get())
}

static LAST: Mutex<Cell<u64>> = Mutex::new(Cell::new(0));

pub(crate) extern "C" fn on_alarm() {
    write(SR, 0);
    critical_section::with(|cs| LAST.borrow(cs).set(HAL.now()));
    critical_section::with(|cs| HAL.set_alarm(cs));
}
