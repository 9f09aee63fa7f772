//! How long a store waits for another program's transaction.

use std::{sync::atomic::Ordering, time::Duration};

use chronoscope_base::signals;

/// The longest wait for another program's transaction; the largest run is written in a fraction of
/// it.
const PATIENCE: Duration = Duration::from_secs(10);

/// The longest wait after a signal: the program must end within two seconds of it.
const PATIENCE_WHEN_STOPPED: Duration = Duration::from_secs(1);

/// The longest wait for another program's transaction now.
pub fn patience() -> Duration {
    if signals::stop().load(Ordering::Relaxed) { PATIENCE_WHEN_STOPPED } else { PATIENCE }
}
