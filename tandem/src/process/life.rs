//! The life of a process: how it begins, ends, and is waited for.
//!
//! # Life
//! A record is free, alive, or ended and not yet reaped by its parent. The parent's `ended` has a
//! unit for each child that has ended; a child without a living parent is free at once. A record
//! keeps its memory: the next process gets the same pages, cleared.
//!
//! # Ending another process
//! [`kill`] marks a process as doomed, sets the address at which it continues in user mode to 0,
//! where nothing is mapped, and ends its wait. So it ends by a page fault at the latest when it
//! would return to user mode, on its own kernel stack, and no path back needs a check.
//!
//! # Soundness
//! A record is given to the next process only after the thread has left its kernel stack: from
//! [`end`]'s last masking on, nothing runs before the switch away from it. The rest is as in
//! [`records`](super::records).

use super::{
    abi::{DEAD, FAMILIES, FAULTED, KILLED, MEMBERS, MEMBERS_OBJECTS, PROCESSES},
    coroutines,
    handle::{Family, index},
    object::{free_all, renounce},
    records::{Frame, Kind, MEMBERS_OF, NO_ENDPOINT, Object, Process, TABLE, calls, this},
    space::{self, Space},
    table::PAGE,
};
use crate::{
    arch::{self, Mask, masked},
    kernel,
    me::Me,
    paths::tasks,
    records::{KERNEL, Life, Priority, StillAlive, Task},
    shared::{Masked, Shared},
    thread,
};
use core::{fmt, str};

const FIRST_STACK: usize = 8 * PAGE;
const STACK: usize = PAGE;

type Write = fn(&[u8]);
type Report = fn(&Ended);
type Device = fn(usize, usize) -> Option<usize>;

static RECORDS: [Process; PROCESSES] = [const { Process::new() }; PROCESSES];

struct All {
    started: Shared<bool>,
    /// Records from here on have never been used.
    made: Shared<usize>,
    free: Shared<Option<&'static Process>>,
    write: Shared<Write>,
    report: Shared<Report>,
    device: Shared<Device>,
    first: Shared<Option<Ended>>,
    first_ended: crate::Semaphore,
    /// Writes of `satp` for processes that have ended.
    entries: Shared<usize>,
}

static ALL: All = All {
    started: Shared::new(false),
    made: Shared::new(0),
    free: Shared::new(None),
    write: Shared::new(|_| ()),
    report: Shared::new(|_| ()),
    device: Shared::new(|_, _| None),
    first: Shared::new(None),
    first_ended: crate::Semaphore::new(0),
    entries: Shared::new(0),
};

impl Process {
    /// Returns whether the process founded its family, so that its record is its parent's once it
    /// has ended.
    fn is_founder(&self, m: Masked) -> bool {
        self.place.family() != self.family.get(m)
    }

    /// Takes the record out of the count of its family's.
    fn leave_family(&self, m: Masked) {
        let records = &MEMBERS_OF[usize::from(self.family.get(m))].processes;
        records.set(m, records.get(m) - 1);
    }

    fn index(&self) -> usize {
        let start = RECORDS.as_ptr().addr();
        (core::ptr::from_ref(self).addr() - start) / size_of::<Self>()
    }

    /// The report of this process's end.
    fn ended(&self, cause: Cause) -> Ended {
        let [first, second] = masked(|m| self.name.get(m)).map(usize::to_le_bytes);
        let mut name = [0; 16];
        name[..8].copy_from_slice(&first);
        name[8..].copy_from_slice(&second);
        Ended { name, cause }
    }

    /// Has another process end, at the latest when it would return to user mode.
    fn doom(&self, m: Masked) {
        self.doomed.set(m, true);
        // SAFETY: the process does not run, the caller does; so its frame is not in use.
        unsafe { (&raw mut (*self.frame(m)).registers[Frame::PC]).write(0) };
        self.cancel(m);
    }

    /// Ends the wait of a doomed process, which then returns towards user mode.
    fn cancel(&self, m: Masked) {
        if KERNEL.ready.contains(m, self.task()) {
            return;
        }
        self.give_up(m);
        kernel::wake(m, self.task());
    }
}

