//! The experiments that processes offer.

use crate::kernel::{Process, Processes};

chronoscope_suite::offers! {
    kernel Processes: ;
    kind "process" Process: delays reaping messages;
    pair "process-process" Process, Process;
    refuse "interference" "tandem keeps no account of processor time";
    refuse "interrupt" "a process has no handlers: the kernel's are measured with kind=thread";
    otherwise "this image has processes alone";
}
