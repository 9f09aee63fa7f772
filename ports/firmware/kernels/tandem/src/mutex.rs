//! Mutexes for threads: with inheritance, with a ceiling, and a semaphore without a protocol.

use core::cell::Cell;

use chronoscope_suite::{
    Refusal,
    arena::Arena,
    kernel::{Mutexes, Protocol},
    task::Block,
};
use tandem::{Ceiling, CeilingGuard, Guard, Semaphore};

use crate::{
    kernel::{Tandem, Thread, level},
    thread::me,
};

pub enum Mutex {
    Plain(Semaphore),
    Inheriting(tandem::Mutex<()>, Held<Guard<()>>),
    Raising(Ceiling<()>, Held<CeilingGuard<()>>),
}

/// The guard, between `lock` and `unlock`.
pub struct Held<G>(Cell<Option<G>>);

// SAFETY: only the thread that has the lock comes here.
unsafe impl<G> Sync for Held<G> {}

impl<G> Held<G> {
    const fn new() -> Self {
        Self(Cell::new(None))
    }
}

impl Mutexes for Thread {
    type Mutex = Mutex;

    fn mutex(
        _: &'static Tandem,
        arena: &Arena,
        protocol: Protocol,
    ) -> Result<&'static Mutex, Refusal> {
        arena.place(match protocol {
            Protocol::None => Mutex::Plain(Semaphore::new(1)),
            Protocol::Inheritance => Mutex::Inheriting(tandem::Mutex::new(()), Held::new()),
            Protocol::Ceiling(ceiling) => {
                Mutex::Raising(Ceiling::new(level(ceiling), ()), Held::new())
            }
        })
    }

    #[inline(always)]
    fn lock(_: &'static Tandem, mutex: &'static Mutex) -> impl Future<Output = ()> + Send {
        Block(|| match mutex {
            Mutex::Plain(semaphore) => semaphore.take(me()),
            Mutex::Inheriting(mutex, held) => held.0.set(Some(mutex.lock(me()))),
            Mutex::Raising(ceiling, held) => held.0.set(Some(ceiling.lock(me()))),
        })
    }

    #[inline(always)]
    fn unlock(_: &'static Tandem, mutex: &'static Mutex) {
        match mutex {
            Mutex::Plain(semaphore) => semaphore.give(),
            Mutex::Inheriting(_, held) => drop(held.0.take()),
            Mutex::Raising(_, held) => drop(held.0.take()),
        }
    }
}
