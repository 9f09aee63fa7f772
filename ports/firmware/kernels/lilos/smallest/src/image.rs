// lilos: coroutines that yield to each other. They stay in the frame of `main`, where lilos's
// users pin them.

use core::{convert::Infallible, pin::pin};

use chronoscope_smallest::{show, tasks};
use lilos::exec::{ALL_TASKS, run_tasks, yield_cpu};

async fn member(letter: u8) -> Infallible {
    loop {
        show(letter);
        yield_cpu().await;
    }
}

#[cortex_m_rt::entry]
fn main() -> ! {
    let (a, b) = (pin!(member(b'a')), pin!(member(b'b')));
    if const { tasks!() == 2 } {
        run_tasks(&mut [a, b], ALL_TASKS)
    }
    let c = pin!(member(b'c'));
    run_tasks(&mut [a, b, c], ALL_TASKS)
}
