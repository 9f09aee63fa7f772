//! A board's serial line: raw bytes at a baud rate, of this machine's device or of a terminal
//! server. It knows nothing of the bytes' meaning.

mod address;
mod device;
mod network;
mod rfc2217;

use std::time::Duration;

use anyhow::Result;

pub use self::address::Address;

/// The longest wait for bytes.
const MOMENT: Duration = Duration::from_millis(50);

/// An open line. It is closed on drop, and also if the process dies.
pub trait Line {
    /// Sends bytes without blocking. Bytes that the driver does not take at once are dropped.
    ///
    /// # Errors
    /// If the line is gone.
    fn send(&mut self, bytes: &[u8]) -> Result<()>;

    /// Waits up to [`MOMENT`] for bytes; returns the number received, which may be 0.
    ///
    /// # Errors
    /// If the line is gone.
    fn receive(&mut self, buffer: &mut [u8]) -> Result<usize>;
}

/// Opens the line, and discards bytes received so far.
///
/// # Errors
/// If it is missing, in use or no serial line, or cannot do the rate; the message gives the remedy.
pub fn open(address: &Address, baud: u32) -> Result<Box<dyn Line>> {
    Ok(match address {
        Address::Device(path) => Box::new(device::Device::open(path, baud)?),
        Address::Server { host, is_raw } => Box::new(network::Network::open(host, *is_raw, baud)?),
    })
}
