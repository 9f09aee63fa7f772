//! The calls.

use core::{arch::asm, mem::size_of_val};

/// Numbers of calls.
const YIELD: usize = 1;
const GIVE: usize = 2;
const TAKE: usize = 3;
const SLEEP: usize = 4;
const SPAWN: usize = 5;
const END: usize = 6;
const REAP: usize = 7;
const KILL: usize = 8;
const CREATE: usize = 9;
const SEND: usize = 10;
const RECEIVE: usize = 11;
const CALL: usize = 12;
const REPLY_AND_RECEIVE: usize = 13;
const PRINT: usize = 14;
const COUNTS: usize = 15;
const LOCK: usize = 16;
const UNLOCK: usize = 17;
const BIND: usize = 23;
const DEVICE: usize = 24;
const HAND: usize = 25;
const TAKE_UNTIL: usize = 26;
const SEND_UNTIL: usize = 27;
const RECEIVE_UNTIL: usize = 28;
const CALL_UNTIL: usize = 29;
const REPLY_AND_RECEIVE_UNTIL: usize = 30;
const LOCK_UNTIL: usize = 31;
const REAP_UNTIL: usize = 32;

/// The bytes that [`print`] passes to one call.
const PRINTED: usize = 4096;

/// The bytes of a body that [`spawn`] hands over at most.
pub const HANDED: usize = 1024;

/// In the priority's argument of the call: the process founds a family.
const APART: usize = 1 << 8;

/// The place of an endpoint in the priority's argument of the call: the process is its server.
const SERVES: u32 = 32;

/// The status of a process that its parent has ended, and of one that caused an exception.
pub const KILLED: usize = 1 << 32;
pub const FAULTED: usize = 1 << 33;

/// The reason why a call was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// The handle names no object of the kind, for this process.
    NoObject,
    /// An argument is out of range, or an address is not the process's to read.
    Invalid,
    /// There is no room for another process or object.
    Full,
    /// The other side has ended.
    Dead,
    /// The kernel has no such call.
    Unknown,
    /// The time limit has come first.
    TimedOut,
}

/// `ecall` with these operands of `asm!`. The kernel preserves `s0`, `s1`, `sp` and `tp`; all others
/// are declared as changed. (`gp` is not used by programs.) It writes no memory of the process's.
macro_rules! ecall {
    ($($operand:tt)*) => {
        asm!(
            "ecall", $($operand)*
            out("s2") _, out("s3") _, out("s4") _, out("s5") _, out("s6") _, out("s7") _,
            out("s8") _, out("s9") _, out("s10") _, out("s11") _,
            clobber_abi("C"), options(nostack),
        )
    };
}

/// Calls the kernel with any numbers. Returns `a0` to `a5`.
///
/// # Safety
/// A process that the call starts may do what the caller may: see [`spawn`].
#[inline(always)]
pub unsafe fn raw(number: usize, arguments: [usize; 6]) -> [usize; 6] {
    let [mut a, mut b, mut c, mut d, mut e, mut f] = arguments;
    // SAFETY: `ecall!` declares all that the kernel changes.
    unsafe {
        ecall!(
            inlateout("a0") a, inlateout("a1") b, inlateout("a2") c, inlateout("a3") d,
            inlateout("a4") e, inlateout("a5") f, inlateout("a7") number => _,
        );
    }
    [a, b, c, d, e, f]
}

/// Calls the kernel with `arguments`, and 0 for those that are left out. Returns `a0` to `a5`.
#[inline(always)]
pub(crate) fn call<const N: usize>(number: usize, arguments: [usize; N]) -> [usize; 6] {
    let mut all = [0; 6];
    all[..N].copy_from_slice(&arguments);
    // SAFETY: no call but `spawn` starts a process, and its contract is the caller's.
    unsafe { raw(number, all) }
}

/// Calls the kernel with one argument, without values for the other registers, which the kernel
/// does not read.
#[inline(always)]
pub(crate) fn call_one(number: usize, argument: usize) -> usize {
    let result;
    // SAFETY: as in `call`.
    unsafe {
        ecall!(
            inlateout("a0") argument => result, inlateout("a7") number => _,
            lateout("a1") _, lateout("a2") _, lateout("a3") _, lateout("a4") _, lateout("a5") _,
        );
    }
    result
}

