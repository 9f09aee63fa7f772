//! `libchronoscope.a`. The library's panics are reported through the port.

#![no_std]

use core::panic::PanicInfo;

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    chronoscope_c::panicked(info)
}

/// Referred to by the core library, which is compiled for unwinding; nothing here unwinds.
#[cfg(target_os = "linux")]
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}
