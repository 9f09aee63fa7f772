//! RISC-V cores.

mod core;
mod decode;
mod model;

pub use self::{
    core::{CORES, CV32E40P, Core, IBEX, IBEX_MAXPERF, Pipeline},
    decode::{Change, Class, Instruction},
    model::{Model, Next, Step},
};
