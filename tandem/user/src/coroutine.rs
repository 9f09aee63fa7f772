//! Coroutines of one process, under the same priority order as all tasks of the machine.
//!
//! A [`Set`] runs coroutines on the stack of the process that opens it: the most urgent one first,
//! equals in turn. A turn between two of them is a return and a call, without a system call. The
//! kernel gives the process the priority of its most urgent coroutine that is ready, so a coroutine
//! runs before every less urgent task of every other process, and after every more urgent one.
//!
//! A coroutine runs until it awaits [`yield_now`] or [`Bell::wait`]. A more urgent one of the same
//! process does not interrupt it: the two share a stack. Until then the process has the priority of
//! the more urgent one. Tasks of other processes do interrupt it.
//!
//! The functions of the crate that wait, such as `Semaphore::take`, stop all coroutines of the
//! process. Wakers do nothing: a coroutine awaits this module's futures, and combinations of them.
//!
//! # Soundness
//! - The process's page at [`PAGE`] has the set. The kernel opens it once for a process, so there is
//!   one `Set` at most; it is neither `Send` nor `Sync`. All zeros are a valid page.
//! - The ready rings and the bells refer to coroutines that have not come to their end, which are
//!   pinned, and borrowed for as long as `Set::run` can be called. A coroutine that ends is taken
//!   out of both.
//! - The page is accessed by one thread; the kernel changes atomic words only.

use core::{
    cell::{Cell, UnsafeCell},
    future::{Future, poll_fn},
    marker::{PhantomData, PhantomPinned},
    mem::size_of,
    pin::Pin,
    ptr::NonNull,
    sync::atomic::Ordering::Relaxed,
    sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst, compiler_fence},
    task::{Context, Poll, Waker},
};

use crate::call::{Refused, call, call_one, checked};

const OPEN: usize = 18;
const GIVE_WAY: usize = 19;
const LISTEN: usize = 20;
const BELL: usize = 21;
const RING: usize = 22;
const LISTEN_UNTIL: usize = 33;

/// The address of the page, once it has been opened.
const PAGE: usize = 0x4fe0_0000;
const SLOTS: u32 = 63;
/// The bit of the inbox that says that a ring has changed in the present turn, or bells were looked at.
const CHANGED: u64 = 1 << 63;

type Link = Cell<Option<NonNull<Header>>>;

#[repr(C)]
struct Page {
    /// The priority of the most urgent coroutine, for the kernel.
    urgent: AtomicU32,
    /// The priority that the kernel gives the process.
    known: AtomicU32,
    /// The bells that have been rung since the process has looked; the kernel sets bits.
    inbox: AtomicU64,
    is_running: Cell<bool>,
    bitmap: Cell<u32>,
    /// The turns before other processes of the same priority run; 0 for a new batch.
    left: Cell<usize>,
    /// The coroutines that have not come to their end.
    alive: Cell<usize>,
    bells: Cell<u32>,
    rung: Cell<u64>,
    current: Link,
    /// For each priority, the last of the ring of ready coroutines, and their number.
    last: [Link; 32],
    ready: [Cell<usize>; 32],
    /// The coroutine that waits for each bell.
    waiting: [Link; SLOTS as usize],
}

const _: () = assert!(size_of::<Page>() <= 4096);

/// The page of the process. Called by functions of a [`Set`] and by those that coroutines call.
#[inline(always)]
fn page() -> &'static Page {
    // SAFETY: a set has been opened, so the kernel has mapped a page of zeros there, for the rest
    // of the process's life.
    unsafe { &*(PAGE as *const Page) }
}

