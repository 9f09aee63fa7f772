//! Processor time of threads and processes: the kernel's account of what the calling thread has run, in ns.

use chronoscope_suite::kernel::ProcessorTime;
use rustix::time::{ClockId, clock_gettime};

use crate::{kernel::Linux, process::Process, thread::Thread};

impl ProcessorTime for Thread {
    fn processor_time(_: &'static Linux) -> u64 {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    }
}

impl ProcessorTime for Process {
    // A process of this port is one thread.
    fn processor_time(kernel: &'static Linux) -> u64 {
        Thread::processor_time(kernel)
    }
}
