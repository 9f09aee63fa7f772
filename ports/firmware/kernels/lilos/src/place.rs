//! Places for tasks in lilos's array.
//!
//! lilos takes an array of pinned futures, once, and polls those that are awake in the array's order. It tests every entry
//! in each round, so a long array would make every switch slower. A task that is made before lilos runs gets an
//! entry of its own: its [`Place`], which lilos polls directly. One made later must take an entry that was there from the start:
//! a [`Spare`] one, which forwards to the `Place` in it.
//!
//! In instructions: each entry of the array adds 7 to a round. A `Place` adds 10 to a poll, of which 3 count it, 3 tell
//! whose it is, and 4 see that the body has not ended. A `Spare` adds 11 more (`switch primitive=yield` takes 104 where all
//! tasks are in spare places, instead of 93). Only what is made while others run is in one: the tasks of `spawn`, the sampler of
//! `pipeline`, and the spinner of `idle=spin`.

use core::{
    alloc::Layout,
    cell::{Cell, UnsafeCell},
    convert::Infallible,
    future::Future,
    mem::MaybeUninit,
    pin::Pin,
    ptr::NonNull,
    task::{Context, Poll},
};

use chronoscope_suite::Refusal;
use lilos::exec::wake_task_by_index;

use crate::{
    kernel::Lilos,
    tasks::{CURRENT, Task},
};

/// A task of lilos: it never ends.
pub type Endless<'a> = dyn Future<Output = Infallible> + 'a;

/// A body that may end, made a task of lilos.
pub struct Place<F> {
    task: &'static Task,
    body: F,
}

impl<F> Place<F> {
    pub fn new(task: &'static Task, body: F) -> Self {
        Self { task, body }
    }
}

impl<F: Future<Output = ()>> Future for Place<F> {
    type Output = Infallible;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Infallible> {
        // SAFETY: the body is not moved out of the place.
        let Self { task, body } = unsafe { self.get_unchecked_mut() };
        // Others may share its wake bit, so one that has ended may be polled as well.
        if !task.has_ended() {
            CURRENT.set(task);
            task.count();
            // SAFETY: the place is pinned, and its body with it.
            if unsafe { Pin::new_unchecked(body) }.poll(context).is_ready() {
                task.end();
            }
        }
        Poll::Pending
    }
}

/// An entry of lilos's array for tasks that come and go.
pub struct Spare {
    kernel: &'static Lilos,
    /// In lilos's array.
    index: usize,
    task: Task,
    place: Cell<Option<NonNull<Endless<'static>>>>,
    /// What has been in it is used again for a place of the same layout.
    memory: Cell<Option<(NonNull<u8>, Layout)>>,
    /// While it is empty: the next one that is.
    next: Cell<Option<&'static Spare>>,
}

/// What lilos polls.
struct Forward(&'static Spare);

impl Spare {
    /// Makes one for the entry `index`.
    ///
    /// # Errors
    /// [`Refusal`] when memory is used up.
    #[expect(clippy::mut_from_ref, reason = "it refers to memory that is new each time")]
    pub fn place(
        kernel: &'static Lilos,
        index: usize,
    ) -> Result<Pin<&'static mut Endless<'static>>, Refusal> {
        let task = Task::new(None);
        let (place, memory, next) = (Cell::new(None), Cell::new(None), Cell::new(None));
        let spare = kernel.memory.place(Self { kernel, index, task, place, memory, next })?;
        let forward = kernel.memory.place(UnsafeCell::new(Forward(spare)))?;
        spare.task.set_spare(spare);
        spare.put_back();
        // SAFETY: what was placed stays, and only lilos is given a reference to it.
        Ok(Pin::static_mut(unsafe { &mut *forward.get() }))
    }

    /// Puts a task into an empty one, and wakes it.
    ///
    /// # Errors
    /// [`Refusal`] when all are taken, or memory is used up.
    pub fn fill<F>(kernel: &Lilos, parent: &'static Task, body: F) -> Result<(), Refusal>
    where
        F: Future<Output = ()> + 'static,
    {
        let spare = kernel.empty.get().ok_or(Refusal::full())?;
        let layout = Layout::new::<Place<F>>();
        let memory = match spare.memory.get() {
            Some((memory, known)) if known == layout => memory.cast::<Place<F>>(),
            _ => {
                let memory =
                    kernel.memory.place(UnsafeCell::new(MaybeUninit::<Place<F>>::uninit()))?;
                NonNull::from_ref(memory).cast()
            }
        };
        kernel.empty.set(spare.next.get());
        spare.memory.set(Some((memory.cast(), layout)));
        spare.task.begin(parent);
        // SAFETY: the memory has this layout and belongs to nobody else: it is new, or of a task that has ended. (That
        // one's body need not be dropped, because bodies hold nothing but references.)
        unsafe { memory.write(Place::new(&spare.task, body)) };
        let place: NonNull<Endless<'static>> = memory;
        spare.place.set(Some(place));
        wake_task_by_index(spare.index);
        Ok(())
    }

    /// Its task has ended.
    pub fn put_back(&'static self) {
        self.place.set(None);
        self.next.set(self.kernel.empty.replace(Some(self)));
    }
}

impl Future for Forward {
    type Output = Infallible;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Infallible> {
        if let Some(mut place) = self.0.place.get() {
            // SAFETY: a place stays where it is until its task has ended, and lilos polls no task within another.
            let _pending = unsafe { Pin::new_unchecked(place.as_mut()) }.poll(context);
        }
        Poll::Pending
    }
}
