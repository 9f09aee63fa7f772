//! The experiments that need no kernel.

use crate::kernel::{Bare, Thread};

chronoscope_suite::offers! {
    kernel Bare: interrupts masking;
    kind "thread" Thread: messages;
    pair "thread-thread" Thread, Thread;
    otherwise "without a kernel there are interrupts, and threads that give way to each other";
}
