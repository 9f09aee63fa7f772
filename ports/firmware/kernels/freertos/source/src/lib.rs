//! Empty: cargo needs a crate in order to fetch a dependency.
