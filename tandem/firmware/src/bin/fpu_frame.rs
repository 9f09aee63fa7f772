//! An interrupt comes where a thread that uses the FPU has next to no stack left. The frame takes 104
//! bytes, of which the processor stores the lowest 32: a guard of 32 or 64 bytes is stepped over.
#![no_std]
#![no_main]

use core::arch::asm;
use tandem::{Me, Priority, SharedStack, Thread};
use tandem_firmware::{board, println};

static SHARED: SharedStack<1024> = SharedStack::new();
/// The first one is the neighbour below the other.
static DEEP: [Thread<1024>; 2] = [const { Thread::new() }; 2];

#[cfg(fpu)]
fn use_fpu() {
    // SAFETY: changes no register's value.
    unsafe { asm!("vmov s0, s0", options(nomem, nostack, preserves_flags)) };
}
#[cfg(not(fpu))]
fn use_fpu() {}

fn run(me: &Me) {
    let now: usize;
    // SAFETY: reads the stack pointer.
    unsafe { asm!("mov {}, sp", out(reg) now, options(nomem, nostack, preserves_flags)) };
    let end = (now - me.stack_left()) & !7;
    println!("now an interrupt's frame does not fit:");
    use_fpu();
    // SAFETY: the stack between the two pointers is unused. Interrupt 0 is raised there.
    unsafe {
        asm!(
            "mov {now}, sp", "mov sp, {end}", "str {zero}, [{stir}]", "dsb", "isb", "mov sp, {now}",
            now = out(reg) _, end = in(reg) end, zero = in(reg) 0, stir = in(reg) 0xe000_ef00_u32,
        );
    }
    println!("the overflow was not found");
    board::exit(true)
}

#[board::entry]
fn main() -> ! {
    board::set_up();
    board::enable_interrupt(0);
    tandem::start(&SHARED, || assert!(DEEP[1].spawn(Priority::new(2), "deep", run).is_ok()))
}

/// The handler checks that its frame is in the storage of the thread.
extern "C" fn on_raise() {
    let frame: usize;
    // SAFETY: reads the process stack pointer.
    unsafe { asm!("mrs {}, psp", out(reg) frame, options(nomem, nostack, preserves_flags)) };
    if frame < (&raw const DEEP[1]) as usize {
        println!("an interrupt's frame has passed over the guard");
        board::exit(true)
    }
}

tandem_firmware::interrupts![on_raise];
