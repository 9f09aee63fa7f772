//! The way to the host over a serial line, in place of semihosting.
//!
//! The request is a line of text; the stream is the answer. After it the board restarts, as from a
//! reset, and waits for the next request: each repetition of a case finds the same machine. A
//! complaint is a line of text between two zero bytes that starts with [`COMPLAINT`]. It needs less
//! stack than a frame, and a failing program may have little left.
//!
//! A machine implements [`Uart`], and [`serial_host!`] makes the module `host` from it.

use core::{fmt, str};

use chronoscope_suite::trial::Sink;

use crate::Buffer;

/// A board's UART: both ways polled, 8 bits, no parity, no flow control. `default` makes it ready,
/// as often as it is called.
pub trait Uart: Default {
    /// Waits for a byte.
    fn read(&mut self) -> u8;

    /// Returns when the byte is on its way and would survive a reset.
    fn write(&mut self, byte: u8);
}

/// Waits for a line that is not empty. Invalid UTF-8 reads as an empty request, and a line that is
/// too long is cut at the buffer's end: the port refuses both.
pub fn request<'a>(uart: &mut impl Uart, buffer: &'a mut Buffer) -> &'a str {
    let length = loop {
        match line(uart, buffer) {
            0 => {}
            length => break length,
        }
    };
    str::from_utf8(&buffer[..length]).unwrap_or_default().trim()
}

/// Reads a line and returns its length. Bytes beyond the buffer are dropped.
pub fn line(uart: &mut impl Uart, buffer: &mut [u8]) -> usize {
    let mut length = 0;
    loop {
        match uart.read() {
            b'\n' | b'\r' => return length,
            byte => {
                if let Some(place) = buffer.get_mut(length) {
                    *place = byte;
                    length += 1;
                }
            }
        }
    }
}

/// The stream's destination: the UART.
pub struct Output<U>(U);

impl<U: Uart> Output<U> {
    /// Opens the stream. It writes a zero byte first, which ends any earlier output, such as a boot
    /// loader's.
    pub fn stream() -> Self {
        let mut uart = U::default();
        uart.write(0);
        Self(uart)
    }
}

impl<U: Uart> Sink for Output<U> {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0.write(*byte));
    }
}

impl<U: Uart> fmt::Write for Output<U> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.write(text.as_bytes());
        Ok(())
    }
}

/// Tells a complaint from other text. The lab knows it.
const COMPLAINT: &str = "chronoscope: ";

/// Writes a complaint, and returns at the next request: its sender gets no answer and asks again.
pub fn complain<U: Uart>(complaint: fmt::Arguments<'_>) {
    // Nothing is left to do about a failure to complain.
    let _ = fmt::write(&mut Output::<U>::stream(), format_args!("{COMPLAINT}{complaint}\n\0"));
    line(&mut U::default(), &mut []);
}

/// Defines a machine's module `host` from its [`Uart`] and a function `fn() -> !` that restarts the
/// board.
#[macro_export]
macro_rules! serial_host {
    ($uart:ty, $restart:path) => {
        pub use $crate::Buffer;

        /// The stream's destination.
        pub type Output = $crate::serial::Output<$uart>;

        /// Reads the request.
        pub fn request(buffer: &mut Buffer) -> &str {
            $crate::serial::request(&mut <$uart>::default(), buffer)
        }

        /// Ends the run: the case is over.
        pub fn exit() -> ! {
            $restart()
        }

        /// Ends the run with a complaint.
        pub fn fail(complaint: ::core::fmt::Arguments<'_>) -> ! {
            $crate::serial::complain::<$uart>(complaint);
            $restart()
        }

        #[panic_handler]
        fn panic(info: &::core::panic::PanicInfo<'_>) -> ! {
            fail(format_args!("{}", info.message()))
        }
    };
}
