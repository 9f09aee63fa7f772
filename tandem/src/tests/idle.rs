//! The hooks around the idle task's sleep.

use super::{NOW, begin_test, tick};
use crate::{
    Coroutine, Priority, Semaphore, SleepHooks,
    arch::{SLEEPS, set_handler},
    delay_until, idle, next_alarm,
};
use std::cell::{Cell, RefCell};

thread_local! {
    static CALLS: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
    /// The work of the next call of the first hook.
    static WORK: Cell<Option<fn()>> = const { Cell::new(None) };
}

fn note(call: &'static str) {
    CALLS.with_borrow_mut(|calls| calls.push(call));
}

struct Hooks;
crate::sleep_with!(Hooks);

impl SleepHooks for Hooks {
    fn before() {
        note("before");
        if let Some(work) = WORK.take() {
            work();
        }
    }

    fn after() {
        note("after");
    }
}

/// Runs the idle task's loop once. Returns the calls, and whether the processor has slept.
fn sleep() -> (Vec<&'static str>, bool) {
    let before = SLEEPS.get();
    idle::sleep();
    (CALLS.take(), SLEEPS.get() > before)
}

#[test]
fn a_hook_that_wakes_a_task_keeps_the_processor_from_sleeping() {
    static GIVEN: Semaphore = Semaphore::new(0);
    static TASK: Coroutine<256> = Coroutine::new();
    let _turn = begin_test();
    let waits = async {
        GIVEN.taken().await;
        note("task");
    };
    TASK.spawn(Priority::new(1), "task", waits).unwrap();
    assert_eq!(sleep(), (vec!["before", "after"], true));
    WORK.set(Some(|| GIVEN.give()));
    assert_eq!(sleep(), (vec!["before", "after", "task"], false));
    assert_eq!(sleep(), (vec!["before", "after"], true));
}

#[test]
fn no_handler_runs_between_the_hooks() {
    let _turn = begin_test();
    set_handler(Some(Box::new(|| note("handler"))));
    let (calls, _) = sleep();
    set_handler(None);
    assert_eq!(calls, ["handler", "before", "after", "handler"]);
}

#[test]
fn the_next_alarm_is_the_first_timers() {
    static TASK: Coroutine<256> = Coroutine::new();
    let _turn = begin_test();
    NOW.set(0);
    assert_eq!(next_alarm(), None);
    TASK.spawn(Priority::new(1), "task", async { delay_until(70).await }).unwrap();
    assert_eq!(next_alarm(), Some(70));
    NOW.set(70);
    tick();
    assert_eq!((next_alarm(), TASK.info().is_alive()), (None, false));
}
