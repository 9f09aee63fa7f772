// embassy: coroutines that yield to each other.

use chronoscope_smallest::{show, tasks};
use embassy_executor::{Executor, task};

static mut EXECUTOR: Option<Executor> = None;

#[task(pool_size = tasks!())]
async fn member(letter: u8) {
    loop {
        show(letter);
        embassy_futures::yield_now().await;
    }
}

#[cortex_m_rt::entry]
fn main() -> ! {
    let executor = &raw mut EXECUTOR;
    // SAFETY: this function is called once, and nothing else names EXECUTOR.
    let executor = unsafe { &mut *executor }.insert(Executor::new());
    executor.run(|spawner| {
        for (_, letter) in (0..tasks!()).zip(b'a'..) {
            if let Ok(member) = member(letter) {
                spawner.spawn(member);
            }
        }
    })
}
