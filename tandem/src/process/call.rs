//! The system calls behind `nothing` and `yield`, which are in `entry`.
//!
//! Each is a function of the caller's frame and six numbers, which [`shim`] takes from the registers.
//! It begins and ends with interrupts masked, on the caller's kernel stack; calls whose time has no
//! small bound open them in between, and run as a thread of the kernel. A negative result says why a
//! call was refused.

use super::{
    abi::{CALL, DEAD, FIRST, FULL, HANDED, INVALID, LATE, NO_OBJECT, REPLY, TAKE, UNKNOWN},
    coroutines,
    life::{self, Cause, Kin, Plan},
    line,
    object::{self, Unserved},
    records::{Caller, Frame, Kind, Object, Process, this},
};
use crate::{
    arch::{self, Mask},
    kernel,
    paths::tasks,
    records::{KERNEL, Priority, TIMERS, Task, Timer},
    shared::Masked,
    time::now,
};
use core::mem::MaybeUninit;

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

/// The arguments of a call: `a0` to `a5`. Most calls read some of them.
type Arguments = [usize; 6];

type Function = extern "C" fn(usize, usize, usize, usize, usize, usize, Caller) -> Answer;

/// A call as the entry makes it: the number is the eighth argument, which most do not read.
pub(super) type Call =
    extern "C" fn(usize, usize, usize, usize, usize, usize, Caller, usize) -> Answer;

/// The function that the entry calls for a call.
macro_rules! shim {
    ($call:ident) => {{
        extern "C" fn shim(
            a: usize,
            b: usize,
            c: usize,
            d: usize,
            e: usize,
            f: usize,
            caller: Caller,
        ) -> Answer {
            $call(caller, [a, b, c, d, e, f])
        }
        shim
    }};
}

/// Makes the table of the calls by number.
macro_rules! calls {
    ($($number:expr => $call:ident,)*) => {
        /// The calls by number. The first two places are reached by numbers that are too large.
        // SAFETY: no other symbol has this name.
        #[unsafe(export_name = "tandem_process_calls")]
        pub(super) static CALLS: [Function; 2 + [$($number),*].len()] = {
            let mut calls: [Function; _] = [shim!(unknown); 2 + [$($number),*].len()];
            $(calls[$number] = shim!($call);)*
            calls
        };
    };
}

calls! {
    2 => give,
    TAKE => take,
    4 => sleep,
    5 => spawn,
    6 => end,
    7 => reap,
    8 => kill,
    9 => create,
    10 => send,
    11 => receive,
    CALL => call,
    REPLY => reply_and_receive,
    14 => print,
    15 => counts,
    16 => lock,
    17 => unlock,
    18 => open_page,
    19 => give_way,
    20 => listen,
    21 => bell,
    22 => ring,
    23 => bind,
    24 => device,
    25 => hand,
    26 => take_until,
    27 => send_until,
    28 => receive_until,
    29 => call_until,
    30 => reply_and_receive_until,
    31 => lock_until,
    32 => reap_until,
    33 => listen_until,
}

/// The calls of a process with coroutines: each learns first what the process has published.
// SAFETY: no other symbol has this name.
#[unsafe(export_name = "tandem_process_publishing")]
static PUBLISHING: [Call; CALLS.len()] = [publishing; CALLS.len()];

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
fn named(m: Masked, me: &Process, word: usize, kind: Kind) -> Option<&'static Object> {
    object::find(m, me.family(m), word, kind)
}

fn unknown(_: Caller, _: Arguments) -> Answer {
    Answer::new(UNKNOWN)
}

fn give(caller: Caller, [handle, ..]: Arguments) -> Answer {
    let m = entered();
    let Some(object) = named(m, caller.process(), handle, Kind::Semaphore) else {
        return Answer::new(NO_OBJECT);
    };
    let next = object.give(m);
    Answer::after(caller, 0, next)
}

