//! The samples of a benchmark, as the lab's experiments `operations` and `crowded` read them.

use core::{
    fmt,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

/// Samples in their order: a value, and `*TIMES` behind it where it came several times in a row.
pub struct Runs<'a>(pub &'a [AtomicU32]);

impl fmt::Display for Runs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let runs = self.0.chunk_by(|one, next| one.load(Relaxed) == next.load(Relaxed));
        for (i, run) in runs.enumerate() {
            let gap = if i == 0 { "" } else { " " };
            match run.len() {
                1 => write!(f, "{gap}{}", run[0].load(Relaxed))?,
                times => write!(f, "{gap}{}*{times}", run[0].load(Relaxed))?,
            }
        }
        Ok(())
    }
}
