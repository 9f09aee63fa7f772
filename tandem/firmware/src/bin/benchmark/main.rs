//! Costs of the kernel's operations in instructions, between a mark immediately before and one
//! immediately after; the control is two marks without an operation between them.
//!
//! `by_hand` measures the rows that miss their goals once more, in assembly.
#![no_std]
#![no_main]
// A build with time slices measures three rows alone, and one without guards reports some.
#![cfg_attr(feature = "time-slice", allow(dead_code, unused_imports))]

mod measure;
mod rows;

use core::fmt;
use measure::{
    AMONG, BACK, DIRECTOR, DONE, E1, E2, GIVE, HIGH, LOW, MAIN, Q1, Q2, ROUNDS, S, SHARED, SIGNAL,
    among_sleepers, coroutine, end, join, on_tick, start, thread,
};
use rows::{BUILD, SEMAPHORE, SHUFFLE, YIELD};
use tandem::{Ceiling, Coroutine, Me, Mutex, Priority, Thread, delay_until, time, yield_now};
use tandem_firmware::{
    board::{self, nanoseconds},
    println,
    samples::Runs,
};

/// Prints the row with this name, of which the samples are there, beside its goal, a verdict, and
/// the figures of other kernels. A second line has the samples: the lab's experiment `operations`
/// reads both.
fn report(name: &str) {
    let (n, least, most) = measure::range();
    let median = measure::take_median();
    let Some(row) = rows::find(name) else { return };
    println!(
        "{}{:<44} goal {:>4}  median {:>4}  least {:>4}  most {:>4}  n {:>3}  {}{}",
        BUILD,
        name,
        Goal(row.goal),
        median,
        least,
        most,
        n,
        row.verdict(median),
        Peers(row.peers)
    );
    println!("samples {}", Runs(&measure::SAMPLES[..n]));
}

/// Prints a row that is a size.
fn report_size(name: &str, bytes: usize) {
    let Some(row) = rows::find(name) else { return };
    println!(
        "{}{:<44} goal {:>4}  median {:>4}  {}{}",
        BUILD,
        name,
        Goal(row.goal),
        bytes,
        row.verdict(bytes as u32),
        Peers(row.peers)
    );
}

/// Prints the number of rows, as a sign that all are there, and ends the program.
fn end_report() {
    println!("{} operations and sizes", rows::REPORTED);
    board::exit(true)
}

/// A goal, or a dash.
struct Goal(Option<u32>);

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.0 {
            Some(goal) => fmt::Display::fmt(&goal, f),
            None => f.pad("-"),
        }
    }
}

/// The figures of other kernels, with guards of stacks / without, behind a separator.
struct Peers([Option<[u32; 2]>; 3]);

impl fmt::Display for Peers {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let known = rows::PEERS.iter().zip(self.0).filter_map(|(name, peer)| Some((name, peer?)));
        for (i, (name, [guards, without])) in known.enumerate() {
            write!(f, "{}{name} {guards} / {without}", if i == 0 { "; " } else { ", " })?;
        }
        Ok(())
    }
}

/// Measures yields: each task's mark after its yield ends the sample that the previous task began.
fn yields(me: &Me, n: usize) {
    for i in 0..n {
        thread(i, LOW, move |me| {
            for _ in 0..=ROUNDS / n + 1 {
                start();
                me.yield_now();
                end();
            }
        });
    }
    join(me, n);
}

fn coroutine_yields(me: &Me, n: usize) {
    for i in 0..n {
        coroutine(i, LOW, async move {
            for _ in 0..=ROUNDS / n + 1 {
                start();
                yield_now().await;
                end();
            }
            DONE.give();
        });
    }
    join(me, n);
}

fn uncontended(me: &Me) {
    for _ in 0..ROUNDS {
        start();
        end();
    }
    report("control: two marks");
    for _ in 0..ROUNDS {
        start();
        S.give();
        end();
    }
    report("give, uncontended");
    for _ in 0..ROUNDS {
        start();
        S.take(me);
        end();
    }
    report("take, uncontended");
}

fn given_to_higher(me: &Me) {
    thread(0, HIGH, |me| {
        for _ in 0..ROUNDS {
            S.take(me);
            end();
        }
    });
    thread(1, LOW, |_| {
        for _ in 0..ROUNDS {
            start();
            S.give();
        }
    });
    join(me, 2);
    report(SEMAPHORE);
}

