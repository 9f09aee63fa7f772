//! Two of embassy's tasks that take turns, 20 times each, and one that names them and sends their marks.

#![no_std]
#![no_main]

mod stream;

use core::{future::poll_fn, task::Poll};

use chronoscope_mark as _;
use embassy_executor::{Spawner, raw::task_from_waker};

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

/// Lets the others run once.
async fn yield_now() {
    let mut has_waited = false;
    poll_fn(|context| {
        if has_waited {
            return Poll::Ready(());
        }
        has_waited = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[embassy_executor::task(pool_size = 2)]
async fn turns(length: u32) {
    for turn in 0..20 {
        stream::work(length + turn);
        yield_now().await;
    }
}

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    let mut board = stream::start();
    let own = poll_fn(|context| Poll::Ready(task_from_waker(context.waker()).id())).await;
    board.name(own, "main");
    for (name, length) in [("control", 10), ("logger", 500)] {
        let token = turns(length).expect("room for both");
        board.name(token.id(), name);
        spawner.spawn(token);
    }
    for _ in 0..25 {
        yield_now().await;
    }
    stream::finish(&mut board)
}