// Routines of `entry`, which the linker finds.
unsafe extern "C" {
    /// The vectors that take the place of the kernel's own once there are processes.
    static tandem_process_vectors_0: u32;
    static tandem_process_vectors_1: u32;
    safe fn tandem_user_resume();
    safe fn tandem_user_resume_fence();
    safe fn tandem_user_restore();
    safe fn tandem_user_restore_fence();
    safe fn tandem_user_answer();
    safe fn tandem_user_answer_fence();
    safe fn tandem_user_return();
    safe fn tandem_user_return_fence();
}

/// The addresses at which a suspended process continues.
struct Continuations {
    vectors: usize,
    resume: usize,
    restore: usize,
    answer: usize,
    back: usize,
}

/// Without ASIDs, each routine has a fence behind the write of `satp`.
fn continuations(asids: bool) -> Continuations {
    if asids {
        Continuations {
            vectors: (&raw const tandem_process_vectors_0).addr(),
            resume: tandem_user_resume as *const () as usize,
            restore: tandem_user_restore as *const () as usize,
            answer: tandem_user_answer as *const () as usize,
            back: tandem_user_return as *const () as usize,
        }
    } else {
        Continuations {
            vectors: (&raw const tandem_process_vectors_1).addr(),
            resume: tandem_user_resume_fence as *const () as usize,
            restore: tandem_user_restore_fence as *const () as usize,
            answer: tandem_user_answer_fence as *const () as usize,
            back: tandem_user_return_fence as *const () as usize,
        }
    }
}

/// The reason why a process has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// Its own call, with this status.
    Own(usize),
    /// Its parent.
    Killed,
    /// An exception.
    Fault {
        /// `scause`: the number of the exception.
        cause: usize,
        /// `sepc`: the address of the instruction.
        at: usize,
        /// `stval`: the address of the access, or the instruction.
        value: usize,
    },
}

/// The end of a process.
#[derive(Clone, Copy)]
pub struct Ended {
    name: [u8; 16],
    /// Why the process has ended.
    pub cause: Cause,
}

impl Ended {
    /// The name that the process was given.
    #[must_use]
    pub fn name(&self) -> &str {
        let name = &self.name;
        let length = name.iter().position(|byte| !byte.is_ascii_graphic());
        str::from_utf8(&name[..length.unwrap_or(name.len())]).unwrap_or_default()
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name();
        let (cause, at, value) = match self.cause {
            Cause::Own(status) => return write!(out, "process {name} ended with status {status}"),
            Cause::Killed => return write!(out, "process {name} was killed"),
            Cause::Fault { cause, at, value } => (cause, at, value),
        };
        let what = match cause {
            0 | 4 | 6 => "misaligned access",
            1 | 5 | 7 => "access fault",
            2 => "illegal instruction",
            3 => "breakpoint",
            12 => "execution of a page without the permission",
            13 => "load from a page without the permission",
            15 => "store to a page without the permission",
            _ => "exception",
        };
        write!(out, "process {name}: {what} at {at:#x}, stval {value:#x}: ended")
    }
}

/// Notes the parts that the program gives the kernel. `Err` if they have been given before, and
/// nothing changes.
pub(super) fn set_host(write: Write, report: Report, device: Device) -> Result<(), StillAlive> {
    masked(|m| {
        if ALL.started.get(m) {
            return Err(StillAlive);
        }
        ALL.started.set(m, true);
        ALL.write.set(m, write);
        ALL.report.set(m, report);
        ALL.device.set(m, device);
        Ok(())
    })
}

pub(super) fn write(bytes: &[u8]) {
    masked(|m| ALL.write.get(m))(bytes);
}

/// Asks the program that started the first process for something of the machine.
pub(super) fn device(request: usize, word: usize) -> Option<usize> {
    masked(|m| ALL.device.get(m))(request, word)
}

