//! The offsets in the kernel's record and in headers that the assembly uses.

use super::{Header, Kernel};

#[cfg(all(any(target_arch = "arm", not(any(events, feature = "time-slice"))), not(thumb1)))]
pub(crate) const BITMAP: usize = CURRENT - size_of::<usize>();
pub(crate) const CURRENT: usize = Kernel::CURRENT;
pub(crate) const TOP: usize = Kernel::TOP;
#[cfg(all(target_arch = "arm", not(thumb1)))]
pub(crate) const AGAIN: usize = core::mem::offset_of!(Header, again);
pub(crate) const POLL: usize = core::mem::offset_of!(Header, poll);
#[cfg(feature = "count")]
pub(crate) const SWITCHES: usize = core::mem::offset_of!(Header, switches);
#[cfg(not(feature = "count"))]
pub(crate) const SWITCHES: usize = 0;
const _: () = assert!(core::mem::offset_of!(Header, saved) == 0);
