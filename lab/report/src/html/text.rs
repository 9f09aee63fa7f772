//! Text on the page: formatting, lists of words, and tables.

use maud::{Markup, Render, html};

/// Groups the first number of a text by thousands if it has five digits or more, with narrow
/// no-break spaces.
pub fn grouped(text: &str) -> String {
    let before = text.chars().take_while(|letter| !letter.is_ascii_digit()).count();
    let digits = text.chars().skip(before).take_while(char::is_ascii_digit).count();
    if digits < 5 {
        return text.to_owned();
    }
    let mut grouped = String::with_capacity(text.len() + digits);
    for (index, letter) in text.chars().enumerate() {
        let left = (before + digits).saturating_sub(index);
        if index > before && left > 0 && left % 3 == 0 {
            grouped.push('\u{202f}');
        }
        grouped.push(letter);
    }
    grouped
}

/// A table of text with a header.
pub fn table(class: &str, header: &[&str], rows: &[Vec<String>]) -> Markup {
    let rows = html! {
        @for row in rows {
            tr { @for cell in row { td { (cell) } } }
        }
    };
    wide(class, header, &rows)
}

/// A table of these rows with a header. A table wider than the page scrolls by itself.
pub fn wide(class: &str, header: &[impl Render], rows: &Markup) -> Markup {
    html! {
        div.wide tabindex="0" {
            table class=(class) {
                thead {
                    tr { @for name in header { th { (name) } } }
                }
                tbody { (rows) }
            }
        }
    }
}

/// Joins the items that are not empty by ` · `.
pub fn joined<S: AsRef<str>>(items: &[S]) -> String {
    let items: Vec<&str> =
        items.iter().map(AsRef::as_ref).filter(|item| !item.is_empty()).collect();
    items.join(" · ")
}

/// The items without repetitions, in the order in which each comes first.
pub fn unique<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut known = Vec::new();
    for item in items {
        if !known.contains(&item) {
            known.push(item);
        }
    }
    known
}

/// The words common to all names, in the order of the first; none for a name that stands alone.
pub fn common_words(names: &[Vec<String>]) -> Vec<String> {
    let Some((first, rest)) = names.split_first().filter(|(_, rest)| !rest.is_empty()) else {
        return Vec::new();
    };
    let is_common = |word: &&String| rest.iter().all(|other| other.contains(word));
    first.iter().filter(is_common).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use chronoscope_units::printable_document;

    #[test]
    fn no_text_becomes_markup() {
        let page = |text: &str| printable_document(html! { (text) }.into_string());
        assert_eq!(
            page("<script>alert('a' & \"b\")</script>"),
            "&lt;script&gt;alert('a' &amp; &quot;b&quot;)&lt;/script&gt;"
        );
        assert_eq!(page("a\0b\x1b[31mc\u{202e}d\te"), "a\u{fffd}b\u{fffd}[31mc\u{fffd}d e");
        assert_eq!(page("µs · 5…7 ≤ é"), "µs · 5…7 ≤ é");
    }

    #[test]
    fn many_digits_are_grouped() {
        assert_eq!(grouped("200510575 instr"), "200\u{202f}510\u{202f}575 instr");
        assert_eq!(
            ["+ 12345 instr", "1234", "0.123456", "–", ""].map(grouped),
            ["+ 12\u{202f}345 instr", "1234", "0.123456", "–", ""]
        );
    }
}