struct Header {
    next: Link,
    /// Polls the coroutine, and takes it out of the page if that was its end.
    poll: unsafe fn(NonNull<Header>, &mut Context<'_>),
    priority: u8,
    is_ready: Cell<bool>,
    is_added: Cell<bool>,
}

/// A future that runs as a coroutine.
#[repr(C)]
pub struct Coroutine<F> {
    header: Header,
    future: UnsafeCell<F>,
    pinned: PhantomPinned,
}

impl<F: Future<Output = ()>> Coroutine<F> {
    /// A coroutine of a priority.
    ///
    /// # Panics
    /// If the priority is more than 31.
    pub const fn new(priority: u8, future: F) -> Self {
        assert!(priority <= 31, "a priority is 0 to 31");
        let header = Header {
            next: Cell::new(None),
            poll: poll::<F>,
            priority,
            is_ready: Cell::new(false),
            is_added: Cell::new(false),
        };
        Self { header, future: UnsafeCell::new(future), pinned: PhantomPinned }
    }
}

/// # Safety
/// The header belongs to a pinned `Coroutine<F>` that has not come to its end and is not being
/// polled.
unsafe fn poll<F: Future<Output = ()>>(header: NonNull<Header>, context: &mut Context<'_>) {
    // SAFETY: the header is the first field of the coroutine, from whose address it was made. The
    // future is pinned with it, and accessed here only.
    let future = unsafe {
        let coroutine = header.cast::<Coroutine<F>>().as_ref();
        Pin::new_unchecked(&mut *coroutine.future.get())
    };
    if future.poll(context).is_ready() {
        page().retire(header);
    }
}

/// The order of coroutines of different processes with the same priority.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// After each turn, another process of the same priority runs.
    Alternate,
    /// After a turn of each coroutine that is ready, another process of the same priority runs.
    Batched,
}

/// The coroutines of a process.
pub struct Set<'a> {
    /// Neither `Send` nor `Sync`, and invariant.
    coroutines: PhantomData<(*mut (), Cell<&'a ()>)>,
}

impl<'a> Set<'a> {
    /// Opens the process's set.
    ///
    /// # Errors
    /// [`Refused::Invalid`] if the process has opened one before, [`Refused::Full`] without memory.
    pub fn open() -> Result<Self, Refused> {
        checked(call(OPEN, [])[0])?;
        Ok(Self { coroutines: PhantomData })
    }

    /// Adds a coroutine, ready to run behind its equals.
    ///
    /// # Panics
    /// If it has been added before.
    pub fn add<F: Future<Output = ()>>(&self, coroutine: Pin<&'a Coroutine<F>>) {
        let header = &coroutine.header;
        assert!(!header.is_added.replace(true), "a coroutine is added once");
        let page = page();
        page.alive.set(page.alive.get() + 1);
        page.insert(NonNull::from(coroutine.get_ref()).cast());
    }

    /// Makes a bell for a coroutine of `priority`. When another process rings it, this process has
    /// at least that priority until it has looked.
    ///
    /// # Errors
    /// [`Refused::Full`] without room, and for the 64th bell; [`Refused::Invalid`] for a priority
    /// above 31. A priority above the family's highest counts as that.
    pub fn bell(&self, priority: u8) -> Result<Bell, Refused> {
        let page = page();
        let slot = page.bells.get();
        if slot >= SLOTS {
            return Err(Refused::Full);
        }
        let handle = checked(call(BELL, [slot as usize, usize::from(priority)])[0])?;
        page.bells.set(slot + 1);
        Ok(Bell { slot, ringer: Ringer(handle), local: PhantomData })
    }

    /// Runs the coroutines until all have come to their end. The process has the priority of the
    /// last one then.
    ///
    /// # Panics
    /// If a coroutine calls it.
    pub fn run(&self, order: Order) {
        self.run_while(order, |page| {
            page.listen();
            true
        });
    }

    /// Runs the coroutines like [`run`](Self::run), as long as it need not wait for a bell beyond
    /// `due`, by the kernel's clock. Returns whether all have come to their end; otherwise it may be
    /// called again.
    ///
    /// # Panics
    /// As [`run`](Self::run).
    pub fn run_until(&self, order: Order, due: u64) -> bool {
        self.run_while(order, |page| page.listen_until(due))
    }

    /// Runs the coroutines until all have come to their end or `listen`, which waits for a bell,
    /// returns `false`. Returns whether they have.
    #[inline(always)]
    fn run_while(&self, order: Order, listen: impl Fn(&Page) -> bool) -> bool {
        let page = page();
        assert!(!page.is_running.replace(true), "a set is run by its process, not by a coroutine");
        let mut context = Context::from_waker(Waker::noop());
        let mut waits = true;
        while waits && page.alive.get() > 0 {
            page.collect();
            page.inbox.fetch_and(!CHANGED, Relaxed);
            match page.bitmap.get() {
                0 => waits = listen(page),
                ready => {
                    let priority = 31 - ready.leading_zeros();
                    if page.publish(priority) {
                        page.turns(priority as usize, order, &mut context);
                    }
                }
            }
        }
        page.current.set(None);
        page.is_running.set(false);
        page.alive.get() == 0
    }
}

