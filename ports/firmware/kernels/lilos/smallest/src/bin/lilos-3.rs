//! The image with three tasks.

#![no_std]
#![no_main]

#[path = "../image.rs"]
mod image;
