//! A stack overflow by frames of about 200 bytes, of which one word is used: guards of 32 bytes would
//! be stepped over. Built with the feature `guard-256`.
#![no_std]
#![no_main]

use core::hint::black_box;
use tandem::{Priority, SharedStack, Thread};
use tandem_firmware::{board, println};

static SHARED: SharedStack<1024> = SharedStack::new();
static BELOW: Thread<1024> = Thread::new();
static DEEP: [Thread<1024>; 2] = [const { Thread::new() }; 2];

/// Leaves most of its frame as it is.
#[inline(never)]
fn overflow(depth: u32) -> u32 {
    let mut frame = core::mem::MaybeUninit::<[u32; 44]>::uninit();
    let frame = black_box(&mut frame);
    // SAFETY: the first word has been written.
    let first = unsafe {
        frame.as_mut_ptr().cast::<u32>().write(depth);
        frame.as_mut_ptr().cast::<u32>().read_volatile()
    };
    if first == u32::MAX { 0 } else { overflow(depth + 1) + 1 }
}

#[board::entry]
fn main() -> ! {
    board::set_up();
    tandem::start(&SHARED, || {
        // The lower neighbour in memory has a stack, too, which would be overwritten unnoticed.
        assert!(BELOW.spawn(Priority::new(1), "below", |_| board::exit(true)).is_ok());
        for thread in &DEEP {
            let spawned = thread.spawn(Priority::new(2), "deep", |_| {
                println!("now a stack overflows:");
                _ = black_box(overflow(0));
            });
            assert!(spawned.is_ok());
        }
    })
}

tandem_firmware::interrupts![];
