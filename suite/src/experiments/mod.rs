//! The experiments: one file and one row of [`experiments!`](crate::experiments) each.
//!
//! The documentation of an experiment's module is its specification. The `SPEC` of the module holds
//! the same as data, which the lab reads. The modules know the traits of
//! [`kernel`](crate::kernel) and no port.

pub mod delay;
pub mod image;
pub mod interference;
pub mod interrupt;
pub mod inversion;
pub mod latency;
pub mod log;
pub mod masked;
pub mod message;
pub mod period;
pub mod pipeline;
pub mod spawn;
pub mod switch;
pub mod ticks;
pub mod transaction;
pub mod wakeup;

mod firing;
mod timing;

/// The table of experiments, in the order in which they are listed and run. Calls
/// `$crate::$then!` with `$context` and the rows.
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
        $crate::$then! { $($context)*
            delay: kind [delays];
            period: kind [delays];
            switch: pair [];
            ticks: kind [delays];
            spawn: kind [reaping];
            interrupt: kernel [interrupts];
            masked: kind [interrupts masking];
            wakeup: kind [interrupts delays];
            message: kind [messages];
            transaction: port [];
            latency: port [];
            inversion: kind [mutexes];
            interference: kind [processor_time];
            log: kind [log];
            pipeline: kind [messages delays];
            image: lab [];
        }
    };
}
