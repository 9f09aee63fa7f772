//! Runs of this machine, and the tools beside them.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/victim.rs"]
mod victim;

mod commands;
mod cyclictest;
mod doctor;
mod faults;
mod import;
mod interrupts;
mod loads;
mod matrix;
mod noise;
mod oslat;
mod peers;
mod predictions;
mod processors;
mod requirements;
mod timerlat;
mod transaction;
mod watch;
