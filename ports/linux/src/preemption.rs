//! The kernel's preemption model, as reported by the kernel.

use std::fs;

use chronoscope_suite::{Kernel, Trial, trial::name};
use rustix::system::uname;

/// The preemption models of kernels: pre-emption at explicit yield points only, at more of them,
/// anywhere but under a spin lock, lazily, and nearly everywhere (PREEMPT_RT).
pub const MODELS: [&str; 5] = ["none", "voluntary", "full", "lazy", "rt"];

/// Returns the model in force; `None` if it cannot be read.
pub fn model() -> Option<&'static str> {
    if uname().version().to_string_lossy().contains("PREEMPT_RT") {
        return Some("rt");
    }
    // `none voluntary (full)`: the one in force is in parentheses. Only kernels built with
    // PREEMPT_DYNAMIC have the file.
    let text = fs::read_to_string("/sys/kernel/debug/sched/preempt").ok()?;
    let word = text.split_once('(')?.1.split_once(')')?.0;
    MODELS.into_iter().find(|model| *model == word)
}

/// Reports, as evidence, whether the requested model is in force.
pub fn report<K: Kernel>(trial: &mut Trial<'_, K>, wanted: Option<&str>) {
    let Some(wanted) = wanted else { return };
    let found = model() == Some(wanted);
    let text = name(format_args!("preemption model read back: {wanted}"));
    trial.evidence(&text, f64::from(u8::from(found)), 1.0, 1.0);
    trial.log(&uname().version().to_string_lossy());
}
