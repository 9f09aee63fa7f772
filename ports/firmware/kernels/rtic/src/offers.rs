//! The experiments that RTIC offers.

use crate::kernel::{Coroutine, Rtic};

chronoscope_suite::offers! {
    kernel Rtic: interrupts masking log;
    kind "coroutine" Coroutine: delays reaping messages;
    pair "coroutine-coroutine" Coroutine, Coroutine;
    native Coroutine;
    refuse "inversion" "RTIC locks a resource for the length of a closure, in which no task can wait";
    refuse "interference" "RTIC keeps no account of processor time";
    otherwise "RTIC has coroutines only";
}
