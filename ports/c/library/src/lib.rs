//! `libchronoscope.a`. The library's panics are reported through the port.

#![no_std]

use core::panic::PanicInfo;

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    chronoscope_c::panicked(info)
}
