//! SCHED_DEADLINE: reservations of processor time, and the count of their overruns.

use std::{
    io,
    ptr::{self, null_mut},
    sync::atomic::{AtomicPtr, AtomicU32, Ordering::Relaxed},
};

use chronoscope_suite::{Reason, Refusal};

use crate::class::class_of_caller;

/// Processor time for a task: `runtime_us` in each period, by `deadline_us` after its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reservation {
    runtime_us: u32,
    deadline_us: u32,
    period_us: u32,
}

/// The kernel's `struct sched_attr`, in its first version.
#[repr(C)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime_ns: u64,
    deadline_ns: u64,
    period_ns: u64,
}

/// Asks the kernel for SIGXCPU when a task overruns its runtime: `SCHED_FLAG_DL_OVERRUN`.
const REPORT_OVERRUNS: u64 = 4;

impl Reservation {
    /// Reads `RUNTIME/DEADLINE/PERIOD`, in whole µs, each at most as long as the next.
    pub fn parse(text: &str) -> Option<Self> {
        let numbers = text.split('/').map(|number| {
            number.bytes().all(|byte| byte.is_ascii_digit()).then(|| number.parse().ok()).flatten()
        });
        let numbers = numbers.collect::<Option<Vec<u32>>>()?;
        let &[runtime_us, deadline_us, period_us] = numbers.as_slice() else { return None };
        let is_ordered = 0 < runtime_us && runtime_us <= deadline_us && deadline_us <= period_us;
        is_ordered.then_some(Self { runtime_us, deadline_us, period_us })
    }

    /// Puts the calling thread in SCHED_DEADLINE with this reservation, and reads the class back.
    ///
    /// # Errors
    /// [`Reason::NotPermitted`] without the privilege, or where the thread may not run on all
    /// processors; [`Reason::Exhausted`] when the kernel has no more time to reserve;
    /// [`Reason::Invalid`] for times that the kernel does not accept.
    pub fn enter(self) -> Result<(), Refusal> {
        let ns = |us: u32| u64::from(us) * 1000;
        let attributes = Attributes {
            size: size_of::<Attributes>() as u32,
            policy: libc::SCHED_DEADLINE as u32,
            flags: REPORT_OVERRUNS,
            nice: 0,
            priority: 0,
            runtime_ns: ns(self.runtime_us),
            deadline_ns: ns(self.deadline_us),
            period_ns: ns(self.period_us),
        };
        // SAFETY: the structure has the kernel's layout and its own size, and is valid for the
        // length of the call; 0 is the calling thread.
        let status = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
        if status == 0 && class_of_caller().0 == libc::SCHED_DEADLINE {
            return Ok(());
        }
        let code = io::Error::last_os_error().raw_os_error().unwrap_or(0);
        Err(refusal(code).with_code(code))
    }
}

fn refusal(code: i32) -> Refusal {
    match code {
        libc::EBUSY => Refusal::new(
            Reason::Exhausted,
            "the kernel has no more processor time to reserve for SCHED_DEADLINE",
            "ask for less runtime in a period, or for fewer tasks",
        ),
        libc::EINVAL => Refusal::new(
            Reason::Invalid,
            "the kernel does not accept the times of SCHED_DEADLINE",
            "the period is 100 µs to 4 s unless /proc/sys/kernel/sched_deadline_period_* differ",
        ),
        _ => Refusal::new(
            Reason::NotPermitted,
            "SCHED_DEADLINE is not permitted",
            "run as root, and pass --set cpu=free: its tasks must be allowed on all processors",
        ),
    }
}

/// The count of the case's overruns.
static OVERRUNS: AtomicPtr<AtomicU32> = AtomicPtr::new(null_mut());

/// Counts from now on, in `overruns`, how often a task of this process or of its children used up
/// its runtime. The kernel then throttles the task until its next period.
pub fn count_overruns(overruns: &'static AtomicU32) {
    extern "C" fn count(_: libc::c_int) {
        // SAFETY: the pointer is null or was made from a reference to a static value.
        if let Some(overruns) = unsafe { OVERRUNS.load(Relaxed).as_ref() } {
            overruns.fetch_add(1, Relaxed);
        }
    }
    OVERRUNS.store(ptr::from_ref(overruns).cast_mut(), Relaxed);
    // SAFETY: the handler only adds to an atomic, and has the type that the call expects.
    unsafe { libc::signal(libc::SIGXCPU, count as *const () as libc::sighandler_t) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reservation_is_three_times_in_ascending_order() {
        let parsed = Reservation { runtime_us: 200, deadline_us: 500, period_us: 1000 };
        assert_eq!(Reservation::parse("200/500/1000"), Some(parsed));
        assert!(Reservation::parse("7/7/7").is_some());
        for text in ["", "200", "200/500", "0/1/2", "500/200/1000", "1/3/2", "+1/2/3", "1/2/3/4"] {
            assert_eq!(Reservation::parse(text), None, "{text}");
        }
    }

    #[test]
    fn each_error_of_the_kernel_has_its_reason() {
        for (code, reason) in [
            (libc::EPERM, Reason::NotPermitted),
            (libc::EBUSY, Reason::Exhausted),
            (libc::EINVAL, Reason::Invalid),
        ] {
            assert_eq!(refusal(code).reason, reason);
        }
    }
}
