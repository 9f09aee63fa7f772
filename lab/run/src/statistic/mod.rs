//! Statistics of a series, by name. The module shows none of them.

mod table;

pub use self::table::{STATISTICS, Statistic};
