//! Processes as the suite's tasks. A body refers to the arena, which is at the same address in all
//! processes of the family; the kernel copies it to the new process's stack.

use core::{mem::MaybeUninit, pin::Pin};

use chronoscope_suite::{
    Priority, Refusal, Tasks,
    arena::Arena,
    kernel::{Messages, Mutexes, Order, Protocol, Sets},
    task::{Block, block_on},
};
use tandem_user::{
    self as user, Channel, Family, Semaphore,
    coroutine::{self, Coroutine, Set},
};

use crate::kernel::{Process, Processes};

/// `Idle` is above the kernel's main thread, which waits.
const fn level(priority: Priority) -> u8 {
    match priority {
        Priority::Idle => 0,
        Priority::Ordinary => 1,
        Priority::Urgent(urgency) => 1 + if urgency < 30 { urgency } else { 30 },
    }
}

impl Tasks for Process {
    type Kernel = Processes;
    const KIND: &'static str = "process";

    fn spawn<F>(_: &'static Processes, priority: Priority, body: F) -> Result<(), Refusal>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        // SAFETY: the suite's bodies hold numbers and references into the arena.
        let child =
            unsafe { user::spawn(level(priority), "task", Family::Same, || block_on(body)) };
        child.map(drop).map_err(|_| Refusal::full())
    }

    fn reap(_: &'static Processes) -> impl Future<Output = bool> + Send {
        Block(|| user::reap().is_some())
    }

    #[inline(always)]
    fn yield_now(_: &'static Processes) -> impl Future<Output = ()> + Send {
        Block(user::yield_now)
    }

    #[inline(always)]
    fn delay_until(_: &'static Processes, due: u64) -> impl Future<Output = ()> + Send {
        Block(move || user::sleep_until(due))
    }

    #[inline(always)]
    fn take(
        _: &'static Processes,
        semaphore: &'static Semaphore,
    ) -> impl Future<Output = ()> + Send {
        Block(|| semaphore.take())
    }

    fn switches(_: &'static Processes) -> Option<u32> {
        Some(user::counts().switches as u32)
    }
}

impl Messages for Process {
    type Queue = Channel;

    fn queue(_: &'static Processes, capacity: usize) -> Result<Channel, Refusal> {
        if capacity > Channel::CAPACITY {
            return Err(Refusal::full());
        }
        Channel::new().map_err(|_| Refusal::full())
    }

    #[inline(always)]
    fn send(
        _: &'static Processes,
        queue: &'static Channel,
        word: u32,
    ) -> impl Future<Output = ()> + Send {
        Block(move || queue.send(word))
    }

    #[inline(always)]
    fn receive(_: &'static Processes, queue: &'static Channel) -> impl Future<Output = u32> + Send {
        Block(|| queue.receive())
    }
}

/// A mutex with inheritance, or a semaphore in its place, without a protocol.
pub enum Mutex {
    Plain(Semaphore),
    Inheriting(user::Mutex),
}

impl Mutexes for Process {
    type Mutex = Mutex;

    fn mutex(
        _: &'static Processes,
        arena: &Arena,
        protocol: Protocol,
    ) -> Result<&'static Mutex, Refusal> {
        let full = |_| Refusal::full();
        arena.place(match protocol {
            Protocol::None => Mutex::Plain(Semaphore::new(1).map_err(full)?),
            Protocol::Inheritance => Mutex::Inheriting(user::Mutex::new().map_err(full)?),
            Protocol::Ceiling(_) => {
                return Err(Refusal::not_offered("mutexes of processes have no ceiling"));
            }
        })
    }

    #[inline(always)]
    fn lock(_: &'static Processes, mutex: &'static Mutex) -> impl Future<Output = ()> + Send {
        Block(|| match mutex {
            Mutex::Plain(semaphore) => semaphore.take(),
            Mutex::Inheriting(mutex) => assert!(mutex.lock().is_ok(), "the mutex is locked"),
        })
    }

    #[inline(always)]
    fn unlock(_: &'static Processes, mutex: &'static Mutex) {
        match mutex {
            Mutex::Plain(semaphore) => semaphore.give(),
            Mutex::Inheriting(mutex) => assert!(mutex.unlock().is_ok(), "the mutex is unlocked"),
        }
    }
}

/// The memory of a coroutine, in the arena.
pub struct Place<F>(MaybeUninit<Coroutine<F>>);

// SAFETY: a place is empty until it is used up by `add`, so no coroutine moves with it.
unsafe impl<F> Send for Place<F> {}

impl Sets for Process {
    type Place<F: Future<Output = ()> + 'static> = Place<F>;
    type Set = Set<'static>;

    fn place<F: Future<Output = ()> + 'static>() -> Place<F> {
        Place(MaybeUninit::uninit())
    }

    fn open(_: &'static Processes) -> Set<'static> {
        Set::open().expect("a process opens its set once")
    }

    fn add<F: Future<Output = ()> + 'static>(
        set: &Set<'static>,
        priority: Priority,
        place: &'static mut Place<F>,
        body: F,
    ) {
        set.add(Pin::static_ref(place.0.write(Coroutine::new(level(priority), body))));
    }

    fn run(set: &Set<'static>, order: Order) {
        set.run(match order {
            Order::Alternate => coroutine::Order::Alternate,
            Order::Batched => coroutine::Order::Batched,
        });
    }
}
