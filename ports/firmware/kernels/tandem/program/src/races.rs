//! Scenes about moments and limits: one process ends, or begins another, while a second does the
//! same. Each scene repeats with the second's moment moved through the whole of the first's path.

use core::hint::black_box;

use chronoscope_suite::random::Random;
use tandem_user::{self as user, Channel, Endpoint, Family, KILLED, Mutex, Refused, Semaphore};

use crate::scene::{outcome, start, start_server};

/// Executes about `instructions` instructions.
fn work(instructions: u64) {
    let end = user::cycles() + instructions;
    while user::cycles() < end {}
}

fn sleep_for_ever() {
    user::sleep_until(u64::MAX);
}

/// The processes that the first one can start, all at a time.
fn room() -> usize {
    let end = Semaphore::new(0).expect("a semaphore");
    let mut started = 0;
    // SAFETY: the body holds a number.
    while unsafe { user::spawn(2, "room", Family::Same, move || end.take()) }.is_ok() {
        started += 1;
    }
    for _ in 0..started {
        end.give();
        assert!(user::reap().is_some(), "it has ended");
    }
    started
}

/// A family can be founded by the first family alone, so that 15 always can be.
pub fn families() {
    let found = || {
        // SAFETY: the body holds nothing.
        let child = unsafe { user::spawn(0, "orphan", Family::Apart, sleep_for_ever) };
        user::end(u32::from(child == Err(Refused::Full)));
    };
    for _ in 0..16 {
        assert_eq!(outcome(Family::Apart, "founder", found), 1, "a family of a family");
    }
    all_families_are_free();
}

fn all_families_are_free() {
    let children: [user::Child; 15] =
        core::array::from_fn(|_| start(2, Family::Apart, "founder", sleep_for_ever));
    for child in children {
        assert!(child.kill());
        assert_eq!(user::reap(), Some((child, KILLED)));
    }
}

/// The channels of other families, at their limits, leave room for the first family's.
pub fn channels() {
    let hoard = || {
        while Endpoint::new().is_ok() {}
        sleep_for_ever();
    };
    let children: [user::Child; 15] =
        core::array::from_fn(|_| start(2, Family::Apart, "hoarder", hoard));
    assert!(Channel::new().is_ok(), "a channel for the first family");
    for child in children {
        assert!(child.kill());
        assert_eq!(user::reap(), Some((child, KILLED)));
    }
}

/// A family's objects are freed though its last two processes end at the same time.
pub fn last() {
    for moment in 0..64 {
        let due = user::cycles() + 30_000;
        let founder = move || {
            let semaphore = Semaphore::new(1).expect("a semaphore");
            // The member is delayed at its end by children that it has not reaped.
            start(2, Family::Same, "member", move || {
                for _ in 0..6 {
                    start(2, Family::Same, "child", || ());
                }
                user::sleep_until(due);
            });
            user::sleep_until(due + 24 * moment);
            user::end(semaphore.0 as u32);
        };
        start(3, Family::Apart, "founder", founder);
        let (_, word) = user::reap().expect("the founder ends");
        let probe = move || {
            // SAFETY: the call starts no process.
            let result = unsafe { user::raw(2, [word, 0, 0, 0, 0, 0]) }[0];
            user::end(u32::from(result as isize == -1));
        };
        let probed = outcome(Family::Apart, "probe", probe);
        assert_eq!(probed, 1, "an object outlives its family, moment {moment}");
    }
}

/// A record is free again though a child and its parent end at the same time.
pub fn records() {
    let before = room();
    for moment in 0..256 {
        let due = user::cycles() + 10_000;
        let parent = move || {
            start(3, Family::Same, "child", move || user::sleep_until(due + 4 * moment));
            user::sleep_until(due);
        };
        assert_eq!(outcome(Family::Same, "parent", parent), 0);
    }
    user::sleep_until(user::cycles() + 20_000);
    assert_eq!(room(), before, "records are lost");
}

