//! The experiments: one file and one row of [`experiments!`](crate::experiments) each.
//!
//! The documentation of an experiment's module is its specification. The `SPEC` of the module holds
//! the same as data, which the lab reads. The modules know the traits of
//! [`kernel`](crate::kernel) and no port.

pub mod chain;
pub mod crowded;
pub mod delay;
pub mod fault;
pub mod image;
pub mod interference;
pub mod interrupt;
pub mod inversion;
pub mod latency;
pub mod log;
pub mod masked;
pub mod message;
pub mod noise;
pub mod operations;
pub mod period;
pub mod pipeline;
pub mod spawn;
pub mod switch;
#[cfg(feature = "taskset")]
pub mod taskset;
pub mod ticks;
pub mod transaction;
pub mod wakeup;
pub mod worst;

pub mod timing;

mod firing;
mod waking;

use crate::{
    Refusal, Request, Spec, Trial,
    kernel::{Interrupts, Native},
    request::{MAX_REQUEST, invalid},
};

/// The table of experiments, in the order in which they are listed and run. Calls
/// `$crate::$then!` with `$context` and the rows; with `use`, the caller's own macro `$then!`.
///
/// A row is `module: choice [capabilities];`. The choice says how [`offers!`](crate::offers)
/// calls the experiment's `run`:
///
/// | choice | the experiment runs as |
/// |---|---|
/// | `kind` | `run::<T>`, for the kind of task in `kind=` |
/// | `pair` | `run::<A, B>`, for the two kinds in `pair=` |
/// | `kernel` | `run`, in the director's kind of task |
/// | `port` | a function of the port's own, from a row `own` of [`offers!`](crate::offers) |
/// | `lab` | a program of the lab's: it has no body on the target |
///
/// The capabilities are those that the kernel, or the kind of task, must have: see
/// [`offers!`](crate::offers).
#[doc(hidden)]
#[macro_export]
macro_rules! experiments {
    ($then:ident! { $($context:tt)* }) => {
        $crate::experiments! { @rows [$crate::$then] $($context)* }
    };
    (use $then:ident! { $($context:tt)* }) => {
        $crate::experiments! { @rows [$then] $($context)* }
    };
    (@rows [$($then:tt)*] $($context:tt)*) => {
        $crate::with_taskset! { [$($then)*] { $($context)*
            delay: kind [delays];
            period: kind [delays];
            switch: pair [];
            ticks: kind [delays];
            spawn: kind [reaping];
            interrupt: kernel [interrupts];
            masked: kind [interrupts masking];
            noise: port [];
            wakeup: kind [interrupts delays];
            message: kind [messages];
            transaction: port [];
            latency: port [];
            inversion: kind [mutexes];
            interference: kind [processor_time];
            log: kind [log];
            pipeline: kind [messages delays];
            fault: port [];
            chain: port [];
        } {
            image: lab [];
            operations: lab [];
            crowded: lab [];
            worst: lab [];
        } }
    };
}

/// Puts the row of `taskset` between the others, if it is compiled in: images of their own have it,
/// so that no other image has an instruction of it.
#[cfg(feature = "taskset")]
#[doc(hidden)]
#[macro_export]
macro_rules! with_taskset {
    ([$($then:tt)*] { $($before:tt)* } { $($after:tt)* }) => {
        $($then)*! { $($before)*
            taskset: kind [interrupts masking mutexes];
            $($after)*
        }
    };
}

/// The table without `taskset`.
#[cfg(not(feature = "taskset"))]
#[doc(hidden)]
#[macro_export]
macro_rules! with_taskset {
    ([$($then:tt)*] { $($before:tt)* } { $($after:tt)* }) => {
        $($then)*! { $($before)* $($after)* }
    };
}

/// Collects the `SPEC`s of the table's rows.
#[doc(hidden)]
#[macro_export]
macro_rules! specs {
    ($($module:ident: $choice:ident $needs:tt;)*) => {
        &[$(&$crate::experiments::$module::SPEC),*]
    };
}