fn take(caller: Caller, [handle, ..]: Arguments) -> Answer {
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

fn sleep(_: Caller, [due, ..]: Arguments) -> Answer {
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
            tasks::block(m, me.task());
        }
        timer.cancel(m);
        arch::unmask(m);
    });
    Answer::new(0)
}

/// Makes the call `begin` with a time limit: where it waits, until `due` at the latest. The process
/// waits as a thread, so that nothing resumes it at its frame: see [`object`].
///
/// `begin` returns as the call without a limit does: the result, and the task to switch to if the caller
/// waits, or has made a more urgent process ready.
fn until(
    caller: Caller,
    due: usize,
    begin: impl FnOnce(Masked, &'static Process) -> Answer,
) -> Answer {
    let (m, me) = (entered(), caller.process());
    let due = (due as u64).min(LATEST);
    let result = open(m, || {
        let (mask, m) = Mask::set();
        let timer = Timer::new(me.task());
        let m = TIMERS.set(m, mask, &timer, due);
        me.set_timed(m, true);
        let Answer { result, next } = begin(m, me);
        let Some(next) = next else {
            return finish(m, me, &timer, result);
        };
        if me.still_waits(m) && (!timer.is_set(m) || me.is_doomed(m)) {
            // Late already, or ended while interrupts were on: back into the ready set.
            me.give_up(m);
            kernel::wake(m, me.task());
            caller.set(Frame::A0, LATE);
            kernel::reschedule(m, mask);
        } else {
            kernel::switch(m, me.task(), next);
        }
        while me.still_waits(m) && timer.is_set(m) && !me.is_doomed(m) {
            tasks::block(m, me.task());
        }
        if me.still_waits(m) {
            me.give_up(m);
            caller.set(Frame::A0, LATE);
        }
        finish(m, me, &timer, me.result(m, Frame::A0))
    });
    Answer::new(result)
}

/// Ends a call with a time limit. Interrupts are on afterwards.
fn finish(m: Masked, me: &Process, timer: &Timer, result: usize) -> usize {
    timer.cancel(m);
    me.set_timed(m, false);
    arch::unmask(m);
    result
}

fn take_until(caller: Caller, [handle, .., due]: Arguments) -> Answer {
    until(caller, due, |_, _| take(caller, [handle, 0, 0, 0, 0, 0]))
}

fn send_until(caller: Caller, [handle, word, .., due]: Arguments) -> Answer {
    until(caller, due, |_, _| send(caller, [handle, word, 0, 0, 0, 0]))
}

fn receive_until(caller: Caller, [handle, .., due]: Arguments) -> Answer {
    until(caller, due, |_, _| receive(caller, [handle, 0, 0, 0, 0, 0]))
}

fn call_until(caller: Caller, [handle, a, b, c, d, due]: Arguments) -> Answer {
    until(caller, due, |_, _| call(caller, [handle, a, b, c, d, 0]))
}

fn reply_and_receive_until(caller: Caller, [handle, a, b, c, d, due]: Arguments) -> Answer {
    until(caller, due, |_, _| reply_and_receive(caller, [handle, a, b, c, d, 0]))
}

fn lock_until(caller: Caller, [handle, .., due]: Arguments) -> Answer {
    until(caller, due, |_, _| lock(caller, [handle, 0, 0, 0, 0, 0]))
}

fn listen_until(caller: Caller, [.., due]: Arguments) -> Answer {
    until(caller, due, |_, _| listen(caller, [0; 6]))
}

/// In the word with the priority: the process founds a family.
const APART: usize = 1 << 8;
/// In the word with the priority: the place of an endpoint that the process gets.
const SERVES: u32 = 32;

fn is_priority(number: usize) -> bool {
    number <= usize::from(Priority::HIGHEST.value())
}

/// `a0` is the entry, `a1` and `a2` are the address and the length of bytes for the new process's
/// stack, `a3` is the priority, and [`APART`] or an endpoint at [`SERVES`], `a4` and `a5` are the name.
fn spawn(caller: Caller, arguments: Arguments) -> Answer {
    let [_, _, length, order, ..] = arguments;
    let priority = order & !APART;
    if !is_priority(priority) || length > HANDED {
        return spawn_server(caller, arguments);
    }
    let kin = if order & APART == 0 { Kin::Same } else { Kin::Apart };
    Answer::new(spawn_as(entered(), caller.process(), priority, kin, arguments))
}

/// Does the work of [`spawn`] for a word that has more than a priority and [`APART`].
#[cold]
#[inline(never)]
fn spawn_server(caller: Caller, arguments: Arguments) -> Answer {
    let [_, _, length, order, ..] = arguments;
    let (endpoint, priority) = (order >> SERVES, order & ((1 << SERVES) - 1));
    if endpoint == 0 || !is_priority(priority) || length > HANDED {
        return Answer::new(INVALID);
    }
    let (m, me) = (entered(), caller.process());
    let Some(object) = named(m, me, endpoint, Kind::Endpoint) else {
        return Answer::new(NO_OBJECT);
    };
    if !object.may_hand(m, me) {
        return Answer::new(INVALID);
    }
    let result = spawn_as(m, me, priority, Kin::Serves(object), arguments);
    // The caller may have lost what it inherited through the endpoint.
    Answer::after(caller, result, more_urgent(m, me))
}

/// Starts a process. Returns its handle, or why not.
#[inline(always)]
fn spawn_as(
    m: Masked,
    me: &'static Process,
    priority: usize,
    kin: Kin,
    [entry, address, length, _, first, second]: Arguments,
) -> usize {
    let plan = Plan {
        entry,
        argument: address,
        priority: Priority::new(priority as u8),
        name: [first, second],
        kin,
    };
    if length == 0 {
        return open(m, || life::spawn(me, &plan, &[])).unwrap_or(FULL);
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
        Some(life::spawn(me, &plan, handed))
    });
    handle.map_or(INVALID, |handle| handle.unwrap_or(FULL))
}

