//! The report's pages in headless Chromium.

#[path = "../common/mod.rs"]
mod common;
#[path = "../devtools/mod.rs"]
mod devtools;
#[path = "../common/pins.rs"]
mod pins;

mod browser;
mod first_screen;
mod studies;
mod team;
