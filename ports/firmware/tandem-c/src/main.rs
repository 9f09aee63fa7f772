//! The image: the experiments, the chip and tandem, joined by `tandem.h` and `chronoscope.h`.

#![no_std]
#![no_main]

use chronoscope_c_machine as _;
use chronoscope_tandem_interface as _;

/// Switches to the calling task: `tandem.h` has no count of them.
#[unsafe(no_mangle)]
extern "C" fn chrono_switches() -> u32 {
    tandem::current().switches()
}
