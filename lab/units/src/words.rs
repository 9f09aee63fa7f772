//! Suggestions for mistyped names, and words of a command line. The module knows words, and not where they
//! come from.

/// Returns the number of single-character edits between two words.
pub use strsim::levenshtein as distance;

/// Quotes a word for a shell if it needs it.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "@=,._:/+-".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Returns a suggestion as [`nearest`] does, or `;` if there is none, so that a sentence may
/// follow.
pub fn hint<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> String {
    let near = nearest(name, names);
    if near.is_empty() { ";".to_owned() } else { near }
}

/// Returns `; did you mean …?` with the nearest name, or an empty text if none is close.
pub fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> String {
    let close = names.map(|other| (distance(name, other), other)).min();
    match close {
        Some((far, other)) if far <= 1 + name.chars().count() / 3 => {
            format!("; did you mean `{other}`?")
        }
        _ => String::new(),
    }
}

/// Returns the nearest names, as `a, b or c`: three, or all if they are fewer.
pub fn nearest_three<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> String {
    let mut all: Vec<(usize, &str)> = names.map(|other| (distance(name, other), other)).collect();
    all.sort_unstable();
    all.dedup();
    let near: Vec<&str> = all.into_iter().take(3).map(|(_, other)| other).collect();
    listed(&near, "or")
}

/// Returns the words as `a, b or c`, with that conjunction.
pub fn listed(words: &[&str], conjunction: &str) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} {conjunction} {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_split_them() {
        for (word, expected) in
            [("a=b", "a=b"), ("a=b c", "'a=b c'"), ("", "''"), ("it's", "'it'\\''s'")]
        {
            assert_eq!(quoted(word), expected);
        }
    }

    #[test]
    fn near_names_are_found() {
        assert_eq!(nearest("swich", ["switch", "spawn"].into_iter()), "; did you mean `switch`?");
        assert_eq!(nearest("zebra", ["switch", "spawn"].into_iter()), "");
        assert_eq!(distance("kitten", "sitting"), 3);
        let names = ["ab", "abcd", "abc", "zzzzz", "abc"];
        assert_eq!(nearest_three("abcd", names.into_iter()), "abcd, abc or ab");
        assert_eq!(nearest_three("a", [].into_iter()), "");
        assert_eq!(listed(&["a", "b", "c"], "and"), "a, b and c");
    }
}
