//! Linux in virtual machines, and traces of all targets.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/timeline.rs"]
mod timeline;

mod arm64;
mod binder;
mod culprits;
mod trace_targets;
mod vm;
