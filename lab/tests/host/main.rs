//! Runs of this machine, and the tools beside them.

#[path = "../common/mod.rs"]
mod common;

mod doctor;
mod peers;
mod transaction;
