//! Handlers of faults and of interrupts without a handler. Each ends the run with a message.

use crate::host;

#[cfg(not(feature = "kernel-faults"))]
#[cortex_m_rt::exception]
unsafe fn HardFault(frame: &cortex_m_rt::ExceptionFrame) -> ! {
    host::fail(format_args!("hard fault at {:#010x}, called from {:#010x}", frame.pc(), frame.lr()))
}

#[cortex_m_rt::exception]
unsafe fn DefaultHandler(line: i16) -> ! {
    host::fail(format_args!("interrupt {line}, which has no handler"))
}
