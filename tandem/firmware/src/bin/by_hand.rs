//! The rows that miss their goals, by hand: the least that the same work takes on this kernel's
//! records, in assembly that runs beside the kernel's own.
//!
//! Each path makes every test that decides whether its case is the frequent one, and every change
//! that the kernel makes then. A path for one row may be faster at the cost of others: it tests
//! first for its own case, and knows whether a handler or a thread runs it. In a rare case it leaves
//! the work to the kernel, or ends the program. Futures are polled as the compiler makes them.
//!
//! # Soundness
//! - The paths change the records as the kernel does, with interrupts masked. The offsets are the
//!   kernel's own.
//! - They are functions by the C calling convention. Those that switch keep the registers that the
//!   caller expects to keep in the context that they store, in the kernel's format.

#![no_std]
#![no_main]

// Some of it is the benchmark's alone.
#[allow(dead_code)]
#[path = "benchmark/measure.rs"]
mod measure;

use core::arch::{asm, naked_asm};
use measure::{
    AMONG, BACK, DIRECTOR, DONE, E1, E2, END, GIVE, HIGH, LOW, MAIN, ROUNDS, S, SHARED, SIGNAL,
    START, among_sleepers, coroutine, end, join, on_tick, start, take_median, take_sample, thread,
};
use tandem::{
    Ceiling, Event, Me, Priority, Semaphore,
    layout::{BITMAP, CURRENT, ceiling, event, header, semaphore, time, waiter},
};
use tandem_firmware::{
    board::{self, CLOCK, EXTENSION},
    println,
};

unsafe extern "C" {
    static tandem_kernel: u32;
    static tandem_timers: u32;
}

// The paths move neighbours in pairs, and know which fields are the first.
const _: () = {
    assert!(event::TASK == event::LISTENER + 4);
    assert!(semaphore::WAITERS == 0 && semaphore::COUNT == 4);
    assert!(time::RINGS == 0 && time::NEXT == time::TASK + 4);
    assert!(board::LONGEST == 1 << 26);
};

fn report(row: &str) {
    println!("{:<44} by hand {:>4}", row, take_median());
}

fn director(me: &Me) {
    to_coroutine(me, GIVE);
    report("handler -> higher coroutine (semaphore)");
    to_coroutine(me, SIGNAL);
    report("handler -> higher coroutine (event)");
    wake_equal(me);
    report("wake, coroutine -> coroutine, same priority");
    given_to_equal(me);
    report("semaphore given -> waiting equal");
    with_ceiling();
    report("Ceiling::with, uncontended");
    for (sleepers, before, delay, _) in AMONG.into_iter().filter(|(_, before, ..)| *before == 0) {
        among_sleepers(me, sleepers, before, true, |_, due| {
            // SAFETY: a thread's body, with interrupts on.
            unsafe {
                delay_by_hand(due);
                asm!("cpsie i");
            }
        });
        report(delay);
    }
    board::exit(true)
}

#[board::entry]
fn main() -> ! {
    board::set_up();
    board::enable_interrupt(GIVE);
    board::enable_interrupt(SIGNAL);
    tandem::start(&SHARED, || assert!(MAIN.spawn(DIRECTOR, "director", director).is_ok()))
}

tandem_firmware::alarm!(on_tick);
tandem_firmware::interrupts![on_give, on_signal];

/// A handler wakes a coroutine; the switch and the poll are the kernel's and the compiler's.
fn to_coroutine(me: &Me, number: usize) {
    coroutine(0, HIGH, async move {
        for _ in 0..ROUNDS {
            if number == GIVE {
                S.taken().await;
            } else {
                E1.signalled().await;
            }
            end();
        }
        DONE.give();
    });
    thread(1, LOW, move |_| {
        for _ in 0..ROUNDS {
            board::raise(number);
        }
    });
    join(me, 2);
}

