//! Reads the exports of Saleae's Logic 2: CSV with a row for each time at which a channel changes,
//! and a binary file for each channel. Both give times in seconds since the trigger or the start;
//! here a capture starts at zero.

mod binary;
mod csv;

pub use binary::Reader as Binary;
pub use csv::Reader as Csv;

/// The first bytes of a binary file.
pub(super) const MAGIC: &[u8; 8] = b"<SALEAE>";
