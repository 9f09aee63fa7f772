//! Tests of whole answers, pages and files, through all modules of the crate.

mod answer;
mod decision;
mod experiments;
mod google_benchmark;
mod pages;
mod rounds;
