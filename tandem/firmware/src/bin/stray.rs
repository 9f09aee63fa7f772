//! An interrupt that has no handler is reported with the task that it interrupted: on RISC-V by the
//! kernel, on Cortex-M by the board's default handler.
#![no_std]
#![no_main]

use tandem::{Priority, SharedStack, Thread};
use tandem_firmware::board;

static SHARED: SharedStack<1024> = SharedStack::new();
static THREAD: Thread<1024> = Thread::new();

#[board::entry]
fn main() -> ! {
    board::set_up();
    tandem::start(&SHARED, || {
        let spawned = THREAD.spawn(Priority::new(1), "interrupted", |_| {
            board::raise_stray();
            (0..1000).for_each(|_| core::hint::spin_loop());
            board::exit(true)
        });
        assert!(spawned.is_ok());
    })
}

tandem_firmware::interrupts![];
