//! Two threads of tandem that take turns, 20 times each, and a less urgent one that sends their marks.

#![no_std]
#![no_main]

mod stream;

use tandem::{Priority, SharedStack, Thread};

chronoscope_mark::trace_tandem!();

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

static SHARED: SharedStack<512> = SharedStack::new();
static CONTROL: Thread<1024> = Thread::new();
static LOGGER: Thread<1024> = Thread::new();
static SENDER: Thread<2048> = Thread::new();

#[cortex_m_rt::entry]
fn main() -> ! {
    let mut board = stream::start();
    tandem::start(&SHARED, || {
        for (thread, name, length) in [(&CONTROL, "control", 10), (&LOGGER, "logger", 500)] {
            let _ = thread.spawn(Priority::new(2), name, move |me| {
                for turn in 0..20 {
                    stream::work(length + turn);
                    me.yield_now();
                }
            });
            board.name(thread.info().id() as u32, name);
        }
        let _ = SENDER.spawn(Priority::new(1), "sender", move |_| stream::finish(&mut board));
    })
}
