//! Processes: tasks in user mode, each with an address space of its own, under the same priority
//! order as threads and coroutines. For RV64 with Sv39, with the feature `processes`.
//!
//! A process is a thread of the kernel that spends its time in user mode. Its program is an ELF
//! image whose pages are mapped at the same addresses in every process; its stack is a page of its
//! own, also at the same address. It calls the kernel by `ecall`; the crate `tandem-user` has a
//! function for each call. `docs/processes.md` describes the calls.
//!
//! # Families
//! A process belongs to a family: it, and the processes that it spawns. The first family can spawn
//! a process apart, which founds another. A family shares its objects (semaphores, channels,
//! endpoints, mutexes), and the first family a region of memory, the arena. It has a limit of
//! processes and of objects, and a highest priority. So a process can harm its own family only.
//!
//! # Modules
//! From below: `table` and `handle` are page tables and handles as data, tested on the host, `abi` the
//! numbers that programs meet, `fast` the assembly of four frequent calls. `space` makes address spaces
//! and copies from them, `records` has processes, objects and the frame, `object` the operations of
//! objects, `coroutines` the page by which coroutines of processes are under the same order. `life` is
//! the beginning and the end of a process, `line` interrupts of processes, `call` the system calls,
//! `entry` the assembly at the border.
//!
//! # Soundness
//! - The kernel never follows an address of a process's. [`space`] translates it by the process's
//!   own tables, and accesses the page at its physical address, which is mapped for the kernel at
//!   the same number. SUM is never set, so an access by mistake is a fault.
//! - Everything that a process passes is a number until it has been compared: a handle with its
//!   place and the caller's family, a priority with the family's highest, a length with a bound.
//! - The page that a process can write and that outlives it, its stack, is cleared before the next
//!   process has it. The arena is shared on purpose.
//! - No page is writable and executable, in either mode: `table::leaf` asserts it, and all tables
//!   are made by it.

#[cfg(any(test, target_arch = "riscv64"))]
mod handle;
#[cfg(any(test, target_arch = "riscv64"))]
mod table;

#[cfg(all(target_os = "none", target_arch = "riscv64", feature = "time-slice"))]
compile_error!("the feature `processes` excludes `time-slice`: a system call begins no slice");

#[cfg(all(target_os = "none", target_arch = "riscv64"))]
mod abi;
#[cfg(all(target_os = "none", target_arch = "riscv64"))]
mod call;
#[cfg(all(target_os = "none", target_arch = "riscv64"))]
mod coroutines;
#[cfg(all(target_os = "none", target_arch = "riscv64"))]
mod entry;
#[cfg(all(target_os = "none", target_arch = "riscv64", not(any(events, feature = "time-slice"))))]
mod fast;
#[cfg(all(target_os = "none", target_arch = "riscv64"))]
mod life;
#[cfg(all(target_os = "none", target_arch = "riscv64"))]
mod line;
#[cfg(all(target_os = "none", target_arch = "riscv64"))]
mod object;
#[cfg(all(target_os = "none", target_arch = "riscv64"))]
mod records;
#[cfg(all(target_os = "none", target_arch = "riscv64"))]
mod space;

#[cfg(all(target_os = "none", target_arch = "riscv64"))]
pub use self::{
    life::{Cause, Ended, wait_for_first},
    line::rise,
    space::{Memory, Program},
};

#[cfg(all(target_os = "none", target_arch = "riscv64"))]
mod board {
    use super::{Ended, Memory, Program, life, space};
    use crate::{me::Me, records::StillAlive};

    /// The parts that the program gives the kernel.
    pub trait Host {
        /// Writes bytes for a process, in the order of the calls.
        fn write(bytes: &[u8]);
        /// Receives the end of each process that ended otherwise than by its own call.
        fn report(end: &Ended);
        /// Does what a process of the first family asks of the machine, with a word, and returns the
        /// answer; `None` refuses it. Interrupts are on, and the process waits. A program that gives
        /// processes no machine leaves this out.
        fn device(_request: usize, _word: usize) -> Option<usize> {
            None
        }
    }

    /// Starts the first process: turns on the page tables, and runs the program's entry with
    /// `request` at the beginning of the arena, whose address and length are its arguments.
    ///
    /// The first process has 32 KiB of stack; processes that it spawns have 4 KiB.
    ///
    /// # Errors
    /// If it has been called before; nothing changes then.
    ///
    /// # Panics
    /// If the program is no ELF image of the form that [`Program`] describes, the memory does not
    /// suffice for one process, or `asids` is set and the core has too few ASIDs for all processes.
    pub fn start<H: Host>(
        _: &Me,
        program: &Program,
        memory: Memory,
        asids: bool,
        request: &[u8],
    ) -> Result<(), StillAlive> {
        life::set_host(H::write, H::report, H::device)?;
        let entry = space::set_up(program, memory, asids);
        life::start_first(entry, request);
        Ok(())
    }
}
#[cfg(all(target_os = "none", target_arch = "riscv64"))]
pub use board::{Host, start};
