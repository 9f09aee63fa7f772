//! Entries of lilos's array for tasks that are made while lilos runs.

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

use chronoscope_suite::{Refusal, arena::Arena};
use lilos::exec::wake_task_by_index;

use super::{Endless, Place, Task};

/// The list of empty spare places.
pub struct Spares(Cell<Option<&'static Spare>>);

impl Spares {
    pub const fn new() -> Self {
        Self(Cell::new(None))
    }
}

/// An entry of lilos's array for tasks that come and go.
pub struct Spare {
    spares: &'static Spares,
    /// In lilos's array.
    index: usize,
    task: Task,
    place: Cell<Option<NonNull<Endless<'static>>>>,
    /// The memory of the last place in this entry, which a place of the same layout reuses.
    room: Cell<Option<(NonNull<u8>, Layout)>>,
    /// While it is empty: the next one that is.
    next: Cell<Option<&'static Spare>>,
}

/// The future that lilos polls: it forwards to the place in the entry.
struct Forward(&'static Spare);

impl Spare {
    /// Makes one for the entry `index`.
    ///
    /// # Errors
    /// [`Refusal`] when memory is used up.
    #[expect(clippy::mut_from_ref, reason = "it refers to memory that is new each time")]
    pub fn place(
        arena: &'static Arena,
        spares: &'static Spares,
        index: usize,
    ) -> Result<Pin<&'static mut Endless<'static>>, Refusal> {
        let task = Task::new(None);
        let (place, room, next) = (Cell::new(None), Cell::new(None), Cell::new(None));
        let spare = arena.place(Self { spares, index, task, place, room, next })?;
        let forward = arena.place(UnsafeCell::new(Forward(spare)))?;
        spare.task.set_spare(spare);
        spare.put_back();
        // SAFETY: the value stays placed, and only lilos gets a reference to it.
        Ok(Pin::static_mut(unsafe { &mut *forward.get() }))
    }

    /// Puts a task into an empty one, and wakes it.
    ///
    /// # Errors
    /// [`Refusal`] when all are taken, or memory is used up.
    pub fn fill<F>(
        arena: &Arena,
        spares: &Spares,
        parent: &'static Task,
        body: F,
    ) -> Result<(), Refusal>
    where
        F: Future<Output = ()> + 'static,
    {
        let spare = spares.0.get().ok_or(Refusal::full())?;
        let layout = Layout::new::<Place<F>>();
        let room = match spare.room.get() {
            Some((room, known)) if known == layout => room.cast::<Place<F>>(),
            _ => {
                let room = arena.place(UnsafeCell::new(MaybeUninit::<Place<F>>::uninit()))?;
                NonNull::from_ref(room).cast()
            }
        };
        spares.0.set(spare.next.get());
        spare.room.set(Some((room.cast(), layout)));
        spare.task.begin(parent);
        // SAFETY: the memory has this layout and is unused: it is new, or its task has ended.
        // (Bodies need no drop: they hold only references.)
        unsafe { room.write(Place::new(&spare.task, body)) };
        let place: NonNull<Endless<'static>> = room;
        spare.place.set(Some(place));
        wake_task_by_index(spare.index);
        Ok(())
    }

    /// Returns the entry to the empty ones, after its task has ended.
    pub fn put_back(&'static self) {
        self.place.set(None);
        self.next.set(self.spares.0.replace(Some(self)));
    }
}

impl Future for Forward {
    type Output = Infallible;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Infallible> {
        if let Some(mut place) = self.0.place.get() {
            // SAFETY: a place stays where it is until its task has ended, and lilos polls no task
            // within another.
            let _pending = unsafe { Pin::new_unchecked(place.as_mut()) }.poll(context);
        }
        Poll::Pending
    }
}