fn shuffle(me: &Me) {
    thread(0, HIGH, |me| {
        for _ in 0..ROUNDS {
            S.take(me);
        }
    });
    thread(1, LOW, |_| {
        for _ in 0..ROUNDS {
            start();
            S.give();
            end();
        }
    });
    join(me, 2);
    report(SHUFFLE);
}

extern "C" fn on_give() {
    start();
    S.give();
}

extern "C" fn on_signal() {
    start();
    E1.signal(1);
}

fn handler_to_thread(me: &Me) {
    thread(0, HIGH, |me| {
        for _ in 0..ROUNDS {
            S.take(me);
            end();
        }
    });
    thread(1, LOW, |_| {
        for _ in 0..ROUNDS {
            board::raise(GIVE);
        }
    });
    join(me, 2);
    report("handler -> higher thread (semaphore)");
    thread(0, HIGH, |me| {
        for _ in 0..ROUNDS {
            E1.wait(me);
            end();
        }
    });
    thread(1, LOW, |_| {
        for _ in 0..ROUNDS {
            board::raise(SIGNAL);
        }
    });
    join(me, 2);
    report("handler -> higher thread (event)");
}

fn handler_to_coroutine(me: &Me) {
    coroutine(0, HIGH, async {
        for _ in 0..ROUNDS {
            S.taken().await;
            end();
        }
        DONE.give();
    });
    thread(1, LOW, |_| {
        for _ in 0..ROUNDS {
            board::raise(GIVE);
        }
    });
    join(me, 2);
    report("handler -> higher coroutine (semaphore)");
    coroutine(0, HIGH, async {
        for _ in 0..ROUNDS {
            E1.signalled().await;
            end();
        }
        DONE.give();
    });
    thread(1, LOW, |_| {
        for _ in 0..ROUNDS {
            board::raise(SIGNAL);
        }
    });
    join(me, 2);
    report("handler -> higher coroutine (event)");
}

fn wake_equal(me: &Me) {
    coroutine(0, LOW, async {
        for _ in 0..ROUNDS {
            E1.signalled().await;
            end();
            E2.signal(1);
        }
        DONE.give();
    });
    coroutine(1, LOW, async {
        for _ in 0..ROUNDS {
            start();
            E1.signal(1);
            E2.signalled().await;
        }
        DONE.give();
    });
    join(me, 2);
    report("wake, coroutine -> coroutine, same priority");
    thread(0, LOW, |me| {
        for _ in 0..ROUNDS {
            E1.wait(me);
            end();
            E2.signal(1);
        }
    });
    thread(1, LOW, |me| {
        for _ in 0..ROUNDS {
            start();
            E1.signal(1);
            E2.wait(me);
        }
    });
    join(me, 2);
    report("wake, thread -> thread, same priority");
}

fn queues(me: &Me) {
    thread(0, HIGH, |me| {
        for _ in 0..ROUNDS {
            Q1.receive(me);
            end();
        }
    });
    thread(1, LOW, |me| {
        for i in 0..ROUNDS {
            start();
            Q1.send(me, i as u32);
        }
    });
    join(me, 2);
    report("queue, 4 bytes, low -> high thread");
    thread(0, HIGH, |me| {
        for _ in 0..ROUNDS {
            let word = Q1.receive(me);
            Q2.send(me, word);
        }
    });
    thread(1, LOW, |me| {
        for i in 0..ROUNDS {
            start();
            Q1.send(me, i as u32);
            Q2.receive(me);
            end();
        }
    });
    join(me, 2);
    report("queue round trip, threads");
    coroutine(0, HIGH, async {
        for _ in 0..ROUNDS {
            let word = Q1.received().await;
            Q2.sent(word).await;
        }
        DONE.give();
    });
    coroutine(1, LOW, async {
        for i in 0..ROUNDS {
            start();
            Q1.sent(i as u32).await;
            Q2.received().await;
            end();
        }
        DONE.give();
    });
    join(me, 2);
    report("queue round trip, coroutines");
}

