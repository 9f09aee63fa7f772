//! Commands that read files: captures, runs, stores, traces. The runs they need are short ones of
//! this machine, which any user may make.

#[path = "../common/captures.rs"]
mod captures;
#[path = "../common/mod.rs"]
mod common;
#[path = "../common/pins.rs"]
mod pins;
#[path = "../../../fuzz/src/lib.rs"]
mod readers;
#[path = "../common/timeline.rs"]
mod timeline;
#[path = "../common/victim.rs"]
mod victim;

mod bad_server;
mod baseline;
mod capture;
mod capture_bad;
mod capture_fuzz;
mod compare;
mod corpus;
mod first_words;
mod fuzz;
mod hostile_text;
mod outputs;
mod page;
mod postgres;
mod published;
mod recordings;
mod schema;
mod security;
mod short_reads;
mod store;
mod trace;
mod trace_fuzz;
mod transfer;
