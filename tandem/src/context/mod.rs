//! Suspended contexts, the switch between them, and the guards of their stacks. Each processor has a
//! module of its own.

#[cfg_attr(target_arch = "arm", path = "cortex_m/mod.rs")]
#[cfg_attr(riscv, path = "riscv/mod.rs")]
#[cfg_attr(not(any(target_arch = "arm", riscv)), path = "host.rs")]
mod chosen;

pub(crate) use chosen::*;
