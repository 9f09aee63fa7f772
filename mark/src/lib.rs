#![doc = include_str!("../README.md")]
#![no_std]
#![warn(missing_docs)]

#[cfg(feature = "board")]
pub mod board;
#[cfg(feature = "embassy")]
pub mod embassy;
#[cfg(feature = "rtt")]
pub mod rtt;

/// The start of the interval `name`, with an id where intervals of that name overlap.
///
/// `begin!(name)`, `begin!(name, id)`, each with `unordered` before the name: see the crate's page.
/// The id is a `usize`. Costs no instruction on a microcontroller, and a `nop` on Linux; works in
/// handlers and with interrupts masked.
#[macro_export]
macro_rules! begin {
    (unordered $name:ident $(, $id:expr)?) => { $crate::__mark!("begin", $name, (nomem), $($id)?) };
    ($name:ident $(, $id:expr)?) => { $crate::__mark!("begin", $name, (), $($id)?) };
}

/// The end of the interval `name`. The forms and the cost are as of [`begin!`].
#[macro_export]
macro_rules! end {
    (unordered $name:ident $(, $id:expr)?) => { $crate::__mark!("end", $name, (nomem), $($id)?) };
    ($name:ident $(, $id:expr)?) => { $crate::__mark!("end", $name, (), $($id)?) };
}

/// An instant: `instant!(name)` or `instant!(unordered name)`. The cost is the one of [`begin!`].
#[macro_export]
macro_rules! instant {
    (unordered $name:ident) => {
        $crate::__mark!("instant", $name, (nomem),)
    };
    ($name:ident) => {
        $crate::__mark!("instant", $name, (),)
    };
}

/// A number: `value!(name, number)`, with `unordered` before the name if wanted. The number is a
/// `usize`. The cost is the one of [`begin!`], and the instruction that loads the number.
#[macro_export]
macro_rules! value {
    (unordered $name:ident, $value:expr) => {
        $crate::__mark!("value", $name, (nomem), $value)
    };
    ($name:ident, $value:expr) => {
        $crate::__mark!("value", $name, (), $value)
    };
}

/// An interval `control` with nothing inside: its length is the cost of the measurement itself.
#[inline(never)]
pub fn control() {
    begin!(control);
    end!(control);
}

/// Calls a function or a closure 10 times, or another number of times, each between the marks of
/// `name`: `bench!(filter, || step(black_box(&input)))`, `bench!(filter, 1000, || …)`.
///
/// Its result counts as used; arguments that the compiler knows are better hidden by
/// [`black_box`](core::hint::black_box). The interval `bench_control` is the same with a closure
/// that does nothing: the part of each interval that is not of the call.
#[macro_export]
macro_rules! bench {
    ($name:ident, $call:expr) => {
        $crate::bench!($name, 10, $call)
    };
    ($name:ident, $rounds:expr, $call:expr) => {{
        // Functions of their own: the compiler prepares nothing for the first round alone.
        #[inline(never)]
        fn nothing() {
            $crate::begin!(bench_control);
            ::core::hint::black_box(());
            $crate::end!(bench_control);
        }
        #[inline(never)]
        fn round<R>(call: &mut impl FnMut() -> R) {
            $crate::begin!($name);
            ::core::hint::black_box(call());
            $crate::end!($name);
        }
        let mut call = $call;
        let rounds: u32 = $rounds;
        (0..rounds).for_each(|_| nothing());
        (0..rounds).for_each(|_| round(&mut call));
    }};
}

/// Installs the hooks of the kernel tandem, whose feature `trace` the program enables, once in a program: its
/// tasks' times on the processor and their waits from ready to running are series of `chronoscope
/// watch`, and each handler within `tandem::trace::interrupt` is an interval `interrupt`. Names are
/// given by `Board::name` of the feature `board`, with the `id` of a task's `Info`. The idle task is
/// no task. One mark an event, and none for the others.
#[macro_export]
macro_rules! trace_tandem {
    () => {
        const _: () = {
            struct Marks;
            // SAFETY: a mark calls nothing, and leaves interrupts as they were.
            unsafe impl ::tandem::trace::Tracer for Marks {
                #[inline(always)]
                fn event(event: ::tandem::trace::Event, task: ::tandem::Info) {
                    use ::tandem::trace::Event::{InterruptIn, InterruptOut, Ready, Run};
                    match event {
                        Run => {
                            let id = if task.is_alive() { task.id() } else { 0 };
                            $crate::value!(task_runs, id);
                        }
                        Ready => {
                            $crate::value!(task_ready, task.id());
                        }
                        InterruptIn => {
                            $crate::begin!(interrupt);
                        }
                        InterruptOut => {
                            $crate::end!(interrupt);
                        }
                        _ => {}
                    }
                }
            }
            ::tandem::trace_with!(Marks);
        };
    };
}