/// A process that a member starts while the family's founder ends, ends too.
pub fn late() {
    for moment in 0..160 {
        let due = user::cycles() + 15_000;
        let founder = move || {
            start(2, Family::Same, "member", || {
                loop {
                    // SAFETY: the body holds numbers.
                    let child = unsafe { hand([1; 120]) };
                    child.kill();
                    user::reap();
                }
            });
            user::sleep_until(due + 61 * moment);
        };
        let founder = start(3, Family::Apart, "founder", founder);
        assert_eq!(user::reap(), Some((founder, 0)));
        // The others of the family end below this process. On a core with caches they have had no
        // time for it when the founder has ended.
        user::sleep_until(user::cycles() + 20_000);
    }
    user::sleep_until(user::cycles() + 100_000);
    all_families_are_free();
}

/// Starts a process with many bytes to copy, which waits for ever.
///
/// # Safety
/// As for [`user::spawn`].
unsafe fn hand(bytes: [usize; 120]) -> user::Child {
    let body = move || {
        black_box(&bytes);
        sleep_for_ever();
    };
    // SAFETY: the body holds numbers.
    unsafe { user::spawn(1, "late", Family::Same, body) }.unwrap_or(user::Child(0))
}

/// A server works at the priority of its most urgent caller, also of one that waits behind another,
/// and the server that it calls does too.
pub fn inheritance() {
    let [front, back] = [(); 2].map(|()| Endpoint::new().expect("an endpoint"));
    let servers = [
        start_server(0, "back", back, move || {
            let mut message = back.reply_and_receive([0; 4]);
            while message.is_ok() {
                work(100_000);
                message = back.reply_and_receive([0; 4]);
            }
        }),
        start_server(0, "front", front, move || {
            let mut message = front.reply_and_receive([0; 4]);
            while message.is_ok() {
                assert!(back.call([0; 4]).is_ok());
                message = front.reply_and_receive([0; 4]);
            }
        }),
    ];
    let now = user::cycles();
    let call = move || {
        assert!(front.call([0; 4]).is_ok());
    };
    start(1, Family::Same, "low", call);
    start(2, Family::Same, "middle", move || {
        user::sleep_until(now + 60_000);
        work(2_000_000);
    });
    let high = start(3, Family::Same, "high", move || {
        user::sleep_until(now + 50_000);
        call();
        user::end((user::cycles() - now) as u32);
    });
    let mut taken = 0;
    for _ in 0..3 {
        let (child, status) = user::reap().expect("a child has ended");
        taken += if child == high { status } else { 0 };
    }
    assert!(taken < 400_000, "the urgent caller has waited {taken} instructions");
    for server in servers {
        assert!(server.kill());
        assert_eq!(user::reap(), Some((server, KILLED)));
    }
}

/// A server loses the priority of a caller that is killed.
pub fn forgotten() {
    let endpoint = Endpoint::new().expect("an endpoint");
    let go = Semaphore::new(0).expect("a semaphore");
    let server = start_server(0, "server", endpoint, move || {
        let mut message = endpoint.reply_and_receive([0; 4]);
        while message.is_ok() {
            go.take();
            work(20_000);
            message = endpoint.reply_and_receive([0; 4]);
        }
    });
    user::sleep_until(user::cycles() + 10_000);
    let caller = start(3, Family::Same, "caller", move || {
        let _ = endpoint.call([0; 4]);
    });
    user::sleep_until(user::cycles() + 10_000);
    for _ in 0..2 {
        caller.kill();
        let start = user::cycles();
        go.give();
        let taken = user::cycles() - start;
        assert!(
            taken < 2_000,
            "the server ran for {taken} instructions before its caller's killer"
        );
        user::sleep_until(user::cycles() + 50_000);
    }
    assert_eq!(user::reap(), Some((caller, KILLED)));
    // A server that has been ended, and has not yet run to its end, serves nobody.
    assert!(server.kill());
    assert_eq!(endpoint.call([0; 4]), Err(Refused::Dead));
    assert_eq!(user::reap(), Some((server, KILLED)));
}

