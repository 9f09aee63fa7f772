//! Where the kernel may take the processor from its own code: what it says of that itself.

use std::fs;

use chronoscope_suite::{Trial, trial::name};
use rustix::system::uname;

use crate::kernel::Linux;

/// What a kernel may be built or booted as: at its own yield points only, at more of them, anywhere
/// but under a spin lock, and nearly everywhere (PREEMPT_RT).
pub const MODELS: [&str; 5] = ["none", "voluntary", "full", "lazy", "rt"];

/// The model that is in force.
fn model() -> Option<&'static str> {
    if uname().version().to_string_lossy().contains("PREEMPT_RT") {
        return Some("rt");
    }
    // `none voluntary (full)`: the one in force is in parentheses. Only kernels built with
    // PREEMPT_DYNAMIC have the file.
    let text = fs::read_to_string("/sys/kernel/debug/sched/preempt").ok()?;
    let word = text.split_once('(')?.1.split_once(')')?.0;
    MODELS.into_iter().find(|model| *model == word)
}

/// Tells which model was wanted, and whether it is in force.
pub fn report(trial: &mut Trial<'_, Linux>) {
    let Some(wanted) = trial.kernel.settings.preemption else { return };
    let found = model() == Some(wanted);
    let text = name(format_args!("preemption model read back: {wanted}"));
    trial.evidence(&text, f64::from(u8::from(found)), 1.0, 1.0);
    trial.log(&uname().version().to_string_lossy());
}