impl Page {
    /// Moves the rung bells' coroutines into their rings. They are published before the kernel can
    /// take the inbox for empty.
    #[inline(always)]
    fn collect(&self) {
        if self.inbox.load(Relaxed) & !CHANGED != 0 {
            self.take_inbox();
        }
    }

    #[inline(never)]
    fn take_inbox(&self) {
        let bits = self.inbox.load(Relaxed) & !CHANGED;
        self.rung.set(self.rung.get() | bits);
        let mut rest = bits;
        while rest != 0 {
            let slot = rest.trailing_zeros();
            rest &= rest - 1;
            if let Some(header) = self.waiting[slot as usize].take() {
                self.insert(header);
            }
        }
        compiler_fence(SeqCst);
        self.inbox.fetch_and(!bits, Relaxed);
        // In a poll, a bell for which nobody waits has raised the process: the turns end, so that the
        // next `publish` lowers it.
        self.change();
    }

    /// Publishes the priority of the most urgent coroutine. `false` if the inbox has a bit, which
    /// is to be collected first.
    #[inline(always)]
    fn publish(&self, priority: u32) -> bool {
        self.urgent.store(priority, Relaxed);
        compiler_fence(SeqCst);
        if self.known.load(Relaxed) > priority {
            call_one(GIVE_WAY, 0);
        }
        self.inbox.load(Relaxed) == 0
    }

    /// Waits for a bell. A process that waits is not ready, whatever it publishes.
    fn listen(&self) {
        self.urgent.store(0, Relaxed);
        call(LISTEN, []);
    }

    /// Waits for a bell until `due`. Returns whether one has been rung.
    fn listen_until(&self, due: u64) -> bool {
        self.urgent.store(0, Relaxed);
        checked(call(LISTEN_UNTIL, [0, 0, 0, 0, 0, due as usize])[0]).is_ok()
    }

    /// Runs the coroutines of a priority, which are the most urgent, until another may be.
    #[inline(never)]
    fn turns(&self, priority: usize, order: Order, context: &mut Context<'_>) {
        let ring = &self.last[priority];
        let batch = || if order == Order::Alternate { 1 } else { self.ready[priority].get() };
        let mut left = match self.left.take() {
            0 => batch(),
            rest => rest.min(batch()),
        };
        let Some(mut last) = ring.get() else { return };
        loop {
            // SAFETY: a ring refers to coroutines that have not come to their end.
            let first = unsafe { last.as_ref() }.next.get();
            // SAFETY: the links of a ring lead round.
            let first = unsafe { first.unwrap_unchecked() };
            self.current.set(Some(first));
            // SAFETY: as above; `run` calls this outside of all polls.
            unsafe { (first.as_ref().poll)(first, context) };
            left -= 1;
            if self.inbox.load(Relaxed) != 0 {
                self.settle(ring, first, left);
                return;
            }
            ring.set(Some(first));
            last = first;
            if left == 0 {
                self.let_others_run();
                if self.inbox.load(Relaxed) != 0 {
                    return;
                }
                left = batch();
            }
        }
    }

    /// Ends a turn in which rings may have changed, with `left` turns of the batch.
    #[inline(never)]
    fn settle(&self, ring: &Link, first: NonNull<Header>, left: usize) {
        self.left.set(left);
        // A coroutine that has left the ring may have come to its end, and is not accessed.
        let head = ring.get().and_then(|last| {
            // SAFETY: a ring refers to coroutines that have not come to their end.
            unsafe { last.as_ref() }.next.get()
        });
        if head == Some(first) {
            ring.set(Some(first));
        }
        if left == 0 && head.is_some() {
            self.let_others_run();
        }
    }

