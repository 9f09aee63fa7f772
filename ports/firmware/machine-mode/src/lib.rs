//! The part of an image of RV64 that runs in machine mode, on QEMU's `virt` without other firmware
//! (`-bios none`). It starts the image's `_start` in supervisor mode, with every exception and
//! interrupt delegated and the counters readable, and answers one call of RISC-V's SBI.
//!
//! # The call
//! [`set_timer`] is the call of the extension TIME. Other calls return "not supported", as the
//! specification says. The supervisor's timer interrupt is pending from the time that was set until
//! the next call. `virt` of QEMU has the extension Sstc, which needs no call, but other processors,
//! CVA6 among them, do not.
//!
//! # Use
//! An image includes `machine-mode.x` in its linker script and begins its own memory at 0x80001000.
//! It names this crate by `use chronoscope_machine_mode as _`, or calls [`set_timer`].
//!
//! # Cost
//! A call takes 24 instructions after `ecall`. When the timer is due, 12 precede the entry of the
//! supervisor's trap. Nothing else of an image's run is in machine mode.
//!
//! # Soundness
//! The code uses no stack: it keeps one register in a word of its own page. Interrupts are masked
//! in machine mode while it runs. An exception that is not delegated ends the emulation with
//! status 1.

#![no_std]

#[cfg(target_arch = "riscv64")]
mod chosen {
    use core::arch::{asm, global_asm};

    /// The number of SBI's extension TIME.
    const TIME: usize = 0x5449_4d45;

    /// Has the supervisor's timer interrupt come when the machine's timer has reached `due`, in
    /// ticks of `mtime`, and not before.
    #[inline(always)]
    pub fn set_timer(due: u64) {
        // SAFETY: the call changes a0 and a1 only.
        unsafe {
            asm!(
                "ecall", inlateout("a0") due => _, out("a1") _, in("a6") 0, in("a7") TIME,
                options(nostack, preserves_flags)
            );
        }
    }

    // 0x0200_4000 is `mtimecmp`, 0x0010_0000 the device that ends the emulation.
    global_asm!(
        ".pushsection .machine_mode, \"awx\"",
        ".global machine_mode_start",
        "machine_mode_start:",
        "lla t0, 9f",
        "csrw mtvec, t0",
        "lla t0, 8f",
        "csrw mscratch, t0",
        "li t0, -1", // all memory is accessible to all modes
        "csrw pmpaddr0, t0",
        "li t0, 0x1f",
        "csrw pmpcfg0, t0",
        "li t0, 0xb1ff", // all exceptions but calls from supervisor and machine mode
        "csrw medeleg, t0",
        "li t0, 0x222",
        "csrw mideleg, t0",
        "li t0, 7",
        "csrw mcounteren, t0",
        "csrw scounteren, t0",
        "li t0, 3 << 11",
        "csrc mstatus, t0",
        "li t0, 1 << 11", // MPP: supervisor mode
        "csrs mstatus, t0",
        "lla t0, _start",
        "csrw mepc, t0",
        "mret",
        ".balign 8",
        "8: .dword 0", // t0 of the interrupted code
        ".balign 4",
        "9:",
        "csrrw sp, mscratch, sp",
        "sd t0, 0(sp)",
        "csrr t0, mcause",
        "bltz t0, 3f",
        "addi t0, t0, -9", // a call from supervisor mode
        "bnez t0, 5f",
        "csrr t0, mepc",
        "addi t0, t0, 4",
        "csrw mepc, t0",
        "li a1, 0",
        "li t0, {TIME}",
        "bne a7, t0, 4f",
        "bnez a6, 4f",
        "li t0, 0x02004000",
        "sd a0, 0(t0)",
        "li a0, 0",
        "li t0, 1 << 5", // STIP
        "csrc mip, t0",
        "li t0, 1 << 7", // MTIE
        "csrs mie, t0",
        "2:",
        "ld t0, 0(sp)",
        "csrrw sp, mscratch, sp",
        "mret",
        "3:", // the timer, the only interrupt that is enabled here
        "li t0, 1 << 7",
        "csrc mie, t0",
        "li t0, 1 << 5",
        "csrs mip, t0",
        "j 2b",
        "4:",
        "li a0, -2", // not supported
        "j 2b",
        "5:",
        "li t0, 0x13333", // failure, status 1
        "lui sp, 0x100",
        "sw t0, 0(sp)",
        "j 5b",
        ".popsection",
        TIME = const TIME,
    );
}
#[cfg(target_arch = "riscv64")]
pub use chosen::set_timer;
