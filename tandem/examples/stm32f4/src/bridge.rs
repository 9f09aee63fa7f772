//! An I2C bus behind a serial port: NXP's SC18IM700 or SC18IM704, a bridge that takes commands in
//! bytes. (QEMU has no model of this chip's own I2C controller; it has one of its serial ports.)
//!
//! A command is `S`, address and direction, count, the bytes to write, and `P`. A second `S` in
//! place of the `P` is a repeated start. `R`, a register, `P` reads a register of the bridge.

use crate::{Clock, Port};
use embassy_futures::select::{Either, select};
use embedded_hal_async::{
    delay::DelayNs,
    i2c::{Error, ErrorKind, ErrorType, I2c, NoAcknowledgeSource, Operation},
};
use embedded_io_async::{Read, Write};
use tandem::Delays;

/// The register with the end of the last transfer, and two of its values.
pub const STATUS: u8 = 0x0a;
pub const SUCCESS: u8 = 0xf0;
pub const NO_ACKNOWLEDGE: u8 = 0xf1;

/// The time for an answer, in milliseconds: more than 255 bytes take.
const LIMIT: u32 = 400;

/// The bus. It waits as the [`Port`] does: for an interrupt, by the kernel.
pub struct Bridge {
    port: Port,
}

/// Why a transfer failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BridgeError {
    /// The device did not acknowledge its address.
    NoDevice,
    /// The bridge did not answer in time, or reported another error.
    Bridge,
    /// The bridge can do a write, a read, or a write followed by a read, of up to 255 bytes each.
    Unsupported,
}

impl Error for BridgeError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::NoDevice => ErrorKind::NoAcknowledge(NoAcknowledgeSource::Address),
            Self::Bridge => ErrorKind::Bus,
            Self::Unsupported => ErrorKind::Other,
        }
    }
}

impl Bridge {
    /// The bus behind a port, at the rate that the bridge has after its reset.
    #[must_use]
    pub fn new(mut port: Port) -> Self {
        port.set_rate(9600);
        Self { port }
    }

    async fn send(&mut self, bytes: &[u8]) {
        let Ok(()) = self.port.write_all(bytes).await;
    }

    /// Receives the bridge's answer. Returns whether it came in time.
    async fn answer(&mut self, bytes: &mut [u8]) -> bool {
        let mut delays = Delays::<Clock>::new();
        let received = select(self.port.read_exact(bytes), delays.delay_ms(LIMIT)).await;
        matches!(received, Either::First(Ok(())))
    }

    /// Asks how the last transfer ended.
    async fn status(&mut self) -> Result<(), BridgeError> {
        let mut status = [0];
        self.send(&[b'R', STATUS, b'P']).await;
        match (self.answer(&mut status).await, status[0]) {
            (true, SUCCESS) => Ok(()),
            (true, NO_ACKNOWLEDGE) => Err(BridgeError::NoDevice),
            _ => Err(BridgeError::Bridge),
        }
    }
}

/// The number of bytes of a transfer.
fn count(bytes: &[u8]) -> Result<u8, BridgeError> {
    u8::try_from(bytes.len()).map_err(|_| BridgeError::Unsupported)
}

impl ErrorType for Bridge {
    type Error = BridgeError;
}

impl I2c for Bridge {
    async fn transaction(
        &mut self,
        address: u8,
        operations: &mut [Operation<'_>],
    ) -> Result<(), BridgeError> {
        let (out, into): (&[u8], &mut [u8]) = match operations {
            [Operation::Write(out)] => (out, &mut []),
            [Operation::Read(into)] => (&[], into),
            [Operation::Write(out), Operation::Read(into)] => (out, into),
            _ => return Err(BridgeError::Unsupported),
        };
        let (written, read) = (count(out)?, count(into)?);
        if written > 0 || read == 0 {
            self.send(&[b'S', address << 1, written]).await;
            self.send(out).await;
        }
        if read > 0 {
            self.send(&[b'S', address << 1 | 1, read]).await;
        }
        self.send(b"P").await;
        if read > 0 && self.answer(into).await {
            return Ok(());
        }
        self.status().await
    }
}
