//! Processor time of threads and processes: the kernel's accounting of the calling thread, in
//! ticks.

use chronoscope_suite::kernel::ProcessorTime;
use rustix::time::ClockId;

use crate::{clock::ticks_of, kernel::Linux, process::Process, thread::Thread};

impl ProcessorTime for Thread {
    fn processor_time(_: &'static Linux) -> u64 {
        ticks_of(ClockId::ThreadCPUTime)
    }
}

impl ProcessorTime for Process {
    // A process of this port is one thread.
    fn processor_time(kernel: &'static Linux) -> u64 {
        Thread::processor_time(kernel)
    }
}