/// Makes the task in r1 ready in a handler, if it is the most urgent: the end of two handlers, with
/// interrupts masked, which were on before.
macro_rules! wake_in_handler {
    () => {
        "ldr r2, ={kernel}
        ldrd r3, r12, [r1, #{level}] // and `bit`
        ldr r0, [r2, #{bitmap}]
        cmp r12, r0
        bls 99f // not the most urgent
        orr r0, r12
        str r0, [r2, #{bitmap}]
        str r1, [r2, r3, lsl #2]
        ldr r1, =0xe000ed04 // ICSR
        mov r3, #0x10000000 // PENDSVSET
        str r3, [r1]
        cpsie i
        bx lr
        99: udf #0"
    };
}

/// The beginning of two handlers: the mark, and the semaphore or event in r12. Interrupts are masked.
macro_rules! begin_handler {
    () => {
        "ldr r0, ={clock}
        ldr r2, ={start}
        ldr r12, ={object}
        ldr r1, [r0]
        str r1, [r2]
        mrs r3, primask
        cpsid i
        cbnz r3, 99f
        mrs r3, ipsr
        cbz r3, 99f"
    };
}

/// Gives a semaphore for which a coroutine waits.
#[unsafe(naked)]
extern "C" fn on_give() {
    naked_asm!(
        begin_handler!(),
        "ldr r2, [r12, #{waiters}]",
        "cbz r2, 99f",                 // none waits
        "ldrd r0, r1, [r2, #{state}]", // and the next
        "cbnz r0, 99f",                // it has equals
        "str r1, [r12, #{waiters}]",
        "str r2, [r2, #{state}]", // served
        "ldr r1, [r2, #{task}]",
        wake_in_handler!(),
        clock = const CLOCK,
        start = sym START,
        object = sym S,
        kernel = sym tandem_kernel,
        waiters = const semaphore::WAITERS,
        state = const waiter::STATE,
        task = const waiter::TASK,
        level = const header::LEVEL,
        bitmap = const BITMAP,
    )
}

/// Signals an event for which a coroutine waits.
#[unsafe(naked)]
extern "C" fn on_signal() {
    naked_asm!(
        begin_handler!(),
        "ldrd r0, r1, [r12, #{listener}]", // and its task
        "cbz r0, 99f",
        "movs r2, #1",
        "str r2, [r0]",
        "movs r2, #0",
        "str r2, [r12, #{listener}]",
        wake_in_handler!(),
        clock = const CLOCK,
        start = sym START,
        object = sym E1,
        kernel = sym tandem_kernel,
        listener = const event::LISTENER,
        level = const header::LEVEL,
        bitmap = const BITMAP,
    )
}

/// Two coroutines of one priority that wake each other, by [`signal_equal`].
fn wake_equal(me: &Me) {
    coroutine(0, LOW, async {
        for _ in 0..ROUNDS {
            E1.signalled().await;
            end();
            // SAFETY: this is thread mode, with interrupts on.
            unsafe { signal_equal(&E2) };
        }
        DONE.give();
    });
    coroutine(1, LOW, async {
        for _ in 0..ROUNDS {
            start();
            // SAFETY: as above.
            unsafe { signal_equal(&E1) };
            E2.signalled().await;
        }
        DONE.give();
    });
    join(me, 2);
}

/// Links the task in a register behind its equals, whose level is in another, which has the head
/// afterwards. Changes a third register.
macro_rules! join_ring {
    ($task:literal, $kernel:literal, $level:literal) => {
        concat!(
            "ldr ",
            $kernel,
            ", [",
            $kernel,
            ", ",
            $level,
            ", lsl #2]\n",
            "ldr ",
            $level,
            ", [",
            $task,
            ", #{next}]\n",
            "cmp ",
            $level,
            ", ",
            $task,
            "\n",
            "bne 99f\n", // ready already
            "cmp ",
            $kernel,
            ", ",
            $task,
            "\n",
            "beq 99f\n",
            "ldr ",
            $level,
            ", [",
            $kernel,
            ", #{prev}]\n",
            "strd ",
            $level,
            ", ",
            $kernel,
            ", [",
            $task,
            ", #{prev}]\n", // and `next`
            "str ",
            $task,
            ", [",
            $level,
            ", #{next}]\n",
            "str ",
            $task,
            ", [",
            $kernel,
            ", #{prev}]"
        )
    };
}

/// Signals flag 1 to a waiting coroutine whose equals are ready.
///
/// # Safety
/// The caller is in thread mode, with interrupts on.
#[unsafe(naked)]
unsafe extern "C" fn signal_equal(_: &Event) {
    naked_asm!(
        "mrs r3, primask",
        "cpsid i",
        "cbnz r3, 99f",
        "ldrd r1, r2, [r0, #{listener}]", // and its task
        "cbz r1, 99f",
        "mov r12, #1",
        "str r12, [r1]",
        "mov r12, #0",
        "str r12, [r0, #{listener}]",
        "ldr r0, ={kernel}",
        "ldrd r1, r12, [r2, #{level}]", // and `bit`
        "ldr r3, [r0, #{bitmap}]",
        "tst r3, r12",
        "beq 99f", // no equal is ready
        join_ring!("r2", "r0", "r1"),
        "cpsie i",
        "bx lr",
        "99: udf #0",
        kernel = sym tandem_kernel,
        listener = const event::LISTENER,
        level = const header::LEVEL,
        next = const header::NEXT,
        prev = const header::PREV,
        bitmap = const BITMAP,
    )
}

/// Two threads of one priority that hand each other a unit.
fn given_to_equal(me: &Me) {
    thread(0, LOW, |_| {
        for _ in 0..ROUNDS {
            // SAFETY: a thread's body, with interrupts on.
            unsafe { take_beside_equal(&S) };
            end();
            // SAFETY: as above.
            unsafe { give_to_equal(&BACK) };
        }
    });
    thread(1, LOW, |_| {
        for _ in 0..ROUNDS {
            start();
            // SAFETY: as above.
            unsafe {
                give_to_equal(&S);
                take_beside_equal(&BACK);
            }
        }
    });
    join(me, 2);
}

/// Gives a unit to a waiting thread whose equals are ready.
///
/// # Safety
/// The caller is a thread, with interrupts on.
#[unsafe(naked)]
unsafe extern "C" fn give_to_equal(_: &Semaphore) {
    naked_asm!(
        "mrs r3, primask",
        "cpsid i",
        "ldr r2, [r0, #{waiters}]",
        "cbnz r3, 99f",
        "cbz r2, 99f",
        "ldrd r1, r12, [r2, #{state}]", // and the next
        "cbnz r1, 99f",                 // it has equals
        "str r12, [r0, #{waiters}]",
        "str r2, [r2, #{state}]", // served
        "ldr r0, [r2, #{task}]",
        "ldr r2, ={kernel}",
        "ldrd r1, r12, [r0, #{level}]", // and `bit`
        "ldr r3, [r2, #{bitmap}]",
        "tst r3, r12",
        "beq 99f", // no equal is ready
        join_ring!("r0", "r2", "r1"),
        "cpsie i",
        "bx lr",
        "99: udf #0",
        kernel = sym tandem_kernel,
        waiters = const semaphore::WAITERS,
        state = const waiter::STATE,
        task = const waiter::TASK,
        level = const header::LEVEL,
        next = const header::NEXT,
        prev = const header::PREV,
        bitmap = const BITMAP,
    )
}

/// Waits for a unit, in a thread that has used the FPU and whose equals are ready.
///
/// # Safety
/// The caller is a thread, with interrupts on.
#[inline(always)]
unsafe fn take_beside_equal(semaphore: &Semaphore) {
    // SAFETY: this function's contract.
    unsafe {
        wait_beside_equal(semaphore);
        asm!("cpsie i");
    }
}

/// Does the work of [`take_beside_equal`]. Returns with interrupts masked.
///
/// # Safety
/// As there.
#[unsafe(naked)]
unsafe extern "C" fn wait_beside_equal(_: &Semaphore) {
    naked_asm!(
        ".fpu fpv4-sp-d16",
        "mrs r1, primask",
        "cpsid i",
        "ldrd r2, r3, [r0]", // waiters and count
        "cbnz r1, 98f",
        "cbnz r2, 98f",
        "cbnz r3, 98f",
        "push {{r3-r11, lr}}",
        "ldrd r4, r5, 9f",
        "ldr r10, [r4, #{current}]",
        "ldrd r9, r8, [r10, #{next}]", // and `level`
        "cmp r9, r10",
        "beq 98f", // no equal is ready
        "str r9, [r4, r8, lsl #2]",
        "ldr r12, [r10, #{prev}]",
        "strd r10, r10, [r10, #{prev}]", // and `next`
        "str r12, [r9, #{prev}]",
        "str r9, [r12, #{next}]",
        "mrs r6, control",
        "mrs r7, basepri",
        "rsbs r6, r7, r6, lsr #2",
        "bgt 97f",
        "98: udf #0", // BASEPRI is raised, or the FPU not in use
        "97:",
        "str r9, [r4, #{current}]",
        "vpush {{s16-s31}}",
        "ldr r6, =tandem_restore_with_fpu",
        "mov r7, sp",
        "strd r6, r7, [r10, #{resume}]",
        "subs r7, #{waiter_size}",
        "stm r7, {{r0, r2, r3, r7, r8, r10}}",
        "str r7, [r0]",
        "str r7, [r10, #{waiter}]",
        "ldm r9, {{r2, r3, r12}}",
        "str r2, [r5]",
        "mov sp, r12",
        "bx r3",
        ".p2align 2",
        "9: .word {kernel}, 0xe000ed9c", // MPU_RBAR
        kernel = sym tandem_kernel,
        current = const CURRENT,
        next = const header::NEXT,
        prev = const header::PREV,
        resume = const header::RESUME,
        waiter = const header::WAITER,
        waiter_size = const waiter::SIZE,
    )
}

fn with_ceiling() {
    static CEILING: Ceiling<u32> = Ceiling::new(Priority::HIGHEST, 0);
    for _ in 0..ROUNDS {
        // SAFETY: the caller is a thread, with interrupts on.
        unsafe { count_with_ceiling(&CEILING) };
        // The mark of the end is stored: take the sample.
        take_sample();
    }
}

/// Adds 1 to a value at its ceiling, from mark to mark.
///
/// # Safety
/// The caller is a thread, with interrupts on.
#[unsafe(naked)]
unsafe extern "C" fn count_with_ceiling(_: &Ceiling<u32>) {
    naked_asm!(
        "push {{r4-r11, lr}}",
        "ldr r11, ={clock}",
        "ldr r9, ={start}",
        "ldr r12, ={kernel}",
        "movs r10, #0",
        "ldr r1, [r11]",
        "str r1, [r9]",
        "mrs r1, primask",
        "cpsid i",
        "ldrd r2, r3, [r12, #{bitmap}]", // and `current`
        "ldr r4, [r0, #{free}]",
        "cbz r3, 98f", // not started
        "cmp r4, r2",
        "bhi 97f",
        "98: udf #0", // not the most urgent, or in use
        "97:",
        "ldrd r5, r6, [r3, #{next}]", // and `level`
        "ldr r7, [r3, #{bit}]",
        "cmp r5, r3",
        "bne 98b", // an equal is ready
        "clz r5, r4",
        "eor lr, r2, r7",
        "orr lr, r4",
        "str lr, [r12, #{bitmap}]",
        "strd r5, r4, [r3, #{level}]", // and `bit`
        "str r3, [r12, r5, lsl #2]",
        "rsb r5, r5, #32", // the rank
        "ldrb r9, [r3, #{floor}]",
        "strb r5, [r3, #{floor}]",
        "str r10, [r0, #{free}]",
        "msr primask, r1",
        "ldr r10, [r0, #{value}]",
        "add r10, #1",
        "str r10, [r0, #{value}]",
        "cpsid i",
        "str r4, [r0, #{free}]",
        "ldrb r10, [r3, #{floor}]",
        "cmp r10, r5",
        "bne 98b", // the level has been computed anew
        "ldr r10, [r12, #{bitmap}]",
        "cmp r10, lr",
        "bne 98b", // another task has become ready
        "ldr r10, [r3, #{next}]",
        "cmp r10, r3",
        "bne 98b",
        "str r2, [r12, #{bitmap}]",
        "strd r6, r7, [r3, #{level}]",
        "str r3, [r12, r6, lsl #2]",
        "strb r9, [r3, #{floor}]",
        "msr primask, r1",
        "ldr r1, [r11]",
        "ldr r9, ={end}",
        "str r1, [r9]",
        "pop {{r4-r11, pc}}",
        clock = const CLOCK,
        start = sym START,
        end = sym END,
        kernel = sym tandem_kernel,
        free = const ceiling::FREE,
        value = const ceiling::VALUE,
        bit = const header::BIT,
        floor = const header::FLOOR,
        level = const header::LEVEL,
        next = const header::NEXT,
        bitmap = const BITMAP,
    )
}

/// See `Clock::arm_from`.
const SOONEST: usize = board::SOONEST as usize;
const RATIO: usize = board::RATIO as usize;

/// A thread's delay by the kernel.
extern "C" fn delay(due: u64) {
    if let Some(me) = Me::current() {
        me.delay_until(due);
    }
}

/// The bytes of the registers s16 to s31.
const FPU: usize = 64;

/// Blocks the thread until a time that is before all timers' times, and less than the longest alarm
/// ahead. Its timer is below the context that it stores. In other cases the kernel's.
///
/// # Safety
/// The caller is a thread that has used the FPU, with interrupts on. They may be masked on return.
#[unsafe(naked)]
unsafe extern "C" fn delay_by_hand(_: u64) {
    naked_asm!(
        ".fpu fpv4-sp-d16",
        "push {{r3-r11, lr}}",
        "mrs r2, primask",
        "cpsid i",
        "cmp r2, #0",
        "bne 98f",
        "ldr r8, ={timers}",
        "ldr r7, ={extension}",
        "ldr r6, ={clock}",
        "ldrd r2, r3, [r8, #{armed}]",
        "subs r2, r0, r2",
        "sbcs r3, r1, r3",
        "bhs 98f", // not the first
        "ldr r4, [r6]",
        "ldrd r2, r3, [r7]", // high, last
        "cmp r4, r3",
        "bcc 98f", // the clock's lower half has wrapped
        "str r4, [r7, #4]",
        "subs r4, r0, r4", // the time left
        "sbcs r5, r1, r2",
        "bne 98f",
        "subs r2, r4, #1",
        "lsrs r2, #26",
        "bne 98f", // longer than the alarm, or past
        "strd r0, r1, [r8, #{armed}]",
        "ldr r2, ={ratio}",
        "umull r2, r4, r4, r2",
        "adds r4, #{soonest}",
        "ldr r2, =0xe000e010", // SYST_CSR
        "str r4, [r2, #4]",
        "str r4, [r2, #8]",
        "movs r4, #7",
        "str r4, [r2]",
        "cpsie i",
        "cpsid i",
        "ldrd r2, r3, [r8, #{armed}]",
        "subs r2, r0, r2",
        "sbcs r3, r1, r3",
        "bcc 98f", // the alarm has come
        "ldrd r2, r3, [r8, #{base}]",
        "eors r3, r1",
        "eor r2, r0",
        "orr r2, #3",
        "it ne",
        "mvnne r2, #0",
        "clz r2, r2",
        "rsb r2, r2, #31",
        "ldr r3, [r8, #{occupied}]",
        "lsls r4, r3, r2",
        "bpl 97f",
        "98:", // the kernel's
        "cpsie i",
        "pop {{r3-r11, lr}}",
        "b {kernels}",
        "97:",
        "ldrd r4, r5, 9f",
        "sub r11, sp, #{below}",
        "strd r0, r1, [r11, #{due}]",
        "strb r2, [r11, #{place}]",
        "str r11, [r11, #{next}]",
        "str r11, [r11, #{prev}]",
        "str r11, [r8, r2, lsl #2]",
        "mov r0, #0x80000000",
        "lsr r0, r2",
        "orrs r3, r0",
        "str r3, [r8, #{occupied}]",
        "ldrd r1, r10, [r4, #{bitmap}]", // and `current`
        "str r10, [r11, #{task}]",
        "movs r3, #0",
        "str r3, [r10, #{waiter}]",
        "ldr r9, [r10, #{next_task}]",
        "cmp r9, r10",
        "bne 96f", // an equal is ready
        "ldr r12, [r10, #{bit}]",
        "bic r1, r12",
        "clz r12, r1",
        "ldr r9, [r4, r12, lsl #2]",
        "mrs r6, control",
        "mrs r3, basepri",
        "rsbs r6, r3, r6, lsr #2",
        "ble 96f", // BASEPRI is raised, or the FPU not in use
        "strd r1, r9, [r4, #{bitmap}]",
        "vpush {{s16-s31}}",
        "ldr r6, =tandem_restore_with_fpu",
        "mov r7, sp",
        "strd r6, r7, [r10, #{resume}]",
        "ldm r9, {{r2, r3, r12}}",
        "str r2, [r5]",
        "mov sp, r12",
        "bx r3",
        "96: udf #0",
        ".p2align 2",
        "9: .word {kernel}, 0xe000ed9c", // MPU_RBAR
        clock = const CLOCK,
        extension = sym EXTENSION,
        timers = sym tandem_timers,
        kernel = sym tandem_kernel,
        kernels = sym delay,
        armed = const time::ARMED,
        base = const time::BASE,
        occupied = const time::OCCUPIED,
        below = const FPU + time::SIZE,
        due = const time::DUE,
        place = const time::PLACE,
        task = const time::TASK,
        next = const time::NEXT,
        prev = const time::PREV,
        bit = const header::BIT,
        next_task = const header::NEXT,
        resume = const header::RESUME,
        waiter = const header::WAITER,
        bitmap = const BITMAP,
        ratio = const RATIO,
        soonest = const SOONEST,
    )
}