/// The attributes of a process that is to begin.
pub(super) struct Plan {
    pub(super) entry: usize,
    /// The argument of a process that is handed no bytes.
    pub(super) argument: usize,
    pub(super) priority: Priority,
    /// The letters of the name, as a number in the order of the bytes.
    pub(super) name: [usize; 2],
    pub(super) kin: Kin,
}

/// The relation of a process that begins to its parent.
#[derive(Clone, Copy)]
pub(super) enum Kin {
    /// A member of its family.
    Same,
    /// The founder of another family.
    Apart,
    /// A member of its family that alone may receive on an endpoint of the parent's.
    Serves(&'static Object),
}

/// Starts the first process, of the first family.
pub(super) fn start_first(entry: usize, request: &[u8]) {
    let process = masked(|m| {
        // SAFETY: the vectors lead to entries that go on in the kernel's own.
        unsafe { arch::set_vectors(continuations(space::has_asids(m)).vectors) };
        space::write_request(m, request);
        let (process, _) = claim(m).expect("memory for a process");
        process.parent.set(m, 0);
        MEMBERS_OF[0].cap.set(m, Priority::HIGHEST.level());
        MEMBERS_OF[0].processes.set(m, 1);
        MEMBERS_OF[0].users.set(m, 1);
        process.place.occupy(0, 0);
        process.family.set(m, 0);
        process
    });
    let plan = Plan {
        entry,
        argument: space::ARENA,
        priority: Priority::new(1),
        name: [usize::from_le_bytes(*b"first\0\0\0"), 0],
        kin: Kin::Same,
    };
    begin((process, true), &plan, &[], request.len());
}

/// Blocks the thread until the first process has ended, and returns how.
pub fn wait_for_first(me: &Me) -> Ended {
    ALL.first_ended.take(me);
    masked(|m| ALL.first.get(m)).expect("the first process has ended")
}

/// The writes of `satp` for processes that have ended.
pub(super) fn ended_entries(m: Masked) -> usize {
    ALL.entries.get(m)
}

/// A free record with memory, and whether its tables are still to be made. `None` if there is none.
fn claim(m: Masked) -> Option<(&'static Process, bool)> {
    if let Some(process) = ALL.free.get(m) {
        ALL.free.set(m, process.next.get(m));
        return Some((process, false));
    }
    let at = ALL.made.get(m);
    let process = RECORDS.get(at)?;
    let stack = if at == 0 { FIRST_STACK } else { STACK };
    let space = Space::claim(m, at + 1, stack)?;
    process.frame.set(m, space.kernel_stack - size_of::<Frame>());
    process.space.set(m, Some(space));
    ALL.made.set(m, at + 1);
    Some((process, true))
}

/// A family without processes. The first is never free.
fn found(m: Masked) -> Option<Family> {
    let free = (1..FAMILIES).find(|at| MEMBERS_OF[*at].processes.get(m) == 0)?;
    MEMBERS_OF[free].objects.set(m, 0);
    Some(free as Family)
}

/// Returns whether the founder of a family other than the first has ended, so that the rest ends.
fn is_closed(m: Masked, family: Family) -> bool {
    family != 0 && MEMBERS_OF[usize::from(family)].founder.get(m).is_none()
}

/// The family of a process that `parent` may start. `None` without room, for a priority above the
/// family's, and for a parent that is to end. The first family alone can found others: so a hostile
/// process cannot use them up, and none of its descendants outlives its family's founder.
fn admitted(m: Masked, parent: &Process, plan: &Plan) -> Option<Family> {
    let family = parent.family(m);
    let members = &MEMBERS_OF[usize::from(family)];
    if parent.doomed.get(m) || plan.priority.level() < members.cap.get(m) {
        return None;
    }
    match (matches!(plan.kin, Kin::Apart), family) {
        (true, 0) => found(m),
        (false, 0) => Some(family),
        (false, _) if members.processes.get(m) < MEMBERS => Some(family),
        _ => None,
    }
}

/// Starts a process for `parent`, with a copy of `handed` on its stack. Returns its handle; `None`
/// without room.
pub(super) fn spawn(parent: &'static Process, plan: &Plan, handed: &[u8]) -> Option<usize> {
    let (claimed, handle) = masked(|m| {
        let family = admitted(m, parent, plan)?;
        let claimed @ (process, _) = claim(m)?;
        let members = &MEMBERS_OF[usize::from(family)];
        match plan.kin {
            Kin::Same => {}
            Kin::Apart => {
                members.cap.set(m, plan.priority.level());
                members.founder.set(m, Some(process));
            }
            // The caller of this function has asked before whether it may.
            Kin::Serves(endpoint) => endpoint.hand(m, parent, process),
        }
        members.processes.set(m, members.processes.get(m) + 1);
        members.users.set(m, members.users.get(m) + 1);
        process.family.set(m, family);
        // The handle is for the parent's family, whichever the process is of.
        let handle = process.place.occupy(process.index(), parent.family(m)).word();
        process.parent.set(m, parent.place.handle().map_or(0, |handle| handle.word()));
        parent.children.set(m, parent.children.get(m) + 1);
        Some((claimed, handle))
    })?;
    begin(claimed, plan, handed, handed.len());
    Some(handle)
}

/// Returns whether the family of a process may make one more object, and counts it.
pub(super) fn admit_object(m: Masked, process: &Process) -> bool {
    let family = process.family(m);
    let objects = &MEMBERS_OF[usize::from(family)].objects;
    let admits = family == 0 || objects.get(m) < MEMBERS_OBJECTS;
    objects.set(m, objects.get(m) + u32::from(admits));
    admits
}

/// Takes back what [`admit_object`] has counted.
pub(super) fn dismiss_object(m: Masked, process: &Process) {
    let objects = &MEMBERS_OF[usize::from(process.family(m))].objects;
    objects.set(m, objects.get(m) - 1);
}

/// Returns a record that nobody knows to the free ones.
fn free(m: Masked, process: &'static Process) {
    if !process.is_founder(m) {
        process.leave_family(m);
    }
    process.next.set(m, ALL.free.get(m));
    ALL.free.set(m, Some(process));
}

/// Prepares the memory and the frame of a claimed process, and makes it ready. If it is more urgent
/// than the caller, it runs at once. `second` is its second argument.
fn begin((process, is_new): (&'static Process, bool), plan: &Plan, handed: &[u8], second: usize) {
    let (space, family, arena, frame) = masked(|m| {
        let family = process.family(m);
        let arena = (family == 0).then(|| space::arena(m));
        (process.space(m), family, arena, process.frame(m))
    });
    if is_new {
        space.build();
        write_constants(process, &space, frame);
    }
    space.renew(arena);
    space::clear(frame.addr(), size_of::<[usize; 32]>());
    let argument = if handed.is_empty() { plan.argument } else { space.place(handed) };
    // SAFETY: the frame is on the kernel stack of a process that does not run yet. Of the fields
    // left out, the constants have been written for the record's first process.
    unsafe {
        let registers = (&raw mut (*frame).registers).cast::<usize>();
        registers.add(Frame::PC).write(plan.entry);
        registers.add(Frame::A0).write(argument);
        registers.add(Frame::A1).write(second);
        registers.add(Frame::SP).write(space::STACK_END - handed.len().next_multiple_of(16));
        (&raw mut (*frame).entries).write(0);
        (&raw mut (*frame).semaphores).write(Kind::Semaphore.tag(family));
        (&raw mut (*frame).endpoints).write(Kind::Endpoint.tag(family));
        (&raw mut (*frame).handle).write(usize::MAX);
        (&raw mut (*frame).endpoint).write(&NO_ENDPOINT);
    }
    // A record is claimed by one caller, and its previous task has ended.
    let claimed = process.task().claim("process", plan.priority);
    debug_assert!(claimed.is_ok());
    let (mask, m) = Mask::set();
    process.name.set(m, plan.name);
    process.ends.set(m, false);
    // The founder may have ended since the caller was admitted, and not have found this process.
    let is_late = is_closed(m, process.family(m));
    process.doomed.set(m, is_late);
    if is_late {
        process.set_result(m, Frame::PC, 0);
    }
    process.reaps.set(m, false);
    process.children.set(m, 0);
    process.first_ended.set(m, None);
    process.calls.set(m, None);
    debug_assert!(process.serves.get(m).is_none(), "cleared at the end of the last process");
    process.header.admit(m);
    let low = space.kernel_stack - 2 * PAGE;
    let stack = frame.addr();
    // SAFETY: the kernel stack is unused, and the continuation restores the frame at its high end.
    unsafe { process.header.saved.prepare_at(m, low, stack, (*frame).restore) };
    tasks::launch(m, mask, process.task());
    mask.restore();
}

/// Writes the fields of a frame that are the same for all processes of a record.
fn write_constants(process: &'static Process, space: &Space, frame: *mut Frame) {
    let asids = masked(space::has_asids);
    let Continuations { resume, restore, answer, back, .. } = continuations(asids);
    // SAFETY: the frame is on a kernel stack that no process has used yet.
    unsafe {
        (&raw mut (*frame).space).write(space.satp);
        (&raw mut (*frame).resume).write(resume);
        (&raw mut (*frame).restore).write(restore);
        (&raw mut (*frame).answer).write(answer);
        (&raw mut (*frame).back).write(back);
        (&raw mut (*frame).process).write(process);
        (&raw mut (*frame).kernel).write(&KERNEL);
        (&raw mut (*frame).objects).write(TABLE.as_ptr());
        (&raw mut (*frame).table).write(calls());
        (&raw mut (*frame).page).write(0);
    }
}

/// Returns whether the process has children that have not been reaped.
pub(super) fn has_children(m: Masked, me: &Process) -> bool {
    me.children.get(m) != 0
}

/// Waits until a child has ended, as long as `waits` holds. Returns its handle and its status; `None` if
/// none has ended, or the caller is to end. Masked before and after, not while it waits.
pub(super) fn reap(
    m: Masked,
    me: &'static Process,
    waits: impl Fn(Masked) -> bool,
) -> Option<(usize, usize)> {
    while me.first_ended.get(m).is_none() && !me.is_doomed(m) && waits(m) {
        me.reaps.set(m, true);
        tasks::block(m, me.task());
    }
    me.reaps.set(m, false);
    let child = me.first_ended.get(m)?;
    me.first_ended.set(m, child.next.get(m));
    me.children.set(m, me.children.get(m) - 1);
    let handle = child.place.handle().map_or(0, |handle| handle.word());
    child.place.vacate();
    free(m, child);
    Some((handle, child.status.get(m)))
}

/// The living process of the caller's family that `word` names.
pub(super) fn relative(m: Masked, me: &Process, word: usize) -> Option<&'static Process> {
    RECORDS.get(index(word)).filter(|process| {
        process.place.is_named(word, me.family(m))
            && process.family(m) == me.family(m)
            && process.header.life.get(m) != Life::Over
            && !process.ends.get(m)
    })
}

/// Ends a child of the caller. `false` if `word` names none that is alive.
pub(super) fn kill(m: Masked, me: &'static Process, word: usize) -> bool {
    let child = RECORDS.get(index(word)).filter(|process| {
        process.place.is_named(word, me.family(m))
            && Some(process.parent.get(m)) == me.place.handle().map(|handle| handle.word())
            && process.header.life.get(m) != Life::Over
    });
    if let Some(child) = child {
        child.doom(m);
        let next = KERNEL.ready.most_urgent(m);
        if !next.is(me.task()) {
            kernel::switch(m, me.task(), next);
        }
    }
    child.is_some()
}

/// Ends the calling process, which has caused an exception.
pub(super) unsafe extern "C" fn fault(cause: usize, at: usize, value: usize) -> ! {
    let me = masked(this);
    let cause = match masked(|m| me.is_doomed(m)) {
        true => Cause::Killed,
        false => Cause::Fault { cause, at, value },
    };
    end(me, cause)
}

/// Ends the calling process.
pub(super) fn end(me: &'static Process, cause: Cause) -> ! {
    if !matches!(cause, Cause::Own(_)) {
        masked(|m| ALL.report.get(m))(&me.ended(cause));
    }
    let (serves, page) = masked(|m| (me.serves.get(m), me.page.get(m)));
    if let Some(large) = serves {
        large.close(DEAD);
        let (mask, m) = Mask::set();
        me.serves.set(m, None);
        me.settle(m);
        kernel::reschedule(m, mask);
        mask.restore();
    }
    if page != 0 {
        coroutines::close(me);
    }
    let (family, is_last_user, founded, is_parent, has_roles) = masked(|m| {
        let family = me.family(m);
        let members = &MEMBERS_OF[usize::from(family)];
        let users = members.users.get(m) - 1;
        members.users.set(m, users);
        let founded = members.founder.get(m).is_some_and(|founder| founder.is(me));
        if founded {
            members.founder.set(m, None);
        }
        me.ends.set(m, true);
        (family, users == 0, founded, has_children(m, me), me.roles.get(m) != 0)
    });
    if has_roles {
        renounce(me, DEAD);
    }
    if is_last_user {
        free_all(family);
    }
    if is_parent {
        disown(me);
    }
    if founded {
        end_family(me, family);
    }
    let (_, m) = Mask::set();
    if founded {
        me.leave_family(m);
    }
    me.status.set(
        m,
        match cause {
            Cause::Own(status) => status,
            Cause::Killed => KILLED,
            Cause::Fault { .. } => FAULTED,
        },
    );
    // SAFETY: the frame is on this process's own kernel stack, above the frames of functions.
    let entries = unsafe { (*me.frame(m)).entries };
    ALL.entries.set(m, ALL.entries.get(m) + entries);
    hand_to_parent(m, me);
    // The record may be a later process's, of children that outlive the first.
    if me.index() == 0 && ALL.first.get(m).is_none() {
        ALL.first.set(m, Some(me.ended(cause)));
        ALL.first_ended.give();
    }
    thread::end()
}

/// Has the other processes of a family end, whose founder ends. A step for each record, with
/// interrupts on between two.
fn end_family(founder: &'static Process, family: Family) {
    for process in &RECORDS[..masked(|m| ALL.made.get(m))] {
        masked(|m| {
            if process.family(m) == family
                && !process.is(founder)
                && process.header.life.get(m) != Life::Over
            {
                process.doom(m);
            }
        });
    }
}

/// Frees the records of children that have ended, and has those that are alive forget their parent,
/// so that they never take a later process for it: a generation comes round. With interrupts on
/// between two steps.
fn disown(me: &'static Process) {
    while let Some(child) = masked(|m| me.first_ended.get(m)) {
        masked(|m| {
            me.first_ended.set(m, child.next.get(m));
            me.children.set(m, me.children.get(m) - 1);
            child.place.vacate();
            free(m, child);
        });
    }
    if masked(|m| me.children.get(m)) == 0 {
        return;
    }
    let word = masked(|_| me.place.handle()).map_or(0, |handle| handle.word());
    for process in &RECORDS[..masked(|m| ALL.made.get(m))] {
        masked(|m| {
            if process.parent.get(m) == word {
                process.parent.set(m, 0);
            }
        });
    }
}

/// Gives the record of a process that is about to end to its parent, or to the free ones.
/// Interrupts stay masked until the process has left its kernel stack.
fn hand_to_parent(m: Masked, me: &'static Process) {
    let word = me.parent.get(m);
    let parent = RECORDS.get(index(word)).filter(|parent| {
        word != 0
            && parent.place.handle().is_some_and(|handle| handle.word() == word)
            && !parent.ends.get(m)
    });
    let Some(parent) = parent else {
        me.place.vacate();
        free(m, me);
        return;
    };
    me.next.set(m, parent.first_ended.get(m));
    parent.first_ended.set(m, Some(me));
    if parent.reaps.get(m) {
        kernel::wake(m, parent.task());
    }
}

/// The number of switches to a task; 0 if the kernel does not count.
pub(super) fn switches(m: Masked, task: Task) -> usize {
    #[cfg(feature = "count")]
    return task.switches.get(m) as usize;
    #[cfg(not(feature = "count"))]
    return usize::from(task.bit.get(m) == 0);
}
