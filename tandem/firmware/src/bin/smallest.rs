//! The smallest image: two threads that pass a semaphore, and the alarm of nothing.
#![no_std]
#![no_main]

use tandem::{Priority, Semaphore, SharedStack, Thread};

static SHARED: SharedStack<256> = SharedStack::new();
static THREADS: [Thread<256>; 2] = [const { Thread::new() }; 2];
static PING: Semaphore = Semaphore::new(0);
static PONG: Semaphore = Semaphore::new(0);

#[cortex_m_rt::entry]
fn main() -> ! {
    tandem::start(&SHARED, || {
        let _ = THREADS[0].spawn(Priority::new(1), "ping", |me| {
            loop {
                PING.give();
                PONG.take(me);
            }
        });
        let _ = THREADS[1].spawn(Priority::new(2), "pong", |me| {
            loop {
                PING.take(me);
                PONG.give();
            }
        });
    })
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {
        core::hint::spin_loop();
    }
}

#[unsafe(link_section = ".vector_table.interrupts")]
#[unsafe(no_mangle)]
static __INTERRUPTS: [usize; 1] = [0];
