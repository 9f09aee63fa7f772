//! The system calls behind `nothing` and `yield`, which are in `entry`.
//!
//! Each is a function of six numbers and the caller's frame. It begins and ends with interrupts
//! masked, on the caller's kernel stack; those whose time has no small bound open them in between,
//! and run as a thread of the kernel. A negative result says why a call was refused.

use super::{
    coroutines,
    entry::{Caller, Frame},
    line,
    object::{self, Kind},
    process::{self, Cause, FIRST, HANDED, Plan, Process, this},
};
use crate::{
    arch::{self, Mask},
    kernel::{self, KERNEL},
    shared::Masked,
    task::{Priority, Task},
    time::{TIMERS, Timer, now},
};
use core::mem::MaybeUninit;

/// A handle that names no object of the kind, for the caller.
const NO_OBJECT: usize = -1_isize as usize;
/// A value out of range, or memory that the caller may not read.
const INVALID: usize = -2_isize as usize;
/// No room for another process or object.
const FULL: usize = -3_isize as usize;
/// The other side has ended.
pub(super) const DEAD: usize = -4_isize as usize;
/// No such call.
const UNKNOWN: usize = -5_isize as usize;

/// The status of a process that its parent has ended, and of one that caused an exception.
pub(super) const KILLED: usize = 1 << 32;
pub(super) const FAULTED: usize = 1 << 33;

/// The end of a call's function: the result for `a0`, and the task to switch to. If there is one,
/// the result is stored in the frame by the function or by the process that wakes the caller.
#[repr(C)]
pub(super) struct Answer {
    result: usize,
    next: Option<Task>,
}

impl Answer {
    #[inline(always)]
    fn new(result: usize) -> Self {
        Self { result, next: None }
    }

    /// A result, and a task to switch to before the caller gets it.
    #[inline(always)]
    fn after(caller: Caller, result: usize, next: Option<Task>) -> Self {
        if next.is_some() {
            caller.set(Frame::A0, result);
        }
        Self { result, next }
    }
}

/// Numbers of calls that the assembly knows, which takes `give` for the one before `take`.
pub(super) const TAKE: usize = 3;
pub(super) const CALL: usize = 12;
pub(super) const REPLY: usize = 13;

type Function = extern "C" fn(usize, usize, usize, usize, usize, usize, Caller) -> Answer;

/// A call as the entry makes it: the number is the eighth argument, which most do not read.
pub(super) type Call =
    extern "C" fn(usize, usize, usize, usize, usize, usize, Caller, usize) -> Answer;

/// The calls by number. The first two places are reached by numbers that are too large.
pub(super) static CALLS: [Function; 25] = [
    unknown,
    unknown,
    give,
    take,
    sleep,
    spawn,
    end,
    reap,
    kill,
    create,
    send,
    receive,
    call,
    reply_and_receive,
    print,
    counts,
    lock,
    unlock,
    open_page,
    give_way,
    listen,
    bell,
    ring,
    bind,
    device,
];

/// The calls of a process with coroutines: each learns first what the process has published.
pub(super) static PUBLISHING: [Call; CALLS.len()] = [publishing; CALLS.len()];

extern "C" fn publishing(
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
    caller: Caller,
    number: usize,
) -> Answer {
    coroutines::raise(entered(), caller.process());
    // The entry has compared the number with the table's length.
    CALLS[number](a, b, c, d, e, f, caller)
}

/// Interrupts are masked in every call's function at its start.
#[inline(always)]
fn entered() -> Masked {
    // SAFETY: a trap masks interrupts, and the entry calls the function so.
    unsafe { Masked::assume() }
}

/// Runs the rest of a call as a thread, with interrupts on.
#[inline(always)]
fn open<R>(m: Masked, body: impl FnOnce() -> R) -> R {
    arch::unmask(m);
    let result = body();
    let _ = arch::mask();
    result
}

#[inline(always)]
fn named(m: Masked, me: &Process, word: usize, kind: Kind) -> Option<&'static object::Object> {
    object::find(m, me.family(m), word, kind)
}

extern "C" fn unknown(
    _: usize,
    _: usize,
    _: usize,
    _: usize,
    _: usize,
    _: usize,
    _: Caller,
) -> Answer {
    Answer::new(UNKNOWN)
}

