//! Storage of tasks. embassy's users write `#[task(pool_size = N)]`, which makes a static pool for
//! each task function. Task bodies of the suite are generic, so the port makes storages on demand,
//! and tasks of the same body type reuse them. The search for a free one is linear, as in embassy's
//! own pool.

use core::{
    any::TypeId,
    cell::RefCell,
    mem::MaybeUninit,
    ptr,
    sync::atomic::{AtomicPtr, AtomicU32, Ordering::Relaxed},
};

use chronoscope_suite::{Refusal, arena::Arena};
use critical_section::Mutex;
use embassy_executor::raw::{AvailableTask, TaskStorage};

use crate::kernel::Semaphore;

/// The port's data of a task. It is immediately before embassy's own header, whose address is the
/// task's identity, so one address gives the other.
#[repr(C, align(8))]
pub struct Header {
    next: AtomicPtr<Header>,
    body: TypeId,
    /// Tasks that this one has spawned and not reaped.
    pub children: AtomicU32,
    /// Given once by each child that ends.
    pub ended: Semaphore,
    /// Polls, counted by the executor's trace hook.
    pub polls: AtomicU32,
}

#[repr(C)]
struct Block<F: Future + 'static> {
    header: Header,
    storage: TaskStorage<F>,
}

const MEMORY: usize = 24 * 1024;

struct Pool {
    arena: Mutex<RefCell<Option<Arena>>>,
    /// All blocks, newest first.
    blocks: AtomicPtr<Header>,
}

static POOL: Pool =
    Pool { arena: Mutex::new(RefCell::new(None)), blocks: AtomicPtr::new(ptr::null_mut()) };

/// Sets up the pool's memory. Called once, before the first task.
pub fn start() {
    static mut REGION: [MaybeUninit<u8>; MEMORY] = [MaybeUninit::uninit(); MEMORY];
    let region = &raw mut REGION;
    // SAFETY: this function is called once, and nothing else names REGION.
    let region: &'static mut [MaybeUninit<u8>] = unsafe { &mut *region };
    critical_section::with(|token| POOL.arena.borrow(token).replace(Some(Arena::new(region))));
}

/// A place for a task with this body.
///
/// # Errors
/// [`Refusal`] when memory is full.
pub fn claim<F: Future + 'static>() -> Result<AvailableTask<F>, Refusal> {
    let mut next = POOL.blocks.load(Relaxed);
    // SAFETY: the list holds blocks in the pool's arena, which are never freed.
    while let Some(header) = unsafe { next.as_ref() } {
        if header.body == TypeId::of::<F>() {
            // SAFETY: the header is the first field of a block, whose body type it names.
            let block: &'static Block<F> = unsafe { &*ptr::from_ref(header).cast() };
            if let Some(free) = AvailableTask::claim(&block.storage) {
                return Ok(free);
            }
        }
        next = header.next.load(Relaxed);
    }
    let block = critical_section::with(|token| {
        let arena = POOL.arena.borrow_ref(token);
        let block = arena.as_ref().ok_or(Refusal::full())?.place(Block::<F>::new())?;
        block.header.next.store(POOL.blocks.load(Relaxed), Relaxed);
        POOL.blocks.store(ptr::from_ref(&block.header).cast_mut(), Relaxed);
        Ok(block)
    })?;
    AvailableTask::claim(&block.storage).ok_or(Refusal::full())
}

impl<F: Future + 'static> Block<F> {
    const fn new() -> Self {
        // The identity of a task must lead to its header.
        const { assert!(align_of::<TaskStorage<F>>() <= align_of::<Header>()) };
        let header = Header {
            next: AtomicPtr::new(ptr::null_mut()),
            body: TypeId::of::<F>(),
            children: AtomicU32::new(0),
            ended: Semaphore::new(0),
            polls: AtomicU32::new(0),
        };
        Self { header, storage: TaskStorage::new() }
    }
}
