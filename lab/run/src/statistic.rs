//! Statistics of a series, by name.

mod table;

pub use self::table::{STATISTICS, Statistic};
