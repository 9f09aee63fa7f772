//! Critical sections.
//!
//! # Soundness
//! Masking interrupts and restoring their state accesses no memory. The functions are barriers to
//! the compiler, as calls across languages are.

#[unsafe(no_mangle)]
extern "C" fn tandem_enter() -> u32 {
    enter()
}

#[unsafe(no_mangle)]
extern "C" fn tandem_exit(state: u32) {
    exit(state);
}

/// Runs `body` with interrupts masked.
#[inline(always)]
pub fn masked<R>(body: impl FnOnce() -> R) -> R {
    let state = enter();
    let result = body();
    exit(state);
    result
}

/// Returns whether interrupts are on, for a thread that has been found by `thread`: on RV32, there
/// is none in a critical section.
#[inline(always)]
pub fn are_interrupts_on() -> bool {
    #[cfg(target_arch = "arm")]
    {
        let primask: u32;
        // SAFETY: reads a register.
        unsafe {
            core::arch::asm!(
                "mrs {}, primask", out(reg) primask, options(nomem, nostack, preserves_flags)
            );
        }
        primask == 0
    }
    #[cfg(target_arch = "riscv32")]
    true
}

/// Masks interrupts. Returns their state before.
#[cfg(target_arch = "arm")]
#[inline(always)]
fn enter() -> u32 {
    let primask: u32;
    // SAFETY: masks interrupts.
    unsafe {
        core::arch::asm!(
            "mrs {}, primask", "cpsid i", out(reg) primask, options(nostack, preserves_flags)
        );
    }
    primask
}

/// Restores the state that `enter` returned. A task that has become the most urgent meanwhile is
/// pending, and runs now.
#[cfg(target_arch = "arm")]
#[inline(always)]
fn exit(state: u32) {
    // SAFETY: restores the mask.
    unsafe {
        core::arch::asm!("msr primask, {}", in(reg) state, options(nostack, preserves_flags));
    }
}

/// Masks interrupts. Returns their state before.
#[cfg(target_arch = "riscv32")]
#[inline(always)]
fn enter() -> u32 {
    // SAFETY: `exit` releases it. With the kernel's implementation, the state is a `bool`.
    unsafe {
        core::mem::transmute::<critical_section::RestoreState, bool>(critical_section::acquire())
    }
    .into()
}

/// Restores the state that `enter` returned. A task that has become the most urgent meanwhile runs
/// now.
#[cfg(target_arch = "riscv32")]
#[inline(always)]
fn exit(state: u32) {
    // SAFETY: `state` is the result of the matching `enter`, of which it has the size and value.
    unsafe {
        let state = core::mem::transmute::<bool, critical_section::RestoreState>(state != 0);
        critical_section::release(state);
    }
}
