use super::{ARMED, NOW, Random, rounds, steps};
use crate::{
    arch::{self, Mask},
    kernel,
    task::Task,
    time::{self, TIMERS, Timer},
};
use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

/// Timers expire in order, whatever happens in the windows of a search, and the alarm is always set
/// for the first.
#[test]
fn timers_expire_in_order() {
    for seed in 0..rounds(100) as u64 {
        NOW.set(0);
        let random = Rc::new(RefCell::new(Random::new(seed)));
        // The task has ended, so nothing wakes it, and the list alone is tested.
        let over: Task = super::task(20);
        over.bit.set(super::proof(), 0);
        let _turn = kernel::begin_test();
        let timers: Rc<Vec<&'static Timer>> =
            Rc::new((0..80).map(|_| &*Box::leak(Box::new(Timer::new(over)))).collect());
        // A handler that cancels a timer now and then.
        let (chance, victims) = (Rc::clone(&random), Rc::clone(&timers));
        arch::set_handler(Some(Box::new(move || {
            let victim = victims[chance.borrow_mut().below(80)];
            if chance.borrow_mut().below(3) == 0 {
                kernel::masked(|m| victim.cancel(m));
            }
        })));
        for _ in 0..steps(300) {
            let timer = timers[random.borrow_mut().below(80)];
            let due = NOW.get() + 1 + random.borrow_mut().below(1000) as u64;
            let (mask, m) = Mask::set();
            timer.cancel(m);
            TIMERS.set(m, mask, timer, due);
            TIMERS.check(m);
            mask.restore();
            if random.borrow_mut().below(4) == 0 {
                NOW.set(NOW.get() + random.borrow_mut().below(200) as u64);
                time::expire();
                let (mask, m) = Mask::set();
                let first = TIMERS.check(m);
                assert!(first.is_none_or(|due| due > NOW.get()));
                mask.restore();
            }
        }
        arch::set_handler(None);
        let last = timers.iter().filter_map(|timer| kernel::masked(|m| timer.due_if_set(m))).max();
        while let Some(due) = kernel::masked(|m| TIMERS.check(m)) {
            assert!(ARMED.get() <= due, "the alarm comes no later than the first timer");
            NOW.set(due);
            time::expire();
        }
        assert!(last.is_none_or(|last| NOW.get() == last));
    }
}

/// A search passes each timer once, although the first timer is replaced in each of its windows.
#[test]
fn a_search_ends_whatever_happens_in_its_windows() {
    const TIMERS_PASSED: u64 = 40;
    let over: Task = super::task(20);
    over.bit.set(super::proof(), 0);
    let _turn = kernel::begin_test();
    NOW.set(0);
    let timer = || &*Box::leak(Box::new(Timer::new(over)));
    let set = |timer, due| {
        let (mask, m) = Mask::set();
        TIMERS.set(m, mask, timer, due);
        mask.restore();
    };
    set(timer(), 5000); // so that no other is the last, for which there is no search
    (0..TIMERS_PASSED).for_each(|due| set(timer(), 100 + due));
    let (urgent, windows) = (timer(), Rc::new(Cell::new(0)));
    let count = Rc::clone(&windows);
    arch::set_handler(Some(Box::new(move || {
        count.set(count.get() + 1);
        assert!(count.get() < 2 * TIMERS_PASSED, "the search does not end");
        kernel::masked(|m| urgent.cancel(m));
        set(urgent, 1);
    })));
    set(timer(), 1000);
    arch::set_handler(None);
    assert!(windows.get() > TIMERS_PASSED / 4, "the search has opened windows");
    // `expire` takes a searching timer out if it is the first; the search begins again behind none.
    let late = timer();
    let once = Cell::new(true);
    arch::set_handler(Some(Box::new(move || {
        if kernel::masked(|m| late.is_set(m)) && once.replace(false) {
            NOW.set(2000);
            time::expire();
        }
    })));
    set(late, 3000);
    arch::set_handler(None);
    assert_eq!(kernel::masked(|m| TIMERS.check(m)), Some(3000));
    assert_eq!(ARMED.get(), 3000);
}
