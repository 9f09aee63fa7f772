//! The experiments that need no kernel. `masked` is none of them: a handler may give only while no
//! thread gives, takes or waits, so nothing masks interrupts.

use crate::kernel::{Bare, Thread};

chronoscope_suite::offers! {
    kernel Bare: interrupts;
    kind "thread" Thread: messages;
    pair "thread-thread" Thread, Thread;
    refuse "masked" "without a kernel, no handler gives while threads wait: nothing is masked";
    otherwise "without a kernel there are interrupts, and threads that give way to each other";
}
