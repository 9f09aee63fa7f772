//! The experiments that embassy offers.

use crate::kernel::{Coroutine, Embassy};

chronoscope_suite::offers! {
    kernel Embassy: interrupts masking log;
    kind "coroutine" Coroutine: delays reaping messages;
    pair "coroutine-coroutine" Coroutine, Coroutine;
    native Coroutine;
    refuse "inversion" "embassy's mutexes know no priorities";
    refuse "interference" "embassy keeps no account of processor time";
    otherwise "embassy has coroutines only";
}
