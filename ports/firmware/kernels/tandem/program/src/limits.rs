//! Scenes about endpoints' servers, and about time limits.

use tandem_user::{
    self as user, Channel, Endpoint, Family, KILLED, Mutex, Refused, Semaphore,
    coroutine::{Coroutine, Order, Set},
};

use crate::scene::{outcome, start, start_server};

fn sleep(instructions: u64) {
    user::sleep_until(user::cycles() + instructions);
}

fn sleep_for_ever() {
    user::sleep_until(u64::MAX);
}

/// The status of a body that has seen what it expects.
fn holds(what: bool) -> ! {
    user::end(u32::from(what))
}

/// A server that answers each call with its first word and one.
fn serve(endpoint: Endpoint) {
    let mut message = endpoint.reply_and_receive([0; 4]);
    while let Ok([word, ..]) = message {
        message = endpoint.reply_and_receive([word + 1, 0, 0, 0]);
    }
}

/// Only the process that has made an endpoint, or one that it has handed it to, receives on it. Calls
/// of a server that has ended are refused, until the endpoint has another.
pub fn rights() {
    const REFUSED: Result<[usize; 4], Refused> = Err(Refused::Invalid);
    let endpoint = Endpoint::new().expect("an endpoint");
    let thief = move || holds(endpoint.reply_and_receive([0; 4]) == REFUSED);
    assert_eq!(outcome(Family::Same, "thief", thief), 1);
    assert_eq!(endpoint.call([0; 4]), REFUSED, "the server would wait for itself");
    // The right passes to a process that begins, and nobody else has it then.
    let server = start_server(3, "server", endpoint, move || serve(endpoint));
    assert_eq!(endpoint.call([1, 0, 0, 0]), Ok([2, 0, 0, 0]));
    assert_eq!(endpoint.reply_and_receive([0; 4]), REFUSED, "it has been handed over");
    assert_eq!(endpoint.hand(server), Err(Refused::Invalid), "it is the server's to hand over");
    assert_eq!(outcome(Family::Same, "thief", thief), 1);
    assert!(server.kill());
    assert_eq!(user::reap(), Some((server, KILLED)));
    // Callers that come late are refused, also those that come again.
    for _ in 0..2 {
        assert_eq!(endpoint.call([0; 4]), Err(Refused::Dead), "the server has ended");
        let late = move || holds(endpoint.call([0; 4]) == Err(Refused::Dead));
        assert_eq!(outcome(Family::Same, "late", late), 1);
        assert_eq!(outcome(Family::Same, "thief", thief), 1);
    }
    assert_eq!(endpoint.hand(server), Err(Refused::NoObject), "it has ended");
    // A process that lives gets it, and passes it on, but not with a call that it has not answered.
    let go = Semaphore::new(0).expect("a semaphore");
    let next = start(3, Family::Same, "next", move || {
        go.take();
        serve(endpoint);
    });
    assert_eq!(endpoint.hand(next), Ok(()));
    go.give();
    assert_eq!(endpoint.call([2, 0, 0, 0]), Ok([3, 0, 0, 0]));
    assert!(next.kill());
    assert_eq!(user::reap(), Some((next, KILLED)));
    let heir = start(2, Family::Same, "heir", move || {
        go.take();
        serve(endpoint);
    });
    let giver = start_server(3, "giver", endpoint, move || {
        assert_eq!(endpoint.reply_and_receive([0; 4]), Ok([4, 0, 0, 0]));
        assert_eq!(endpoint.hand(heir), Err(Refused::Invalid), "a call is not answered");
        assert_eq!(
            endpoint.reply_and_receive_until([5, 0, 0, 0], 0),
            Err(Refused::TimedOut),
            "no other call"
        );
        assert_eq!(endpoint.hand(heir), Ok(()));
        holds(endpoint.reply_and_receive([9; 4]) == REFUSED);
    });
    assert_eq!(endpoint.call([4, 0, 0, 0]), Ok([5, 0, 0, 0]));
    assert_eq!(user::reap(), Some((giver, 1)));
    go.give();
    assert_eq!(endpoint.call([6, 0, 0, 0]), Ok([7, 0, 0, 0]), "the heir's");
    assert!(heir.kill());
    assert_eq!(user::reap(), Some((heir, KILLED)));
    // The end of a process that never received, but could have, answers its callers; so does the end
    // of the one that has made the endpoint, and nobody has it from then on.
    let idle = start_server(1, "idle", endpoint, sleep_for_ever);
    let caller = start(2, Family::Same, "caller", move || {
        holds(endpoint.call([0; 4]) == Err(Refused::Dead));
    });
    assert!(idle.kill());
    for _ in 0..2 {
        let (child, status) = user::reap().expect("a child has ended");
        assert_eq!(status, if child == caller { 1 } else { KILLED });
    }
    let maker = move || {
        let own = Endpoint::new().expect("an endpoint");
        user::end(own.0 as u32);
    };
    let orphan = Endpoint(outcome(Family::Same, "maker", maker));
    assert_eq!(orphan.call([0; 4]), Err(Refused::Dead));
    assert_eq!(orphan.reply_and_receive([0; 4]), REFUSED);
    assert_eq!(outcome(Family::Same, "successor", || sleep(1)), 0, "has the maker's record");
    assert_eq!(orphan.reply_and_receive([0; 4]), REFUSED);
    // Another family's process gets nothing.
    let apart = start(1, Family::Apart, "apart", sleep_for_ever);
    assert_eq!(endpoint.hand(apart), Err(Refused::NoObject));
    assert!(apart.kill());
    assert_eq!(user::reap(), Some((apart, KILLED)));
}

