//! A connection's bytes from the server, with bounds that the client library has none of: the length of
//! an answer, and passwords in clear. The module knows the frames of the protocol, and no statement.
//!
//! A frame is a byte of its kind, a length in four bytes, which counts itself, and a body. An answer
//! ends with the frame `ReadyForQuery`. The library keeps all frames of an answer in memory.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use postgres::tls::{ChannelBinding, TlsStream};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::super::reference::MAX_FILE;

/// The most bytes of an answer: a run, the longest of which is as long as a run's file, and the rest.
pub const LONGEST: u64 = MAX_FILE + (16 << 20);

/// The kinds of frames that a server's demand for a login and the end of an answer have.
const AUTHENTICATION: u8 = b'R';
const READY_FOR_QUERY: u8 = b'Z';

/// The number of the demand for a password as it is.
const CLEAR: u32 = 3;

/// A server's frame that ends the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("its answer is longer than {} MiB", LONGEST >> 20)]
    TooLong,
    #[error("it asks for the password in clear, on a connection without TLS")]
    Clear,
    #[error("its answer is not PostgreSQL's")]
    Unknown,
}

/// Follows the frames of a connection.
pub struct Frames {
    /// The first bytes of a frame: kind, length, and the number of a demand for a login.
    head: [u8; 9],
    filled: usize,
    /// Bytes of the body that are to come.
    left: u64,
    /// Bytes of the answer up to the end of its last frame.
    answer: u64,
    /// `true` if the server may have the password in clear.
    may_be_clear: bool,
}

impl Frames {
    pub fn new(may_be_clear: bool) -> Self {
        Self { head: [0; 9], filled: 0, left: 0, answer: 0, may_be_clear }
    }

    /// Takes the next bytes from the server.
    ///
    /// # Errors
    /// If the bytes begin a frame that is refused, also where its body is to come.
    pub fn take(&mut self, mut bytes: &[u8]) -> Result<(), Refused> {
        while let Some(&first) = bytes.first() {
            if self.left > 0 {
                let skipped = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len());
                self.left -= skipped as u64;
                bytes = &bytes[skipped..];
                continue;
            }
            self.head[self.filled] = first;
            self.filled += 1;
            bytes = &bytes[1..];
            let length = if self.head[0] == AUTHENTICATION { 9 } else { 5 };
            if self.filled == length {
                self.begin(length)?;
                self.filled = 0;
            }
        }
        Ok(())
    }

    /// Begins the body of a frame, `known` bytes of which are in the head.
    fn begin(&mut self, known: usize) -> Result<(), Refused> {
        let [kind, a, b, c, d, number @ ..] = self.head;
        // The length counts itself, and not the byte of the kind.
        let length = u64::from(u32::from_be_bytes([a, b, c, d])) + 1;
        self.left = length.checked_sub(known as u64).ok_or(Refused::Unknown)?;
        self.answer += length;
        if self.answer > LONGEST {
            return Err(Refused::TooLong);
        }
        match kind {
            READY_FOR_QUERY => self.answer = 0,
            AUTHENTICATION if !self.may_be_clear && u32::from_be_bytes(number) == CLEAR => {
                return Err(Refused::Clear);
            }
            _ => {}
        }
        Ok(())
    }
}

/// A socket, or TLS over one.
pub trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// A connection whose frames are followed.
pub struct Stream {
    inner: Box<dyn Duplex>,
    frames: Frames,
}

impl Stream {
    pub fn new(inner: impl Duplex + 'static, frames: Frames) -> Self {
        Self { inner: Box::new(inner), frames }
    }
}

impl TlsStream for Stream {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        let taken = self.frames.take(&buffer.filled()[before..]);
        Poll::Ready(taken.map_err(io::Error::other))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, length: u32, body: &[u8]) -> Vec<u8> {
        [&[kind][..], &length.to_be_bytes(), body].concat()
    }

    /// The outcome of bytes that come together, which is the same when they come one by one.
    fn outcome(bytes: &[u8]) -> Result<(), Refused> {
        let together = Frames::new(false).take(bytes);
        let mut frames = Frames::new(false);
        assert_eq!(bytes.chunks(1).try_for_each(|byte| frames.take(byte)), together);
        together
    }

    #[test]
    fn an_answer_has_a_longest_length() {
        let longest = u32::try_from(LONGEST).unwrap();
        assert_eq!(outcome(&frame(b'D', longest - 1, &[])), Ok(()));
        assert_eq!(outcome(&frame(b'D', longest, &[])), Err(Refused::TooLong));
        assert_eq!(outcome(&frame(b'D', u32::MAX, &[])), Err(Refused::TooLong));
        assert_eq!(outcome(&frame(b'D', 3, &[])), Err(Refused::Unknown));
        // Many frames are one answer, and the next answer counts from 0.
        let mebibyte = frame(b'N', (1 << 20) - 1, &vec![b'Z'; (1 << 20) - 5]);
        let mut frames = Frames::new(false);
        let mut many = || (0..LONGEST >> 20).try_for_each(|_| frames.take(&mebibyte));
        assert_eq!(many(), Ok(()));
        assert_eq!(frames.take(&frame(b'N', 4, &[])), Err(Refused::TooLong));
        let mut frames = Frames::new(false);
        for _ in 0..3 {
            (0..LONGEST >> 21).for_each(|_| frames.take(&mebibyte).unwrap());
            frames.take(&frame(READY_FOR_QUERY, 5, b"I")).unwrap();
        }
    }

    #[test]
    fn a_password_in_clear_needs_leave() {
        let demand = |number: u32| frame(AUTHENTICATION, 8, &number.to_be_bytes());
        // Neither a login that is done, nor MD5 and SCRAM send the password as it is.
        for number in [0, 5, 10] {
            assert_eq!(outcome(&demand(number)), Ok(()), "{number}");
        }
        assert_eq!(outcome(&demand(CLEAR)), Err(Refused::Clear));
        assert_eq!(outcome(&[demand(0), demand(CLEAR)].concat()), Err(Refused::Clear));
        assert_eq!(outcome(&frame(AUTHENTICATION, 7, &[0; 4])), Err(Refused::Unknown));
        assert_eq!(Frames::new(true).take(&demand(CLEAR)), Ok(()));
    }
}
