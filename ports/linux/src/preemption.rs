//! The kernel's preemption model, as reported by the kernel.

use std::fs;

use chronoscope_suite::{Kernel, Trial, trial::name};
use rustix::system::uname;

/// The preemption models of kernels: pre-emption at explicit yield points only, at more of them,
/// anywhere but under a spin lock, lazily, and nearly everywhere (PREEMPT_RT).
pub const MODELS: [&str; 5] = ["none", "voluntary", "full", "lazy", "rt"];

/// A kernel without PREEMPT_DYNAMIC, built with `none` or `voluntary`: it does not report which.
const UNREPORTED: &str = "none or voluntary";

/// Returns the model in force, or [`UNREPORTED`]; `None` if it cannot be read.
pub fn model() -> Option<&'static str> {
    // `#1 SMP PREEMPT_RT Debian 6.1.192-2 (2026-11-02)`
    let version = uname().version().to_string_lossy().into_owned();
    let word = version.split_whitespace().find(|word| word.starts_with("PREEMPT"));
    match word {
        Some("PREEMPT_RT") => Some("rt"),
        Some("PREEMPT") => Some("full"),
        Some(_) => selected(),
        None => Some(UNREPORTED),
    }
}

/// The model selected in a kernel with PREEMPT_DYNAMIC.
fn selected() -> Option<&'static str> {
    // `none voluntary (full)`: the one in force is in parentheses.
    let text = fs::read_to_string("/sys/kernel/debug/sched/preempt").ok()?;
    let word = text.split_once('(')?.1.split_once(')')?.0;
    MODELS.into_iter().find(|model| *model == word)
}

/// Reports, as evidence, whether the requested model is in force.
pub fn report<K: Kernel>(trial: &mut Trial<'_, K>, wanted: Option<&str>) {
    let Some(wanted) = wanted else { return };
    let read = model();
    let is_unreported = read == Some(UNREPORTED) && UNREPORTED.split(" or ").any(|it| it == wanted);
    let found = is_unreported || read == Some(wanted);
    let expected = if is_unreported { UNREPORTED } else { wanted };
    let text = name(format_args!("preemption model read back: {expected}"));
    trial.evidence(&text, f64::from(u8::from(found)), 1.0, 1.0);
    trial.log(&uname().version().to_string_lossy());
}
