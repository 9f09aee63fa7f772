//! The revision of the program's sources, which `build.rs` finds.

/// The commit that the program was built from, with `-dirty` if its sources differed; empty where
/// there was no repository.
pub const REVISION: &str = env!("CHRONOSCOPE_REVISION");
