//! An example with a thread, a coroutine and an interrupt.
#![no_std]
#![no_main]

use tandem::{Coroutine, Priority, Queue, Semaphore, SharedStack, Thread};
use tandem_firmware::{board, println};

static STACK: SharedStack<1024> = SharedStack::new();
static WORKER: Thread<1024> = Thread::new();
static SAMPLER: Coroutine<128> = Coroutine::new();
static READY: Semaphore = Semaphore::new(0);
static SAMPLES: Queue<u32, 4> = Queue::new();

#[board::entry]
fn main() -> ! {
    board::set_up();
    board::enable_interrupt(0);
    tandem::start(&STACK, || {
        let worker = WORKER.spawn(Priority::new(1), "worker", |me| {
            for _ in 0..3 {
                board::raise(0);
                println!("sample {}", SAMPLES.receive(me));
            }
            board::exit(true)
        });
        let sampler = SAMPLER.spawn(Priority::new(2), "sampler", async {
            for n in 0.. {
                READY.taken().await;
                SAMPLES.sent(n).await;
            }
        });
        assert!(worker.is_ok() && sampler.is_ok());
    })
}

extern "C" fn on_ready() {
    READY.give();
}
tandem_firmware::interrupts![on_ready];