/// Calls the kernel with a message in registers, for the one that comes back.
#[inline(always)]
fn exchange(number: usize, endpoint: usize, message: Message) -> Result<Message, Refused> {
    let [mut a, mut b, mut c, mut d] = message;
    let result: usize;
    // SAFETY: as in `call`.
    unsafe {
        ecall!(
            inlateout("a0") endpoint => result,
            inlateout("a1") a, inlateout("a2") b, inlateout("a3") c, inlateout("a4") d,
            lateout("a5") _, inlateout("a7") number => _,
        );
    }
    if result == 0 { Ok([a, b, c, d]) } else { Err(refused(result)) }
}

/// Calls the kernel with a handle, an argument and a time limit, by the kernel's clock.
fn call_until(number: usize, handle: usize, argument: usize, due: u64) -> Result<usize, Refused> {
    checked(call(number, [handle, argument, 0, 0, 0, due as usize])[0])
}

/// Exchanges a message like [`exchange`], until `due` at the latest.
fn exchange_until(
    number: usize,
    endpoint: usize,
    [a, b, c, d]: Message,
    due: u64,
) -> Result<Message, Refused> {
    let [result, a, b, c, d, _] = call(number, [endpoint, a, b, c, d, due as usize]);
    checked(result).map(|_| [a, b, c, d])
}

#[cold]
fn refused(result: usize) -> Refused {
    checked(result).err().unwrap_or(Refused::Unknown)
}

pub(crate) fn checked(result: usize) -> Result<usize, Refused> {
    match result as isize {
        -1 => Err(Refused::NoObject),
        -2 => Err(Refused::Invalid),
        -3 => Err(Refused::Full),
        -4 => Err(Refused::Dead),
        -5 => Err(Refused::Unknown),
        -6 => Err(Refused::TimedOut),
        _ => Ok(result),
    }
}

/// The number of instructions executed, on an emulator that counts so.
#[inline(always)]
pub fn cycles() -> u64 {
    let count;
    // SAFETY: reading has no effect. Without `nomem` it is a barrier to the compiler.
    unsafe { asm!("csrr {}, cycle", out(reg) count, options(nostack, preserves_flags)) };
    count
}

/// Enters the kernel and returns.
#[inline(always)]
pub fn nothing() {
    // SAFETY: this call preserves all registers but `t0`.
    unsafe { asm!("ecall", in("a7") 0, out("t0") _, options(nostack, preserves_flags)) };
}

/// Lets the next ready task of the same priority run, if there is one.
#[inline(always)]
pub fn yield_now() {
    // SAFETY: as in `raw`.
    unsafe {
        ecall!(
            inlateout("a7") YIELD => _,
        );
    }
}

/// A counting semaphore of the caller's family.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Semaphore(pub usize);

impl Semaphore {
    /// # Errors
    /// [`Refused::Full`]
    pub fn new(count: u32) -> Result<Self, Refused> {
        checked(call(CREATE, [0, count as usize])[0]).map(Self)
    }

    /// Adds one, or hands it to the most urgent process that waits.
    #[inline(always)]
    pub fn give(self) {
        call_one(GIVE, self.0);
    }

    /// Takes one; waits while there is none.
    #[inline(always)]
    pub fn take(self) {
        call_one(TAKE, self.0);
    }

    /// Takes one like [`take`](Self::take), until `due` at the latest, by the kernel's clock.
    ///
    /// # Errors
    /// [`Refused::TimedOut`]; [`Refused::NoObject`]
    pub fn take_until(self, due: u64) -> Result<(), Refused> {
        call_until(TAKE_UNTIL, self.0, 0, due).map(drop)
    }

    /// Has each rise of an interrupt's line give this semaphore, in place of an earlier one. For
    /// processes of the first family.
    ///
    /// # Errors
    /// [`Refused::Invalid`] without such a line, and in another family.
    pub fn bind(self, line: usize) -> Result<(), Refused> {
        checked(call(BIND, [line, self.0])[0]).map(drop)
    }
}