/// Ends the program by semihosting, with success: an emulator ends there, and a board halts in its
/// debugger. Without either it waits for ever, or has a fault.
#[cfg(all(
    target_os = "none",
    any(target_arch = "arm", target_arch = "riscv32", target_arch = "riscv64")
))]
pub fn end_of_bench() -> ! {
    const EXIT: usize = 0x18;
    const SUCCESS: usize = 0x20026;
    // SAFETY: the call of semihosting that ends a program. It reads no memory.
    #[cfg(target_arch = "arm")]
    unsafe {
        core::arch::asm!("bkpt 0xab", inout("r0") EXIT => _, in("r1") SUCCESS);
    }
    // SAFETY: likewise. The three instructions have four bytes each, in one line of 16.
    #[cfg(not(target_arch = "arm"))]
    unsafe {
        // A pointer to the two words of the reason on RV64.
        let reason: [usize; 2] = [SUCCESS, 0];
        let reason = if usize::BITS == 64 { reason.as_ptr().addr() } else { SUCCESS };
        core::arch::asm!(
            ".option push", ".option norvc", ".balign 16",
            "slli x0, x0, 0x1f", "ebreak", "srai x0, x0, 7",
            ".option pop",
            inout("a0") EXIT => _, in("a1") reason,
        );
    }
    loop {
        core::hint::spin_loop();
    }
}

/// Reads a mark's argument into a register, if it has one.
#[cfg(is_marked)]
#[doc(hidden)]
#[macro_export]
macro_rules! __mark {
    ($kind:literal, $name:ident, ($($option:ident)?),) => {
        $crate::__note!($kind, $name, ($($option)?), ".asciz \"\"",)
    };
    ($kind:literal, $name:ident, ($($option:ident)?), $argument:expr) => {{
        let argument: usize = $argument;
        $crate::__note!($kind, $name, ($($option)?), $crate::__argument!(), in(reg) argument,)
    }};
}

/// A mark's label, its instructions and its note.
#[cfg(all(is_marked, not(is_board)))]
#[doc(hidden)]
#[macro_export]
macro_rules! __note {
    ($kind:literal, $name:ident, ($($option:ident)?), $argument:expr, $($operand:tt)*) => {
        // SAFETY: a label, a note outside of the program's memory, and at most a `nop`.
        #[allow(unused_unsafe)]
        unsafe {
            ::core::arch::asm!(
                $crate::__text!($kind, $name, $crate::__instruction!(), $argument),
                $($operand)*
                options($($option,)? nostack, preserves_flags),
            )
        }
    };
}

/// A mark of a board's: its note, and the instructions that write a record. No mark is unordered,
/// since each writes memory.
#[cfg(is_board)]
#[doc(hidden)]
#[macro_export]
macro_rules! __note {
    ($kind:literal, $name:ident, ($($option:ident)?), $argument:expr,) => {
        $crate::__note!(@ $kind, $name, "", $argument,)
    };
    ($kind:literal, $name:ident, ($($option:ident)?), $argument:expr, $($operand:tt)+) => {
        $crate::__note!(@ $kind, $name, $crate::__store!(), $argument, $($operand)+)
    };
    (@ $kind:literal, $name:ident, $store:expr, $argument:expr, $($operand:tt)*) => {
        // SAFETY: a label, a note outside of the program's memory, and instructions that write the
        // ring alone, while interrupts are masked.
        #[allow(unused_unsafe)]
        unsafe {
            ::core::arch::asm!(
                $crate::__text!($kind, $name, $crate::__record!($store), $argument),
                $($operand)*
                ring = sym $crate::board::RING,
                bits = const $crate::board::BITS,
                place = out(reg) _,
                at = out(reg) _,
                mask = out(reg) _,
                head = out(reg) _,
                clock = out(reg) _,
                options(nostack, preserves_flags),
            )
        }
    };
}

