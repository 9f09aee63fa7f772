//! The way to the host over a serial line: what a real board has in place of semihosting.
//!
//! The request is a line of text, and the stream is its answer. After it the board starts anew, as from a reset, and waits for the
//! next request: so each repetition of a case finds the same machine. A complaint is a line of text between two zero bytes, which
//! starts with [`COMPLAINT`]: it takes less stack than a frame, and whoever complains may have little left.
//!
//! A machine gives its UART, as a [`Uart`], and [`serial_host!`] makes of it the module `host` that ports know.

use core::{fmt, str};

use chronoscope_suite::trial::Sink;

use crate::Buffer;

/// A board's UART: both ways polled, 8 bits, no parity, no flow control. `default` makes it ready, as often as it is called.
pub trait Uart: Default {
    /// Waits for a byte.
    fn read(&mut self) -> u8;

    /// Returns when the byte is on its way and would survive a reset.
    fn write(&mut self, byte: u8);
}

/// Waits for a line that is not empty. What is no text reads as nothing, and what is too long remains so: the port refuses both,
/// and the lab sees from the answer what had arrived.
pub fn request<'a>(uart: &mut impl Uart, buffer: &'a mut Buffer) -> &'a str {
    let length = loop {
        match line(uart, buffer) {
            0 => {}
            length => break length,
        }
    };
    str::from_utf8(&buffer[..length]).unwrap_or_default().trim()
}

/// The next line's length; what the buffer does not hold is left out.
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

/// Where the stream goes.
pub struct Output<U>(U);

impl<U: Uart> Output<U> {
    /// A zero byte first: it closes what else may have been written, such as the messages of a boot loader.
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

/// Writes a complaint, and returns when somebody asks for something: whoever asks in vain asks again.
pub fn complain<U: Uart>(complaint: fmt::Arguments<'_>) {
    // Nothing is left to do about a failure to complain.
    let _ = fmt::write(&mut Output::<U>::stream(), format_args!("{COMPLAINT}{complaint}\n\0"));
    line(&mut U::default(), &mut []);
}

/// Makes a machine's module `host` of its [`Uart`] and of what starts the board anew, a `fn() -> !`.
#[macro_export]
macro_rules! serial_host {
    ($uart:ty, $restart:path) => {
        pub use $crate::Buffer;

        /// Where the stream goes.
        pub type Output = $crate::serial::Output<$uart>;

        /// What the lab asks for.
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