extern "C" fn give(
    handle: usize,
    _: usize,
    _: usize,
    _: usize,
    _: usize,
    _: usize,
    caller: Caller,
) -> Answer {
    let m = entered();
    let Some(object) = named(m, caller.process(), handle, Kind::Semaphore) else {
        return Answer::new(NO_OBJECT);
    };
    let next = object.give(m);
    Answer::after(caller, 0, next)
}

extern "C" fn take(
    handle: usize,
    _: usize,
    _: usize,
    _: usize,
    _: usize,
    _: usize,
    caller: Caller,
) -> Answer {
    let m = entered();
    let me = caller.process();
    let Some(object) = named(m, me, handle, Kind::Semaphore) else {
        return Answer::new(NO_OBJECT);
    };
    let next = object.take(m, me);
    Answer::after(caller, 0, next)
}

/// The latest time that a process can wait for: boards' alarms may count with a sign.
const LATEST: u64 = 1 << 62;

extern "C" fn sleep(
    due: usize,
    _: usize,
    _: usize,
    _: usize,
    _: usize,
    _: usize,
    _: Caller,
) -> Answer {
    let due = (due as u64).min(LATEST);
    open(entered(), || {
        if due <= now() {
            return;
        }
        let (mask, m) = Mask::set();
        let me = this(m);
        let timer = Timer::new(me.task());
        let m = TIMERS.set(m, mask, &timer, due);
        while timer.is_set(m) && !me.is_doomed(m) {
            kernel::block(m, me.task());
        }
        timer.cancel(m);
        arch::unmask(m);
    });
    Answer::new(0)
}

/// In the word with the priority: the process founds a family.
const APART: usize = 1 << 8;

/// `a0` is the entry, `a1` and `a2` are the address and the length of bytes for the new process's
/// stack, `a3` is the priority and [`APART`], `a4` and `a5` are the name.
extern "C" fn spawn(
    entry: usize,
    address: usize,
    length: usize,
    order: usize,
    first: usize,
    second: usize,
    caller: Caller,
) -> Answer {
    let priority = order & !APART;
    if priority > usize::from(Priority::HIGHEST.value()) || length > HANDED {
        return Answer::new(INVALID);
    }
    let (m, me) = (entered(), caller.process());
    let plan = Plan {
        entry,
        argument: address,
        priority: Priority::new(priority as u8),
        name: [first, second],
        apart: order & APART != 0,
    };
    if length == 0 {
        let handle = open(m, || process::spawn(me, &plan, &[]));
        return Answer::new(handle.unwrap_or(FULL));
    }
    let space = me.space(m);
    let handle = open(m, || {
        let mut buffer = [const { MaybeUninit::<u64>::uninit() }; HANDED / 8];
        let mut filled = 0;
        let whole = space.read(address, length, |from, part| {
            let to = buffer.as_mut_ptr().cast::<u8>();
            // SAFETY: `part` bytes from `from` are mapped for the kernel. The parts add up to
            // `length`, which is at most the buffer's size.
            unsafe { core::ptr::copy_nonoverlapping(from, to.add(filled), part) };
            filled += part;
        });
        // SAFETY: the first `filled` bytes have been written.
        let handed = whole
            .then(|| unsafe { core::slice::from_raw_parts(buffer.as_ptr().cast(), filled) })?;
        Some(process::spawn(me, &plan, handed))
    });
    Answer::new(handle.map_or(INVALID, |handle| handle.unwrap_or(FULL)))
}

extern "C" fn end(
    status: usize,
    _: usize,
    _: usize,
    _: usize,
    _: usize,
    _: usize,
    caller: Caller,
) -> Answer {
    let me = caller.process();
    open(entered(), || process::end(me, Cause::Own(status & 0xffff_ffff)))
}

extern "C" fn reap(
    _: usize,
    _: usize,
    _: usize,
    _: usize,
    _: usize,
    _: usize,
    caller: Caller,
) -> Answer {
    let Some((handle, status)) = process::reap(entered(), caller.process()) else {
        return Answer::new(NO_OBJECT);
    };
    caller.set(Frame::A1, status);
    Answer::new(handle)
}

extern "C" fn kill(
    handle: usize,
    _: usize,
    _: usize,
    _: usize,
    _: usize,
    _: usize,
    caller: Caller,
) -> Answer {
    let killed = process::kill(entered(), caller.process(), handle);
    Answer::new(if killed { 0 } else { NO_OBJECT })
}

