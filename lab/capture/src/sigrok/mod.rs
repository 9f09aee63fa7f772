//! sigrok's sessions (`.sr`): a zip archive of `version`, `metadata`, and all samples in parts `logic-1-1`, `logic-1-2` and so on.
//!
//! A sample is `unitsize` bytes, in which each channel has a bit. A line that does not move packs a thousandfold, so neither the
//! ratio nor a small file tells a bomb: only how much there is to unpack.

mod metadata;
mod read;
mod write;

pub use read::Reader;
pub use write::Writer;

/// More than this is not unpacked, and not written.
const MOST: u64 = 8 << 30;
