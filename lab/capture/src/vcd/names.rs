//! Makes names of signals and scopes valid and unique for viewers of value change dumps. It knows
//! no dump, only names.

use std::collections::BTreeSet;

/// Returns the name, or the name with a number if it is taken already; adds the result to `taken`.
pub fn unlike(taken: &mut BTreeSet<String>, name: &str) -> String {
    let mut free = name.to_owned();
    let mut number = 1;
    while !taken.insert(free.clone()) {
        number += 1;
        free = format!("{name}_{number}");
    }
    free
}

/// Turns a name into an identifier: viewers split paths at points and take brackets for an index,
/// so such characters become `_`.
pub fn identifier(name: &str) -> String {
    let fits =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '@' | '=' | '+' | '/' | ':');
    let word: String = name.chars().map(|c| if fits(c) { c } else { '_' }).collect();
    if word.is_empty() { "_".to_owned() } else { word }
}
