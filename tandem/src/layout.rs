//! The places of fields in the kernel's records, for the benchmark's code in assembly, which is
//! measured beside the kernel's own. The records are `tandem_kernel` and `tandem_timers`. No part of
//! the interface: it changes without notice.
#![allow(missing_docs)]

use crate::records::{Header, Waiter, offset};
use core::mem::offset_of;

pub use crate::{
    ceiling::layout as ceiling, event::layout as event, semaphore::layout as semaphore,
    time::layout as time,
};

/// In the kernel's record.
pub const CURRENT: usize = offset::CURRENT;
pub const BITMAP: usize = CURRENT - size_of::<usize>();

/// In a task's header.
pub mod header {
    use super::{Header, offset_of};

    /// The code that resumes the task; the stack pointer follows.
    pub const RESUME: usize = size_of::<usize>();
    pub const PREV: usize = offset_of!(Header, prev);
    pub const NEXT: usize = offset_of!(Header, next);
    pub const LEVEL: usize = offset_of!(Header, level);
    pub const BIT: usize = offset_of!(Header, bit);
    pub const FLOOR: usize = offset_of!(Header, floor);
    pub const WAITER: usize = offset_of!(Header, waiter);
}

/// In a waiter, whose first six fields are its queue, `STATE`, the next leader, the next of its
/// ring, its level and `TASK`.
pub mod waiter {
    use super::Waiter;

    pub const STATE: usize = Waiter::STATE;
    pub const TASK: usize = Waiter::TASK;
    /// The size of a waiter, a multiple of 8.
    pub const SIZE: usize = size_of::<Waiter>().next_multiple_of(8);
}