/// A mutex has one holder, which inherits the priorities of those that wait; they are refused when
/// it ends, and one that is ended waits no longer.
pub fn mutexes() {
    let [mutex, other] = [(); 2].map(|()| Mutex::new().expect("a mutex"));
    assert_eq!(mutex.unlock(), Err(Refused::Invalid), "nobody holds it");
    assert_eq!(mutex.lock(), Ok(()));
    assert_eq!([mutex.lock(), other.lock()], [Err(Refused::Invalid); 2], "one at a time");
    let steal = move || user::end(u32::from(mutex.unlock() == Err(Refused::Invalid)));
    assert_eq!(outcome(Family::Same, "thief", steal), 1, "another process's");
    assert_eq!(mutex.unlock(), Ok(()));
    let word = mutex.0;
    let foreign = move || user::end(u32::from(Mutex(word).lock() == Err(Refused::NoObject)));
    assert_eq!(outcome(Family::Apart, "foreign", foreign), 1, "another family's");
    // Equals that are ready keep their order behind a holder that inherits their priority.
    let now = user::cycles();
    start(0, Family::Same, "low", move || {
        assert_eq!(mutex.lock(), Ok(()));
        work(100_000);
        assert_eq!(mutex.unlock(), Ok(()));
        user::end((user::cycles() - now) as u32);
    });
    user::sleep_until(now + 20_000);
    let urgent = [3, 3, 3].map(|priority| {
        start(priority, Family::Same, "high", move || {
            user::sleep_until(now + 50_000);
            assert_eq!(mutex.lock(), Ok(()));
            assert_eq!(mutex.unlock(), Ok(()));
            user::end((user::cycles() - now) as u32);
        })
    });
    start(2, Family::Same, "middle", move || {
        user::sleep_until(now + 60_000);
        work(2_000_000);
    });
    for _ in 0..5 {
        let (child, status) = user::reap().expect("a child has ended");
        assert!(!urgent.contains(&child) || status < 200_000, "it has waited {status}");
    }
    // A waiter is ended, then the holder.
    let holder = start(0, Family::Same, "holder", move || {
        assert_eq!(mutex.lock(), Ok(()));
        sleep_for_ever();
    });
    user::sleep_until(user::cycles() + 10_000);
    let wait = move || user::end(u32::from(mutex.lock() == Err(Refused::Dead)));
    let waiters = [2, 3].map(|priority| start(priority, Family::Same, "waiter", wait));
    assert!(waiters[1].kill());
    assert_eq!(user::reap(), Some((waiters[1], KILLED)));
    assert!(holder.kill());
    let mut ends = [0; 2];
    for _ in ends {
        let (child, status) = user::reap().expect("a child has ended");
        ends[usize::from(child == holder)] = status;
    }
    assert_eq!(ends, [1, KILLED]);
    assert_eq!((mutex.lock(), mutex.unlock()), (Ok(()), Ok(())), "it is free");
}

/// Callers and servers of random priorities, some of which are ended at random moments, with and without
/// time limits: each call is answered with its own answer, or fails because a server has ended or the
/// time has come.
pub fn storm() {
    for seed in 1..=60 {
        let mut random = Random::new(seed);
        let endpoints = [(); 2].map(|()| Endpoint::new().expect("an endpoint"));
        let gate = Semaphore::new(0).expect("a semaphore");
        let mut children = [user::Child(0); 10];
        for (at, child) in children.iter_mut().enumerate() {
            let priority = random.below(4) as u8;
            let chance = random.draw();
            *child = if at < 2 {
                let body = move || serve(endpoints, at, chance);
                start_server(priority, "server", endpoints[at], body)
            } else if at == 2 {
                // It has no right to receive, and ends.
                start(priority, Family::Same, "server", move || serve(endpoints, 0, chance))
            } else {
                start(priority, Family::Same, "caller", move || call(endpoints, gate, chance))
            };
        }
        for _ in 0..12 {
            user::sleep_until(user::cycles() + u64::from(random.below(4_000)));
            if random.below(2) == 0 {
                children[random.below(10) as usize].kill();
            }
            gate.give();
        }
        // The servers that are left end last, so that every caller comes to its end.
        for child in children.iter().rev() {
            user::sleep_until(user::cycles() + 20_000);
            gate.give();
            child.kill();
        }
        for _ in children {
            let (_, status) = user::reap().expect("a child has ended");
            assert!(status == 0 || status == KILLED, "seed {seed}: status {status}");
        }
    }
}