/// Runs an experiment with the kernel's own primitive, between tasks of the kind `T`.
///
/// # Errors
/// [`Refusal`] from the experiment, or because it has no such variant.
pub async fn native<T>(trial: &mut Trial<'_, T::Kernel>) -> Result<(), Refusal>
where
    T: Native,
    T::Kernel: Interrupts,
{
    match trial.request.spec().name {
        "switch" => switch::native::<T>(trial).await,
        "wakeup" => wakeup::native::<T>(trial).await,
        _ => Err(Refusal::not_offered("the experiment takes the kernel's own objects already")),
    }
}

/// All experiments, in the order in which they are listed and run.
pub static EXPERIMENTS: &[&Spec] = crate::experiments! { specs! {} };

/// The experiments in the table whose choice is `lab`.
pub static OF_THE_LAB: [&Spec; 4] = [&image::SPEC, &operations::SPEC, &crowded::SPEC, &worst::SPEC];

/// Finds an experiment by its name.
pub fn find(name: &str) -> Option<&'static Spec> {
    EXPERIMENTS.iter().copied().find(|spec| spec.name == name)
}

impl<'a> Request<'a> {
    /// Reads a request and checks it against the experiment's parameters. Keys that the experiment
    /// does not know are left to the port.
    ///
    /// # Errors
    /// [`Reason::Invalid`](crate::Reason::Invalid) for a request longer than [`MAX_REQUEST`], an
    /// unknown experiment, a word that is not `key=value`, or a value out of range.
    pub fn parse(text: &'a str) -> Result<Self, Refusal> {
        if text.len() > MAX_REQUEST {
            return Err(invalid("the request is too long"));
        }
        let name = text.split_ascii_whitespace().next();
        let spec = name.and_then(find).ok_or(invalid("no such experiment"))?;
        Self::new(spec, text)
    }
}

/// Collects the names in the table's rows.
#[cfg(test)]
#[macro_export]
macro_rules! names {
    ($($module:ident: $choice:ident $needs:tt;)*) => { [$(stringify!($module)),*] };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Values;
    use crate::{VARY, random::Random};

    #[test]
    fn every_experiment_has_the_name_of_its_module() {
        let rows = crate::experiments! { names! {} };
        assert!(EXPERIMENTS.iter().map(|spec| spec.name).eq(rows));
    }

    #[test]
    fn no_experiment_has_a_parameter_with_the_name_of_the_start_state() {
        assert!(EXPERIMENTS.iter().flat_map(|spec| spec.parameters).all(|p| p.name != VARY.name));
        assert!(Request::parse("switch vary=0").unwrap().start_state().is_none());
        let mut state = Request::parse("switch tasks=2 vary=7").unwrap().start_state().unwrap();
        assert_eq!(state.draw(), Random::new(7).draw());
    }

    #[test]
    fn defaults_fill_what_is_not_given() {
        let request = Request::parse("switch tasks=10 cpu=1").unwrap();
        assert_eq!(request.number("tasks"), 10);
        assert_eq!(request.word("pair"), "thread-thread");
        assert_eq!(request.given("cpu"), Some("1"));
    }

    #[test]
    fn every_default_is_a_value() {
        for parameter in EXPERIMENTS.iter().flat_map(|spec| spec.parameters) {
            // A case leaves out a parameter whose default is empty.
            let is_left_out =
                parameter.default.is_empty() && matches!(parameter.values, Values::Text(_));
            let has_value = parameter.values.contain(parameter.default);
            assert!(is_left_out || has_value, "{}", parameter.name);
        }
    }

    #[test]
    fn wrong_requests_are_refused() {
        for text in
            ["", "swich", "switch tasks", "switch tasks=1", "switch tasks=-2", "switch pair=a"]
        {
            assert!(Request::parse(text).is_err(), "{text}");
        }
    }
}
