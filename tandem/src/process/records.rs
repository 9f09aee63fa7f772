//! The records of processes and of the objects that handles name, and the frame by which the
//! assembly finds both. They refer to each other, so they stand in one place; the operations are above,
//! in `object`, `coroutines`, `life` and `call`.
//!
//! # Soundness
//! Records are static; fields are cells that are accessed with interrupts masked. The frame is at
//! the high end of the kernel stack, and the entries access it while the process is in user mode
//! or masked; other code does so only for a process that is not running. A process waits with the
//! waiter in its record, which is static too, so a waiter never dangles.

use super::{
    abi::{FAMILIES, MEMBERS_OBJECTS},
    handle::{Family, Place},
    space::Space,
};
use crate::{
    records::{Header, KERNEL, Kernel, Level, Task, WaitQueue, Waiter},
    shared::{Masked, Shared},
};
use core::{
    cell::UnsafeCell,
    mem::{MaybeUninit, offset_of},
    ptr::NonNull,
};

/// The words of a message.
pub(super) type Message = [usize; 4];

/// The kind of an object.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    Semaphore = 1,
    Channel = 2,
    Endpoint = 3,
    Mutex = 4,
    Bell = 5,
}

impl Kind {
    /// The tag of such an object of a family: never 0.
    pub(super) const fn tag(self, family: Family) -> u16 {
        (family as u16) << 8 | self as u16
    }
}

/// A process, from its beginning until its parent has reaped it; then the next one.
#[repr(C)]
pub(super) struct Process {
    pub(super) header: Header,
    pub(super) place: Place,
    pub(super) family: Shared<Family>,
    pub(super) space: Shared<Option<Space>>,
    /// The address of the frame, at the high end of the kernel stack.
    pub(super) frame: Shared<usize>,
    pub(super) name: Shared<[usize; 2]>,
    /// The place in a queue of an object's.
    waiter: UnsafeCell<MaybeUninit<Waiter>>,
    /// The handle of the parent; 0 without one.
    pub(super) parent: Shared<usize>,
    /// Children that have not been reaped.
    pub(super) children: Shared<u32>,
    /// The process waits for the end of a child.
    pub(super) reaps: Shared<bool>,
    /// The first child that has ended; with `next`, a list. In a free record, `next` is the next
    /// free one.
    pub(super) first_ended: Shared<Option<&'static Process>>,
    pub(super) next: Shared<Option<&'static Process>>,
    pub(super) status: Shared<usize>,
    pub(super) doomed: Shared<bool>,
    /// The process is in [`end`](super::life::end), and takes no child that ends.
    pub(super) ends: Shared<bool>,
    /// The endpoint that the process has called, or the mutex, and waits for. Outdated when it does
    /// not wait for one: then nothing is waited for there.
    pub(super) calls: Shared<Option<&'static Large>>,
    /// The endpoint that the process receives from, or the mutex that it holds.
    pub(super) serves: Shared<Option<&'static Large>>,
    /// The page for coroutines of this record's processes; 0 before the first has asked for it.
    pub(super) page: Shared<usize>,
    /// The process waits for a bell.
    pub(super) listens: Shared<bool>,
    /// The call that the process makes has a time limit.
    timed: Shared<bool>,
    /// The endpoints that the process has created, and those on which it may receive.
    pub(super) roles: Shared<u32>,
}

// SAFETY: cells are accessed with interrupts masked, on one core; so is the waiter.
unsafe impl Sync for Process {}

const _: () = assert!(offset_of!(Process, header) == 0);

impl Process {
    pub(super) const fn new() -> Self {
        Self {
            header: Header::new(),
            place: Place::new(),
            family: Shared::new(0),
            space: Shared::new(None),
            frame: Shared::new(0),
            name: Shared::new([0; 2]),
            waiter: UnsafeCell::new(MaybeUninit::zeroed()),
            parent: Shared::new(0),
            children: Shared::new(0),
            reaps: Shared::new(false),
            first_ended: Shared::new(None),
            next: Shared::new(None),
            status: Shared::new(0),
            doomed: Shared::new(false),
            ends: Shared::new(false),
            calls: Shared::new(None),
            serves: Shared::new(None),
            page: Shared::new(0),
            listens: Shared::new(false),
            timed: Shared::new(false),
            roles: Shared::new(0),
        }
    }

