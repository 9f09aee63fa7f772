//! The start of the kernel, threads, and delays.

use crate::{me, refuse, section, thread};
use core::ffi::{CStr, c_char, c_void};
use tandem::{Me, Priority, raw, raw::Task, time};

#[unsafe(no_mangle)]
extern "C" fn tandem_version() -> u32 {
    const fn number(text: &str) -> u32 {
        match u32::from_str_radix(text, 10) {
            Ok(number) => number,
            Err(_) => panic!("a part of a version is a number"),
        }
    }
    const {
        number(env!("CARGO_PKG_VERSION_MAJOR")) * 10_000_000
            + number(env!("CARGO_PKG_VERSION_MINOR")) * 10_000
            + number(env!("CARGO_PKG_VERSION_PATCH"))
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tandem_start(stack: *mut u8, size: usize, set_up: extern "C" fn()) -> ! {
    // SAFETY: the stack's memory is the kernel's from here on, by the header.
    unsafe { raw::start(stack, size, || set_up()) }
}

/// An argument that may move to the thread it is for.
struct Argument(*mut c_void);

// SAFETY: the C program passes it to the thread.
unsafe impl Send for Argument {}

#[unsafe(no_mangle)]
unsafe extern "C" fn tandem_spawn(
    task: &'static Task,
    stack: *mut u8,
    size: usize,
    priority: u32,
    name: *const c_char,
    body: unsafe extern "C" fn(*mut c_void),
    argument: *mut c_void,
) -> bool {
    assert!(priority <= 31, "tandem_spawn: a priority is 0 to 31");
    // SAFETY: the name is a string that stays valid, by the header.
    let name = unsafe { CStr::from_ptr::<'static>(name) }.to_str().unwrap_or("?");
    let argument = Argument(argument);
    let body = move |_: &Me| {
        let Argument(argument) = { argument };
        // SAFETY: the program's function, with the program's argument.
        unsafe { body(argument) }
    };
    // SAFETY: nothing else uses the stack's memory until the thread has ended, by the header.
    unsafe { task.spawn(stack, size, Priority::new(priority as u8), name, body) }.is_ok()
}

#[unsafe(no_mangle)]
extern "C" fn tandem_is_alive(task: &'static Task) -> bool {
    task.info().is_alive()
}

#[unsafe(no_mangle)]
extern "C" fn tandem_is_ready(task: &'static Task) -> bool {
    task.is_ready()
}

#[unsafe(no_mangle)]
extern "C" fn tandem_current() -> *const Task {
    core::ptr::with_exposed_provenance(tandem::current().id())
}

#[unsafe(no_mangle)]
extern "C" fn tandem_may_wait() -> bool {
    thread().is_some() && section::are_interrupts_on()
}

#[unsafe(no_mangle)]
extern "C" fn tandem_end() -> ! {
    if !tandem_may_wait() {
        refuse("tandem_end");
    }
    let me = me("tandem_end");
    // SAFETY: the frames are of C, and of the calls from which C is called: a thread's body, and
    // `tandem_timers_run`. Neither lends a value to another task. Of the latter, the turn is not
    // dropped, so that a later run is refused.
    unsafe { raw::end(&me) }
}

#[unsafe(no_mangle)]
extern "C" fn tandem_priority(task: &'static Task) -> u32 {
    task.info().priority().map_or(0, |priority| priority.value().into())
}

#[unsafe(no_mangle)]
extern "C" fn tandem_set_priority(task: &'static Task, priority: u32) -> bool {
    assert!(priority <= 31, "tandem_set_priority: a priority is 0 to 31");
    task.set_priority(&me("tandem_set_priority"), Priority::new(priority as u8))
}

#[unsafe(no_mangle)]
extern "C" fn tandem_join(task: &'static Task) {
    task.info().join(&me("tandem_join"));
}

#[unsafe(no_mangle)]
extern "C" fn tandem_join_until(task: &'static Task, due: u64) -> bool {
    task.info().join_until(&me("tandem_join_until"), due).is_ok()
}

#[unsafe(no_mangle)]
extern "C" fn tandem_yield() {
    if let Some(me) = thread() {
        me.yield_now();
    }
}

#[unsafe(no_mangle)]
extern "C" fn tandem_delay_until(due: u64) {
    me("tandem_delay_until").delay_until(due);
}

#[unsafe(no_mangle)]
extern "C" fn tandem_delay(ticks: u64) {
    me("tandem_delay").delay_until(time::now().saturating_add(ticks));
}

/// A word that a thread rarely stores.
const PAINT: u32 = 0x5eed_57ac;

/// The words of a stack above its guard.
unsafe fn words(stack: *mut u8, size: usize) -> impl Iterator<Item = *mut u32> {
    (raw::GUARD..size).step_by(size_of::<u32>()).map(move |offset| {
        // SAFETY: within the stack, by the header.
        unsafe { stack.add(offset).cast() }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tandem_stack_paint(stack: *mut u8, size: usize) {
    // SAFETY: the stack is valid and not in use, by the header.
    unsafe { words(stack, size).for_each(|word| word.write_volatile(PAINT)) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tandem_stack_unused(stack: *mut u8, size: usize) -> usize {
    // SAFETY: the stack is valid; its thread may write a word meanwhile, which a volatile load of
    // it allows.
    let is_unused = |word: &*mut u32| unsafe { word.read_volatile() } == PAINT;
    // SAFETY: by the header.
    unsafe { words(stack, size) }.take_while(is_unused).count() * size_of::<u32>()
}