/// A queue of 64 words of 32 bits, of the caller's family.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Channel(pub usize);

impl Channel {
    /// The words that a channel holds.
    pub const CAPACITY: usize = 64;

    /// # Errors
    /// [`Refused::Full`]
    pub fn new() -> Result<Self, Refused> {
        checked(call(CREATE, [1, 0])[0]).map(Self)
    }

    /// Appends a word; waits while the channel is full.
    #[inline(always)]
    pub fn send(self, word: u32) {
        call(SEND, [self.0, word as usize]);
    }

    /// Removes the first word; waits while the channel is empty.
    #[inline(always)]
    pub fn receive(self) -> u32 {
        call_one(RECEIVE, self.0) as u32
    }

    /// Appends a word like [`send`](Self::send), until `due` at the latest, by the kernel's clock.
    ///
    /// # Errors
    /// [`Refused::TimedOut`]: it has not been appended; [`Refused::NoObject`]
    pub fn send_until(self, word: u32, due: u64) -> Result<(), Refused> {
        call_until(SEND_UNTIL, self.0, word as usize, due).map(drop)
    }

    /// Removes the first word like [`receive`](Self::receive), until `due` at the latest, by the
    /// kernel's clock.
    ///
    /// # Errors
    /// [`Refused::TimedOut`]; [`Refused::NoObject`]
    pub fn receive_until(self, due: u64) -> Result<u32, Refused> {
        call_until(RECEIVE_UNTIL, self.0, 0, due).map(|word| word as u32)
    }
}

/// A meeting place of callers and one server, of the caller's family.
///
/// The server alone receives. At first that is the process that has made the endpoint. The server can
/// [hand](Self::hand) it to another process, or [spawn](spawn_server) one with it. When the server has
/// ended, calls are refused, until the process that has made the endpoint hands it over or receives.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Endpoint(pub usize);

/// The words of a message, which passes in registers.
pub type Message = [usize; 4];

impl Endpoint {
    /// # Errors
    /// [`Refused::Full`]
    pub fn new() -> Result<Self, Refused> {
        checked(call(CREATE, [2, 0])[0]).map(Self)
    }

    /// Sends a message to the server and waits for its answer. The server runs at the caller's
    /// priority meanwhile, if that is more urgent than its own.
    ///
    /// # Errors
    /// [`Refused::Dead`] if the server has ended, or ends before it answers; [`Refused::Invalid`] in the
    /// server itself.
    #[inline(always)]
    pub fn call(self, message: Message) -> Result<Message, Refused> {
        exchange(CALL, self.0, message)
    }

    /// Answers the call that this process has received, if there is one, and waits for the next.
    ///
    /// # Errors
    /// [`Refused::Invalid`] if the caller is not the server, serves another endpoint, or holds a mutex.
    #[inline(always)]
    pub fn reply_and_receive(self, answer: Message) -> Result<Message, Refused> {
        exchange(REPLY_AND_RECEIVE, self.0, answer)
    }

    /// Calls the server like [`call`](Self::call), and waits until `due` at the latest, by the kernel's
    /// clock.
    ///
    /// # Errors
    /// [`Refused::TimedOut`]: the server may have received the message, and its answer goes to nobody.
    /// Others as [`call`](Self::call).
    pub fn call_until(self, message: Message, due: u64) -> Result<Message, Refused> {
        exchange_until(CALL_UNTIL, self.0, message, due)
    }

    /// Answers and receives like [`reply_and_receive`](Self::reply_and_receive), and waits until `due`
    /// at the latest, by the kernel's clock.
    ///
    /// # Errors
    /// [`Refused::TimedOut`]: the answer has been given. Others as
    /// [`reply_and_receive`](Self::reply_and_receive).
    pub fn reply_and_receive_until(self, answer: Message, due: u64) -> Result<Message, Refused> {
        exchange_until(REPLY_AND_RECEIVE_UNTIL, self.0, answer, due)
    }