/// Runs `wait` with a time limit, in a process of its own, and returns its status, and how long it
/// has taken.
fn timed(wait: impl FnOnce(u64) -> bool) -> usize {
    let body = move || {
        let due = user::cycles() + 50_000;
        let late = wait(due);
        let after = user::cycles() - due;
        holds(late && after < 10_000);
    };
    outcome(Family::Same, "timed", body)
}

/// Every wait has a time limit, and what has not been waited for is neither lost nor done.
pub fn waiting() {
    const LATE: Refused = Refused::TimedOut;
    let semaphore = Semaphore::new(0).expect("a semaphore");
    let [empty, full] = [(); 2].map(|()| Channel::new().expect("a channel"));
    (0..Channel::CAPACITY).for_each(|word| full.send(word as u32));
    let [mine, mute] = [(); 2].map(|()| Endpoint::new().expect("an endpoint"));
    let mutex = Mutex::new().expect("a mutex");
    let holder = start(3, Family::Same, "holder", move || {
        assert_eq!(mutex.lock(), Ok(()));
        sleep_for_ever();
    });
    let server = start_server(3, "mute", mute, move || {
        assert!(mute.reply_and_receive([0; 4]).is_ok(), "a call");
        sleep_for_ever();
    });
    for _ in 0..3 {
        assert_eq!(timed(move |due| semaphore.take_until(due) == Err(LATE)), 1, "take");
        assert_eq!(timed(move |due| empty.receive_until(due) == Err(LATE)), 1, "receive");
        assert_eq!(timed(move |due| full.send_until(7, due) == Err(LATE)), 1, "send");
        assert_eq!(timed(move |due| mutex.lock_until(due) == Err(LATE)), 1, "lock");
        // The first is served and not answered, the others are in the queue.
        assert_eq!(timed(move |due| mute.call_until([1; 4], due) == Err(LATE)), 1, "call");
        let serve = |due| {
            let own = Endpoint::new().expect("an endpoint");
            own.reply_and_receive_until([0; 4], due) == Err(LATE)
        };
        assert_eq!(timed(serve), 1, "reply and receive");
        let reap = |due| {
            start(0, Family::Same, "child", sleep_for_ever);
            user::reap_until(due) == Err(LATE)
        };
        assert_eq!(timed(reap), 1, "reap");
        let listen = |due| {
            let set = Set::open().expect("a page");
            let mut bell = set.bell(20).expect("a bell");
            let coroutine = core::pin::pin!(Coroutine::new(5, async { bell.wait().await }));
            set.add(coroutine.into_ref());
            !set.run_until(Order::Batched, due)
        };
        assert_eq!(timed(listen), 1, "listen");
    }
    // A time that has come: what need not wait is done, what must is refused at once.
    assert_eq!([semaphore.take_until(0), mutex.lock_until(0)], [Err(LATE); 2]);
    assert_eq!((empty.receive_until(0), full.send_until(7, 0)), (Err(LATE), Err(LATE)));
    assert_eq!(mute.call_until([1; 4], 0), Err(LATE));
    semaphore.give();
    assert_eq!((semaphore.take_until(0), full.receive_until(0)), (Ok(()), Ok(0)));
    assert_eq!((full.send_until(7, 0), empty.send_until(8, 0)), (Ok(()), Ok(())));
    assert_eq!(empty.receive_until(0), Ok(8));
    for child in [holder, server] {
        assert!(child.kill());
        assert_eq!(user::reap(), Some((child, KILLED)));
    }
    assert_eq!((mutex.lock_until(0), mutex.unlock()), (Ok(()), Ok(())));
    served(semaphore, empty, mine);
    among_others(semaphore);
    ended(semaphore, mutex, mine);
    assert_eq!(outcome(Family::Same, "killer", move || ended_early(semaphore)), 1);
}

