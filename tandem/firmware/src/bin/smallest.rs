//! The smallest image: two threads that yield to each other.
#![no_std]
#![no_main]

// For its implementation of critical sections, which `start` tests in a build with debug assertions.
#[cfg(target_arch = "arm")]
use cortex_m as _;
use tandem::{Priority, SharedStack, Thread};

static SHARED: SharedStack<256> = SharedStack::new();
static THREADS: [Thread<256>; 2] = [const { Thread::new() }; 2];

#[cfg_attr(target_arch = "arm", cortex_m_rt::entry)]
#[cfg_attr(chip = "virt", riscv_rt::entry)]
fn main() -> ! {
    tandem::start(&SHARED, || {
        for thread in &THREADS {
            let _ = thread.spawn(Priority::new(1), "thread", |me| {
                loop {
                    me.yield_now();
                }
            });
        }
    })
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}

#[cfg(target_arch = "arm")]
#[unsafe(link_section = ".vector_table.interrupts")]
#[unsafe(no_mangle)]
static __INTERRUPTS: [usize; 1] = [0];
