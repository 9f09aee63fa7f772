//! A thread writes to all memory of a heap that begins behind the statics, where cortex-m-rt has it:
//! no guard is there.
#![no_std]
#![no_main]

use tandem::{Priority, SharedStack, Thread};
use tandem_firmware::{board, println};

static SHARED: SharedStack<1024> = SharedStack::new();
static THREAD: Thread<1024> = Thread::new();

/// The size of the heap in bytes.
const SIZE: usize = 2048;

#[board::entry]
fn main() -> ! {
    board::set_up();
    tandem::start(&SHARED, || {
        let spawned = THREAD.spawn(Priority::new(1), "allocates", |_| {
            let heap = cortex_m_rt::heap_start();
            for offset in 0..SIZE / size_of::<u32>() {
                // SAFETY: nothing else uses this memory, below the handlers' stack.
                unsafe { heap.add(offset).write_volatile(0) };
            }
            println!("a heap behind the statics: ok");
            board::exit(true)
        });
        assert!(spawned.is_ok());
    })
}

tandem_firmware::interrupts![];
