//! Storage of tasks. tandem's users declare a static for each task. Here tasks are made on demand,
//! and places of ended tasks are reused. Finding one takes constant time.

use core::{
    cell::{Cell, RefCell, UnsafeCell},
    mem::MaybeUninit,
};

use chronoscope_suite::{Refusal, arena::Arena};
use critical_section::Mutex;
use tandem::{Coroutine, Info, Thread};

use crate::record::Record;

/// The stack of each thread, in bytes: enough for the experiments' calls. Handlers have a separate
/// stack. The Fourier transform is the deepest call, and deeper without a floating-point unit.
pub const STACK: usize = WORDS * if RISCV { 896 } else { 640 };
const RISCV: bool = cfg!(any(target_arch = "riscv32", target_arch = "riscv64"));
/// The words of 32 bits in a register: on RV64, stacks and futures are twice as large.
const WORDS: usize = usize::BITS as usize / 32;
/// Bytes for the future of each coroutine.
pub const FUTURE: usize = WORDS * 168;

/// Bytes for all tasks: fewer on a microcontroller, and there fewer still where the recorded events
/// need memory. Guards of 128 bytes begin at multiples of their size, and so take more.
const MEMORY: usize = match WORDS {
    2 => 1024 * 1024,
    _ => (if cfg!(feature = "traced") { 15 } else { 26 } + FURTHER) * 1024 + 512,
};
const FURTHER: usize = if RISCV {
    9
} else if align_of::<Thread<STACK>>() > 32 {
    if cfg!(feature = "traced") { 5 } else { 7 }
} else {
    0
};

/// A task's storage in the kernel's own form.
pub trait Storage: Sync + 'static {
    const NEW: Self;
    const NAME: &'static str;
    fn info(&'static self) -> Info;
}

impl Storage for Thread<STACK> {
    const NEW: Self = Self::new();
    const NAME: &'static str = "thread";

    fn info(&'static self) -> Info {
        self.info()
    }
}

impl Storage for Coroutine<FUTURE> {
    const NEW: Self = Self::new();
    const NAME: &'static str = "coroutine";

    fn info(&'static self) -> Info {
        self.info()
    }
}

pub struct Place<S: 'static> {
    pub record: Record,
    pub storage: S,
    next: Mutex<Cell<Option<&'static Self>>>,
}

/// Places of tasks that have ended, or are about to: the oldest first.
pub struct Pool<S: 'static> {
    first: Mutex<Cell<Option<&'static Place<S>>>>,
    last: Mutex<Cell<Option<&'static Place<S>>>>,
}

pub static THREADS: Pool<Thread<STACK>> = Pool::new();
pub static COROUTINES: Pool<Coroutine<FUTURE>> = Pool::new();

static ARENA: Mutex<RefCell<Option<Arena>>> = Mutex::new(RefCell::new(None));

/// Sets up the memory of tasks. Called once, before the first task.
pub fn start() {
    static mut REGION: [MaybeUninit<u8>; MEMORY] = [MaybeUninit::uninit(); MEMORY];
    let region = &raw mut REGION;
    // SAFETY: this function is called once, and nothing else names REGION.
    let region: &'static mut [MaybeUninit<u8>] = unsafe { &mut *region };
    critical_section::with(|token| ARENA.borrow(token).replace(Some(Arena::new(region))));
}

impl<S: Storage> Place<S> {
    /// Field by field, where it will stay: a thread's storage is too large to be made on a thread's
    /// stack.
    #[inline(never)]
    fn make(arena: &Arena) -> Result<&'static Self, Refusal> {
        let slot = arena.place(UnsafeCell::new(MaybeUninit::<Self>::uninit()))?;
        // SAFETY: the slot is new and unused elsewhere; all fields are written.
        unsafe {
            let place = (*slot.get()).as_mut_ptr();
            (&raw mut (*place).record).write(Record::new(S::NAME));
            (&raw mut (*place).storage).write(S::NEW);
            (&raw mut (*place).next).write(Mutex::new(Cell::new(None)));
            Ok(&*place)
        }
    }
}

impl<S: Storage> Pool<S> {
    const fn new() -> Self {
        Self { first: Mutex::new(Cell::new(None)), last: Mutex::new(Cell::new(None)) }
    }

    /// A place for a task.
    ///
    /// # Errors
    /// [`Refusal`] when memory is full.
    #[inline]
    pub fn claim(&self) -> Result<&'static Place<S>, Refusal> {
        critical_section::with(|token| {
            let first = self.first.borrow(token);
            // The first place's task may have been interrupted before its end.
            if let Some(place) = first.get().filter(|place| !place.storage.info().is_alive()) {
                first.set(place.next.borrow(token).take());
                return Ok(place);
            }
            let arena = ARENA.borrow_ref(token);
            Place::make(arena.as_ref().ok_or(Refusal::full())?)
        })
    }

    /// Gives a place back: the last that its task does.
    #[inline]
    pub fn retire(&self, place: &'static Place<S>) {
        critical_section::with(|token| {
            let (first, last) = (self.first.borrow(token), self.last.borrow(token));
            match last.get().filter(|_| first.get().is_some()) {
                Some(last) => last.next.borrow(token).set(Some(place)),
                None => first.set(Some(place)),
            }
            last.set(Some(place));
        });
    }
}
