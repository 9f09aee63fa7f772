//! Hardware counters of a whole processor, by `perf_event_open`.
//!
//! The counter belongs to a processor, not to a task. A counter of a task is saved and restored at
//! every switch, which makes the switch 25 times slower; this one has no measurable cost.

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

/// The first published version of `struct perf_event_attr`, which every kernel still accepts.
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
    /// A message with the reason and the remedy.
    pub fn instructions(cpu: Option<usize>) -> Result<Self, &'static str> {
        let cpu = cpu.and_then(|cpu| c_int::try_from(cpu).ok());
        let cpu = cpu.ok_or(
            "instructions are not counted: the case is not pinned to a processor (choose \
                       one with -a)",
        )?;
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

    /// Counts an event of one processor in all tasks.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn open((kind, config): (u32, u64), cpu: c_int) -> io::Result<Self> {
        let attributes = Attributes {
            kind,
            size: size_of::<Attributes>() as u32,
            config,
            ..Attributes::default()
        };
        let (every_task, no_group) = (-1, -1);
        // SAFETY: `attributes` is valid for the call and holds its size; the other arguments are
        // numbers.
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
        // SAFETY: the kernel has just created this descriptor, which has no other owner.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Returns the current count; `None` if the read fails.
    pub fn read(&self) -> Option<u64> {
        let mut count = [0; 8];
        (read(&self.0, &mut count) == Ok(8)).then(|| u64::from_ne_bytes(count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `PERF_TYPE_SOFTWARE` and `PERF_COUNT_SW_CPU_CLOCK`, available without a hardware counter.
    const CPU_CLOCK: (u32, u64) = (1, 0);

    #[test]
    fn a_processor_wide_event_counts() {
        match Counter::open(CPU_CLOCK, 0) {
            Ok(counter) => {
                let before = counter.read().unwrap();
                assert!(counter.read().unwrap() > before);
            }
            // Without privileges the kernel refuses the user after it has accepted the attributes.
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
