//! The smallest image with three tasks, `src/image.rs` of the kernel's package. Cargo wants a file for
//! each program of a package.

#![no_std]
#![no_main]

mod image {
    include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/image.rs"));
}
