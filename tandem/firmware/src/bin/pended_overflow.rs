//! The frame of an interrupt just fits on a thread's stack, but the thread's context does not:
//! PendSV finds the overflow and reports it as the thread's.
#![no_std]
#![no_main]

use core::arch::asm;
use tandem::{Me, Priority, Semaphore, SharedStack, Thread};
use tandem_firmware::{board, println};

static SHARED: SharedStack<1024> = SharedStack::new();
static SMALL: Thread<1024> = Thread::new();
static URGENT: Thread<1024> = Thread::new();
static UNITS: Semaphore = Semaphore::new(0);

/// The bytes of stack that are left: an interrupt's frame, and 16 of the 40 of a context.
const LEFT: usize = 32 + 16;

fn run(me: &Me) {
    let now: usize;
    // SAFETY: reads the stack pointer.
    unsafe { asm!("mov {}, sp", out(reg) now, options(nomem, nostack, preserves_flags)) };
    let at = (now - me.stack_left() + LEFT) & !7;
    println!("now a context does not fit:");
    // SAFETY: the stack between the two pointers is unused. Interrupt 0 is raised there.
    unsafe {
        asm!(
            "mov {now}, sp", "mov sp, {at}", "str {zero}, [{stir}]", "dsb", "isb", "mov sp, {now}",
            now = out(reg) _, at = in(reg) at, zero = in(reg) 0, stir = in(reg) 0xe000_ef00_u32,
        );
    }
    println!("the overflow was not found");
    board::exit(true)
}

#[board::entry]
fn main() -> ! {
    board::set_up();
    board::enable_interrupt(0);
    tandem::start(&SHARED, || {
        assert!(SMALL.spawn(Priority::new(1), "small", run).is_ok());
        assert!(URGENT.spawn(Priority::new(2), "urgent", |me| UNITS.take(me)).is_ok());
    })
}

extern "C" fn on_raise() {
    UNITS.give();
}

tandem_firmware::interrupts![on_raise];