/// Waits with a time limit that does not come.
fn time_limits(me: &Me) {
    const NEVER: u64 = 1 << 50;
    thread(0, HIGH, |me| {
        for _ in 0..ROUNDS {
            assert!(S.take_until(me, NEVER).is_ok());
        }
    });
    thread(1, LOW, |_| {
        for _ in 0..ROUNDS {
            start();
            S.give();
            end();
        }
    });
    join(me, 2);
    report("semaphore full shuffle, time limits");
    thread(0, HIGH, |me| {
        for _ in 0..ROUNDS {
            if let Ok(word) = Q1.receive_until(me, NEVER) {
                assert!(Q2.send_until(me, word, NEVER).is_ok());
            }
        }
    });
    thread(1, LOW, |me| {
        for i in 0..ROUNDS {
            start();
            assert!(Q1.send_until(me, i as u32, NEVER).is_ok());
            assert!(Q2.receive_until(me, NEVER).is_ok());
            end();
        }
    });
    join(me, 2);
    report("queue round trip, time limits");
}

/// A semaphore given to an equal that waits, which runs when the giver waits.
fn given_to_equal(me: &Me) {
    thread(0, LOW, |me| {
        for _ in 0..ROUNDS {
            S.take(me);
            end();
            BACK.give();
        }
    });
    thread(1, LOW, |me| {
        for _ in 0..ROUNDS {
            start();
            S.give();
            BACK.take(me);
        }
    });
    join(me, 2);
    report("semaphore given -> waiting equal");
}

fn locks(me: &Me) {
    static MUTEX: Mutex<u32> = Mutex::new(0);
    static CEILING: Ceiling<u32> = Ceiling::new(Priority::HIGHEST, 0);
    thread(0, HIGH, |me| {
        for _ in 0..ROUNDS {
            S.take(me);
            let guard = MUTEX.lock(me);
            end();
            drop(guard);
        }
    });
    thread(1, LOW, |me| {
        for _ in 0..ROUNDS {
            let guard = MUTEX.lock(me);
            S.give();
            start();
            drop(guard);
        }
    });
    join(me, 2);
    report("mutex unlocked -> higher thread");
    for _ in 0..ROUNDS {
        start();
        drop(MUTEX.lock(me));
        end();
    }
    report("mutex lock and unlock, uncontended");
    for _ in 0..ROUNDS {
        start();
        CEILING.with(|value| *value = value.wrapping_add(1));
        end();
    }
    report("Ceiling::with, uncontended");
}

fn sleepers(me: &Me) {
    thread(0, HIGH, |me| {
        for _ in 0..ROUNDS {
            me.delay_until(time::now() + nanoseconds(100_000));
            end();
        }
    });
    join(me, 1);
    report("tick -> sleeping thread");
    coroutine(0, HIGH, async {
        for _ in 0..ROUNDS {
            delay_until(time::now() + nanoseconds(100_000)).await;
            end();
        }
        DONE.give();
    });
    join(me, 1);
    report("tick -> sleeping coroutine");
}

#[cfg(not(feature = "time-slice"))]
fn director(me: &Me) {
    uncontended(me);
    for (n, row) in [(2, YIELD), (10, "yield, 10 threads"), (32, "yield, 32 threads")] {
        yields(me, n);
        report(row);
    }
    for (n, row) in
        [(2, "yield, 2 coroutines"), (10, "yield, 10 coroutines"), (32, "yield, 32 coroutines")]
    {
        coroutine_yields(me, n);
        report(row);
    }
    given_to_higher(me);
    shuffle(me);
    handler_to_thread(me);
    handler_to_coroutine(me);
    wake_equal(me);
    given_to_equal(me);
    queues(me);
    time_limits(me);
    locks(me);
    sleepers(me);
    for (sleepers, before, start, tick) in AMONG {
        for (row, is_start) in [(start, true), (tick, false)] {
            among_sleepers(me, sleepers, before, is_start, |me, due| me.delay_until(due));
            report(row);
        }
    }
    report_size("RAM of a thread beside its stack, bytes", size_of::<Thread<512>>() - 512);
    report_size("RAM of a coroutine beside its future, bytes", size_of::<Coroutine<64>>() - 64);
    end_report()
}

/// The rows that a build with time slices has.
#[cfg(feature = "time-slice")]
fn director(me: &Me) {
    yields(me, 2);
    report(YIELD);
    given_to_higher(me);
    shuffle(me);
    end_report()
}

#[board::entry]
fn main() -> ! {
    board::set_up();
    board::enable_interrupt(GIVE);
    board::enable_interrupt(SIGNAL);
    tandem::start(&SHARED, || assert!(MAIN.spawn(DIRECTOR, "director", director).is_ok()))
}

tandem_firmware::alarm!(on_tick);
tandem_firmware::interrupts![on_give, on_signal];
