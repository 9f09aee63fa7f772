//! What Saleae's Logic 2 exports: CSV with a row for each moment at which a channel changes, and a binary file for each channel.
//! Both tell times in seconds since the trigger, or since the start; here they start at zero.

mod binary;
mod csv;

pub use binary::Reader as Binary;
pub use csv::Reader as Csv;

/// What a binary file starts with.
pub(super) const MAGIC: &[u8; 8] = b"<SALEAE>";
