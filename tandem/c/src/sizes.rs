//! Checks at compile time that the objects of `tandem.h` have space for the kernel's types.

use crate::stream::Stream;
use tandem::{
    Callback, Callbacks, Condvar, Event, Group, Mutex, Semaphore,
    raw::{GUARD, Queue, Task},
};

const HEADER: &[u8] = include_bytes!("../include/tandem.h");

/// The number that follows `name` and a space in the header.
const fn defined(name: &str) -> usize {
    let name = name.as_bytes();
    let mut start = 0;
    loop {
        let mut matched = 0;
        while matched < name.len() && HEADER[start + matched] == name[matched] {
            matched += 1;
        }
        let mut at = start + matched;
        if matched == name.len() && HEADER[at] == b' ' {
            let mut number = 0;
            at += 1;
            while HEADER[at].is_ascii_digit() {
                number = number * 10 + (HEADER[at] - b'0') as usize;
                at += 1;
            }
            return number;
        }
        start += 1;
    }
}

const fn words<T>() -> usize {
    assert!(align_of::<T>() <= align_of::<usize>());
    size_of::<T>() / size_of::<usize>()
}

const _: () = assert!(words::<Task>() <= defined("TANDEM_TASK_WORDS"));
const _: () = assert!(words::<Semaphore>() <= defined("TANDEM_SEMAPHORE_WORDS"));
const _: () = assert!(words::<Mutex<()>>() <= defined("TANDEM_MUTEX_WORDS"));
const _: () = assert!(words::<Event>() <= defined("TANDEM_EVENT_WORDS"));
const _: () = assert!(words::<Queue>() <= defined("TANDEM_QUEUE_WORDS"));
const _: () = assert!(words::<Condvar>() <= defined("TANDEM_CONDVAR_WORDS"));
const _: () = assert!(words::<Stream>() <= defined("TANDEM_STREAM_WORDS"));
const _: () = assert!(words::<Group>() <= defined("TANDEM_GROUP_WORDS"));
const _: () = assert!(words::<Callbacks>() <= defined("TANDEM_TIMERS_WORDS"));
const _: () = {
    assert!(align_of::<Callback>() <= align_of::<u64>());
    assert!(size_of::<Callback>() / size_of::<u64>() <= defined("TANDEM_TIMER_DOUBLE_WORDS"));
};
const _: () = {
    // The header has a number for RV32, one for ARMv8-M, one for a Cortex-M4 and M7, and one for
    // other Cortex-M.
    let is_rv32 = cfg!(target_arch = "riscv32");
    assert!(if is_rv32 {
        GUARD == defined("TANDEM_GUARD")
    } else {
        matches!(GUARD, 128 | 40 | 32)
    });
};
