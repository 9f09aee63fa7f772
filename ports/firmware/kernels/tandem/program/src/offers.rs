//! The experiments that processes offer.

use crate::{
    kernel::{Process, Processes},
    transport::transact,
};

chronoscope_suite::offers! {
    kernel Processes: ;
    kind "process" Process: delays reaping messages mutexes;
    pair "process-process" Process, Process;
    sets Process;
    own "transaction" transact;
    refuse "interference" "tandem keeps no account of processor time";
    refuse "wakeup" "a process has no handlers of interrupts: kind=thread measures the kernel's";
    refuse "masked" "a process has no handlers of interrupts: kind=thread measures the kernel's";
    otherwise "this image has processes alone";
}
