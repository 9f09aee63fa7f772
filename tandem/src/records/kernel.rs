//! The kernel's own record.

#[cfg(target_arch = "arm")]
use super::Literals;
use super::{Header, Ready, Task};
use crate::shared::Shared;

/// The assembly knows the order of the fields: see `offset`.
#[repr(C)]
pub(crate) struct Kernel {
    pub(crate) ready: Ready,
    pub(crate) current: Shared<Option<Task>>,
    /// The task of the top poll on the shared stack. The idle task when there is no poll: it
    /// occupies the bottom of that stack.
    pub(crate) top: Shared<Option<Task>>,
    /// The most urgent task as left by a handler; the switch at the handler's end takes it from
    /// here.
    #[cfg(riscv)]
    pub(crate) wanted: Shared<Option<Task>>,
    /// The high end of the handlers' stack, below the frames of the main program. 0 before there
    /// are handlers.
    #[cfg(riscv)]
    pub(crate) handlers: Shared<usize>,
    #[cfg(target_arch = "arm")]
    pub(crate) literals: Shared<Literals>,
    pub(crate) idle: Header,
}

#[cfg_attr(layout, unsafe(export_name = "tandem_kernel"))]
pub(crate) static KERNEL: Kernel = Kernel::new();

impl Kernel {
    #[cfg(target_os = "none")]
    pub(crate) const CURRENT: usize = core::mem::offset_of!(Kernel, current);
    #[cfg(target_os = "none")]
    pub(crate) const TOP: usize = core::mem::offset_of!(Kernel, top);
    #[cfg(all(feature = "processes", target_arch = "riscv64"))]
    pub(crate) const BITMAP: usize =
        core::mem::offset_of!(Kernel, ready) + core::mem::offset_of!(Ready, bitmap);
    #[cfg(riscv)]
    pub(crate) const WANTED: usize = core::mem::offset_of!(Kernel, wanted);
    #[cfg(riscv)]
    pub(crate) const HANDLERS: usize = core::mem::offset_of!(Kernel, handlers);

    const fn new() -> Self {
        Self {
            ready: Ready::new(),
            current: Shared::new(None),
            top: Shared::new(None),
            #[cfg(riscv)]
            wanted: Shared::new(None),
            #[cfg(riscv)]
            handlers: Shared::new(0),
            #[cfg(target_arch = "arm")]
            literals: Shared::new([0; _]),
            idle: Header::new(),
        }
    }
}
