//! The revision of the program's sources, which `build.rs` finds.

/// The commit that a release program was built from, with `-dirty` if its sources differed; empty
/// in other builds.
pub const REVISION: &str = env!("CHRONOSCOPE_REVISION");
