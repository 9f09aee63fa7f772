//! The operations of threads: spawn, delay, semaphores, messages.

use core::{cell::Cell, future::Future, mem::MaybeUninit, ptr};

use board::{alarm, clock, wfi};
use chronoscope_suite::{
    Priority, Refusal, Tasks,
    arena::Arena,
    kernel::Messages,
    task::{Block, block_on},
};

use crate::{
    kernel::{Bare, Thread},
    queue::{CAPACITY, Queue},
    ring::{self, Context, current, give_way, resume, suspend},
    semaphore::Semaphore,
};

/// Memory for threads; empty while a thread is being made.
struct Memory(Cell<Option<Arena>>);

// SAFETY: threads do not pre-empt each other, and no handler uses it.
unsafe impl Sync for Memory {}

static MEMORY: Memory = Memory(Cell::new(None));

/// The stack of each thread, in words: enough for the experiments' calls and a handler on top.
const STACK: usize = 192;

/// A thread with its body and its stack.
#[repr(C)]
struct Place<F> {
    context: Context,
    body: Cell<Option<F>>,
    stack: [Cell<usize>; STACK],
}

/// Sets up the memory for threads. Called once, before the first thread.
pub fn start() {
    const BYTES: usize = 28 * 1024;
    static mut REGION: [MaybeUninit<u8>; BYTES] = [MaybeUninit::uninit(); BYTES];
    let region = &raw mut REGION;
    // SAFETY: this function is called once, and nothing else names REGION.
    let region: &'static mut [MaybeUninit<u8>] = unsafe { &mut *region };
    MEMORY.0.set(Some(Arena::new(region)));
}

/// A thread's first code.
extern "C" fn enter<F: Future<Output = ()> + 'static>() -> ! {
    // SAFETY: spawn() has made this function the start of a thread whose context is the first field
    // of a `Place<F>`.
    let place: &'static Place<F> = unsafe { &*ptr::from_ref(current()).cast() };
    if let Some(body) = place.body.take() {
        block_on(body);
    }
    // Nobody resumes a thread that has ended.
    loop {
        suspend();
    }
}

impl Tasks for Thread {
    type Kernel = Bare;
    const KIND: &'static str = "thread";

    fn spawn<F>(_: &'static Bare, _: Priority, body: F) -> Result<(), Refusal>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let memory = MEMORY.0.take().ok_or(Refusal::full())?;
        let place = memory.place(Place {
            context: Context::new(),
            body: Cell::new(Some(body)),
            stack: [const { Cell::new(0) }; STACK],
        });
        MEMORY.0.set(Some(memory));
        let place = place?;
        let top = place.stack.as_ptr_range().end.expose_provenance() / ring::ALIGNMENT
            * ring::ALIGNMENT
            - ring::LEFT;
        let index = (top - place.stack.as_ptr().addr()) / size_of::<usize>();
        place.stack[index].set(enter::<F> as *const () as usize);
        place.context.set_stack(top);
        resume(&place.context);
        Ok(())
    }

    async fn reap(_: &'static Bare) -> bool {
        false
    }

    #[inline(always)]
    fn yield_now(_: &'static Bare) -> impl Future<Output = ()> + Send {
        Block(give_way)
    }

    /// Sleeps if no other thread is in the ring; otherwise gives way until `due`.
    fn delay_until(_: &'static Bare, due: u64) -> impl Future<Output = ()> + Send {
        Block(move || {
            while clock::now() < due {
                if current().is_alone() {
                    // Masked, or the alarm might have been before the processor sleeps.
                    critical_section::with(|_| {
                        alarm::KERNEL.set(due);
                        wfi();
                    });
                } else {
                    give_way();
                }
            }
        })
    }

    #[inline(always)]
    fn take(_: &'static Bare, semaphore: &'static Semaphore) -> impl Future<Output = ()> + Send {
        Block(|| semaphore.take())
    }

    fn switches(_: &'static Bare) -> Option<u32> {
        Some(current().switches())
    }
}

impl Messages for Thread {
    type Queue = Queue;

    fn queue(_: &'static Bare, capacity: usize) -> Result<Queue, Refusal> {
        if capacity > CAPACITY { Err(Refusal::full()) } else { Ok(Queue::new()) }
    }

    #[inline(always)]
    fn send(_: &'static Bare, queue: &'static Queue, word: u32) -> impl Future<Output = ()> + Send {
        Block(move || queue.send(word))
    }

    #[inline(always)]
    fn receive(_: &'static Bare, queue: &'static Queue) -> impl Future<Output = u32> + Send {
        Block(|| queue.receive())
    }
}

#[unsafe(no_mangle)]
extern "C" fn ALARM() {
    alarm::KERNEL.stop();
}