    /// Yields to another process of the same priority. If the kernel knows the priority, the short
    /// call does.
    #[inline(always)]
    fn let_others_run(&self) {
        if self.known.load(Relaxed) == self.urgent.load(Relaxed) {
            crate::call::yield_now();
        } else {
            call_one(GIVE_WAY, 1);
        }
    }

    /// Makes a coroutine ready, behind its equals.
    fn insert(&self, added: NonNull<Header>) {
        // SAFETY: callers pass a coroutine that has not come to its end.
        let header = unsafe { added.as_ref() };
        if header.is_ready.replace(true) {
            return;
        }
        let priority = usize::from(header.priority);
        let ring = &self.last[priority];
        match ring.get() {
            // SAFETY: a ring refers to coroutines that have not come to their end.
            Some(last) => header.next.set(unsafe { last.as_ref() }.next.replace(Some(added))),
            None => header.next.set(Some(added)),
        }
        ring.set(Some(added));
        self.ready[priority].set(self.ready[priority].get() + 1);
        self.bitmap.set(self.bitmap.get() | 1 << priority);
        let urgent = self.urgent.load(Relaxed).max(priority as u32);
        self.urgent.store(urgent, Relaxed);
        self.change();
    }

    #[inline(always)]
    fn change(&self) {
        self.inbox.fetch_or(CHANGED, Relaxed);
    }

    /// Takes the coroutine that runs, the first of its ring, out of it.
    fn leave(&self, first: NonNull<Header>) {
        // SAFETY: it is being polled.
        let header = unsafe { first.as_ref() };
        if !header.is_ready.replace(false) {
            return;
        }
        let priority = usize::from(header.priority);
        let ring = &self.last[priority];
        let last = ring.get().filter(|last| *last != first);
        match last {
            // SAFETY: a ring refers to coroutines that have not come to their end.
            Some(last) => unsafe { last.as_ref() }.next.set(header.next.get()),
            None => {
                ring.set(None);
                self.bitmap.set(self.bitmap.get() & !(1 << priority));
            }
        }
        self.ready[priority].set(self.ready[priority].get() - 1);
        self.change();
    }

    /// Takes a coroutine that has come to its end out of the page.
    #[inline(never)]
    fn retire(&self, first: NonNull<Header>) {
        self.leave(first);
        self.alive.set(self.alive.get() - 1);
        for waiting in &self.waiting[..self.bells.get() as usize] {
            if waiting.get() == Some(first) {
                waiting.set(None);
            }
        }
    }
}

/// A bell of this process: a coroutine waits for it, and any process of the family rings it.
pub struct Bell {
    slot: u32,
    ringer: Ringer,
    /// A bell is used by its own process only: the slot is one of its page.
    local: PhantomData<*mut ()>,
}

impl Bell {
    /// The handle by which others ring the bell.
    #[must_use]
    pub fn ringer(&self) -> Ringer {
        self.ringer
    }

    /// Waits until the bell has been rung since the last wait. Rings in between count as one.
    pub async fn wait(&mut self) {
        let (page, bit) = (page(), 1 << self.slot);
        poll_fn(|_| {
            page.collect();
            if page.rung.get() & bit != 0 {
                page.rung.set(page.rung.get() & !bit);
                return Poll::Ready(());
            }
            let current = page.current.get();
            if let Some(current) = current {
                page.waiting[self.slot as usize].set(Some(current));
                page.leave(current);
            }
            Poll::Pending
        })
        .await;
    }
}

/// The handle of a [`Bell`], for all processes of the family.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Ringer(pub usize);

impl Ringer {
    /// Rings the bell. If its process becomes more urgent than this one, it runs at once.
    ///
    /// # Errors
    /// [`Refused::NoObject`]; [`Refused::Dead`] if the bell's process has ended.
    #[inline(always)]
    pub fn ring(self) -> Result<(), Refused> {
        checked(call_one(RING, self.0)).map(|_| ())
    }
}

/// Lets the next ready coroutine of the same priority run. For coroutines of a [`Set`].
#[inline(always)]
pub fn yield_now() -> Yield {
    Yield(false)
}

/// The future of [`yield_now`].
pub struct Yield(bool);

impl Future for Yield {
    type Output = ();

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if core::mem::replace(&mut self.0, true) { Poll::Ready(()) } else { Poll::Pending }
    }
}
