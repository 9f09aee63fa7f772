//! The requests of the program in user mode to the machine; the kernel's part of the image does
//! them.

/// The lines of interrupts.
pub const RAISED: usize = 0;
pub const TIMED: usize = 1;

/// The request to raise the software interrupt; the word is not used.
pub const RAISE: usize = 0;
/// The request for the time at which the last handler was entered; the word is not used.
pub const ENTERED: usize = 2;
/// The request to have the timer's interrupt when the clock reaches the word.
pub const ARM: usize = 1;
