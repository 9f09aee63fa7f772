//! Statistics of a series, by name. The module formats no value.

mod table;

pub use self::table::{STATISTICS, Statistic};
