//! The system calls behind `nothing` and `yield`, which are in `entry`.
//!
//! Each is a function of six numbers and the caller's frame. It runs as a thread of the kernel,
//! with interrupts on, on the caller's kernel stack. Its result is `a0`; further results are in the
//! frame. A negative result says why a call was refused.

use super::{
    entry::Frame,
    object::{self, Kind},
    process::{self, Cause, HANDED, MESSAGE, Plan, this},
};
use crate::{
    arch::{self, Mask},
    kernel,
    task::{Priority, masked},
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
const DEAD: usize = -4_isize as usize;
/// No such call.
const UNKNOWN: usize = -5_isize as usize;

/// The status of a process that its parent has ended, and of one that caused an exception.
pub(super) const KILLED: usize = 1 << 32;
pub(super) const FAULTED: usize = 1 << 33;

type Call = extern "C" fn(usize, usize, usize, usize, usize, usize, &mut Frame) -> usize;

/// The calls by number. The first two places are reached by numbers that are too large.
pub(super) static CALLS: [Call; 16] = [
    unknown, unknown, give, take, sleep, spawn, end, reap, kill, create, send, receive, call,
    reply_and_receive, print, counts,
];

extern "C" fn unknown(_: usize, _: usize, _: usize, _: usize, _: usize, _: usize, _: &mut Frame) -> usize {
    UNKNOWN
}

extern "C" fn give(handle: usize, _: usize, _: usize, _: usize, _: usize, _: usize, _: &mut Frame) -> usize {
    let Some(object) = object::named(handle, Kind::Semaphore) else { return NO_OBJECT };
    object.units.give();
    0
}

extern "C" fn take(handle: usize, _: usize, _: usize, _: usize, _: usize, _: usize, _: &mut Frame) -> usize {
    let Some(object) = object::named(handle, Kind::Semaphore) else { return NO_OBJECT };
    object.units.take(masked(this));
    0
}

/// The latest time that a process can wait for: boards' alarms may count with a sign.
const LATEST: u64 = 1 << 62;

extern "C" fn sleep(due: usize, _: usize, _: usize, _: usize, _: usize, _: usize, _: &mut Frame) -> usize {
    let due = (due as u64).min(LATEST);
    if due <= now() {
        return 0;
    }
    let (mask, m) = Mask::set();
    let me = this(m);
    if !me.is_doomed(m) {
        let timer = Timer::new(me.task());
        let m = TIMERS.set(m, mask, &timer, due);
        while timer.is_set(m) && !me.is_doomed(m) {
            kernel::block(m, me.task());
        }
        timer.cancel(m);
    }
    arch::unmask(m);
    0
}

/// In the word with the priority: the process founds a family.
const APART: usize = 1 << 8;

/// `a0` is the entry, `a1` and `a2` are the address and the length of bytes for the new process's
/// stack, `a3` is the priority and [`APART`], `a4` and `a5` are the name. Without bytes, `a1` is
/// the new process's argument.
extern "C" fn spawn(
    entry: usize,
    address: usize,
    length: usize,
    order: usize,
    first: usize,
    second: usize,
    _: &mut Frame,
) -> usize {
    let priority = order & !APART;
    if priority > usize::from(Priority::HIGHEST.value()) || length > HANDED {
        return INVALID;
    }
    let me = masked(this);
    let mut buffer = [const { MaybeUninit::<u8>::uninit() }; HANDED];
    let Some(handed) = copy_in(address, length, &mut buffer) else { return INVALID };
    let mut name = [0; 16];
    name[..8].copy_from_slice(&first.to_le_bytes());
    name[8..].copy_from_slice(&second.to_le_bytes());
    let plan = Plan {
        entry,
        arguments: [address, length],
        priority: Priority::new(priority as u8),
        name,
        apart: order & APART != 0,
    };
    process::spawn(me, &plan, handed).unwrap_or(FULL)
}

/// Copies bytes of the calling process. `None` if it may not read them.
fn copy_in(address: usize, length: usize, buffer: &mut [MaybeUninit<u8>]) -> Option<&[u8]> {
    let space = masked(|m| this(m).space(m));
    let mut filled = 0;
    let whole = space.read(address, length, |from, part| {
        let to = buffer[filled..filled + part].as_mut_ptr().cast();
        // SAFETY: `part` bytes from `from` are mapped for the kernel, and the slice has as many.
        unsafe { core::ptr::copy_nonoverlapping(from, to, part) };
        filled += part;
    });
    // SAFETY: the first `filled` bytes have been written.
    whole.then(|| unsafe { core::slice::from_raw_parts(buffer.as_ptr().cast(), filled) })
}

extern "C" fn end(status: usize, _: usize, _: usize, _: usize, _: usize, _: usize, _: &mut Frame) -> usize {
    process::end(masked(this), Cause::Own(status & 0xffff_ffff))
}

extern "C" fn reap(_: usize, _: usize, _: usize, _: usize, _: usize, _: usize, frame: &mut Frame) -> usize {
    let Some((handle, status)) = process::reap(masked(this)) else { return NO_OBJECT };
    frame.registers[Frame::A1] = status;
    handle
}

extern "C" fn kill(handle: usize, _: usize, _: usize, _: usize, _: usize, _: usize, _: &mut Frame) -> usize {
    if process::kill(masked(this), handle) { 0 } else { NO_OBJECT }
}

extern "C" fn create(kind: usize, count: usize, _: usize, _: usize, _: usize, _: usize, _: &mut Frame) -> usize {
    let kind = match kind {
        0 => Kind::Semaphore,
        1 => Kind::Channel,
        2 => Kind::Endpoint,
        _ => return INVALID,
    };
    let Ok(count) = u32::try_from(count) else { return INVALID };
    let family = masked(|m| process::admit_object(m, this(m)).then(|| this(m).family(m)));
    let handle = family.and_then(|family| object::create(family, kind, count));
    handle.map_or(FULL, |handle| handle.word())
}

extern "C" fn send(handle: usize, word: usize, _: usize, _: usize, _: usize, _: usize, _: &mut Frame) -> usize {
    let Some(object) = object::named(handle, Kind::Channel) else { return NO_OBJECT };
    let Ok(word) = u32::try_from(word) else { return INVALID };
    object.send(masked(this), word);
    0
}

extern "C" fn receive(handle: usize, _: usize, _: usize, _: usize, _: usize, _: usize, _: &mut Frame) -> usize {
    let Some(object) = object::named(handle, Kind::Channel) else { return NO_OBJECT };
    object.receive(masked(this)) as usize
}

extern "C" fn call(
    handle: usize,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    _: usize,
    frame: &mut Frame,
) -> usize {
    let Some(object) = object::named(handle, Kind::Endpoint) else { return NO_OBJECT };
    let me = masked(this);
    masked(|m| me.message.set(m, [a, b, c, d]));
    if !object.call(me) {
        return DEAD;
    }
    show_message(me, frame);
    0
}

extern "C" fn reply_and_receive(
    handle: usize,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    _: usize,
    frame: &mut Frame,
) -> usize {
    let Some(object) = object::named(handle, Kind::Endpoint) else { return NO_OBJECT };
    let me = masked(this);
    masked(|m| me.message.set(m, [a, b, c, d]));
    if !object.reply_and_receive(me) {
        return DEAD;
    }
    show_message(me, frame);
    0
}

/// Gives the caller its message in `a1` to `a4`.
fn show_message(me: &process::Process, frame: &mut Frame) {
    let message = masked(|m| me.message.get(m));
    frame.registers[Frame::A1..Frame::A1 + MESSAGE].copy_from_slice(&message);
}

/// The bytes that a call prints at most.
const PRINTED: usize = 4096;

extern "C" fn print(address: usize, length: usize, _: usize, _: usize, _: usize, _: usize, _: &mut Frame) -> usize {
    if length > PRINTED {
        return INVALID;
    }
    let (space, is_first) = masked(|m| (this(m).space(m), this(m).family(m) == 0));
    if !space.read(address, length, |_, _| ()) {
        return INVALID;
    }
    // The whole is readable, and no page is ever taken from a process that runs.
    space.read(address, length, |from, part| {
        if !is_first {
            return;
        }
        // SAFETY: the bytes are mapped for the kernel. The caller waits for this call; another
        // process that shares the arena does not run while the host reads, because the host's
        // reading takes no time of this machine's.
        process::write(unsafe { core::slice::from_raw_parts(from, part) });
    });
    0
}

extern "C" fn counts(_: usize, _: usize, _: usize, _: usize, _: usize, _: usize, frame: &mut Frame) -> usize {
    let [switches, entries] = masked(|m| process::counts(m, this(m)));
    frame.registers[Frame::A1] = entries;
    frame.registers[Frame::A1 + 1] = process::satp_writes();
    switches
}
