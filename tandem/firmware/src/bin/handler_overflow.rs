//! A handler's stack overflows: the kernel reports it before any static is overwritten.
#![no_std]
#![no_main]

use tandem::{Priority, SharedStack, Thread};
use tandem_firmware::{board, println};

static SHARED: SharedStack<1024> = SharedStack::new();
static THREAD: Thread<1024> = Thread::new();

#[board::entry]
fn main() -> ! {
    board::set_up();
    board::enable_interrupt(0);
    tandem::start(&SHARED, || {
        let spawned = THREAD.spawn(Priority::new(1), "interrupted", |_| {
            println!("now a handler's stack overflows:");
            board::raise(0);
            board::exit(true)
        });
        assert!(spawned.is_ok());
    })
}

fn overflow(depth: u32) -> u32 {
    let local = core::hint::black_box([depth; 8]);
    if local[0] == u32::MAX { 0 } else { overflow(depth + 1) + local[3] }
}

extern "C" fn on_raise() {
    core::hint::black_box(overflow(0));
}

tandem_firmware::interrupts![on_raise];
