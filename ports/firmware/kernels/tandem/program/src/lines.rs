//! Checks of interrupts of processes.

use tandem_user::{self as user, Family, Mutex, Refused, Semaphore};

use crate::{
    machine,
    scene::{outcome, start},
};

/// Only the first family reaches the machine. Rises are neither lost nor given to what a handle no
/// longer names.
pub fn lines() {
    let semaphore = || Semaphore::new(0).expect("a semaphore");
    let rises = semaphore();
    let raise = || assert_eq!(user::device(machine::RAISE, 0), Ok(0));

    raise(); // nobody has bound the line
    let mutex = Mutex::new().expect("a mutex");
    assert_eq!(Semaphore(mutex.0).bind(machine::RAISED), Err(Refused::NoObject));
    for line in [8, 1 << 32, usize::MAX] {
        assert_eq!(rises.bind(line), Err(Refused::Invalid));
    }
    for request in [3, 1 << 32, usize::MAX] {
        assert_eq!(user::device(request, 0), Err(Refused::Invalid));
    }

    assert_eq!(rises.bind(machine::RAISED), Ok(()));
    let foreign = outcome(Family::Apart, "foreign", move || {
        let own = semaphore();
        assert_eq!(own.bind(machine::RAISED), Err(Refused::Invalid));
        assert_eq!(rises.bind(machine::RAISED), Err(Refused::NoObject));
        assert_eq!(user::device(machine::RAISE, 0), Err(Refused::Invalid));
    });
    assert_eq!(foreign, 0);
    for _ in 0..3 {
        raise();
    }
    for _ in 0..3 {
        rises.take();
    }

    // A driver runs before `raise` returns, and another semaphore takes the place of the first.
    let (next, handled) = (semaphore(), semaphore());
    assert_eq!(next.bind(machine::RAISED), Ok(()));
    let driver = start(9, Family::Same, "driver", move || {
        loop {
            next.take();
            handled.give();
        }
    });
    let before = user::counts().switches;
    raise();
    assert_eq!(user::counts().switches, before + 1, "the driver ran, and this process again");
    handled.take();

    let due = user::cycles() as usize + 20_000;
    assert_eq!(next.bind(machine::TIMED), Ok(()));
    assert!(user::device(machine::ARM, due).is_ok());
    // The timer interrupts this process while it calls nothing.
    while user::cycles() < due as u64 + 5000 {
        core::hint::spin_loop();
    }
    assert_eq!(user::counts().switches, before + 2, "the driver ran meanwhile");
    handled.take();
    let entered = user::device(machine::ENTERED, 0).expect("the machine notes it");
    assert!((due..due + 1000).contains(&entered), "entered at {entered}, due at {due}");

    assert!(driver.kill(), "the driver waits");
    assert!(user::reap().is_some_and(|(child, status)| child == driver && status == user::KILLED));
    // The semaphore is there still, and keeps the rise.
    raise();
    next.take();
}
