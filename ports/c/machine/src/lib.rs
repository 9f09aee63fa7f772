//! The machines of this workspace for kernels written in C: `include/chronoscope_machine.h`, and
//! the machine's functions of `chronoscope.h`.
//!
//! An image links this crate and C code with a `main`, which the chip's start-up calls.

#![no_std]

use core::{cell::Cell, ffi::c_char, slice, str};

use board::{alarm, clock, host, interrupts};
use chronoscope_suite::{kernel::Source, trial::Sink, wire::Domain};

unsafe extern "C" {
    safe fn machine_tick();
}

#[unsafe(no_mangle)]
extern "C" fn machine_start(level: u8) {
    board::start_devices();
    set_levels(level);
}

#[cfg(target_arch = "arm")]
fn set_levels(level: u8) {
    use board::lines::{Line, set_urgency};
    set_urgency(Line::Software, level);
    set_urgency(Line::Timer, level);
    set_urgency(Line::Alarm, level + 1);
}

/// The interrupts of rv32 have one level.
#[cfg(target_arch = "riscv32")]
fn set_levels(_level: u8) {}

#[cfg(target_arch = "arm")]
mod tick {
    use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

    use super::{alarm, machine_tick};

    /// The kernel has ticks. Otherwise each alarm is one that the kernel has set.
    static TICKS: AtomicBool = AtomicBool::new(false);

    #[unsafe(no_mangle)]
    extern "C" fn machine_tick_every(ticks: u32) {
        TICKS.store(true, Relaxed);
        alarm::KERNEL.every(ticks);
    }

    #[unsafe(no_mangle)]
    extern "C" fn machine_alarm(due: u64) {
        alarm::KERNEL.set(due);
    }

    /// The handler of the kernel's alarm, which fires again by itself.
    #[unsafe(no_mangle)]
    extern "C" fn ALARM() {
        if !TICKS.load(Relaxed) {
            alarm::KERNEL.stop();
        }
        machine_tick();
    }
}

/// The alarm of rv32 fires once: its handler sets it again.
#[cfg(target_arch = "riscv32")]
mod tick {
    use core::cell::Cell;

    use super::{alarm, clock, machine_tick};

    struct Tick {
        period: Cell<u32>,
        next: Cell<u64>,
    }

    // SAFETY: there is one processor. The director writes the cells before it sets the alarm, and
    // afterwards only the alarm's handler uses them.
    unsafe impl Sync for Tick {}

    static TICK: Tick = Tick { period: Cell::new(0), next: Cell::new(0) };

    impl Tick {
        fn advance(&self, from: u64) {
            self.next.set(from + u64::from(self.period.get()));
            alarm::KERNEL.set(self.next.get());
        }
    }

    #[unsafe(no_mangle)]
    extern "C" fn machine_tick_every(ticks: u32) {
        TICK.period.set(ticks);
        TICK.advance(clock::now());
    }

    /// The handler of the kernel's alarm.
    #[unsafe(no_mangle)]
    extern "C" fn ALARM() {
        // The test of the alarm at the start leaves an interrupt pending.
        if TICK.period.get() != 0 {
            TICK.advance(TICK.next.get());
            machine_tick();
        }
    }
}

/// The text of the request and its zero byte.
struct Request(Cell<[u8; size_of::<host::Buffer>() + 1]>);

// SAFETY: only the director uses it.
unsafe impl Sync for Request {}

static REQUEST: Request = Request(Cell::new([0; size_of::<host::Buffer>() + 1]));

#[unsafe(no_mangle)]
extern "C" fn machine_request() -> *const c_char {
    let mut buffer = [0; size_of::<host::Buffer>()];
    let text = host::request(&mut buffer);
    let mut request = [0; size_of::<host::Buffer>() + 1];
    request[..text.len()].copy_from_slice(text.as_bytes());
    REQUEST.0.set(request);
    REQUEST.0.as_ptr().cast()
}

#[unsafe(no_mangle)]
extern "C" fn machine_domain() -> u32 {
    match clock::domain() {
        Domain::Wall => 0,
        Domain::Instructions => 1,
        Domain::Cycles => 2,
    }
}

#[unsafe(no_mangle)]
extern "C" fn machine_hertz() -> u64 {
    clock::hertz()
}

#[unsafe(no_mangle)]
extern "C" fn machine_sleep() {
    board::wfi();
}

#[unsafe(no_mangle)]
extern "C" fn machine_exit() -> ! {
    host::exit()
}

#[unsafe(no_mangle)]
extern "C" fn chrono_clock_now() -> u64 {
    clock::now()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn chrono_write(bytes: *const u8, count: usize) {
    // SAFETY: the caller hands over that many bytes.
    host::Output::stream().write(unsafe { slice::from_raw_parts(bytes, count) });
}

#[unsafe(no_mangle)]
unsafe extern "C" fn chrono_fail(complaint: *const c_char, length: usize) -> ! {
    // SAFETY: the caller hands over that many bytes of text.
    let complaint = unsafe { slice::from_raw_parts(complaint.cast::<u8>(), length) };
    host::fail(format_args!("{}", str::from_utf8(complaint).unwrap_or("the kernel failed")))
}

#[unsafe(no_mangle)]
extern "C" fn machine_attach(timer: bool) -> bool {
    let source = if timer { Source::Timer } else { Source::Software };
    interrupts::attach(source, chronoscope_c::handler(timer)).is_ok()
}

/// Raises the software interrupt like `interrupts::raise`, without the frame that the compiler would
/// make for a call from C. The frame's instructions would be part of every figure of `interrupt`.
#[cfg(target_arch = "arm")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
extern "C" fn machine_raise() {
    /// The line's register and bit among those that make interrupts pending.
    const LINE: usize = board::lines::Line::Software as usize;
    const SET_PENDING: usize = 0xE000_E200 + 4 * (LINE / 32);
    core::arch::naked_asm!(
        "movw r0, {low}",
        "mov.w r1, {bit}",
        "movt r0, {high}",
        "str r1, [r0]",
        "dsb",
        "isb",
        "bx lr",
        low = const SET_PENDING & 0xffff,
        high = const SET_PENDING >> 16,
        bit = const 1 << (LINE % 32),
    )
}

#[cfg(target_arch = "riscv32")]
#[unsafe(no_mangle)]
extern "C" fn machine_raise() {
    interrupts::raise();
}

#[unsafe(no_mangle)]
extern "C" fn machine_arm(due: u64) {
    alarm::EXPERIMENT.set(due);
}

#[cfg(feature = "pins")]
#[unsafe(no_mangle)]
extern "C" fn chrono_pin(pin: u8, high: bool) {
    board::pins::drive(pin, high);
}
