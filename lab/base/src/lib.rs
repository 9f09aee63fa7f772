#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod cache;
pub mod console;
pub mod digest;
pub mod folders;
pub mod signals;
pub mod toml_text;
