//! The way to the host: semihosting, which QEMU answers between two instructions.
//!
//! The request is the command line; the stream goes to standard output, complaints to standard
//! error.

use core::{arch::asm, fmt, panic::PanicInfo, str};

use chronoscope_suite::trial::Sink;

pub use crate::Buffer;

/// Operations, by the numbers of Arm's specification of semihosting.
const OPEN: usize = 0x01;
const WRITE: usize = 0x05;
const GET_COMMAND_LINE: usize = 0x15;
const EXIT: usize = 0x18;

/// The host's console, as a file: with mode `w` its standard output, with mode `a` its standard
/// error.
const CONSOLE: &[u8] = b":tt\0";
const MODE_W: usize = 4;
const MODE_A: usize = 8;

/// Reasons to exit.
const APPLICATION_EXIT: usize = 0x20026;
const RUN_TIME_ERROR: usize = 0x20023;

/// # Safety
/// `argument` must be valid for `operation` by the specification of semihosting.
unsafe fn call(operation: usize, argument: usize) -> usize {
    let result;
    // SAFETY: this breakpoint is how semihosting is called; memory is touched as the caller has
    // promised.
    #[cfg(target_arch = "arm")]
    unsafe {
        asm!("bkpt 0xab", inlateout("r0") operation => result, in("r1") argument, options(nostack));
    }
    // SAFETY: as for Arm. The two instructions around the breakpoint, which do nothing, distinguish
    // it from others. All three are uncompressed and in one page.
    #[cfg(any(target_arch = "riscv32", target_arch = "riscv64"))]
    unsafe {
        asm!(
            ".option push",
            ".option norvc",
            ".balign 16",
            "slli x0, x0, 0x1f",
            "ebreak",
            "srai x0, x0, 7",
            ".option pop",
            inlateout("a0") operation => result, in("a1") argument, options(nostack)
        );
    }
    result
}

/// Reads the request: the command line. Empty if there is none, or if it is longer than the buffer.
pub fn request(buffer: &mut Buffer) -> &str {
    let mut block = [buffer.as_mut_ptr().expose_provenance(), buffer.len()];
    // SAFETY: the block holds address and length of the buffer, which the host fills and whose new
    // length it writes back.
    let failed = unsafe { call(GET_COMMAND_LINE, block.as_mut_ptr().expose_provenance()) } != 0;
    let text = buffer.get(..block[1]).filter(|_| !failed).unwrap_or_default();
    str::from_utf8(text).unwrap_or_default().trim_end_matches('\0').trim()
}

/// A standard stream of the host.
pub struct Output(usize);

impl Output {
    /// The stream of records: the host's standard output.
    pub fn stream() -> Self {
        Self::open(MODE_W)
    }

    fn open(mode: usize) -> Self {
        let block = [CONSOLE.as_ptr().expose_provenance(), mode, CONSOLE.len() - 1];
        // SAFETY: the block holds address, mode and length of a name.
        Self(unsafe { call(OPEN, block.as_ptr().expose_provenance()) })
    }
}

impl Sink for Output {
    fn write(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let block = [self.0, rest.as_ptr().expose_provenance(), rest.len()];
            // SAFETY: the block holds the file, and address and length of the bytes.
            let left = unsafe { call(WRITE, block.as_ptr().expose_provenance()) };
            if left >= rest.len() {
                // The host takes no more; the lab sees a stream that was cut short.
                return;
            }
            rest = &rest[rest.len() - left..];
        }
    }
}

impl fmt::Write for Output {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.write(text.as_bytes());
        Ok(())
    }
}

/// Ends the run: the case is over.
pub fn exit() -> ! {
    end(APPLICATION_EXIT)
}

/// Writes a line to the host's standard error.
pub fn complain(text: fmt::Arguments<'_>) {
    // Nothing is left to do about a failure to complain.
    let _ = fmt::write(&mut Output::open(MODE_A), format_args!("{text}\n"));
}

/// Ends the run with a complaint.
pub fn fail(complaint: fmt::Arguments<'_>) -> ! {
    // Nothing is left to do about a failure to complain.
    let _ = fmt::write(&mut Output::open(MODE_A), format_args!("{complaint}\n"));
    end(RUN_TIME_ERROR)
}

fn end(reason: usize) -> ! {
    // The status of a successful exit, which QEMU returns, follows the reason.
    #[cfg(target_pointer_width = "64")]
    let block = [reason, 0];
    #[cfg(target_pointer_width = "64")]
    let reason = block.as_ptr().expose_provenance();
    loop {
        // SAFETY: this operation's argument is a number; in code of 64 bits, it is the address of
        // two words.
        unsafe { call(EXIT, reason) };
    }
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    fail(format_args!("{}", info.message()))
}
