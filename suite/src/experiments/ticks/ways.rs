//! `primitive=yield` and `footprint`: the two workers with another way to hand over, or with work
//! that uses memory.
//!
//! They are apart from the workers of `primitive=semaphore` without a footprint, whose code is the
//! same with and without these parameters, and with it their figures.

use core::{hint::black_box, sync::atomic::Ordering::Relaxed};

use super::{Bench, Work, count, finish, hand_over, poll};
use crate::{
    kernel::{Clock, Kernel, Priority, Refusal, Tasks},
    mark::{self, MEASURED},
};

/// Creates the workers, the second first, since it waits.
pub(super) fn start<T: Tasks, const YIELDS: bool>(
    bench: &'static Bench<T::Kernel>,
    is_batched: bool,
) -> Result<(), Refusal> {
    let kernel = bench.kernel;
    T::spawn(kernel, Priority::Urgent(1), second::<T, YIELDS>(bench))?;
    T::spawn(kernel, Priority::Urgent(1), first::<T, YIELDS>(bench, is_batched))
}

/// The worker that queues all tasks and starts each run.
async fn first<T: Tasks, const YIELDS: bool>(bench: &'static Bench<T::Kernel>, is_batched: bool) {
    let kernel = bench.kernel;
    let before = T::switches(kernel);
    if YIELDS {
        // From now on the second is ready.
        kernel.give(&bench.workers[1].turn);
    }
    let share = if is_batched { bench.tasks.len() / 2 } else { 1 };
    let mut rested = kernel.now();
    for run in 0..bench.loops {
        if kernel.now() - rested > kernel.hertz() / 2 {
            // Linux throttles real-time tasks that take more than 95 % of a processor.
            T::delay_until(kernel, kernel.now() + kernel.hertz() / 10).await;
            rested = kernel.now();
        }
        bench.marks.empty_starts.start(kernel, run, mark::CONTROL);
        execute::<T, YIELDS>(bench, 0).await;
        bench.marks.empty_ends.end(kernel, run, mark::CONTROL);
        for task in 0..bench.tasks.len() {
            bench.queue.push(task as u32, (task / share % 2) as u32, 0);
        }
        bench.marks.starts.start(kernel, run, MEASURED);
        execute::<T, YIELDS>(bench, 0).await;
    }
    finish::<T>(bench, 0, before);
}

/// The worker of the last task, which ends each run.
async fn second<T: Tasks, const YIELDS: bool>(bench: &'static Bench<T::Kernel>) {
    let kernel = bench.kernel;
    let before = T::switches(kernel);
    T::take(kernel, &bench.workers[1].turn).await;
    for run in 0..bench.loops {
        // One that yields finds nothing until the first has queued the tasks of the next run.
        while YIELDS && bench.queue.head().is_none() {
            T::yield_now(kernel).await;
        }
        execute::<T, YIELDS>(bench, 1).await;
        bench.marks.ends.end(kernel, run, MEASURED);
        if YIELDS {
            count(&bench.workers[1].handed_over, 1);
            continue;
        }
        hand_over(bench, 1);
        if run + 1 < bench.loops {
            T::take(kernel, &bench.workers[1].turn).await;
        }
    }
    finish::<T>(bench, 1, before);
}

/// Runs tasks until the queue is empty. The worker that owns the task at the head owns the queue.
#[inline(always)]
async fn execute<T: Tasks, const YIELDS: bool>(bench: &'static Bench<T::Kernel>, this: usize) {
    while let Some(head) = bench.queue.head() {
        let task = head.task.load(Relaxed);
        if head.space.load(Relaxed) as usize == this {
            bench.queue.sleep(task);
            if poll(&bench.tasks[task as usize]) {
                bench.queue.remove(task);
            }
            touch(&bench.work);
        } else if YIELDS {
            count(&bench.workers[this].handed_over, 1);
            T::yield_now(bench.kernel).await;
        } else {
            hand_over(bench, this);
            T::take(bench.kernel, &bench.workers[this].turn).await;
        }
    }
}

/// Reads a word of each page, each in another line of a cache.
#[inline(always)]
fn touch(work: &Work) {
    for (at, page) in work.pages.iter().enumerate() {
        black_box(page[at * 64 % page.len()]);
    }
    count(&work.read, work.pages.len() as u32);
}
