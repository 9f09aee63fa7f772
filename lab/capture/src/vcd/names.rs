//! Names of signals and scopes, as viewers of value change dumps take them.

use std::collections::BTreeSet;

/// The name, or one that no sister has.
pub fn unlike(taken: &mut BTreeSet<String>, name: &str) -> String {
    let mut free = name.to_owned();
    let mut number = 1;
    while !taken.insert(free.clone()) {
        number += 1;
        free = format!("{name}_{number}");
    }
    free
}

/// A name as a word: viewers part paths at points, and take brackets for an index.
pub fn identifier(name: &str) -> String {
    let fits =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '@' | '=' | '+' | '/' | ':');
    let word: String = name.chars().map(|c| if fits(c) { c } else { '_' }).collect();
    if word.is_empty() { "_".to_owned() } else { word }
}
