//! Text on the page: escaping and formatting.

use maud::{Markup, Render, html};

/// Escapes text for an element or a quoted attribute. Control characters, which HTML forbids, and
/// bidirectional overrides become replacement characters; line breaks and tabs become spaces.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' | '\t' => safe.push(' '),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}' => {
                safe.push(char::REPLACEMENT_CHARACTER);
            }
            letter if letter.is_control() => safe.push(char::REPLACEMENT_CHARACTER),
            letter => safe.push(letter),
        }
    }
    safe
}

/// Replaces what HTML forbids or what would deceive a reader, wherever it stands in a document:
/// control characters, bidirectional overrides and noncharacters become replacement characters,
/// and tabs become spaces.
pub fn clean(document: String) -> String {
    let is_unsafe = |letter: char| {
        (letter.is_control() && letter != '\n')
            || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}')
    };
    if !document.contains(is_unsafe) {
        return document;
    }
    let safe = |letter| match letter {
        '\t' => ' ',
        letter if is_unsafe(letter) => char::REPLACEMENT_CHARACTER,
        letter => letter,
    };
    document.chars().map(safe).collect()
}

/// Groups the first number of a text by thousands if it has five digits or more, with narrow
/// no-break spaces.
pub fn grouped(text: &str) -> String {
    let whole = text.chars().take_while(|letter| !letter.is_ascii_digit()).count();
    let digits = text.chars().skip(whole).take_while(char::is_ascii_digit).count();
    if digits < 5 {
        return text.to_owned();
    }
    let mut grouped = String::with_capacity(text.len() + digits);
    for (index, letter) in text.chars().enumerate() {
        let left = (whole + digits).saturating_sub(index);
        if index > whole && left > 0 && left % 3 == 0 {
            grouped.push('\u{202f}');
        }
        grouped.push(letter);
    }
    grouped
}

/// The next steps below a picture: the words up to the first colon are a step's heading.
pub fn steps(steps: &[String]) -> String {
    let step = |step: &String| match step.split_once(": ") {
        Some((head, rest)) => format!("<p><b>→ {}:</b> {}</p>\n", escape(head), escape(rest)),
        None => format!("<p>→ {}</p>\n", escape(step)),
    };
    let lines: String = steps.iter().take(3).map(step).collect();
    if lines.is_empty() { lines } else { format!("<div class=\"next\">\n{lines}</div>\n") }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_becomes_markup() {
        assert_eq!(
            escape("<script>alert('a' & \"b\")</script>"),
            "&lt;script&gt;alert(&#39;a&#39; &amp; &quot;b&quot;)&lt;/script&gt;"
        );
        assert_eq!(escape("a\0b\x1b[31mc\u{202e}d\ne"), "a\u{fffd}b\u{fffd}[31mc\u{fffd}d e");
        assert_eq!(escape("µs · 5…7 ≤ é"), "µs · 5…7 ≤ é");
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