fn end(caller: Caller, [status, ..]: Arguments) -> Answer {
    let me = caller.process();
    open(entered(), || life::end(me, Cause::Own(status & 0xffff_ffff)))
}

fn reap(caller: Caller, _: Arguments) -> Answer {
    let m = entered();
    if !life::has_children(m, caller.process()) {
        return Answer::new(NO_OBJECT);
    }
    reaped(caller, life::reap(m, caller.process(), |_| true), NO_OBJECT)
}

/// The answer of a call that reaps; `other` if no child has ended.
fn reaped(caller: Caller, child: Option<(usize, usize)>, other: usize) -> Answer {
    let Some((handle, status)) = child else { return Answer::new(other) };
    caller.set(Frame::A1, status);
    Answer::new(handle)
}

fn reap_until(caller: Caller, [.., due]: Arguments) -> Answer {
    let (m, me) = (entered(), caller.process());
    if !life::has_children(m, me) {
        return Answer::new(NO_OBJECT);
    }
    let due = (due as u64).min(LATEST);
    let child = open(m, || {
        let (mask, m) = Mask::set();
        let timer = Timer::new(me.task());
        let m = TIMERS.set(m, mask, &timer, due);
        let child = life::reap(m, me, |m| timer.is_set(m));
        timer.cancel(m);
        arch::unmask(m);
        child
    });
    reaped(caller, child, LATE)
}

fn kill(caller: Caller, [handle, ..]: Arguments) -> Answer {
    let killed = life::kill(entered(), caller.process(), handle);
    Answer::new(if killed { 0 } else { NO_OBJECT })
}

