//! Hostile processes that call the kernel with arguments of all sorts, beside a witness of another
//! family whose work must not be disturbed.

use core::str::SplitAsciiWhitespace;

use chronoscope_suite::random::Random;
use tandem_user::{self as user, Channel, Family, Semaphore};

use crate::output::line;

/// Calls of a hostile process before the next one begins.
const LIFE: u64 = 500;

/// The words that the witness receives: do a round of work, or end.
const GO: u32 = 1;
const STOP: u32 = 2;

/// The words of a request: the seed and the number of calls.
pub fn run(mut words: SplitAsciiWhitespace<'_>) {
    let mut number = |default| words.next().and_then(|word| word.parse().ok()).unwrap_or(default);
    let (seed, calls): (u64, u64) = (number(1), number(100_000));
    let go = Channel::new().expect("a channel");
    let done = Semaphore::new(0).expect("a semaphore");
    // SAFETY: the bodies hold numbers.
    let witness =
        unsafe { user::spawn(3, "witness", Family::Same, move || user::end(witness(go, done))) };
    let (witness, mut ends) = (witness.expect("the witness starts"), [0_u64; 3]);
    let mut rounds = 0;
    // The calls of processes that did not come to their end are not counted.
    while ends[0] * LIFE < calls {
        let round = rounds;
        rounds += 1;
        // SAFETY: as above.
        let child = unsafe {
            user::spawn(0, "hostile", Family::Apart, move || hostile(seed << 32 | round))
        };
        let child = child.expect("a hostile process starts");
        // It runs while this process sleeps. If it waits for something, it is ended.
        user::sleep_until(user::cycles() + 400 * LIFE);
        child.kill();
        let (ended, status) = user::reap().expect("it has ended");
        assert!(ended == child, "the witness has not ended");
        ends[match status {
            user::KILLED => 1,
            user::FAULTED => 2,
            _ => 0,
        }] += 1;
        go.send(GO);
        done.take();
    }
    go.send(STOP);
    let (ended, checksum) = user::reap().expect("the witness ends");
    assert!(ended == witness, "the witness is the last");
    line(format_args!(
        "fuzz: seed {seed}, {} calls by {} processes to their end; {} killed, {} faulted",
        ends[0] * LIFE,
        ends[0],
        ends[1],
        ends[2]
    ));
    line(format_args!("witness: checksum {checksum:#010x}, expected {:#010x}", expected(rounds)));
    assert!(checksum == expected(rounds) as usize, "the witness was disturbed");
}

/// A step of the checksum.
fn step(sum: u32, value: u32) -> u32 {
    (sum ^ value).wrapping_mul(0x0100_0193).rotate_left(5)
}

/// The witness's work: each round, it checks a pattern in its memory, changes it, and hands a token
/// around. Ends with the checksum.
fn witness(go: Channel, done: Semaphore) -> u32 {
    let mut pattern = [0_u32; 64];
    let mut sum = 0x811c_9dc5;
    for round in 0_u64.. {
        if go.receive() == STOP {
            break;
        }
        for (at, word) in pattern.iter_mut().enumerate() {
            sum = step(sum, core::hint::black_box(*word));
            *word = word.wrapping_add(at as u32 ^ round as u32);
        }
        done.give();
    }
    sum
}

/// The checksum of undisturbed work, computed without any call.
fn expected(rounds: u64) -> u32 {
    let mut pattern = [0_u32; 64];
    let mut sum = 0x811c_9dc5;
    for round in 0..rounds {
        for (at, word) in pattern.iter_mut().enumerate() {
            sum = step(sum, *word);
            *word = word.wrapping_add(at as u32 ^ round as u32);
        }
    }
    sum
}

/// Calls the kernel with arguments that are likely to be near something.
fn hostile(seed: u64) {
    /// The numbers of calls, and two for numbers that are too large.
    const NUMBERS: u32 = 37;
    const LIMITED: core::ops::RangeInclusive<usize> = 26..=33;
    const TAKE: usize = 3;
    const SLEEP: usize = 4;
    const SPAWN: usize = 5;
    const RECEIVE: usize = 11;
    const CALL: usize = 12;
    const REPLY: usize = 13;
    const LISTEN: usize = 20;
    let mut random = Random::new(seed);
    let (mut last, mut has_page) = (0, false);
    for _ in 0..LIFE {
        let number = match random.below(NUMBERS) as usize {
            35 => random.draw() as usize,
            36 => usize::MAX - random.below(4) as usize,
            number => number,
        };
        let mut arguments = [0; 6];
        for argument in &mut arguments {
            *argument = value(&mut random, last);
        }
        if number == 6 && random.below(64) != 0 {
            continue; // it would end too early
        }
        if number == SLEEP && random.below(32) != 0 {
            arguments[0] = random.draw() as usize >> 40; // a time that has passed, or is near
        }
        if [TAKE, RECEIVE, CALL, REPLY].contains(&number) && random.below(16) != 0 {
            arguments[0] ^= 1; // no object: it would wait for ever
        }
        if number == LISTEN && random.below(16) != 0 {
            continue; // as above, if the inbox is empty
        }
        if LIMITED.contains(&number) {
            arguments[5] = user::cycles() as usize + random.below(4_000) as usize;
        }
        if has_page {
            scribble(&mut random);
        }
        if number == SPAWN {
            // The entry of a process that ends by a fault, or of nothing. With arguments that are
            // accepted, in half of the calls.
            arguments[0] = random.draw() as usize & 0x7fff_ffff;
            if random.below(2) == 0 {
                arguments[1..].fill(0);
            }
        }
        // SAFETY: this process and those that it starts have no memory in common with others.
        let results = unsafe { user::raw(number, arguments) };
        last = results[0];
        has_page |= last == PAGE;
    }
}

/// The page of a process's coroutines.
const PAGE: usize = 0x4fe0_0000;

/// Writes anything into the page of coroutines, in most cases where the kernel reads.
fn scribble(random: &mut Random) {
    let at = if random.below(4) == 0 { random.below(1024) } else { random.below(4) };
    // SAFETY: the kernel has mapped the page, and this process has no set.
    unsafe { ((PAGE + 4 * at as usize) as *mut u32).write_volatile(random.draw() as u32) };
}

/// A value of a kind that finds errors: small, a bit, near a border, a recent result, or any.
fn value(random: &mut Random, last: usize) -> usize {
    const BORDERS: [usize; 9] = [
        0x4000_0000,
        0x4800_0000,
        PAGE,
        0x5000_0000,
        0x8000_0000,
        0x8010_0000,
        0x8100_0000,
        1 << 38,
        usize::MAX,
    ];
    match random.below(8) {
        0 => random.below(32) as usize,
        1 => 1 << random.below(64),
        2 => BORDERS[random.below(9) as usize]
            .wrapping_add(random.below(64) as usize)
            .wrapping_sub(32),
        3 => last,
        4 => last.wrapping_add(4096),
        5 => 4096 * random.below(64) as usize + random.below(1024) as usize,
        6 => (random.below(1100)) as usize,
        _ => random.draw() as usize,
    }
}
