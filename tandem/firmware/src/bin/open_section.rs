//! The program's critical sections leave interrupts on, as if they masked them elsewhere: `start` ends
//! the program by name.
#![no_std]
#![no_main]

use critical_section::RawRestoreState;
use tandem::SharedStack;
use tandem_firmware::{board, println};

static SHARED: SharedStack<1024> = SharedStack::new();

struct Open;
critical_section::set_impl!(Open);

// SAFETY: no; the test is that the kernel finds it. Nothing else of the program relies on it.
unsafe impl critical_section::Impl for Open {
    unsafe fn acquire() -> RawRestoreState {}
    unsafe fn release(_: RawRestoreState) {}
}

#[board::entry]
fn main() -> ! {
    board::set_up();
    println!("now the kernel starts:");
    tandem::start(&SHARED, || board::exit(true))
}

tandem_firmware::interrupts![];
