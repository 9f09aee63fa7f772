// tandem: threads that yield to each other.

use chronoscope_smallest::{STACK, show, tasks};
use tandem::{Priority, SharedStack, Thread};

static SHARED: SharedStack<256> = SharedStack::new();
static THREADS: [Thread<STACK>; tasks!()] = [const { Thread::new() }; tasks!()];

#[cortex_m_rt::entry]
fn main() -> ! {
    tandem::start(&SHARED, || {
        for (thread, letter) in THREADS.iter().zip(b'a'..) {
            let _ = thread.spawn(Priority::new(1), "thread", move |me| {
                loop {
                    show(letter);
                    me.yield_now();
                }
            });
        }
    })
}
