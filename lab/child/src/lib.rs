#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]
#![warn(missing_docs)]

mod error;
mod file_size;
mod folder;
mod limit;
mod run;
mod spawn;
pub mod supervisor;

pub use error::Error;
pub use file_size::fail_beyond_the_limit;
pub use folder::Folder;
pub use limit::Limit;
pub use run::{
    GRACE, output, output_with_lines, output_within, run, run_to_an_end, run_with_input,
};