    /// The process of a task, which must be one.
    pub(super) fn from_task(task: Task) -> &'static Self {
        // SAFETY: callers pass the header of a process: a task that has called the kernel from user
        // mode. It is the first field of a record, which is static.
        unsafe { &*core::ptr::from_ref(task).cast::<Self>() }
    }

    pub(super) fn is(&self, other: &Self) -> bool {
        core::ptr::eq(self, other)
    }

    #[inline(always)]
    pub(super) fn family(&self, m: Masked) -> Family {
        self.family.get(m)
    }

    pub(super) fn is_doomed(&self, m: Masked) -> bool {
        self.doomed.get(m)
    }

    /// The memory of a process that has been alive.
    pub(super) fn space(&self, m: Masked) -> Space {
        self.space.get(m).expect("a process has an address space")
    }

    /// A level, or the level of the family's highest priority if the former is more urgent.
    pub(super) fn allowed(&self, m: Masked, level: Level) -> Level {
        level.max(MEMBERS_OF[usize::from(self.family.get(m))].cap.get(m))
    }

    #[inline(always)]
    pub(super) fn frame(&self, m: Masked) -> *mut Frame {
        self.frame.get(m) as *mut Frame
    }

    /// The register `number` in the frame of a process that waits.
    pub(super) fn result(&self, m: Masked, number: usize) -> usize {
        // SAFETY: the process waits in the kernel, so its frame is not in use.
        unsafe { (&raw const (*self.frame(m)).registers).cast::<usize>().add(number).read() }
    }

    /// Sets the register `number` of a process that waits, or is about to.
    #[inline(always)]
    pub(super) fn set_result(&self, m: Masked, number: usize, value: usize) {
        debug_assert!(number < 32);
        // SAFETY: as for `result`.
        unsafe { (&raw mut (*self.frame(m)).registers).cast::<usize>().add(number).write(value) };
    }

    /// Gives this process, which waits or is about to, a message as the result of its call.
    #[inline(always)]
    pub(super) fn hand_message(&self, m: Masked, message: Message) {
        self.set_result(m, Frame::A0, 0);
        self.keep_message(m, message);
    }

    /// Keeps the message of this process's call in its frame.
    #[inline(always)]
    pub(super) fn keep_message(&self, m: Masked, message: Message) {
        let frame = self.frame(m);
        // SAFETY: as for `result`.
        unsafe {
            let registers = (&raw mut (*frame).registers).cast::<usize>();
            registers.add(Frame::A1).cast::<Message>().write(message);
        }
    }

    /// The message that the process has kept.
    pub(super) fn message(&self, m: Masked) -> Message {
        [0, 1, 2, 3].map(|word| self.result(m, Frame::A1 + word))
    }

    /// Makes the process, which runs, the server of an endpoint.
    pub(super) fn serve(&self, m: Masked, handle: usize, large: &'static Large) {
        self.serves.set(m, Some(large));
        let frame = self.frame(m);
        // SAFETY: as for `result`: the process is in a call.
        unsafe {
            // A process with coroutines leaves the short way: it has to publish first.
            if (*frame).page == 0 {
                (&raw mut (*frame).handle).write(handle);
            }
            (&raw mut (*frame).endpoint).write(large);
        }
    }

    /// Ends the process's service, which runs: calls of the endpoint take the long way.
    pub(super) fn serve_none(&self, m: Masked) {
        self.serves.set(m, None);
        let frame = self.frame(m);
        // SAFETY: as for `result`: the process is in a call.
        unsafe {
            (&raw mut (*frame).handle).write(usize::MAX);
            (&raw mut (*frame).endpoint).write(&NO_ENDPOINT);
        }
    }

    /// Returns whether the call that the process makes has a time limit.
    #[inline(always)]
    pub(super) fn is_timed(&self, m: Masked) -> bool {
        self.timed.get(m)
    }

    /// Notes whether the call that the process makes has a time limit. Its waiter is in no queue.
    pub(super) fn set_timed(&self, m: Masked, timed: bool) {
        self.timed.set(m, timed);
        // SAFETY: a process that runs is in no queue, so nothing refers to its waiter.
        Waiter::in_place(unsafe { &mut *self.waiter.get() }, self.task());
    }

    pub(super) fn waiter(&self, _: Masked) -> &Waiter {
        // SAFETY: the waiter is zero or has been in a queue: `enter` alone makes it, in the record.
        unsafe { (*self.waiter.get()).assume_init_ref() }
    }

    /// Enters the process, which runs, into a queue.
    #[inline(always)]
    pub(super) fn enter(&'static self, m: Masked, queue: &WaitQueue) {
        // SAFETY: a process that runs is in no queue, so nothing refers to its waiter.
        let waiter = Waiter::in_place(unsafe { &mut *self.waiter.get() }, &self.header);
        self.header.waiter.set(m, Some(NonNull::from(waiter)));
        if self.is_timed(m) {
            queue.insert_marked(m, waiter, self.header.level.get(m));
        } else {
            queue.insert(m, waiter);
        }
    }

    pub(super) fn task(&self) -> Task {
        // SAFETY: records are static.
        unsafe { NonNull::from(&self.header).as_ref() }
    }
}

