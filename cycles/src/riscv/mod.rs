//! Cores with RV32IMC: Ibex and CV32E40P.
//!
//! Their manuals give each instruction its cycles with memories that answer in the next one, and the
//! cores have no caches, so the bounds are narrow. The addresses of data matter only where an access is
//! not aligned.

mod core;
mod decode;
mod model;
#[cfg(test)]
mod tests;

pub use self::{
    core::{CORES, CV32E40P, Core, IBEX, IBEX_MAXPERF, Pipeline},
    decode::{Change, Class, Instruction},
    model::{Model, Next, Step},
};
