//! Events: `rtic-sync`'s signals, with which RTIC's users wake one task.

use core::cell::UnsafeCell;

use chronoscope_suite::Refusal;
use rtic_sync::signal::{Signal, SignalReader};

use crate::slot;

/// A signal, and the one reader that it has.
pub struct Event {
    signal: &'static Signal<()>,
    reader: UnsafeCell<SignalReader<'static, ()>>,
}

// SAFETY: the reader is used by one task alone, and a signal may be written from anywhere.
unsafe impl Sync for Event {}

impl Event {
    /// # Errors
    /// [`Refusal`] when memory is full.
    pub fn new() -> Result<Self, Refusal> {
        let signal = slot::place(Signal::new())?;
        Ok(Self { signal, reader: UnsafeCell::new(signal.take_reader()) })
    }

    #[inline]
    pub fn signal(&self) {
        self.signal.writer().write(());
    }

    #[inline(always)]
    pub fn signalled(&'static self) -> impl Future<Output = ()> + Send {
        // SAFETY: one task waits for an event, one future at a time.
        unsafe { &mut *self.reader.get() }.wait()
    }
}
