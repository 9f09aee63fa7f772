//! The part of Chronoscope that runs on the target, whichever kernel that is.
//!
//! An experiment is written once, against the traits in [`kernel`]. A *port* implements the traits
//! for one kernel and hands a [`Trial`](trial::Trial) to [`experiments`]. What the experiment finds
//! leaves the target as a stream of [`wire`] records; every statistic is made by the lab afterwards.
//!
//! Rules of this crate:
//!
//! - It builds without `std` and without `alloc`. Memory comes from one [`arena`](arena::Arena).
//! - While a measurement runs, the suite reads the clock and stores the value ([`mark`]), no more.
//! - It needs loads and stores from atomics, but no compare-and-swap: some cores have none.
//! - Tasks share nothing but what stands in the arena, so a task may be a process.

#![no_std]

pub mod arena;
pub mod clock;
pub mod experiments;
pub mod kernel;
pub mod mark;
mod offers;
pub mod refusal;
pub mod signal;
pub mod spec;
pub mod task;
pub mod trial;
pub mod wire;
pub mod work;

pub use clock::Clock;
pub use experiments::EXPERIMENTS;
pub use kernel::{Kernel, Priority, Tasks};
pub use refusal::{Reason, Refusal};
pub use spec::{
    Parameter, Spec, Values,
    request::{self, Request},
};
pub use trial::Trial;
