//! Checks that need no target: refused input, documents made from tables, the order of rooms. They
//! are part of `./chronoscope test quick`.

#[path = "../common/mod.rs"]
mod common;

mod bad_input;
mod documentation;
mod floors;
mod mistakes;
mod next_steps;
mod run_files;
mod typing;
mod words;