/// The calling process. Called by system calls only.
#[inline(always)]
pub(super) fn this(m: Masked) -> &'static Process {
    Process::from_task(KERNEL.current(m))
}

/// The members of a family.
pub(super) struct Members {
    /// The records of the family: of processes that have not left [`end`](super::life::end), and of those that have
    /// ended and are not reaped. A founder's is its parent's from its end on. While there are any,
    /// the family's number is in use.
    pub(super) processes: Shared<u32>,
    /// The processes that can use the family's objects: they have not begun to end.
    pub(super) users: Shared<u32>,
    pub(super) objects: Shared<u32>,
    /// The level of the highest priority.
    pub(super) cap: Shared<Level>,
    /// The process at whose end the family ends; `None` from then on, and in the first family.
    pub(super) founder: Shared<Option<&'static Process>>,
}

pub(super) static MEMBERS_OF: [Members; FAMILIES] = [const {
    Members {
        processes: Shared::new(0),
        users: Shared::new(0),
        objects: Shared::new(0),
        cap: Shared::new(0),
        founder: Shared::new(None),
    }
}; FAMILIES];

/// The objects of all processes together. The assembly takes the low ten bits of a handle as the
/// index.
pub(super) const OBJECTS: usize = 1024;
/// The channels, endpoints and mutexes among them.
const LARGE_OBJECTS: usize = 512;
// All families but the first, at their limits, leave it a half.
const _: () = assert!(LARGE_OBJECTS / 2 >= (FAMILIES - 1) * MEMBERS_OBJECTS as usize);
/// The words that a channel holds.
pub(super) const CAPACITY: u32 = 64;

/// An object. The size makes an index a shift; field order is known to the assembly.
#[repr(C, align(64))]
pub(super) struct Object {
    pub(super) place: Place,
    /// The kind and the family; 0 without an object.
    pub(super) tag: Shared<u16>,
    /// The units of a semaphore, or the words of a channel.
    pub(super) count: Shared<u32>,
    /// The further parts of a channel, an endpoint or a mutex.
    pub(super) large: Shared<Option<&'static Large>>,
    /// The processes that wait for a unit, for a word, for the server of an endpoint, or for a
    /// mutex.
    pub(super) waiters: WaitQueue,
}

/// The size of an object, as a shift.
pub(super) const OBJECT_SHIFT: usize = 6;
const _: () = assert!(size_of::<Object>() == 1 << OBJECT_SHIFT && OBJECTS == 1 << 10);

impl Object {
    pub(super) const NAME: usize = offset_of!(Self, place);
    pub(super) const TAG: usize = offset_of!(Self, tag);
    pub(super) const COUNT: usize = offset_of!(Self, count);
    pub(super) const LARGE: usize = offset_of!(Self, large);
    pub(super) const WAITERS: usize = offset_of!(Self, waiters);
}

// SAFETY: cells are accessed with interrupts masked, on one core.
unsafe impl Sync for Object {}

pub(super) static TABLE: [Object; OBJECTS] = [const {
    Object {
        place: Place::new(),
        tag: Shared::new(0),
        large: Shared::new(None),
        count: Shared::new(0),
        waiters: WaitQueue::new(),
    }
}; OBJECTS];

/// The further parts of a channel, an endpoint or a mutex.
pub(super) struct Large {
    pub(super) used: Shared<bool>,
    /// The processes that wait for room in a channel, each with its word in its frame.
    pub(super) senders: WaitQueue,
    pub(super) ring: [Shared<u32>; CAPACITY as usize],
    /// The place of the first word.
    pub(super) first: Shared<u32>,
    /// The process that alone may receive the calls of an endpoint; the holder of a mutex; the owner of
    /// a bell.
    pub(super) server: Shared<Option<&'static Process>>,
    /// The creator of an endpoint.
    pub(super) creator: Shared<Option<&'static Process>>,
    /// The server, while it waits for a call.
    pub(super) idle: Shared<Option<&'static Process>>,
    /// The server, while it waits for a call with a time limit.
    pub(super) timed: Shared<Option<&'static Process>>,
    /// The process whose call is being served, in general.
    pub(super) served: Shared<Option<&'static Process>>,
    /// The process whose call is being served, if no other waits, and the server has its own
    /// priority. `served` is `None` then.
    pub(super) direct: Shared<Option<&'static Process>>,
    pub(super) callers: Shared<Option<&'static WaitQueue>>,
}

