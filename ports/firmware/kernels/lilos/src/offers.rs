//! The experiments that lilos offers, and the places for tasks that they need late.

use chronoscope_suite::Request;

use crate::kernel::{Coroutine, Lilos};

/// The number of tasks that the case creates after the first have begun to run. lilos must know it
/// before it starts.
pub fn spare_places(request: &Request<'_>) -> usize {
    match request.spec().name {
        "spawn" => request.count("tasks"),
        "pipeline" => 1,
        // All but the spinner.
        "masked" => request.count("tasks") + 1,
        "delay" | "period" if request.word("idle") == "spin" => 1,
        _ => 0,
    }
}

chronoscope_suite::offers! {
    kernel Lilos: interrupts masking log;
    kind "coroutine" Coroutine: delays reaping messages;
    pair "coroutine-coroutine" Coroutine, Coroutine;
    native Coroutine;
    refuse "inversion" "lilos has no priorities, so none can be inverted";
    refuse "interference" "lilos keeps no account of processor time";
    otherwise "lilos has coroutines only";
}
