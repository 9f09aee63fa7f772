#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod cache;
pub mod console;
pub mod digest;
pub mod folders;
pub mod private;
pub mod signals;
pub mod toml_text;
