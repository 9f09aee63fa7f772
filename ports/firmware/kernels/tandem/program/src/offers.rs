//! The experiments that processes offer.

use crate::kernel::{Process, Processes};

chronoscope_suite::offers! {
    kernel Processes: ;
    kind "process" Process: delays reaping messages mutexes;
    pair "process-process" Process, Process;
    refuse "interference" "tandem keeps no account of processor time";
    refuse "wakeup" "a process has no handlers of interrupts: kind=thread measures the kernel's";
    refuse "masked" "a process has no handlers of interrupts: kind=thread measures the kernel's";
    refuse "transaction" "processes have calls of four words in registers, and none of bytes";
    otherwise "this image has processes alone";
}