    /// Makes another process of the caller's family the server.
    ///
    /// # Errors
    /// [`Refused::NoObject`] if the process has ended or is of another family; [`Refused::Invalid`]
    /// unless the caller is the server and has answered all that it has received, or has made the
    /// endpoint and the server has ended.
    pub fn hand(self, server: Child) -> Result<(), Refused> {
        checked(call(HAND, [self.0, server.0])[0]).map(drop)
    }
}

/// Mutual exclusion within the caller's family, with inheritance: the holder has at least the
/// priority of each process that waits. A process holds one mutex at a time, and serves no endpoint
/// meanwhile. If it ends, those that wait are refused, and the mutex is free.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Mutex(pub usize);

impl Mutex {
    /// # Errors
    /// [`Refused::Full`]
    pub fn new() -> Result<Self, Refused> {
        checked(call(CREATE, [3, 0])[0]).map(Self)
    }

    /// Locks the mutex; waits while another process holds it.
    ///
    /// # Errors
    /// [`Refused::Invalid`] if the caller holds a mutex or serves an endpoint; [`Refused::Dead`] if
    /// the holder has ended.
    #[inline(always)]
    pub fn lock(self) -> Result<(), Refused> {
        checked(call_one(LOCK, self.0)).map(drop)
    }

    /// Locks the mutex like [`lock`](Self::lock), and waits until `due` at the latest, by the kernel's
    /// clock.
    ///
    /// # Errors
    /// [`Refused::TimedOut`]; others as [`lock`](Self::lock).
    pub fn lock_until(self, due: u64) -> Result<(), Refused> {
        call_until(LOCK_UNTIL, self.0, 0, due).map(drop)
    }

    /// Unlocks the mutex, and hands it to the most urgent process that waits.
    ///
    /// # Errors
    /// [`Refused::Invalid`] if the caller does not hold it.
    #[inline(always)]
    pub fn unlock(self) -> Result<(), Refused> {
        checked(call_one(UNLOCK, self.0)).map(drop)
    }
}

/// Asks the program that started the first process for something of the machine, such as an alarm,
/// and returns its answer. What requests there are, and what the word and the answer mean, is that
/// program's to say. For processes of the first family.
///
/// # Errors
/// [`Refused::Invalid`] without such a request, and in another family.
#[inline(always)]
pub fn device(request: usize, word: usize) -> Result<usize, Refused> {
    let [result, answer, ..] = call(DEVICE, [request, word]);
    checked(result).map(|_| answer)
}

/// Waits until the kernel's clock has reached `due`; returns at once if it has.
#[inline(always)]
pub fn sleep_until(due: u64) {
    call_one(SLEEP, due as usize);
}

/// A process that this one has spawned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Child(pub usize);

/// The family of a process that is spawned.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// The caller's family.
    Same,
    /// A family of its own: without an arena, with at most 8 processes and 16 objects, none of them
    /// more urgent than its founder. For callers of the first family.
    Apart,
}

/// Starts a process that runs `body` on its own stack, and ends with status 0 when it returns. If
/// it is more urgent than the caller, it runs at once. `name` has at most 16 letters.
///
/// # Errors
/// [`Refused::Full`] without room, for a priority above the family's, and for [`Family::Apart`] in
/// a family other than the first; [`Refused::Invalid`] for a priority above 31.
///
/// # Safety
/// The body refers to no memory but constants and, in the same family, the arena: the caller's
/// stack is elsewhere for the new process.
#[inline(never)]
pub unsafe fn spawn<F: FnOnce()>(
    priority: u8,
    name: &str,
    family: Family,
    body: F,
) -> Result<Child, Refused> {
    let order = usize::from(priority) | if family == Family::Apart { APART } else { 0 };
    // SAFETY: this function's contract.
    unsafe { start(order, name, body) }
}

/// Starts a process of the caller's family like [`spawn`], which is the server of `endpoint` from its
/// first instruction on.
///
/// # Errors
/// As [`spawn`], and as [`Endpoint::hand`].
///
/// # Safety
/// As for [`spawn`].
pub unsafe fn spawn_server<F: FnOnce()>(
    priority: u8,
    name: &str,
    endpoint: Endpoint,
    body: F,
) -> Result<Child, Refused> {
    // SAFETY: this function's contract.
    unsafe { start(usize::from(priority) | endpoint.0 << SERVES, name, body) }
}

