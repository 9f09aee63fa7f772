//! The experiments that this library holds, and those that the port can run.
//!
//! Other ports name their capabilities once, in `offers!`. Here the linker decides them, so each is
//! asked for at run time.

use chronoscope_suite::{Refusal, Trial, vary};

use crate::{
    kernel::{Kernel, Thread},
    port,
};

/// The experiments to compile in, separated by commas; all, if the variable is not set.
const SELECTED: Option<&str> = option_env!("CHRONOSCOPE_EXPERIMENTS");

/// Returns whether the library is to hold an experiment.
const fn is_selected(name: &str) -> bool {
    let Some(list) = SELECTED else { return true };
    let (list, name) = (list.as_bytes(), name.as_bytes());
    let (mut start, mut end) = (0, 0);
    while end <= list.len() {
        if end == list.len() || list[end] == b',' {
            let mut same = 0;
            while same < name.len() && start + same < end && list[start + same] == name[same] {
                same += 1;
            }
            if same == name.len() && start + same == end {
                return true;
            }
            start = end + 1;
        }
        end += 1;
    }
    false
}

/// The functions that a capability needs, in words for the user; `None` for one that every port has.
fn lacking(need: &str) -> Option<&'static str> {
    let what = match need {
        "messages" => "this port defines no queues: chrono_queue, chrono_send, chrono_receive",
        "mutexes" => "this port defines no mutexes: chrono_mutex, chrono_lock, chrono_unlock",
        "interrupts" | "masking" => {
            "this port defines no interrupts: chrono_attach, chrono_raise, chrono_arm"
        }
        "reaping" => "this port does not define chrono_reap",
        "processor_time" => "this port does not define chrono_processor_time",
        "log" => "this port defines no log: chrono_log, chrono_logged",
        _ => return None,
    };
    let group = if need == "masking" { "interrupts" } else { need };
    Some(what).filter(|_| !port::has(group))
}

/// A type that says whether an experiment is compiled in: the compiler then leaves out the whole
/// future of one that is not, which a condition would not do.
struct Is<const SELECTED: bool>;

/// Runs an experiment that is compiled in, and refuses one that is not.
macro_rules! selected {
    ($module:ident $trial:ident $($run:tt)*) => {{
        trait Run {
            async fn run(trial: &mut Trial<'_, Kernel>) -> Result<(), Refusal>;
        }
        impl Run for Is<true> {
            async fn run(trial: &mut Trial<'_, Kernel>) -> Result<(), Refusal> {
                chronoscope_suite::experiments::$module::$($run)*(trial).await
            }
        }
        impl Run for Is<false> {
            async fn run(_: &mut Trial<'_, Kernel>) -> Result<(), Refusal> {
                Err(Refusal::not_offered("this library was built without the experiment"))
            }
        }
        return <Is<{ is_selected(stringify!($module)) }> as Run>::run($trial).await;
    }};
}

/// Makes the body of [`run`] of the rows of the suite's table.
macro_rules! dispatch {
    ([$trial:ident] $($module:ident: $choice:ident [$($need:ident)*];)*) => {
        match $trial.request.spec().name {
            $(stringify!($module) => {
                $(if let Some(what) = lacking(stringify!($need)) {
                    return Err(Refusal::not_offered(what));
                })*
                dispatch!(@$choice $module $trial);
            })*
            _ => {}
        }
    };
    (@kind $module:ident $trial:ident) => {
        if $trial.request.tasks() == "thread" {
            selected!($module $trial run::<Thread>)
        }
    };
    (@pair $module:ident $trial:ident) => {
        if $trial.request.tasks() == "thread-thread" {
            selected!($module $trial run::<Thread, Thread>)
        }
    };
    (@kernel $module:ident $trial:ident) => {
        selected!($module $trial run)
    };
    (@port $module:ident $trial:ident) => {};
    (@lab $module:ident $trial:ident) => {};
}

/// Runs the experiment that the request names.
///
/// # Errors
/// [`Refusal`] from the experiment, or because this library or this port does not offer it.
pub async fn run(trial: &mut Trial<'_, Kernel>) -> Result<(), Refusal> {
    vary::prepare(trial).await?;
    chronoscope_suite::experiments! { use dispatch! { [trial] } }
    Err(Refusal::not_offered("kernels written in C are measured with threads"))
}