/// A unit, a word, a call or an answer that comes in time ends the wait, on the frequent paths too.
fn served(semaphore: Semaphore, channel: Channel, endpoint: Endpoint) {
    let far = user::cycles() + 10_000_000;
    let taker = start(3, Family::Same, "taker", move || {
        for _ in 0..4 {
            assert_eq!(semaphore.take_until(far), Ok(()));
        }
        for word in 0..4 {
            assert_eq!(channel.receive_until(far), Ok(word));
        }
        user::end(1);
    });
    (0..4).for_each(|_| semaphore.give());
    (0..4).for_each(|word| channel.send(word));
    assert_eq!(user::reap(), Some((taker, 1)));
    // Calls with and without limits, of a server that receives in both ways.
    let server = start_server(3, "server", endpoint, move || {
        let mut message = endpoint.reply_and_receive_until([0; 4], far);
        for turn in 0.. {
            let Ok([word, ..]) = message else { break };
            let answer = [word + 1, 0, 0, 0];
            message = match turn % 3 {
                0 => endpoint.reply_and_receive_until(answer, far),
                _ => endpoint.reply_and_receive(answer),
            };
        }
    });
    for word in 0..12 {
        let answer = match word % 2 {
            0 => endpoint.call([word, 0, 0, 0]),
            _ => endpoint.call_until([word, 0, 0, 0], far),
        };
        assert_eq!(answer, Ok([word + 1, 0, 0, 0]));
    }
    assert!(server.kill());
    assert_eq!(user::reap(), Some((server, KILLED)));
}

/// One that waits with a limit is served by its urgency, beside others that wait without, and leaves
/// their order when its time comes.
fn among_others(semaphore: Semaphore) {
    let far = user::cycles() + 10_000_000;
    let near = user::cycles() + 60_000;
    let limited = move |due| move || holds(semaphore.take_until(due).is_ok());
    let plain = move || {
        semaphore.take();
        user::end(1);
    };
    let low = start(2, Family::Same, "low", plain);
    let equal = start(3, Family::Same, "equal", limited(far));
    let late = start(3, Family::Same, "late", limited(near));
    let last = start(3, Family::Same, "last", plain);
    let first = start(4, Family::Same, "first", limited(far));
    user::sleep_until(near + 20_000);
    assert_eq!(user::reap(), Some((late, 0)), "its time has come");
    for expected in [first, equal, last, low] {
        semaphore.give();
        assert_eq!(user::reap(), Some((expected, 1)));
    }
    assert_eq!(semaphore.take_until(0), Err(Refused::TimedOut), "no unit is left over");
}

/// A process that is ended while it waits with a limit waits no longer, at every moment around its
/// time.
fn ended(semaphore: Semaphore, mutex: Mutex, endpoint: Endpoint) {
    for moment in 0..120 {
        let due = user::cycles() + 25_000;
        let child = start(3, Family::Same, "waits", move || {
            let _ = match moment % 3 {
                0 => semaphore.take_until(due),
                1 => endpoint.call_until([0; 4], due).map(drop),
                _ => mutex.lock_until(due).and_then(|()| semaphore.take_until(due)),
            };
            sleep_for_ever();
        });
        user::sleep_until(due - 500 + 9 * moment);
        assert!(child.kill());
        assert_eq!(user::reap(), Some((child, KILLED)));
        semaphore.give();
        assert_eq!(semaphore.take_until(0), Ok(()), "a unit is lost, moment {moment}");
        assert_eq!((mutex.lock_until(0), mutex.unlock()), (Ok(()), Ok(())), "{moment}");
    }
}

/// A process that is ended while it begins to wait with a limit does not wait, at every moment of its
/// call.
fn ended_early(semaphore: Semaphore) {
    for moment in 0..500 {
        let begin = user::cycles() + 10_000;
        let child = start(1, Family::Same, "begins", move || {
            user::sleep_until(begin);
            let _ = semaphore.take_until(begin + 1_000_000);
        });
        user::sleep_until(begin + 4 * moment);
        assert!(child.kill());
        let reaped = user::reap_until(begin + 100_000);
        assert_eq!(reaped, Ok((child, KILLED)), "moment {moment}");
    }
    user::end(1);
}
