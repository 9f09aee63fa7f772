//! The kernel's records: data and constructors alone. The modules above have the operations.

mod context;
mod kernel;
mod lock;
#[cfg(target_os = "none")]
pub(crate) mod offset;
mod ready;
mod task;
mod timer;
mod wait;

pub use self::task::{Info, Priority, StillAlive};
pub(crate) use self::{context::*, kernel::*, lock::*, ready::*, task::*, timer::*, wait::*};
