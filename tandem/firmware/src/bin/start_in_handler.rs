//! A handler starts the kernel, which ends the program by name.
#![no_std]
#![no_main]

use tandem::SharedStack;
use tandem_firmware::{board, println};

static SHARED: SharedStack<1024> = SharedStack::new();

#[board::entry]
fn main() -> ! {
    board::set_up();
    board::enable_interrupt(0);
    println!("now a handler starts the kernel:");
    board::raise(0);
    loop {
        core::hint::spin_loop();
    }
}

extern "C" fn on_raise() {
    tandem::start(&SHARED, || board::exit(true))
}

tandem_firmware::interrupts![on_raise];
