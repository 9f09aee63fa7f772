//! The most frequent paths in builds with time slices: in assembly until a slice has been set, and
//! from then on in Rust, which begins and ends the slices.
//!
//! # Soundness
//! The two versions of a path change the kernel's record in the same way, by the contract of
//! `paths`, and each function here has the contract of both.

use super::{Mask, paths};
use crate::{
    kernel, mutex,
    records::{Lock, Task, WaitQueue, Waiter},
    slice, wait,
};
use core::ptr::NonNull;

/// Defines a function that calls the version in assembly or that in Rust.
macro_rules! either {
    ($($name:ident($($argument:ident: $type:ty),*) = $rust:path;)*) => {
        $(
            /// # Safety
            /// As for the function of this name in `paths`.
            #[inline(always)]
            pub(crate) unsafe fn $name($($argument: $type),*) {
                // SAFETY: both have this function's contract.
                unsafe {
                    if slice::is_set() { $rust($($argument),*) } else { paths::$name($($argument),*) }
                }
            }
        )*
    };
}

either! {
    block(me: Task) = kernel::block_here;
    give_way() = kernel::give_way;
    hand_over(queue: &WaitQueue, mask: Mask, first: NonNull<Waiter>) = wait::hand_over;
    pass_on(lock: &Lock, me: Task, first: NonNull<Waiter>, mask: Mask) = mutex::pass_on;
    wait_in(queue: &WaitQueue) = wait::wait_in;
    wake(task: Task, mask: Mask) = kernel::wake_here;
}
