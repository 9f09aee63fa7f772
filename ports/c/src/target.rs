//! The description of the target that a port passes to `chrono_main`.

use core::{ffi::c_char, mem::MaybeUninit};

/// The version of the interface, `CHRONO_ABI` in the header.
pub const ABI: u32 = 1;

/// `chrono_target` of the header.
#[repr(C)]
pub struct Target {
    pub(crate) abi: u32,
    pub(crate) domain: u32,
    pub(crate) kernel: *const c_char,
    pub(crate) release: *const c_char,
    pub(crate) build: *const c_char,
    pub(crate) hertz: u64,
    pub(crate) tick_us: u32,
    pub(crate) memory: *mut MaybeUninit<u8>,
    pub(crate) bytes: usize,
}
