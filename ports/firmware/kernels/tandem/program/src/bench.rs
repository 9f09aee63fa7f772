//! The costs of the kernel's paths for processes, in instructions, from mark to mark.
//!
//! A mark is a reading of the clock and a store into the arena; where both ends are in one process,
//! two readings. The control is two marks straight after each other, and is subtracted.

use core::sync::atomic::Ordering::Relaxed;

use tandem_user::{self as user, Endpoint, Family, Semaphore};

use crate::{
    coroutines,
    marks::{ROUNDS, Shared, clear, show, show_shared},
    scene::start_server,
};

/// Measures all paths; with `only` "calls", the paths of the kernel's calls, which are few enough
/// for a simulated core. `shared` is in the arena, and zero.
pub fn run(shared: &'static Shared, only: Option<&str>) {
    shared.start.store(user::cycles(), Relaxed);
    shared.control.store(user::cycles() - shared.start.load(Relaxed), Relaxed);
    alone();
    yields(shared);
    gives(shared);
    calls();
    spawns();
    if only == Some("calls") {
        return;
    }
    coroutines::turns(shared);
    coroutines::batches(shared);
}

/// Spawns a process of this family.
fn start(priority: u8, name: &str, body: impl FnOnce()) {
    // SAFETY: the bodies of this module hold numbers and references into the arena.
    let child = unsafe { user::spawn(priority, name, Family::Same, body) };
    assert!(child.is_ok(), "{name} cannot start");
}

fn reap() {
    assert!(user::reap().is_some(), "a child has ended");
}

/// Runs `path` between two readings of the clock, several times.
fn time(name: &str, mut path: impl FnMut()) {
    let mut taken = [0; ROUNDS];
    taken.iter_mut().for_each(|taken| *taken = once(&mut path));
    show(name, &taken);
}

/// Runs `path` between two readings of the clock. Not inlined: in a loop the compiler would place
/// between them what it keeps for the loop, since a call changes most registers.
#[inline(never)]
fn once(path: &mut impl FnMut()) -> u64 {
    let start = user::cycles();
    path();
    user::cycles() - start - 1
}

fn alone() {
    time("null call", user::nothing);
    time("yield alone", user::yield_now);
    let Ok(semaphore) = Semaphore::new(0) else { return };
    time("give without a waiter", || semaphore.give());
    time("take of a unit", || semaphore.take());
}

fn yields(shared: &'static Shared) {
    start(1, "partner", move || {
        for _ in 0..ROUNDS {
            user::yield_now();
            // The first process's mark is older by one switch.
            let end = user::cycles();
            let taken = end - shared.start.load(Relaxed);
            let at = shared.taken.iter().position(|slot| slot.load(Relaxed) == 0);
            shared.taken[at.unwrap_or(0)].store(taken, Relaxed);
        }
    });
    clear(shared);
    user::yield_now();
    for _ in 0..ROUNDS {
        shared.start.store(user::cycles(), Relaxed);
        user::yield_now();
    }
    reap();
    show_shared("yield to another process", shared);
}

fn gives(shared: &'static Shared) {
    let Ok(semaphore) = Semaphore::new(0) else { return };
    start(3, "higher", move || {
        for slot in &shared.taken {
            semaphore.take();
            slot.store(user::cycles() - shared.start.load(Relaxed), Relaxed);
        }
    });
    for _ in 0..ROUNDS {
        shared.start.store(user::cycles(), Relaxed);
        semaphore.give();
    }
    reap();
    show_shared("give to a higher process", shared);
}

fn calls() {
    let Ok(endpoint) = Endpoint::new() else { return };
    let serve = move || {
        let mut message = endpoint.reply_and_receive([0; 4]);
        while let Ok([number, b, c, d]) = message
            && number > 0
        {
            message = endpoint.reply_and_receive([number + 1, b, c, d]);
        }
    };
    start_server(3, "server", endpoint, serve);
    let mut taken = [0; ROUNDS];
    for taken in &mut taken {
        let start = user::cycles();
        let answer = endpoint.call([1, 2, 3, 4]);
        *taken = user::cycles() - start - 1;
        assert!(matches!(answer, Ok([2, 2, 3, 4])), "the answer");
    }
    show("call and answer", &taken);
    assert!(endpoint.call([0; 4]).is_err(), "the server has ended");
    reap();
}

fn spawns() {
    time("spawn, run, end and reap", || {
        start(3, "child", || ());
        reap();
    });
}
