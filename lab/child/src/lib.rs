#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod folder;
mod limit;
mod run;
mod spawn;
pub mod supervisor;

pub use folder::Folder;
pub use limit::Limit;
pub use run::{output, run, run_with_input};
