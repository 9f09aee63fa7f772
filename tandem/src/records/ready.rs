//! The record of the ready set.

use super::{IDLE_LEVEL, Task};
use crate::shared::Shared;

/// The assembly knows the order of the fields: see `offset`.
#[repr(C)]
pub(crate) struct Ready {
    /// The head of each ring. The last is the idle task, which is in no ring: it is chosen when
    /// every ring is empty.
    pub(crate) heads: [Shared<Option<Task>>; IDLE_LEVEL as usize + 1],
    pub(crate) bitmap: Shared<u32>,
}

impl Ready {
    pub(crate) const fn new() -> Self {
        Self {
            heads: [const { Shared::new(None) }; IDLE_LEVEL as usize + 1],
            bitmap: Shared::new(0),
        }
    }
}
