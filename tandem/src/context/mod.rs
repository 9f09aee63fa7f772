//! Suspended contexts, the switch between them, and the guards of their stacks. Each processor has a
//! module of its own.

#[cfg_attr(target_arch = "arm", path = "cortex_m/mod.rs")]
#[cfg_attr(riscv, path = "riscv/mod.rs")]
#[cfg_attr(not(any(target_arch = "arm", riscv)), path = "host.rs")]
mod chosen;

pub(crate) use chosen::*;

/// The fewest bytes of a stack. With them, a thread that captures nothing and makes no deep calls
/// survives an interrupt and a pre-emption, with the FPU in use where there is one; on the shared
/// stack, the idle task does. Polls need more.
pub const LEAST_STACK: usize = {
    /// The frames of the kernel's entry and of a body that calls little.
    const FRAMES: usize = 32;
    let least = (INTERRUPTED + FRAMES).next_multiple_of(8);
    if least > 128 { least } else { 128 }
};