/// A mark in assembly. The note has the form of SystemTap's `sdt.h`: three lengths, the owner, the
/// addresses of the mark, of a base and of a semaphore that are not used, the provider, the name,
/// and the argument.
#[cfg(is_marked)]
#[doc(hidden)]
#[macro_export]
macro_rules! __text {
    ($kind:literal, $name:ident, $instructions:expr, $argument:expr) => {
        concat!(
            "990:\n",
            $instructions,
            "\n.pushsection .note.stapsdt, \"\", %note\n",
            ".balign 4\n",
            ".4byte 992f-991f, 994f-993f, 3\n",
            "991: .asciz \"stapsdt\"\n",
            "992: .balign 4\n",
            "993: ",
            $crate::__word!(),
            " 990b, 0, 0\n",
            ".asciz \"chronoscope\"\n",
            ".asciz \"",
            stringify!($name),
            "__",
            $kind,
            "\"\n",
            $argument,
            "\n994: .balign 4\n",
            ".popsection"
        )
    };
}

/// The instructions of a board's mark: the place, interrupts masked, the number of records and the
/// clock, one record more, and its place in the ring.
#[cfg(all(is_board, target_arch = "arm"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __record {
    ($store:expr) => {
        concat!(
            "mov {place}, pc\n",
            "movw {at}, #:lower16:{ring}\n",
            "movt {at}, #:upper16:{ring}\n",
            "mrs {mask}, primask\n",
            "cpsid i\n",
            "ldrd {head}, {clock}, [{at}]\n",
            "ldr {clock}, [{clock}]\n",
            "add {head}, {head}, #1\n",
            "str {head}, [{at}]\n",
            "ubfx {head}, {head}, #0, #{bits}\n",
            "add {at}, {at}, {head}, lsl #4\n",
            "strd {place}, {clock}, [{at}, #16]\n",
            $store,
            "msr primask, {mask}"
        )
    };
}

/// The instruction that stores a mark's argument.
#[cfg(all(is_board, target_arch = "arm"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __store {
    () => {
        "str {0}, [{at}, #24]\n"
    };
}

/// The instructions of a board's mark.
#[cfg(all(is_board, not(target_arch = "arm")))]
#[doc(hidden)]
#[macro_export]
macro_rules! __record {
    ($store:expr) => {
        concat!(
            "auipc {place}, 0\n",
            "la {at}, {ring}\n",
            "csrrci {mask}, mstatus, 8\n",
            "lw {head}, 0({at})\n",
            "csrr {clock}, mcycle\n",
            "addi {head}, {head}, 1\n",
            "sw {head}, 0({at})\n",
            "andi {head}, {head}, (1 << {bits}) - 1\n",
            "slli {head}, {head}, 4\n",
            "add {at}, {at}, {head}\n",
            "sw {place}, 16({at})\n",
            "sw {clock}, 20({at})\n",
            $store,
            "andi {mask}, {mask}, 8\n",
            "csrs mstatus, {mask}"
        )
    };
}

/// The instruction that stores a mark's argument.
#[cfg(all(is_board, not(target_arch = "arm")))]
#[doc(hidden)]
#[macro_export]
macro_rules! __store {
    () => {
        "sw {0}, 24({at})\n"
    };
}

/// Without marks: the argument is named, so that it does not count as unused, and not evaluated.
#[cfg(not(is_marked))]
#[doc(hidden)]
#[macro_export]
macro_rules! __mark {
    ($kind:literal, $name:ident, ($($option:ident)?), $($argument:expr)?) => {
        $(let _ = || -> usize { $argument };)?
    };
}

/// The assembly's word for an address.
#[cfg(target_pointer_width = "64")]
#[doc(hidden)]
#[macro_export]
macro_rules! __word {
    () => {
        ".8byte"
    };
}

/// The assembly's word for an address.
#[cfg(not(target_pointer_width = "64"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __word {
    () => {
        ".4byte"
    };
}

/// The mark's instruction: a uprobe needs one of its own.
#[cfg(any(feature = "nop", target_os = "linux"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __instruction {
    () => {
        "nop"
    };
}

/// The mark's instruction: none.
#[cfg(not(any(feature = "nop", target_os = "linux")))]
#[doc(hidden)]
#[macro_export]
macro_rules! __instruction {
    () => {
        ""
    };
}

/// The note's argument: its size in bytes and its register, in the words of the target's assembler.
#[cfg(target_arch = "x86_64")]
#[doc(hidden)]
#[macro_export]
macro_rules! __argument {
    () => {
        ".asciz \"8@%{}\""
    };
}

/// The note's argument: its size in bytes and its register.
#[cfg(all(target_pointer_width = "64", not(target_arch = "x86_64")))]
#[doc(hidden)]
#[macro_export]
macro_rules! __argument {
    () => {
        ".asciz \"8@{}\""
    };
}

/// The note's argument: its size in bytes and its register.
#[cfg(target_pointer_width = "32")]
#[doc(hidden)]
#[macro_export]
macro_rules! __argument {
    () => {
        ".asciz \"4@{}\""
    };
}
