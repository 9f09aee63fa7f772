//! A coroutine masks interrupts by hand and returns from its poll: reported in builds with debug
//! assertions.
#![no_std]
#![no_main]

use tandem::{Coroutine, Priority, SharedStack, yield_now};
use tandem_firmware::board;

static SHARED: SharedStack<4096> = SharedStack::new();
static COROUTINE: Coroutine<64> = Coroutine::new();

#[board::entry]
fn main() -> ! {
    board::set_up();
    tandem::start(&SHARED, || {
        let spawned = COROUTINE.spawn(Priority::new(1), "masking", async {
            board::mask();
            yield_now().await;
            board::exit(true)
        });
        assert!(spawned.is_ok());
    })
}

tandem_firmware::interrupts![];
