//! The frequent cases of four calls, in assembly from the trap to the return. Three change the
//! process: a call of a server that waits, its answer, and a unit for a more urgent process. Two do
//! not: a unit for nobody, and a unit that is there.
//!
//! A message stays in `a1` to `a4`. The other process is the most urgent one afterwards, so
//! nothing is searched; and it waits in a call, so it continues behind that, whichever way it came
//! there. Every other case leaves for the functions of `object`, with all registers but `ra`, `gp`
//! and `t0` to `t6` as the process has passed them.
//!
//! # Conditions
//! - *call*: the handle names an endpoint of the family, whose server waits and is at least as
//!   urgent as the caller. If they are equals, nobody else of their level is ready.
//! - *answer*: the endpoint is the one that the process serves, and has `direct`: one caller, which
//!   has not raised the server. The caller is more urgent than all that is ready otherwise.
//! - *unit*: the handle names a semaphore of the family. The first of its waiters is alone at its
//!   level, and more urgent than all that is ready; or there is none.
//! - *take*: the handle names a semaphore of the family that has a unit.
//!
//! # Soundness
//! - The paths change the kernel's records as `object` does, with interrupts masked throughout:
//!   from the trap to `sret`. The offsets come from `offset_of!`.
//! - The running process is the head of its ring, and no ring above it has a task.
//! - SPP is clear: the trap has come from user mode, and no other trap follows before `sret`.

/// Saves the process, whose record is in `ra`, to continue behind its call.
macro_rules! save {
    () => {
        "csrr t0, sepc
        csrr t1, sscratch
        addi t0, t0, 4
        sd t0, 0(sp)
        sd t1, 8*2(sp)
        sd tp, 8*4(sp)
        ld t0, {ANSWER}(sp)
        sd s0, -8(sp)
        sd s1, -16(sp)
        sd t0, -24(sp)
        sd sp, 0(ra)"
    };
}

/// Counts a switch to the process in `t6`.
#[cfg(feature = "count")]
macro_rules! count {
    () => {
        "lw t0, {SWITCHES}(t6)
        addi t0, t0, 1
        sw t0, {SWITCHES}(t6)"
    };
}
#[cfg(not(feature = "count"))]
macro_rules! count {
    () => {
        "# {SWITCHES}"
    };
}

/// Makes the process in `t6` the head of its ring, and continues it behind its call, with 0 in `a0`
/// and a message in `a1` to `a4`.
macro_rules! direct {
    () => {
        concat!(
            "ld t1, {head}(t6)
            sd t6, 0(t1)
            sd t6, {CURRENT}(gp)\n",
            count!(),
            "
            ld sp, 0(t6)
            ld s0, -8(sp)
            ld s1, -16(sp)
            ld t0, {SPACE}(sp)
            ld t1, {ENTRIES}(sp)
            csrw satp, t0
            .if \\fence
            sfence.vma
            .endif
            ld t0, 0(sp)
            addi t1, t1, 1
            sd t1, {ENTRIES}(sp)
            csrw sepc, t0
            ld tp, 8*4(sp)
            csrw sscratch, sp
            ld sp, 8*2(sp)
            tandem_clear_temporaries
            .irp n, 10, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27
            li x\\n, 0
            .endr
            sret"
        )
    };
}

/// Finds the object that `a0` names, in `t1`, if it has the tag at `$tag` of the frame. Otherwise
/// leaves.
macro_rules! find {
    ($tag:literal) => {
        concat!(
            "slli t1, a0, 54
            ld t2, {OBJECTS}(sp)
            srli t1, t1, 54 - {OBJECT_SHIFT}
            add t1, t1, t2
            lwu t2, {NAME}(t1)
            lhu t3, {TAG}(t1)
            lhu t4, {",
            $tag,
            "}(sp)
            bne t2, a0, 4b
            bne t3, t4, 4b"
        )
    };
}

/// The paths, for one value of the assembler's parameter `fence`. They begin at `21`, `22`, `23`
/// and `30`, and leave for `4`.
macro_rules! fast_paths {
    () => {
        concat!(
            "21:\n",
            find!("ENDPOINT"),
            "
            ld t5, {LARGE}(t1)
            ld ra, {PROCESS}(sp)
            ld t6, {IDLE}(t5)
            lw t3, {bit}(ra)
            ld t4, {next}(ra)
            beqz t6, 4b
            lw t2, {bit}(t6)
            ld gp, {KERNEL}(sp)
            bltu t2, t3, 4b
            bne t4, ra, 24f
            25:
            sd zero, {IDLE}(t5)
            sd ra, {DIRECT}(t5)
            sd t5, {CALLS_OF}(ra)
            lw t0, {BITMAP}(gp)
            xor t0, t0, t3
            or t0, t0, t2
            sw t0, {BITMAP}(gp)\n",
            save!(),
            "\n",
            direct!(),
            "
            24:
            beq t2, t3, 4b
            ld t0, {head}(ra)
            ld t1, {prev}(ra)
            sd t4, 0(t0)
            sd ra, {next}(ra)
            sd ra, {prev}(ra)
            sd t1, {prev}(t4)
            sd t4, {next}(t1)
            li t3, 0
            j 25b
            22:
            ld t2, {HANDLE}(sp)
            ld t5, {ENDPOINT_OF}(sp)
            ld ra, {PROCESS}(sp)
            bne t2, a0, 4b
            ld t6, {DIRECT}(t5)
            ld gp, {KERNEL}(sp)
            lw t3, {bit}(ra)
            beqz t6, 4b
            ld t4, {next}(ra)
            lw t0, {BITMAP}(gp)
            lw t2, {bit}(t6)
            bne t4, ra, 4b
            xor t0, t0, t3
            bgeu t0, t2, 4b
            or t0, t0, t2
            sw t0, {BITMAP}(gp)
            sd zero, {DIRECT}(t5)
            sd ra, {IDLE}(t5)\n",
            save!(),
            "\n",
            direct!(),
            "
            23:\n",
            find!("SEMAPHORE"),
            "
            ld t5, {WAITERS}(t1)
            ld ra, {PROCESS}(sp)
            ld gp, {KERNEL}(sp)
            beqz t5, 28f
            ld t2, {NEXT_WAITER}(t5)
            ld t6, {WAITING}(t5)
            ld t4, {DOWN}(t5)
            bne t2, t5, 4b
            lw t2, {bit}(t6)
            lw t3, {BITMAP}(gp)
            sd zero, 8*10(sp)
            bgeu t3, t2, 4b
            sd t4, {WAITERS}(t1)
            sd t5, {STATE}(t5)
            or t3, t3, t2
            sw t3, {BITMAP}(gp)\n",
            save!(),
            "
            li a1, 0
            li a2, 0
            li a3, 0
            li a4, 0\n",
            direct!(),
            "
            28:
            lw t2, {COUNT_OF}(t1)
            addi t2, t2, 1
            29:
            sw t2, {COUNT_OF}(t1)
            csrr t0, sepc
            li a0, 0
            addi t0, t0, 4
            csrw sepc, t0
            csrrw sp, sscratch, sp
            li a6, 0
            li a7, 0
            tandem_clear_temporaries
            sret
            30:\n",
            find!("SEMAPHORE"),
            "
            lw t2, {COUNT_OF}(t1)
            beqz t2, 4b
            addi t2, t2, -1
            j 29b"
        )
    };
}
pub(super) use {count, direct, fast_paths, find, save};
