//! Counting what a whole processor does, by `perf_event_open`.
//!
//! The counter belongs to a processor, not to a task: one that follows tasks is saved and restored
//! at every switch and makes it 25 times slower, while this one costs nothing that can be measured.

use std::{
    ffi::{c_int, c_ulong},
    io,
    os::fd::{FromRawFd, OwnedFd},
};

use rustix::io::read;

/// `PERF_TYPE_HARDWARE` and `PERF_COUNT_HW_INSTRUCTIONS` of linux/perf_event.h.
pub const INSTRUCTIONS: (u32, u64) = (0, 1);

/// `PERF_FLAG_FD_CLOEXEC`.
const CLOSE_ON_EXEC: c_ulong = 8;

/// The first published version of `struct perf_event_attr`, which every kernel still takes.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    bp_type: u32,
    bp_addr: u64,
}

/// An event that a processor counts.
pub struct Counter(OwnedFd);

impl Counter {
    /// Counts the instructions of one processor, in user mode and in the kernel.
    ///
    /// # Errors
    /// Why they cannot be counted, and what would mend it.
    pub fn instructions(cpu: Option<usize>) -> Result<Self, &'static str> {
        let cpu = cpu.and_then(|cpu| c_int::try_from(cpu).ok());
        let cpu =
            cpu.ok_or("instructions are not counted: the case is not pinned to a processor (choose one with -a)")?;
        Self::open(INSTRUCTIONS, cpu).map_err(|error| match error.raw_os_error() {
            Some(libc::EACCES | libc::EPERM) => {
                "instructions are not counted: run as root, or with CAP_PERFMON, or set \
                 kernel.perf_event_paranoid to 0"
            }
            Some(libc::ENOSYS) => {
                "instructions are not counted: this kernel is built without perf events"
            }
            _ => "instructions are not counted: this machine has no counter for them",
        })
    }

    /// Counts an event of one processor, whatever task runs there.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn open((kind, config): (u32, u64), cpu: c_int) -> io::Result<Self> {
        let attributes = Attributes {
            kind,
            size: size_of::<Attributes>() as u32,
            config,
            ..Attributes::default()
        };
        let (every_task, no_group) = (-1, -1);
        // SAFETY: `attributes` is valid for the call and tells its own size; the other arguments
        // are numbers.
        let fd = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                &raw const attributes,
                every_task,
                cpu,
                no_group,
                CLOSE_ON_EXEC,
            )
        };
        let fd =
            c_int::try_from(fd).ok().filter(|&fd| fd >= 0).ok_or_else(io::Error::last_os_error)?;
        // SAFETY: the kernel has just handed out this descriptor, and nobody else knows it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// The count so far.
    pub fn read(&self) -> Option<u64> {
        let mut count = [0; 8];
        (read(&self.0, &mut count) == Ok(8)).then(|| u64::from_ne_bytes(count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Machines without a counter of instructions still count this: `PERF_TYPE_SOFTWARE`,
    /// `PERF_COUNT_SW_CPU_CLOCK`.
    const CPU_CLOCK: (u32, u64) = (1, 0);

    #[test]
    fn a_processor_wide_event_counts() {
        match Counter::open(CPU_CLOCK, 0) {
            Ok(counter) => {
                let before = counter.read().unwrap();
                assert!(counter.read().unwrap() > before);
            }
            // Unprivileged test runs: the kernel has read the attributes and refused the user, not
            // them.
            Err(error) => assert!(matches!(
                error.raw_os_error(),
                Some(libc::EACCES | libc::EPERM | libc::ENOSYS)
            )),
        }
    }

    #[test]
    fn a_case_that_is_not_pinned_is_told_so() {
        assert!(Counter::instructions(None).is_err_and(|reason| reason.contains("pinned")));
    }
}
