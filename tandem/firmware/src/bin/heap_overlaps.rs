//! The program names the beginning of its heap as the place of the handlers' guard (`build.rs`): a
//! write to the heap there ends the program by name.
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
            println!("now a heap overlaps the guard:");
            let heap = cortex_m_rt::heap_start();
            for offset in 0..SIZE / size_of::<u32>() {
                // SAFETY: nothing else uses this memory, below the handlers' stack.
                unsafe { heap.add(offset).write_volatile(0) };
            }
            println!("the guard of the handlers' stack is not where it was named");
            board::exit(true)
        });
        assert!(spawned.is_ok());
    })
}

tandem_firmware::interrupts![];