/// Starts a process; `order` is the call's word with the priority.
///
/// # Safety
/// As for [`spawn`].
#[inline(always)]
unsafe fn start<F: FnOnce()>(order: usize, name: &str, body: F) -> Result<Child, Refused> {
    const { assert!(size_of::<F>() <= HANDED && align_of::<F>() <= 16) };
    let body = core::mem::ManuallyDrop::new(body);
    let mut bytes = [0; 16];
    let length = name.len().min(16);
    bytes[..length].copy_from_slice(&name.as_bytes()[..length]);
    let [first, second] =
        [0, 8].map(|at| usize::from_le_bytes(bytes[at..at + 8].try_into().unwrap_or_default()));
    let entry = run::<F> as *const () as usize;
    let address = (&raw const body).expose_provenance();
    checked(call(SPAWN, [entry, address, size_of_val(&body), order, first, second])[0]).map(Child)
}

/// The entry of a spawned process.
///
/// # Safety
/// `body` is the address of an `F`, to be moved out once; of a body without size, any address.
unsafe extern "C" fn run<F: FnOnce()>(body: *mut F) -> ! {
    let body = if size_of::<F>() == 0 { core::ptr::NonNull::dangling().as_ptr() } else { body };
    // SAFETY: the kernel has copied the body there, and this process alone reads it, once.
    let body = unsafe { body.read() };
    body();
    end(0)
}

impl Child {
    /// Ends the process. `false` if it has ended.
    pub fn kill(self) -> bool {
        checked(call_one(KILL, self.0)).is_ok()
    }
}

/// Waits until a process that this one has spawned has ended. Returns it and its status: its own,
/// [`KILLED`] or [`FAULTED`]. `None` if there is none.
pub fn reap() -> Option<(Child, usize)> {
    let [child, status, ..] = call(REAP, []);
    checked(child).ok().map(|child| (Child(child), status))
}

/// Waits like [`reap`], until `due` at the latest, by the kernel's clock.
///
/// # Errors
/// [`Refused::TimedOut`] if no child has ended by then; [`Refused::NoObject`] if there is none.
pub fn reap_until(due: u64) -> Result<(Child, usize), Refused> {
    let [child, status, ..] = call(REAP_UNTIL, [0, 0, 0, 0, 0, due as usize]);
    checked(child).map(|child| (Child(child), status))
}

/// Ends the calling process.
pub fn end(status: u32) -> ! {
    call_one(END, status as usize);
    loop {
        core::hint::spin_loop();
    }
}

/// Writes bytes to the host.
///
/// # Errors
/// Never, for a slice.
pub fn print(bytes: &[u8]) -> Result<(), Refused> {
    for part in bytes.chunks(PRINTED) {
        checked(call(PRINT, [part.as_ptr().expose_provenance(), part.len()])[0])?;
    }
    Ok(())
}

/// The program's text as far as it fills whole pages. Each has a translation of its own, the same in
/// all processes.
#[must_use]
pub fn text() -> &'static [[u8; 4096]] {
    unsafe extern "C" {
        static tandem_text_end: u8;
    }
    const START: usize = 0x4000_0000;
    let length = (&raw const tandem_text_end).addr() - START;
    // SAFETY: `program.x` places the text from `START` to that symbol; processes can read it, and
    // nothing writes it.
    unsafe { core::slice::from_raw_parts(core::ptr::with_exposed_provenance(START), length / 4096) }
}

/// The kernel's counts.
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    /// Switches to the calling process.
    pub switches: usize,
    /// Writes of `satp` for the calling process.
    pub entries: usize,
    /// Writes of `satp` for it and for all processes that have ended.
    pub all_entries: usize,
}

/// The kernel's counts for the calling process.
pub fn counts() -> Counts {
    let [switches, entries, ended, ..] = call(COUNTS, []);
    Counts { switches, entries, all_entries: ended + entries }
}
