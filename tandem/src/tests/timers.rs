use super::{ARMED, NOW, Random, on_both_kinds_of_processor, rounds, steps, tick};
use crate::{
    Coroutine, Priority,
    arch::{self, Mask, masked},
    delay_until, lock,
    records::{TIMERS, Task, Timer, UNFILED},
    tests::{begin_test, reset},
};
use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

/// Timers, each with the time for which it is set.
type Model = Rc<Vec<(&'static Timer, Cell<Option<u64>>)>>;

/// Timers of a task that has ended, so that nothing wakes it, and the timers alone are tested.
fn timers(count: usize) -> Model {
    let over: Task = super::task(20);
    over.bit.set(super::proof(), 0);
    let timer = || (&*Box::leak(Box::new(Timer::new(over))), Cell::new(None));
    Rc::new((0..count).map(|_| timer()).collect())
}

fn set(timer: &(&'static Timer, Cell<Option<u64>>), due: u64) {
    let (mask, m) = Mask::set();
    timer.0.cancel(m);
    timer.1.set(Some(due));
    TIMERS.set(m, mask, timer.0, due);
    mask.restore();
}

fn cancel(timer: &(&'static Timer, Cell<Option<u64>>)) {
    masked(|m| timer.0.cancel(m));
    timer.1.set(None);
}

/// Every timer that is due has expired, and no other; the alarm comes no later than the first.
fn assert_expired(timers: &Model) {
    let (mask, m) = Mask::set();
    for (timer, due) in timers.iter() {
        due.set(due.get().filter(|due| *due > NOW.get()));
        assert_eq!(timer.due_if_set(m), due.get());
    }
    let first = timers.iter().filter_map(|(_, due)| due.get()).min();
    assert_eq!(TIMERS.check(m), first);
    assert!(first.is_none_or(|first| ARMED.get() <= first));
    mask.restore();
}

/// The number of timers. Each check looks at all of them, which takes Miri long.
const COUNT: usize = if cfg!(miri) { 10 } else { 80 };

/// Timers expire at their times, near and far, whatever is set and cancelled while others are filed.
#[test]
fn timers_expire_at_their_times() {
    on_both_kinds_of_processor(expire_at_their_times);
}

fn expire_at_their_times() {
    for seed in 0..rounds(100) as u64 {
        let _turn = begin_test();
        NOW.set(0);
        let random = Rc::new(RefCell::new(Random::new(seed)));
        let timers = timers(COUNT);
        // Spans up to the upper word, and past times.
        let due = move |random: &mut Random| {
            let span = 1 << random.below(if seed % 2 == 0 { 12 } else { 42 });
            (NOW.get() + 1 + random.below(span) as u64).saturating_sub(random.below(4) as u64)
        };
        // A handler that cancels a timer now and then, and sets one, due or not.
        let (chance, victims) = (Rc::clone(&random), Rc::clone(&timers));
        arch::set_handler(Some(Box::new(move || {
            let random = &mut *chance.borrow_mut();
            match random.below(6) {
                0 | 1 => cancel(&victims[random.below(COUNT)]),
                2 => set(&victims[random.below(COUNT)], due(random)),
                _ => {}
            }
        })));
        for _ in 0..steps(300) {
            let (timer, time) = {
                let random = &mut *random.borrow_mut();
                (random.below(COUNT), due(random))
            };
            let (mask, _) = Mask::set();
            set(&timers[timer], time);
            mask.restore();
            if random.borrow_mut().below(4) == 0 {
                let span = random.borrow_mut().below(200) as u64;
                NOW.set(NOW.get() + if seed % 2 == 0 { span } else { span << 30 });
                tick();
                let (mask, _) = Mask::set();
                tick();
                assert_expired(&timers);
                mask.restore();
            }
        }
        arch::set_handler(None);
        tick();
        assert_expired(&timers);
        while let Some(due) = masked(|m| TIMERS.check(m)) {
            NOW.set(due);
            tick();
            assert_expired(&timers);
        }
    }
}

/// Filing timers anew ends, although one is set and cancelled in each of its windows.
#[test]
fn filing_ends_whatever_happens_in_its_windows() {
    on_both_kinds_of_processor(filing_ends);
}

fn filing_ends() {
    const FILED: u64 = if cfg!(miri) { 8 } else { 40 };
    let _turn = begin_test();
    NOW.set(0);
    let timers = timers(FILED as usize + 2);
    for (timer, due) in timers.iter().zip(1024..) {
        set(timer, due);
    }
    let windows = Rc::new(Cell::new(0));
    let (count, others) = (Rc::clone(&windows), Rc::clone(&timers));
    arch::set_handler(Some(Box::new(move || {
        count.set(count.get() + 1);
        assert!(count.get() < 8 * FILED, "filing does not end");
        set(&others[FILED as usize], 1500);
        cancel(&others[FILED as usize + 1]);
    })));
    NOW.set(1024);
    tick();
    arch::set_handler(None);
    assert!(windows.get() > FILED, "filing has opened windows");
    assert_expired(&timers);
    // The head of a slot is cancelled: the others are filed before the next alarm is set.
    NOW.set(0);
    reset();
    let timers = self::timers(4);
    for (timer, due) in timers.iter().zip([520, 515, 700, 600]) {
        set(timer, due);
    }
    cancel(&timers[1]);
    assert_eq!((masked(|m| TIMERS.check(m)), ARMED.get()), (Some(520), 515));
    NOW.set(515);
    tick();
    assert_expired(&timers);
    assert_eq!(ARMED.get(), 520);
}

/// The handler's windows, and its runs: each is an opportunity for a more urgent one.
fn count_steps() -> Rc<Cell<u64>> {
    let steps = Rc::new(Cell::new(0));
    let count = Rc::clone(&steps);
    arch::set_handler(Some(Box::new(move || count.set(count.get() + 1))));
    steps
}

/// Waits whose time limits do not come, one after the other, beside many sleepers: the sleepers in
/// the limits' slot are not filed anew each time.
#[test]
fn cancelled_limits_file_the_sleepers_seldom() {
    on_both_kinds_of_processor(|| {
        const SLEEPERS: u64 = if cfg!(miri) { 5 } else { 40 };
        const WAITS: u64 = if cfg!(miri) { 200 } else { 4000 };
        let _turn = begin_test();
        // In one slot with the sleepers, since the base is 0.
        NOW.set(1 << 20);
        let timers = timers(SLEEPERS as usize + 1);
        let limit = &timers[SLEEPERS as usize];
        for (timer, due) in timers.iter().zip((1 << 20) + 128 * WAITS..) {
            set(timer, due);
        }
        let steps = count_steps();
        for _ in 0..WAITS {
            set(limit, NOW.get() + 500);
            NOW.set(NOW.get() + 100);
            let before = steps.get();
            if ARMED.get() <= NOW.get() {
                tick();
            }
            // Calls that set and cancel the limit open windows, too.
            let filed = steps.get() - before;
            cancel(limit);
            steps.set(before + filed);
        }
        arch::set_handler(None);
        assert_expired(&timers);
        // Each window is counted at its beginning and its end.
        assert!(steps.get() < 2 * 32 * SLEEPERS + 4 * WAITS, "{} steps", steps.get());
    });
}

/// A timer that is due is not held up by the others of a slot whose first has been cancelled.
#[test]
fn a_near_timer_does_not_wait_for_others_to_be_filed() {
    on_both_kinds_of_processor(|| {
        let _turn = begin_test();
        NOW.set(0);
        let timers = timers(42);
        for (timer, due) in timers.iter().zip(1024..) {
            set(timer, due + 1);
        }
        set(&timers[40], 20);
        set(&timers[41], 1024);
        cancel(&timers[41]);
        NOW.set(20);
        let steps = count_steps();
        tick();
        arch::set_handler(None);
        assert_expired(&timers);
        assert!(steps.get() < 10, "{} steps", steps.get());
        assert!(ARMED.get() >= 1024);
    });
}

/// Tasks that sleep until one time wake in the order in which they began, and earlier ones before.
#[test]
fn sleepers_wake_in_order() {
    on_both_kinds_of_processor(wake_in_order);
}

fn wake_in_order() {
    thread_local! {
        static WOKEN: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
    }
    let _turn = begin_test();
    NOW.set(3);
    let dues = [77, 70, 99, 70, 70, 77, 3, 99, 64, 70, 127, 1 << 40, 77];
    for (id, due) in dues.iter().copied().enumerate() {
        let task: &'static Coroutine<256> = Box::leak(Box::new(Coroutine::new()));
        let body = async move {
            delay_until(due).await;
            WOKEN.with_borrow_mut(|woken| woken.push(due << 8 | id as u64));
        };
        assert!(task.spawn(Priority::new(4), "sleeper", body).is_ok());
    }
    let mut expected: Vec<u64> = dues.iter().zip(0..).map(|(due, id)| due << 8 | id).collect();
    expected.sort_unstable();
    for now in [64, 80, 1 << 40] {
        NOW.set(now);
        tick();
    }
    assert_eq!(WOKEN.take(), expected);
}

/// A task that is raised while it waits takes along the slot with its timer, and the task that files,
/// whose own level that is: computed anew, it stays.
#[test]
fn a_task_that_is_raised_has_its_timers_filed_at_its_level() {
    let _turn = begin_test();
    NOW.set(0);
    let (waits, filer): (Task, Task) = (super::task(20), super::task(20));
    let timers: Vec<&Timer> = (0..2).map(|_| &*Box::leak(Box::new(Timer::new(waits)))).collect();
    let raise = |level| {
        masked(|m| {
            waits.set_base(m, level);
            assert!(lock::settle(m, waits));
        });
    };
    let levels = || masked(|m| TIMERS.levels[UNFILED].get(m));
    masked(|m| {
        TIMERS.set_in_window(m, timers[0], 1000);
        TIMERS.set_in_window(m, timers[1], 1001);
    });
    raise(5);
    NOW.set(1000);
    crate::time::expire();
    assert_eq!(levels(), 0x8000_0000 >> 20 | 0x8000_0000 >> 5);
    masked(|m| TIMERS.filer.set(m, Some(filer)));
    raise(3);
    assert_eq!(levels().leading_zeros(), 3);
    masked(|m| {
        assert_eq!((filer.level.get(m), filer.base(m)), (3, 3));
        assert!(!lock::settle(m, filer));
        timers.iter().for_each(|timer| timer.cancel(m));
    });
}
