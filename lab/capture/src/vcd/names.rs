//! Makes names of signals and scopes valid and unique for viewers of value change dumps. The module
//! knows names; it neither reads nor writes a dump.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

/// The names in use in one scope.
pub struct UniqueNames<'a> {
    names: HashSet<Cow<'a, str>>,
    /// The character between a name and the number that makes it unique.
    separator: char,
    /// The latest number that each repeated name got. The next search starts after it, since a file
    /// may have a million equal names.
    numbers: HashMap<String, u64>,
}

impl<'a> UniqueNames<'a> {
    /// Creates the set with `names` in use. The `separator` is put between a name and its number.
    pub fn new(separator: char, names: impl IntoIterator<Item = &'a str>) -> Self {
        let names = names.into_iter().map(Cow::Borrowed).collect();
        Self { names, separator, numbers: HashMap::new() }
    }

    /// Returns `name` if it is free, otherwise `name` with the least free number from 2 on. The
    /// returned name is then in use.
    pub fn claim(&mut self, name: &str) -> String {
        if self.names.insert(Cow::Owned(name.to_owned())) {
            return name.to_owned();
        }
        if !self.numbers.contains_key(name) {
            self.numbers.insert(name.to_owned(), 1);
        }
        let number = self.numbers.get_mut(name).expect("it was inserted just now");
        loop {
            *number += 1;
            let free = format!("{name}{}{number}", self.separator);
            if self.names.insert(Cow::Owned(free.clone())) {
                return free;
            }
        }
    }
}

/// Turns a name into an identifier. Viewers split paths at dots and read brackets as an index, so
/// such characters become `_`. An empty name becomes `_`.
pub fn identifier(name: &str) -> String {
    let fits =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '@' | '=' | '+' | '/' | ':');
    let word: String = name.chars().map(|c| if fits(c) { c } else { '_' }).collect();
    if word.is_empty() { "_".to_owned() } else { word }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_taken_name_gets_the_least_free_number() {
        let mut unique = UniqueNames::new('_', ["a_3"]);
        let names = ["a", "a", "a", "a_2", "b", "a"].map(|name| unique.claim(name));
        assert_eq!(names, ["a", "a_2", "a_4", "a_2_2", "b", "a_5"]);
    }

    #[test]
    fn equal_names_take_no_more_time_than_others() {
        let mut unique = UniqueNames::new('_', []);
        let begin = Instant::now();
        let last = (0..50_000).map(|_| unique.claim("a")).last();
        assert_eq!(last.as_deref(), Some("a_50000"));
        // A search from 2 for each name takes minutes.
        assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
    }
}
