//! The experiments that tandem offers.

use crate::kernel::{Coroutine, Tandem, Thread};

chronoscope_suite::offers! {
    kernel Tandem: interrupts masking log;
    kind "thread" Thread: delays reaping messages mutexes;
    kind "coroutine" Coroutine: delays reaping messages;
    pair "thread-thread" Thread, Thread;
    pair "coroutine-coroutine" Coroutine, Coroutine;
    pair "thread-coroutine" Thread, Coroutine;
    pair "coroutine-thread" Coroutine, Thread;
    native Thread, Coroutine;
    refuse "interference" "tandem keeps no account of processor time";
    otherwise "tandem has threads and coroutines";
}
