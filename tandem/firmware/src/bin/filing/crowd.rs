//! 200 sleepers whose timers share a slot, and an urgent thread that is woken beside them.

use core::{
    future::poll_fn,
    pin::{Pin, pin},
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    task::Poll,
};
use tandem::{
    Me, Queue, Semaphore, delay_until,
    time::{self, Delay},
};
use tandem_firmware::board::mark;

pub const SLEEPERS: usize = 200;
/// The room for [`sleep_many`].
pub const ROOM: usize = SLEEPERS * size_of::<Delay>() + 256;

/// The time from which on the sleepers are due, for each round.
pub static ROUND: Queue<u64, 1> = Queue::new();
/// Given once all sleepers of a round have woken.
pub static AWAKE: Semaphore = Semaphore::new(0);
/// Given to the urgent thread.
pub static RAISED: Semaphore = Semaphore::new(0);
/// The urgent thread's mark, and given behind it.
pub static END: AtomicU32 = AtomicU32::new(0);
pub static OVER: Semaphore = Semaphore::new(0);

/// Sleeps with all timers in one slot: a sleeper is due `behind` its number, in ticks after the round's
/// time.
pub async fn sleep_many(behind: impl Fn(usize) -> usize) {
    let mut delays = pin!([const { None::<Delay> }; SLEEPERS]);
    loop {
        let first = ROUND.received().await;
        for i in 0..SLEEPERS {
            // SAFETY: the array is pinned, and a delay is not moved out of it.
            let place = unsafe { &mut delays.as_mut().get_unchecked_mut()[i] };
            *place = None;
            let delay = place.insert(delay_until(first + behind(i) as u64));
            // SAFETY: as above.
            let mut delay = unsafe { Pin::new_unchecked(delay) };
            let _ = poll_fn(|context| Poll::Ready(delay.as_mut().poll(context))).await;
        }
        assert!(time::now() < first, "the sleepers' delays begin late");
        for i in 0..SLEEPERS {
            // SAFETY: as above.
            let place = unsafe { &mut delays.as_mut().get_unchecked_mut()[i] };
            if let Some(delay) = place {
                // SAFETY: as above.
                unsafe { Pin::new_unchecked(delay) }.await;
            }
        }
        AWAKE.give();
    }
}

/// The body of the urgent thread.
pub fn urgent(me: &Me) {
    loop {
        RAISED.take(me);
        END.store(mark(), Relaxed);
        OVER.give();
    }
}