extern "C" fn create(
    kind: usize,
    count: usize,
    _: usize,
    _: usize,
    _: usize,
    _: usize,
    caller: Caller,
) -> Answer {
    let kind = match kind {
        0 => Kind::Semaphore,
        1 => Kind::Channel,
        2 => Kind::Endpoint,
        3 => Kind::Mutex,
        _ => return Answer::new(INVALID),
    };
    let Ok(count) = u32::try_from(count) else { return Answer::new(INVALID) };
    let (m, me) = (entered(), caller.process());
    if !process::admit_object(m, me) {
        return Answer::new(FULL);
    }
    let family = me.family(m);
    let Some(handle) = open(m, || object::create(family, kind, count)) else {
        process::dismiss_object(m, me);
        return Answer::new(FULL);
    };
    Answer::new(handle.word())
}

extern "C" fn send(
    handle: usize,
    word: usize,
    _: usize,
    _: usize,
    _: usize,
    _: usize,
    caller: Caller,
) -> Answer {
    let (m, me) = (entered(), caller.process());
    let Some(object) = named(m, me, handle, Kind::Channel) else { return Answer::new(NO_OBJECT) };
    let Ok(word) = u32::try_from(word) else { return Answer::new(INVALID) };
    let next = object.send(m, me, word);
    Answer::after(caller, 0, next)
}

extern "C" fn receive(
    handle: usize,
    _: usize,
    _: usize,
    _: usize,
    _: usize,
    _: usize,
    caller: Caller,
) -> Answer {
    let (m, me) = (entered(), caller.process());
    let Some(object) = named(m, me, handle, Kind::Channel) else { return Answer::new(NO_OBJECT) };
    let (word, next) = object.receive(m, me);
    Answer::after(caller, word, next)
}

extern "C" fn call(
    handle: usize,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    _: usize,
    caller: Caller,
) -> Answer {
    let (m, me) = (entered(), caller.process());
    let Some(object) = named(m, me, handle, Kind::Endpoint) else { return Answer::new(NO_OBJECT) };
    let next = object.call(m, me, [a, b, c, d]);
    Answer::after(caller, 0, next)
}

extern "C" fn reply_and_receive(
    handle: usize,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    _: usize,
    caller: Caller,
) -> Answer {
    let (m, me) = (entered(), caller.process());
    let Some(object) = named(m, me, handle, Kind::Endpoint) else { return Answer::new(NO_OBJECT) };
    match object.reply_and_receive(m, me, handle, [a, b, c, d]) {
        Ok(next) => Answer::after(caller, 0, next),
        Err(()) => Answer::new(DEAD),
    }
}

/// The bytes that a call prints at most.
const PRINTED: usize = 4096;

extern "C" fn print(
    address: usize,
    length: usize,
    _: usize,
    _: usize,
    _: usize,
    _: usize,
    caller: Caller,
) -> Answer {
    if length > PRINTED {
        return Answer::new(INVALID);
    }
    let (m, me) = (entered(), caller.process());
    let (space, is_first) = (me.space(m), me.family(m) == FIRST);
    let whole = open(m, || {
        let whole = space.read(address, length, |_, _| ());
        if whole && is_first {
            // No page is ever taken from a process that runs, so all is still readable.
            space.read(address, length, |from, part| {
                // SAFETY: the bytes are mapped for the kernel. The caller waits for this call;
                // another process that shares the arena does not run while the host reads, because
                // the host's reading takes no time of this machine's.
                process::write(unsafe { core::slice::from_raw_parts(from, part) });
            });
        }
        whole
    });
    Answer::new(if whole { 0 } else { INVALID })
}

extern "C" fn counts(
    _: usize,
    _: usize,
    _: usize,
    _: usize,
    _: usize,
    _: usize,
    caller: Caller,
) -> Answer {
    let m = entered();
    caller.set(Frame::A1, caller.entries());
    caller.set(Frame::A1 + 1, process::ended_entries(m));
    Answer::new(process::switches(m, KERNEL.current(m)))
}

extern "C" fn lock(
    handle: usize,
    _: usize,
    _: usize,
    _: usize,
    _: usize,
    _: usize,
    caller: Caller,
) -> Answer {
    let (m, me) = (entered(), caller.process());
    let Some(object) = named(m, me, handle, Kind::Mutex) else { return Answer::new(NO_OBJECT) };
    object.lock(m, me).map_or(Answer::new(INVALID), |next| Answer::after(caller, 0, next))
}