impl Large {
    pub(super) const fn new() -> Self {
        Self {
            used: Shared::new(false),
            senders: WaitQueue::new(),
            ring: [const { Shared::new(0) }; CAPACITY as usize],
            first: Shared::new(0),
            server: Shared::new(None),
            creator: Shared::new(None),
            idle: Shared::new(None),
            timed: Shared::new(None),
            served: Shared::new(None),
            direct: Shared::new(None),
            callers: Shared::new(None),
        }
    }
}

pub(super) static LARGE: [Large; LARGE_OBJECTS] = [const { Large::new() }; LARGE_OBJECTS];

/// The endpoint of processes that serve none. Nobody calls it.
pub(super) static NO_ENDPOINT: Large = Large::new();

// The tables of calls are above. The linker finds them, as it finds the routines of `entry`.
unsafe extern "C" {
    static tandem_process_calls: usize;
    static tandem_process_publishing: usize;
}

/// The address of the table of calls of a process without coroutines.
#[inline(always)]
pub(super) fn calls() -> usize {
    (&raw const tandem_process_calls).addr()
}

/// The address of the table of calls of a process with coroutines.
#[inline(always)]
pub(super) fn publishing_calls() -> usize {
    (&raw const tandem_process_publishing).addr()
}

/// The state of a process outside of the kernel, at the high end of its kernel stack. User mode
/// cannot access it.
#[repr(C, align(64))]
pub(super) struct Frame {
    /// The address to continue at, then `x1` to `x31`.
    pub(super) registers: [usize; 32],
    /// The value of `satp`: the process's address space.
    pub(super) space: usize,
    /// The routine that continues after `yield`: with or without a fence.
    pub(super) resume: usize,
    /// The routine that continues with all registers.
    pub(super) restore: usize,
    /// Writes of `satp` for this process.
    pub(super) entries: usize,
    /// The process's record.
    pub(super) process: &'static Process,
    /// The routine that continues after another call, with the results in the frame.
    pub(super) answer: usize,
    /// The routine that ends a call without a switch, with the first result in `a0`.
    pub(super) back: usize,
    pub(super) kernel: &'static Kernel,
    /// The table of objects.
    pub(super) objects: *const Object,
    /// The tags of the family's semaphores and endpoints.
    pub(super) semaphores: u16,
    pub(super) endpoints: u16,
    /// The handle of the endpoint that the process serves; before that, no handle.
    pub(super) handle: usize,
    /// The endpoint that the process serves; before that, one without callers.
    pub(super) endpoint: &'static Large,
    /// The address of the table of calls: [`calls`] or [`publishing_calls`].
    pub(super) table: usize,
    /// The page of the process's coroutines; 0 without one.
    pub(super) page: usize,
}

impl Frame {
    /// Indexes of `registers`.
    pub(super) const PC: usize = 0;
    pub(super) const SP: usize = 2;
    pub(super) const A0: usize = 10;
    pub(super) const A1: usize = 11;
}

// They are cleared by 256 bytes at a time.
const _: () = assert!(offset_of!(Frame, space) == 256);

/// The frame of the process that is in a call. No reference: results are written there through
/// other pointers, too, also by other processes while this one waits.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(super) struct Caller(NonNull<Frame>);

impl Caller {
    /// The process that calls.
    #[inline(always)]
    pub(super) fn process(self) -> &'static Process {
        // SAFETY: the entry alone makes a `Caller`, from the frame of the process that calls, which
        // is static memory. The field is constant from the record's first process on.
        unsafe { (&raw const (*self.0.as_ptr()).process).read() }
    }

    /// Sets a register's value in user mode.
    #[inline(always)]
    pub(super) fn set(self, number: usize, value: usize) {
        debug_assert!(number < 32);
        // SAFETY: as above; the process is in the kernel, so nothing else uses its registers now.
        unsafe { (&raw mut (*self.0.as_ptr()).registers).cast::<usize>().add(number).write(value) };
    }

    /// The writes of `satp` for the process.
    pub(super) fn entries(self) -> usize {
        // SAFETY: as above: the assembly alone writes it, on the way to user mode.
        unsafe { (&raw const (*self.0.as_ptr()).entries).read() }
    }

    /// The page of the process's coroutines; 0 without one.
    pub(super) fn page(self) -> usize {
        // SAFETY: as above: calls of this process alone write it.
        unsafe { (&raw const (*self.0.as_ptr()).page).read() }
    }
}
