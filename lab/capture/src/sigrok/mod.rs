//! sigrok's sessions (`.sr`): a zip archive of `version`, `metadata` and the samples, split into
//! parts `logic-1-1`, `logic-1-2` and so on. The module knows the format, not the measures of its
//! edges.
//!
//! A sample is `unitsize` bytes, with a bit for each channel. A constant level packs a
//! thousandfold, so neither the ratio nor the size of the file detects a zip bomb; the limit is the
//! unpacked size.

mod metadata;
mod read;
mod write;

pub use read::Reader;
pub use write::Writer;

/// The most bytes of samples that are unpacked or written.
const MOST: u64 = 8 << 30;