/// A time limit that may come, in one of three cases.
fn soon(random: &mut Random) -> Option<u64> {
    (random.below(3) == 0).then(|| user::cycles() + u64::from(random.below(5_000)))
}

/// Answers `x` with `x + 1` and a word of its own; in part by calls of the other endpoint.
fn serve(endpoints: [Endpoint; 2], own: usize, chance: u64) {
    let mut random = Random::new(chance);
    let mut answer = [0; 4];
    loop {
        let message = match soon(&mut random) {
            Some(due) => endpoints[own].reply_and_receive_until(answer, due),
            None => endpoints[own].reply_and_receive(answer),
        };
        let [x, depth, ..] = match message {
            Ok(message) => message,
            Err(Refused::TimedOut) => continue,
            Err(_) => return,
        };
        match random.below(4) {
            0 => work(u64::from(random.below(2_000))),
            1 => user::yield_now(),
            // Never back to the first: that would wait for ever.
            2 if own == 0 && depth == 0 => {
                let _ = endpoints[1].call([x, 1, 0, 0]);
            }
            _ => (),
        }
        answer = [x + 1, x ^ 0x55, 0, own];
    }
}

/// Calls servers, and ends with 1 if an answer is another one's.
fn call(endpoints: [Endpoint; 2], gate: Semaphore, chance: u64) {
    let mut random = Random::new(chance);
    for _ in 0..20 {
        let (x, at) = (random.below(1 << 30) as usize, random.below(2) as usize);
        let answer = match soon(&mut random) {
            Some(due) => endpoints[at].call_until([x, 0, 0, 0], due),
            None => endpoints[at].call([x, 0, 0, 0]),
        };
        match answer {
            Ok(answer) if answer == [x + 1, x ^ 0x55, 0, at] => (),
            Ok(_) => user::end(1),
            Err(Refused::TimedOut) => (),
            Err(Refused::Dead) => break,
            Err(_) => user::end(2),
        }
        match random.below(8) {
            0 => gate.take(),
            1 => gate.give(),
            2 => user::yield_now(),
            _ => (),
        }
    }
}

/// No call masks interrupts for long: a process that is more urgent than all wakes in time while
/// others begin for the first time, and while a server ends for which many wait.
pub fn latency() {
    const LONGEST: usize = 1_200;
    let endpoint = Endpoint::new().expect("an endpoint");
    let watcher = start(31, Family::Same, "watcher", || {
        let (mut due, mut longest) = (user::cycles() + 1_000, 0);
        let end = due + 700_000;
        while due < end {
            user::sleep_until(due);
            let now = user::cycles();
            longest = longest.max(now - due);
            due = now + 1_009;
        }
        user::end(longest as u32);
    });
    let server = start_server(0, "server", endpoint, move || {
        let _ = endpoint.reply_and_receive([0; 4]);
        sleep_for_ever();
    });
    user::sleep_until(user::cycles() + 20_000);
    for _ in 0..100 {
        start(2, Family::Same, "caller", move || {
            assert_eq!(endpoint.call([0; 4]), Err(Refused::Dead));
        });
    }
    assert!(server.kill());
    for _ in 0..102 {
        let (child, status) = user::reap().expect("a child has ended");
        if child == watcher {
            assert!(status < LONGEST, "a process woke {status} instructions late");
        }
    }
}

/// A channel that is refused does not count among a family's objects. The last scene: the first
/// family takes all channels, and has them for ever.
pub fn quota() {
    while Channel::new().is_ok() {}
    let member = || {
        for _ in 0..20 {
            assert!(Channel::new().is_err(), "no channel is left");
        }
        let made = (0..20).filter(|_| Semaphore::new(0).is_ok()).count();
        user::end(made as u32);
    };
    assert_eq!(outcome(Family::Apart, "member", member), 16);
}

