//! Numbers in lines that were written for people.

/// The number directly before `words`.
pub fn number_before(line: &str, words: &str) -> Option<f64> {
    number(line[..line.find(words)?].split_whitespace().next_back()?)
}

/// The number directly after `words`.
pub fn number_after(line: &str, words: &str) -> Option<f64> {
    number(line[line.find(words)? + words.len()..].split_whitespace().next()?)
}

fn number(word: &str) -> Option<f64> {
    word.parse().ok().filter(|number: &f64| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_beside_their_words() {
        assert_eq!(number_before("   7.63 usecs/op", "usecs/op"), Some(7.63));
        assert_eq!(number_after("Time: 0.006", "Time:"), Some(0.006));
        for line in ["", "usecs/op", "seven usecs/op", "nan usecs/op", "µ7 usecs/op"] {
            assert_eq!(number_before(line, "usecs/op"), None);
        }
        assert_eq!(number_after("Time:", "Time:"), None);
    }
}
