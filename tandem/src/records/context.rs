//! A suspended context of each processor, and the constants that its switch reads from records.

use crate::shared::Shared;

pub(crate) use chosen::*;

#[cfg(target_arch = "arm")]
mod chosen {
    use super::Shared;

    /// A suspended context. Field order is known to the assembly.
    #[repr(C)]
    pub(crate) struct Saved {
        /// The value that guards the low end of the stack, for the register of the guard.
        pub(crate) guard: Shared<u32>,
        /// The code that restores the context.
        pub(crate) resume: Shared<Option<unsafe extern "C" fn()>>,
        /// The stack pointer of the suspended context, 0 if there is none.
        pub(crate) stack: Shared<usize>,
    }

    impl Saved {
        pub(crate) const fn new() -> Self {
            Self { guard: Shared::new(0), resume: Shared::new(None), stack: Shared::new(0) }
        }
    }

    /// The constants that PendSV needs besides `bitmap`, `current` and `top`. Stored behind these in
    /// the kernel's record, so that one instruction loads all.
    #[cfg(not(thumb1))]
    pub(crate) type Literals = [usize; 7];

    /// ARMv6-M keeps its constants in the code.
    #[cfg(thumb1)]
    pub(crate) type Literals = [usize; 0];

    /// A request of a switch: the register and the value that make PendSV pending.
    #[derive(Clone, Copy)]
    pub(crate) struct Request {
        pub(crate) register: *mut u32,
        pub(crate) value: u32,
    }

    impl Request {
        pub(crate) const SWITCH: Self = Self { register: ICSR, value: PENDSVSET };
    }

    pub(crate) const ICSR: *mut u32 = 0xe000_ed04 as *mut u32;
    const PENDSVSET: u32 = 1 << 28;
}

#[cfg(riscv)]
mod chosen {
    use super::Shared;

    /// A suspended context. Field order is known to the assembly.
    #[repr(C)]
    pub(crate) struct Saved {
        /// The stack pointer of the suspended context, 0 if there is none.
        pub(crate) stack: Shared<usize>,
        /// The value by which the low end of the stack is guarded.
        pub(crate) guard: Shared<GuardValue>,
    }

    impl Saved {
        pub(crate) const fn new() -> Self {
            Self { stack: Shared::new(0), guard: Shared::new(0) }
        }
    }

    /// The value for `pmpaddr0`.
    #[cfg(target_arch = "riscv32")]
    pub(crate) type GuardValue = u32;

    /// The end of a stack.
    #[cfg(target_arch = "riscv64")]
    pub(crate) type GuardValue = usize;
}

#[cfg(not(any(target_arch = "arm", riscv)))]
mod chosen {
    use super::Shared;

    pub(crate) struct Saved(pub(crate) Shared<bool>);

    impl Saved {
        pub(crate) const fn new() -> Self {
            Self(Shared::new(false))
        }
    }
}
