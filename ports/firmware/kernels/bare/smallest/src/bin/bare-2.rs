//! The image with two tasks.

#![no_std]
#![no_main]

#[path = "../image.rs"]
mod image;
