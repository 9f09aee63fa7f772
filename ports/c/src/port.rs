//! The functions that a port defines in C, found by the linker.
//!
//! Functions of the optional groups are weak references: the linker leaves 0 where the port does
//! not define one. They are called only if [`has`] has found their group.

use core::{arch::global_asm, ffi::c_void};

#[cfg(any(feature = "clock-call32", feature = "clock-call64"))]
use crate::slot::Raw;

/// An object of the kernel.
pub type Object = *mut c_void;

/// The code of a task, and its argument.
pub type Entry = unsafe extern "C" fn(*mut c_void);

unsafe extern "C" {
    pub fn chrono_clock_now() -> u64;
    pub fn chrono_write(bytes: *const u8, count: usize);

    pub fn chrono_spawn(entry: Entry, argument: *mut c_void, priority: u8) -> bool;
    pub fn chrono_yield();
    pub fn chrono_delay_until(due: u64);
    pub fn chrono_switches() -> u32;
    pub fn chrono_semaphore(initial: u32) -> Object;
    pub fn chrono_take(semaphore: Object);
    pub fn chrono_give(semaphore: Object);
    pub fn chrono_give_from_handler(semaphore: Object);
}

/// Declares the functions of the optional groups, and makes the table of the addresses of each
/// group's first function.
macro_rules! groups {
    ($($group:literal $first:literal: {
        $(fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)+
    })+) => {
        unsafe extern "C" {
            $($(pub fn $name($($argument: $type),*) $(-> $result)?;)+)+
        }

        $($(global_asm!(concat!(".weak ", stringify!($name)));)+)+

        global_asm!(
            ".pushsection .data.rel.ro.chrono_groups,\"aw\"",
            ".balign 8",
            ".global chrono_groups",
            "chrono_groups:",
            $(concat!(address!(), " ", $first),)+
            ".popsection",
        );

        /// The names of the groups, in the order of the table.
        const GROUPS: [&str; [$($group),+].len()] = [$($group),+];
    };
}

/// The assembler's directive for an address.
#[cfg(target_pointer_width = "32")]
macro_rules! address {
    () => {
        ".word"
    };
}
#[cfg(target_pointer_width = "64")]
macro_rules! address {
    () => {
        ".quad"
    };
}

groups! {
    "messages" "chrono_queue": {
        fn chrono_queue(capacity: u32) -> Object;
        fn chrono_send(queue: Object, word: u32);
        fn chrono_receive(queue: Object) -> u32;
    }
    "mutexes" "chrono_mutex": {
        fn chrono_mutex(protocol: u32, ceiling: u8) -> Object;
        fn chrono_lock(mutex: Object);
        fn chrono_unlock(mutex: Object);
    }
    "interrupts" "chrono_attach": {
        fn chrono_attach(timer: bool) -> bool;
        fn chrono_raise();
        fn chrono_arm(due: u64);
    }
    "reaping" "chrono_reap": {
        fn chrono_reap() -> bool;
    }
    "processor_time" "chrono_processor_time": {
        fn chrono_processor_time() -> u64;
    }
    "log" "chrono_log": {
        fn chrono_log(round: u32, ticks: u64);
        fn chrono_logged() -> u64;
    }
    "ticks" "chrono_tick_after": {
        fn chrono_tick_after(time: u64) -> u64;
    }
    "report" "chrono_report": {
        fn chrono_report();
    }
}

unsafe extern "C" {
    static chrono_groups: [usize; GROUPS.len()];
}

/// Returns whether the port defines a group of functions. `false` for a name that is none.
pub fn has(group: &str) -> bool {
    GROUPS.iter().position(|name| *name == group).is_some_and(|place| {
        // SAFETY: the table above. A volatile read, because the linker decides the values.
        unsafe { (&raw const chrono_groups[place]).read_volatile() != 0 }
    })
}

#[cfg(feature = "pins")]
unsafe extern "C" {
    pub fn chrono_pin(pin: u8, high: bool);
}

/// Reads the clock for a mark.
#[cfg(feature = "clock-mcycle")]
#[inline(always)]
pub fn clock() -> u32 {
    let value: u32;
    // SAFETY: reads a counter.
    #[cfg(target_arch = "riscv32")]
    unsafe {
        core::arch::asm!("csrr {value}, mcycle", value = out(reg) value, options(nomem, nostack));
    }
    #[cfg(not(target_arch = "riscv32"))]
    compile_error!("only RISC-V of 32 bits has mcycle");
    value
}

/// Reads the clock for a mark.
#[cfg(any(feature = "clock-call32", feature = "clock-call64"))]
#[inline(always)]
pub fn clock() -> Raw {
    unsafe extern "C" {
        fn chrono_clock_read() -> Raw;
    }
    // SAFETY: the call has no conditions.
    unsafe { chrono_clock_read() }
}

/// Reads the clock for a mark.
#[cfg(not(any(feature = "clock-mcycle", feature = "clock-call32", feature = "clock-call64")))]
#[inline(always)]
pub fn clock() -> u32 {
    unsafe extern "C" {
        static chrono_counter: u32;
    }
    // SAFETY: a register that can always be read.
    unsafe { (&raw const chrono_counter).read_volatile() }
}
