//! The user's folders by the XDG base directory specification. The module creates none.

use std::{env, path::PathBuf};

/// Returns the folder in the environment's `variable`, or `in_home` in the user's home folder;
/// `None` if neither the variable nor HOME is an absolute path.
pub fn for_user(variable: &str, in_home: &str) -> Option<PathBuf> {
    let absolute =
        |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute(variable).or_else(|| Some(absolute("HOME")?.join(in_home)))
}