fn create(caller: Caller, [kind, count, ..]: Arguments) -> Answer {
    let kind = match kind {
        0 => Kind::Semaphore,
        1 => Kind::Channel,
        2 => Kind::Endpoint,
        3 => Kind::Mutex,
        _ => return Answer::new(INVALID),
    };
    let Ok(count) = u32::try_from(count) else { return Answer::new(INVALID) };
    let (m, me) = (entered(), caller.process());
    if !life::admit_object(m, me) {
        return Answer::new(FULL);
    }
    let Some(handle) = open(m, || object::create(me, kind, count)) else {
        life::dismiss_object(m, me);
        return Answer::new(FULL);
    };
    Answer::new(handle.word())
}

fn send(caller: Caller, [handle, word, ..]: Arguments) -> Answer {
    let (m, me) = (entered(), caller.process());
    let Some(object) = named(m, me, handle, Kind::Channel) else { return Answer::new(NO_OBJECT) };
    let Ok(word) = u32::try_from(word) else { return Answer::new(INVALID) };
    let next = object.send(m, me, word);
    Answer::after(caller, 0, next)
}

fn receive(caller: Caller, [handle, ..]: Arguments) -> Answer {
    let (m, me) = (entered(), caller.process());
    let Some(object) = named(m, me, handle, Kind::Channel) else { return Answer::new(NO_OBJECT) };
    let (word, next) = object.receive(m, me);
    Answer::after(caller, word, next)
}

fn call(caller: Caller, [handle, a, b, c, d, ..]: Arguments) -> Answer {
    let (m, me) = (entered(), caller.process());
    let Some(object) = named(m, me, handle, Kind::Endpoint) else { return Answer::new(NO_OBJECT) };
    match object.call(m, me, [a, b, c, d]) {
        Ok(next) => Answer::after(caller, 0, next),
        Err(Unserved::Dead) => Answer::new(DEAD),
        Err(Unserved::Itself) => Answer::new(INVALID),
    }
}

/// `a0` is an endpoint, `a1` a process of the caller's family, which gets the right to receive.
fn hand(caller: Caller, [handle, process, ..]: Arguments) -> Answer {
    let (m, me) = (entered(), caller.process());
    let Some(object) = named(m, me, handle, Kind::Endpoint) else { return Answer::new(NO_OBJECT) };
    let Some(other) = life::relative(m, me, process) else { return Answer::new(NO_OBJECT) };
    if !object.may_hand(m, me) {
        return Answer::new(INVALID);
    }
    object.hand(m, me, other);
    Answer::after(caller, 0, more_urgent(m, me))
}

/// The task to switch to, if one is more urgent than the caller.
fn more_urgent(m: Masked, me: &'static Process) -> Option<Task> {
    let urgent = KERNEL.ready.most_urgent(m);
    (!urgent.is(me.task())).then_some(urgent)
}

fn reply_and_receive(caller: Caller, [handle, a, b, c, d, ..]: Arguments) -> Answer {
    let (m, me) = (entered(), caller.process());
    let Some(object) = named(m, me, handle, Kind::Endpoint) else { return Answer::new(NO_OBJECT) };
    match object.reply_and_receive(m, me, handle, [a, b, c, d]) {
        Ok(next) => Answer::after(caller, 0, next),
        Err(()) => Answer::new(INVALID),
    }
}

/// The bytes that a call prints at most.
const PRINTED: usize = 4096;

fn print(caller: Caller, [address, length, ..]: Arguments) -> Answer {
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
                life::write(unsafe { core::slice::from_raw_parts(from, part) });
            });
        }
        whole
    });
    Answer::new(if whole { 0 } else { INVALID })
}

fn counts(caller: Caller, _: Arguments) -> Answer {
    let m = entered();
    caller.set(Frame::A1, caller.entries());
    caller.set(Frame::A1 + 1, life::ended_entries(m));
    Answer::new(life::switches(m, KERNEL.current(m)))
}

