#![doc = include_str!("../README.md")]
#![no_std]
#![warn(missing_docs)]

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

/// A mark's label and its note, in the form of SystemTap's `sdt.h`: three lengths, the owner, the
/// addresses of the mark, of a base and of a semaphore that are not used, the provider, the name, and
/// the argument.
#[cfg(is_marked)]
#[doc(hidden)]
#[macro_export]
macro_rules! __note {
    ($kind:literal, $name:ident, ($($option:ident)?), $argument:expr, $($operand:tt)*) => {
        // SAFETY: a label, a note outside of the program's memory, and at most a `nop`.
        #[allow(unused_unsafe)]
        unsafe {
            ::core::arch::asm!(
                "990:",
                $crate::__instruction!(),
                ".pushsection .note.stapsdt, \"\", %note",
                ".balign 4",
                ".4byte 992f-991f, 994f-993f, 3",
                "991: .asciz \"stapsdt\"",
                "992: .balign 4",
                concat!("993: ", $crate::__word!(), " 990b, 0, 0"),
                ".asciz \"chronoscope\"",
                concat!(".asciz \"", stringify!($name), "__", $kind, "\""),
                $argument,
                "994: .balign 4",
                ".popsection",
                $($operand)*
                options($($option,)? nostack, preserves_flags),
            )
        }
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
