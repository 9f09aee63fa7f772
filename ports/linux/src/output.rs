//! The stream's way out of the process.

use std::{
    io,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use chronoscope_suite::{Reason, Refusal, trial::Sink};

/// `true` if each record of the stream is delivered at once.
static IS_LIVE: AtomicBool = AtomicBool::new(false);

/// Makes the stream go out as it is written, or at the end of the case. While it goes out, each
/// record costs the director a system call.
pub fn mark_live(is_live: bool) {
    IS_LIVE.store(is_live, Relaxed);
}

/// The stream, kept in memory until the end of the case, so that nothing is written during a
/// measurement; unless it [is live](mark_live).
pub struct Output<'a> {
    bytes: Vec<u8>,
    deliver: &'a mut dyn FnMut(&[u8]) -> io::Result<()>,
    failed: Option<io::Error>,
}

impl<'a> Output<'a> {
    /// A stream that `deliver` sends.
    pub fn new(deliver: &'a mut dyn FnMut(&[u8]) -> io::Result<()>) -> Self {
        Self { bytes: Vec::with_capacity(1 << 20), deliver, failed: None }
    }

    fn deliver(&mut self) {
        if self.failed.is_none() {
            self.failed = (self.deliver)(&self.bytes).err();
        }
        self.bytes.clear();
    }

    /// Delivers the rest.
    pub fn finish(mut self) -> Result<(), Refusal> {
        self.deliver();
        let Some(error) = self.failed else { return Ok(()) };
        let what = "the stream could not be written";
        Err(Refusal::new(Reason::Failed, what, "keep the reader running")
            .with_code(error.raw_os_error().unwrap_or(0)))
    }
}

impl Sink for Output<'_> {
    fn write(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        if IS_LIVE.load(Relaxed) {
            self.deliver();
        }
    }
}