fn lock(caller: Caller, [handle, ..]: Arguments) -> Answer {
    let (m, me) = (entered(), caller.process());
    let Some(object) = named(m, me, handle, Kind::Mutex) else { return Answer::new(NO_OBJECT) };
    object.lock(m, me).map_or(Answer::new(INVALID), |next| Answer::after(caller, 0, next))
}

fn unlock(caller: Caller, [handle, ..]: Arguments) -> Answer {
    let (m, me) = (entered(), caller.process());
    let Some(object) = named(m, me, handle, Kind::Mutex) else { return Answer::new(NO_OBJECT) };
    object.unlock(m, me).map_or(Answer::new(INVALID), |next| Answer::after(caller, 0, next))
}

fn open_page(caller: Caller, _: Arguments) -> Answer {
    let (m, me) = (entered(), caller.process());
    if caller.page() != 0 {
        return Answer::new(INVALID);
    }
    let page = open(m, || coroutines::open(me));
    Answer::new(page.unwrap_or(FULL))
}

/// `a0`: 1 to let equals run, too.
fn give_way(caller: Caller, [yields, ..]: Arguments) -> Answer {
    let (m, me) = (entered(), caller.process());
    if caller.page() == 0 {
        return Answer::new(INVALID);
    }
    let next = coroutines::give_way(m, me, yields == 1);
    Answer::after(caller, 0, next)
}

fn listen(caller: Caller, _: Arguments) -> Answer {
    let (m, me) = (entered(), caller.process());
    if caller.page() == 0 {
        return Answer::new(INVALID);
    }
    let next = coroutines::listen(m, me);
    Answer::after(caller, 0, next)
}

/// `a0` is the bit of the inbox, `a1` the priority.
fn bell(caller: Caller, [slot, priority, ..]: Arguments) -> Answer {
    if slot >= coroutines::SLOTS || priority > usize::from(Priority::HIGHEST.value()) {
        return Answer::new(INVALID);
    }
    let (m, me) = (entered(), caller.process());
    if caller.page() == 0 {
        return Answer::new(INVALID);
    }
    if !life::admit_object(m, me) {
        return Answer::new(FULL);
    }
    let Some(handle) = open(m, || object::create(me, Kind::Bell, 0)) else {
        life::dismiss_object(m, me);
        return Answer::new(FULL);
    };
    let level = me.allowed(m, Priority::new(priority as u8).level());
    if let Some(object) = named(m, me, handle.word(), Kind::Bell) {
        object.hang(m, me, slot, level);
    }
    Answer::new(handle.word())
}

fn ring(caller: Caller, [handle, ..]: Arguments) -> Answer {
    let (m, me) = (entered(), caller.process());
    let Some(object) = named(m, me, handle, Kind::Bell) else { return Answer::new(NO_OBJECT) };
    let Some((owner, slot, level)) = object.hung(m) else { return Answer::new(DEAD) };
    let next = coroutines::ring(m, me, owner, slot, level);
    Answer::after(caller, 0, next)
}

/// `a0` is the line, `a1` a semaphore. For the first family.
fn bind(caller: Caller, [number, handle, ..]: Arguments) -> Answer {
    let (m, me) = (entered(), caller.process());
    if named(m, me, handle, Kind::Semaphore).is_none() {
        return Answer::new(NO_OBJECT);
    }
    let is_bound = me.family(m) == FIRST && line::bind(m, number, handle);
    Answer::new(if is_bound { 0 } else { INVALID })
}

/// `a0` and `a1` are a request and its word for the program that started the first process, whose
/// answer is in `a1` afterwards. For the first family.
fn device(caller: Caller, [request, word, ..]: Arguments) -> Answer {
    let m = entered();
    if caller.process().family(m) != FIRST {
        return Answer::new(INVALID);
    }
    let Some(answer) = open(m, || life::device(request, word)) else {
        return Answer::new(INVALID);
    };
    caller.set(Frame::A1, answer);
    Answer::new(0)
}
