//! Tests of wakers called from every kind of context, and of waits that are given up.

use super::{ARMED, NOW};
use crate::{
    Coroutine, Event, Priority, Semaphore, TimedOut,
    arch::{self, masked},
    delay_until,
    tests::begin_test,
};
use std::{
    cell::{Cell, RefCell},
    future::{Future, poll_fn},
    pin::Pin,
    rc::Rc,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    task::{Poll, Waker},
};

fn leak<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// The state shared by the coroutines of one test.
struct Local<T>(T);
// SAFETY: a test has one thread.
unsafe impl<T> Send for Local<T> {}
// SAFETY: a test has one thread.
unsafe impl<T> Sync for Local<T> {}

impl<T> Local<T> {
    fn get(&self) -> &T {
        &self.0
    }
}

#[test]
fn a_handler_and_another_task_may_wake() {
    let _turn = begin_test();
    let kept = leak(Local(RefCell::new(None::<Waker>)));
    let (coroutine, polls) = (leak(Coroutine::<128>::new()), leak(AtomicU32::new(0)));
    let body = poll_fn(|context| {
        *kept.get().borrow_mut() = Some(context.waker().clone());
        if polls.fetch_add(1, Relaxed) < 4 { Poll::Pending } else { Poll::Ready(()) }
    });
    coroutine.spawn(Priority::new(5), "woken", body).unwrap();
    let waker = kept.get().borrow().clone().unwrap();
    // Woken by a less urgent task, the coroutine runs within the call.
    let lower = waker.clone();
    let body = async move {
        lower.wake_by_ref();
        assert_eq!(polls.load(Relaxed), 2);
    };
    leak(Coroutine::<128>::new()).spawn(Priority::new(1), "lower", body).unwrap();
    // Woken by a more urgent one, it runs afterwards, once, however often it was woken.
    let higher = waker.clone();
    let body = async move {
        higher.wake_by_ref();
        higher.wake();
        assert_eq!(polls.load(Relaxed), 2);
    };
    leak(Coroutine::<128>::new()).spawn(Priority::new(9), "higher", body).unwrap();
    assert_eq!(polls.load(Relaxed), 3);
    // Woken by a handler, it runs behind the handler.
    let once = Cell::new(Some(waker.clone()));
    arch::set_handler(Some(Box::new(move || {
        if let Some(waker) = once.take() {
            waker.wake();
            assert_eq!(polls.load(Relaxed), 3);
        }
    })));
    masked(|_| ());
    arch::set_handler(None);
    assert_eq!(polls.load(Relaxed), 4);
    // After its end, a waker has no effect.
    waker.wake_by_ref();
    assert_eq!((polls.load(Relaxed), coroutine.info().is_alive()), (5, false));
    waker.wake();
    assert_eq!(polls.load(Relaxed), 5);
}

#[test]
fn who_gives_up_in_a_queue_holds_up_nobody() {
    let _turn = begin_test();
    let (semaphore, give_up) = (leak(Semaphore::new(0)), leak(Event::new()));
    let order = leak(Local(RefCell::new(Vec::new())));
    for (i, priority) in [3, 3, 3, 5, 5, 1].into_iter().enumerate() {
        let body = async move {
            let mut taken = Box::pin(semaphore.taken());
            let mut signal = Box::pin(give_up.signalled());
            let gave_up = i == 1;
            poll_fn(|context| {
                if gave_up && signal.as_mut().poll(context).is_ready() {
                    return Poll::Ready(());
                }
                taken.as_mut().poll(context)
            })
            .await;
            drop(taken);
            order.get().borrow_mut().push(i);
        };
        leak(Coroutine::<256>::new()).spawn(Priority::new(priority), "in the queue", body).unwrap();
    }
    semaphore.give();
    give_up.signal(1);
    for _ in 0..4 {
        semaphore.give();
    }
    assert_eq!(*order.get().borrow(), [3, 1, 4, 0, 2, 5]);
    assert!(!semaphore.try_take());
    // A future served and dropped at once passes the unit on to the next waiter.
    let second = leak(AtomicU32::new(0));
    let mut taken: Option<Pin<Box<crate::Taken<'static>>>> = Some(Box::pin(semaphore.taken()));
    let body =
        poll_fn(move |context| match taken.as_mut().map(|taken| taken.as_mut().poll(context)) {
            Some(Poll::Pending) if second.load(Relaxed) == 1 => {
                semaphore.give();
                taken = None;
                assert!(semaphore.try_take());
                Poll::Ready(())
            }
            _ => {
                second.fetch_add(1, Relaxed);
                context.waker().wake_by_ref();
                Poll::Pending
            }
        });
    leak(Coroutine::<128>::new()).spawn(Priority::new(2), "first", body).unwrap();
    assert!(!semaphore.try_take());
}

/// A time limit and the end of the wait at the same moment, in both orders: exactly one of the two
/// is reported.
#[test]
fn a_time_limit_races_with_a_wake_up() {
    let _turn = begin_test();
    for (expires_first, given) in [(false, true), (true, true), (true, false)] {
        NOW.set(1000);
        let semaphore = leak(Semaphore::new(0));
        let result = leak(Local(Cell::new(None)));
        let body = async {
            let (mut taken, mut late) = (Box::pin(semaphore.taken()), Box::pin(delay_until(1010)));
            let first = poll_fn(|context| {
                if taken.as_mut().poll(context).is_ready() {
                    return Poll::Ready(Ok(()));
                }
                late.as_mut().poll(context).map(|()| Err(TimedOut))
            });
            let first = first.await;
            result.get().set(Some(first));
        };
        leak(Coroutine::<256>::new()).spawn(Priority::new(2), "limited", body).unwrap();
        assert!(result.get().get().is_none() && ARMED.get() == 1010);
        // Both in one handler, before the coroutine can run.
        let once = Rc::new(Cell::new(true));
        let todo = Rc::clone(&once);
        arch::set_handler(Some(Box::new(move || {
            if !todo.replace(false) {
                return;
            }
            NOW.set(1010);
            if expires_first {
                crate::tests::expire();
            }
            if given {
                semaphore.give();
            }
            if !expires_first {
                crate::tests::expire();
            }
        })));
        masked(|_| ());
        arch::set_handler(None);
        let taken = result.get().get().unwrap().is_ok();
        assert_eq!(taken, given);
        assert!(!semaphore.try_take(), "what was given was taken");
    }
}