/// A handle's generation comes round after 2²⁰ lives. A process whose parent has ended is no child
/// of the one that has the parent's handle then. Takes 20 seconds.
pub fn generations() {
    let [orphan, own] = [(); 2].map(|()| Semaphore::new(0).expect("a semaphore"));
    let first = start(2, Family::Same, "parent", move || {
        start(2, Family::Same, "orphan", move || orphan.take());
        user::yield_now();
    });
    assert_eq!(user::reap(), Some((first, 0)));
    loop {
        let child = start(2, Family::Same, "life", move || ());
        assert_eq!(user::reap(), Some((child, 0)));
        // The generation is above the index. It is never 0.
        let next = (child.0 >> 12) % ((1 << 20) - 1) + 1;
        if next == first.0 >> 12 {
            break;
        }
    }
    let victim = start(2, Family::Same, "victim", move || {
        let child = start(2, Family::Same, "child", move || own.take());
        orphan.give();
        user::yield_now();
        own.give();
        user::end(u32::from(user::reap() == Some((child, 0))));
    });
    assert_eq!(victim, first, "the handle has come round");
    assert_eq!(user::reap(), Some((victim, 1)), "an orphan was taken for a child");
}

/// A family has the records of its limit, also by children that have ended and nobody reaps.
pub fn unreaped() {
    let member = || {
        let mut started = 0;
        // SAFETY: the body holds nothing.
        while unsafe { user::spawn(2, "brief", Family::Same, || ()) }.is_ok() {
            started += 1;
            user::yield_now();
        }
        user::end(started);
    };
    assert_eq!(outcome(Family::Apart, "hoarder", member), 7);
    all_families_are_free();
}

/// The caller that a server serves when it ends is refused, and never gets the answer or the place
/// of a caller of the next server: the process that has made the endpoint, which receives at every
/// moment of the end.
pub fn successor() {
    assert_eq!(outcome(Family::Same, "supervisor", succeed), 0);
}

fn succeed() {
    let endpoint = Endpoint::new().expect("an endpoint");
    for moment in 0..400 {
        let due = user::cycles() + 30_000;
        let first = start_server(1, "first", endpoint, move || {
            assert!(endpoint.reply_and_receive([0; 4]).is_ok(), "a call");
            user::sleep_until(due);
        });
        let served = start(1, Family::Same, "served", move || {
            user::end(u32::from(endpoint.call([0; 4]) == Err(Refused::Dead)));
        });
        user::sleep_until(due - 15_000);
        let behind = start(1, Family::Same, "behind", move || {
            let answer = endpoint.call([0; 4]);
            user::end(u32::from(answer == Ok([7; 4]) || answer == Err(Refused::Dead)));
        });
        user::sleep_until(due + 4 * moment);
        let end = due + 20_000;
        while endpoint.reply_and_receive_until([7; 4], end).is_ok() {}
        user::sleep_until(end);
        for _ in 0..3 {
            let (child, status) = user::reap().expect("a child has ended");
            let expected = usize::from(child != first);
            assert!([first, served, behind].contains(&child) && status == expected, "{moment}");
        }
    }
}

/// A server that ends has its own priority again once it has refused its callers.
pub fn lowered() {
    let endpoint = Endpoint::new().expect("an endpoint");
    let server = start_server(0, "server", endpoint, move || {
        assert!(endpoint.reply_and_receive([0; 4]).is_ok(), "a call");
        sleep_for_ever();
    });
    user::sleep_until(user::cycles() + 10_000);
    let caller = start(3, Family::Same, "caller", move || {
        user::end(u32::from(endpoint.call([0; 4]) == Err(Refused::Dead)));
    });
    user::sleep_until(user::cycles() + 10_000);
    assert!(server.kill());
    assert!(server.kill(), "a server without callers ran to its end before its killer");
    for _ in 0..2 {
        let (child, status) = user::reap().expect("a child has ended");
        assert_eq!(status, if child == caller { 1 } else { KILLED });
    }
}
