//! The longest wait of a store for another program's transaction. The module waits for nothing.

use std::{sync::atomic::Ordering, time::Duration};

use chronoscope_base::signals;

/// The longest wait for another program's transaction; the largest run is written in a fraction of
/// it.
const PATIENCE: Duration = Duration::from_secs(10);

/// The longest wait after a signal: the program must end within two seconds of it.
const PATIENCE_WHEN_STOPPED: Duration = Duration::from_secs(1);

/// Returns the longest wait at this moment, which a signal shortens.
pub fn patience() -> Duration {
    if signals::stop().load(Ordering::Relaxed) { PATIENCE_WHEN_STOPPED } else { PATIENCE }
}
