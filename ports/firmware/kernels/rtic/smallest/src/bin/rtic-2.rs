//! The image with two tasks.

#![no_std]
#![no_main]

#[macro_use]
#[path = "../image.rs"]
mod image;

program! { a b }
