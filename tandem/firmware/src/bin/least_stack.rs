//! A thread on the smallest stack that compiles is pre-empted again and again, with the FPU in use
//! where there is one, and so is the idle task before: no guard is touched.
#![no_std]
#![no_main]

use tandem::{LEAST_STACK, Me, Priority, SharedStack, Thread, time};
use tandem_firmware::{
    board::{self, nanoseconds},
    println,
};

static SHARED: SharedStack<LEAST_STACK> = SharedStack::new();
static SMALL: Thread<LEAST_STACK> = Thread::new();
static URGENT: Thread<1024> = Thread::new();

#[cfg(fpu)]
fn use_fpu() {
    // SAFETY: changes no register's value.
    unsafe { core::arch::asm!("vmov s0, s0", options(nomem, nostack, preserves_flags)) };
}
#[cfg(not(fpu))]
fn use_fpu() {}

fn spin() -> ! {
    loop {
        use_fpu();
    }
}

fn urgent(me: &Me) {
    for round in 0..200 {
        me.delay_until(time::now() + nanoseconds(20_000));
        if round == 100 {
            assert!(SMALL.spawn(Priority::new(1), "small", |_| spin()).is_ok());
        }
    }
    println!("the smallest stacks: ok");
    board::exit(true)
}

#[board::entry]
fn main() -> ! {
    board::set_up();
    tandem::start(&SHARED, || {
        assert!(URGENT.spawn(Priority::new(3), "urgent", urgent).is_ok());
    })
}

fn on_alarm() {
    board::stop_alarm();
    time::expire();
}

tandem_firmware::alarm!(on_alarm);
tandem_firmware::interrupts![];
