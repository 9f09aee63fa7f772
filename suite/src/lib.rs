//! The part of Chronoscope that runs on the target, whichever kernel that is.
//!
//! An experiment is written once, against the traits in [`kernel`]. A *port* implements the traits
//! for one kernel and hands a [`Trial`] to [`experiments`]. The samples leave the
//! target as a stream of [`wire`] records. The lab computes all statistics afterwards.
//!
//! Rules of this crate:
//!
//! - It builds without `std` and without `alloc`. Memory comes from one [`arena`](arena::Arena).
//! - While a measurement runs, the suite only reads the clock and stores the value ([`mark`]).
//! - It uses atomic loads and stores, but no compare-and-swap, which some cores lack.
//! - Tasks share only objects in the arena, so a task may be a process.

#![no_std]
#![warn(missing_docs)]

pub mod arena;
pub mod clock;
pub mod experiments;
pub mod kernel;
pub mod mark;
mod offers;
pub mod order;
pub mod random;
pub mod refusal;
pub mod signal;
pub mod spec;
pub mod task;
pub mod trial;
pub mod vary;
pub mod wire;
pub mod work;

pub use clock::Clock;
pub use experiments::EXPERIMENTS;
pub use kernel::{Kernel, Priority, Tasks};
pub use refusal::{Reason, Refusal};
pub use spec::{
    Parameter, Spec, VARY, Values,
    request::{self, Request},
};
pub use trial::Trial;
