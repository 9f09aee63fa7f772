//! lilos, as the suite sees it.

use core::{
    cell::RefCell,
    future::Future,
    mem::MaybeUninit,
    pin::{Pin, pin},
    task::{Context, Waker},
};

use board::{host, kernel::accept, log_by_defmt, on_this_machine};
use chronoscope_suite::{Kernel, Refusal, Request, arena::Arena};
use heapless::Vec;
use lilos::exec::{ALL_TASKS, Interrupts, run_tasks_with_preemption};

use crate::{
    place::{DIRECTOR, Endless, Place, Spare, Spares},
    semaphore::Semaphore,
    time::{TICKS_PER_SECOND, Ticks},
};

/// About as many as have room in the memory below.
const TASKS: usize = 256;

/// The array of tasks that lilos polls.
type Array<'a> = Vec<Pin<&'a mut Endless<'a>>, TASKS>;

pub struct Lilos {
    /// The memory of tasks and queues, apart from the experiment's.
    pub memory: Arena,
    /// Tasks made before lilos runs; `None` from then on.
    early: RefCell<Option<Array<'static>>>,
    pub spares: Spares,
    pub ticks: Ticks,
}

// SAFETY: there is one processor; tasks do not pre-empt each other, and handlers use semaphores
// only.
unsafe impl Sync for Lilos {}

impl Lilos {
    /// Sets up memory and the tick. Called once.
    ///
    /// # Errors
    /// [`Refusal`] for primitives of other kernels.
    pub fn new(request: &Request<'_>) -> Result<Self, Refusal> {
        const MEMORY: usize = 22 * 1024;
        static mut REGION: [MaybeUninit<u8>; MEMORY] = [MaybeUninit::uninit(); MEMORY];
        accept(request)?;
        let region = &raw mut REGION;
        // SAFETY: this function is called once, and nothing else names REGION.
        let memory = Arena::new(unsafe { &mut *region });
        let (early, spares) = (RefCell::new(Some(Vec::new())), Spares::new());
        Ok(Self { memory, early, spares, ticks: Ticks::start() })
    }

    /// Adds to the tasks that lilos will be given.
    ///
    /// # Errors
    /// [`Refusal`] when there are too many, or lilos runs.
    pub fn add(&self, task: Pin<&'static mut Endless<'static>>) -> Result<(), Refusal> {
        let mut early = self.early.borrow_mut();
        // One entry is the director's.
        let early = early.as_mut().filter(|early| early.len() + 1 < TASKS).ok_or(Refusal::full())?;
        early.push(task).map_err(|_| Refusal::full())
    }

    pub fn runs(&self) -> bool {
        self.early.borrow().is_none()
    }

    /// Runs the director, and the tasks that it makes. The case ends with it.
    ///
    /// Up to its first wait it runs here, before lilos: the tasks that it makes until then are
    /// lilos's from the start. Those made later take `spare` places.
    pub fn run(&'static self, spare: usize, director: impl Future<Output = ()>) -> ! {
        let mut director = pin!(Place::new(&DIRECTOR, async {
            director.await;
            host::exit();
        }));
        // lilos polls all tasks in its first round, so it need not know whom to wake.
        let _pending = director.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let mut tasks = Array::new();
        let _room = tasks.push(director);
        for task in self.early.take().into_iter().flatten() {
            let _room = tasks.push(task);
        }
        let last = TASKS.min(tasks.len() + spare);
        // Where these do not fit, making a task is refused.
        while tasks.len() < last
            && let Ok(place) = Spare::place(&self.memory, &self.spares, tasks.len())
        {
            let _room = tasks.push(place);
        }
        // Handlers of the highest priority, which experiments and the tick have, pre-empt tasks.
        // With lilos's default they would run between two rounds, after `raise` has returned.
        let interrupts = Interrupts::Filtered(0x80);
        // SAFETY: handlers share semaphores with tasks, which can be given at any time, and lilos's
        // own tick.
        unsafe { run_tasks_with_preemption(&mut tasks, ALL_TASKS, interrupts) }
    }
}

/// A kind of task, never instantiated: `tasks` implements its operations.
pub enum Coroutine {}

on_this_machine!(Lilos);
log_by_defmt!(Lilos);

impl Kernel for Lilos {
    type Director = Coroutine;
    type Semaphore = Semaphore;
    const TICK_US: u64 = 1_000_000 / TICKS_PER_SECOND;
    /// Tasks that the director makes after its first wait are not in the array from the start.
    const HAS_PAST: bool = false;

    fn tick_after(&self, time: u64) -> u64 {
        self.ticks.at_or_after(time)
    }

    fn semaphore(&self, initial: u32) -> Result<Semaphore, Refusal> {
        Ok(Semaphore::new(initial))
    }

    #[inline(always)]
    fn give(&self, semaphore: &'static Semaphore) {
        semaphore.give();
    }
}