extern "C" fn unlock(
    handle: usize,
    _: usize,
    _: usize,
    _: usize,
    _: usize,
    _: usize,
    caller: Caller,
) -> Answer {
    let (m, me) = (entered(), caller.process());
    let Some(object) = named(m, me, handle, Kind::Mutex) else { return Answer::new(NO_OBJECT) };
    object.unlock(m, me).map_or(Answer::new(INVALID), |next| Answer::after(caller, 0, next))
}

extern "C" fn open_page(
    _: usize,
    _: usize,
    _: usize,
    _: usize,
    _: usize,
    _: usize,
    caller: Caller,
) -> Answer {
    let (m, me) = (entered(), caller.process());
    if caller.page() != 0 {
        return Answer::new(INVALID);
    }
    let page = open(m, || coroutines::open(me));
    Answer::new(page.unwrap_or(FULL))
}

/// `a0`: 1 to let equals run, too.
extern "C" fn give_way(
    yields: usize,
    _: usize,
    _: usize,
    _: usize,
    _: usize,
    _: usize,
    caller: Caller,
) -> Answer {
    let (m, me) = (entered(), caller.process());
    if caller.page() == 0 {
        return Answer::new(INVALID);
    }
    let next = coroutines::give_way(m, me, yields == 1);
    Answer::after(caller, 0, next)
}

extern "C" fn listen(
    _: usize,
    _: usize,
    _: usize,
    _: usize,
    _: usize,
    _: usize,
    caller: Caller,
) -> Answer {
    let (m, me) = (entered(), caller.process());
    if caller.page() == 0 {
        return Answer::new(INVALID);
    }
    let next = coroutines::listen(m, me);
    Answer::after(caller, 0, next)
}

/// `a0` is the bit of the inbox, `a1` the priority.
extern "C" fn bell(
    slot: usize,
    priority: usize,
    _: usize,
    _: usize,
    _: usize,
    _: usize,
    caller: Caller,
) -> Answer {
    if slot >= coroutines::SLOTS || priority > usize::from(Priority::HIGHEST.value()) {
        return Answer::new(INVALID);
    }
    let (m, me) = (entered(), caller.process());
    if caller.page() == 0 {
        return Answer::new(INVALID);
    }
    if !process::admit_object(m, me) {
        return Answer::new(FULL);
    }
    let family = me.family(m);
    let Some(handle) = open(m, || object::create(family, Kind::Bell, 0)) else {
        process::dismiss_object(m, me);
        return Answer::new(FULL);
    };
    let level = me.allowed(m, Priority::new(priority as u8).level());
    if let Some(object) = named(m, me, handle.word(), Kind::Bell) {
        object.hang(m, me, slot, level);
    }
    Answer::new(handle.word())
}

extern "C" fn ring(
    handle: usize,
    _: usize,
    _: usize,
    _: usize,
    _: usize,
    _: usize,
    caller: Caller,
) -> Answer {
    let (m, me) = (entered(), caller.process());
    let Some(object) = named(m, me, handle, Kind::Bell) else { return Answer::new(NO_OBJECT) };
    let Some((owner, slot, level)) = object.hung(m) else { return Answer::new(DEAD) };
    let next = coroutines::ring(m, me, owner, slot, level);
    Answer::after(caller, 0, next)
}

/// `a0` is the line, `a1` a semaphore. For the first family.
extern "C" fn bind(
    number: usize,
    handle: usize,
    _: usize,
    _: usize,
    _: usize,
    _: usize,
    caller: Caller,
) -> Answer {
    let (m, me) = (entered(), caller.process());
    if named(m, me, handle, Kind::Semaphore).is_none() {
        return Answer::new(NO_OBJECT);
    }
    let is_bound = me.family(m) == FIRST && line::bind(m, number, handle);
    Answer::new(if is_bound { 0 } else { INVALID })
}

/// `a0` and `a1` are a request and its word for the program that started the first process, whose
/// answer is in `a1` afterwards. For the first family.
extern "C" fn device(
    request: usize,
    word: usize,
    _: usize,
    _: usize,
    _: usize,
    _: usize,
    caller: Caller,
) -> Answer {
    let m = entered();
    if caller.process().family(m) != FIRST {
        return Answer::new(INVALID);
    }
    let Some(answer) = open(m, || process::device(request, word)) else {
        return Answer::new(INVALID);
    };
    caller.set(Frame::A1, answer);
    Answer::new(0)
}
