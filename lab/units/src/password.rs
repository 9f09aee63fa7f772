//! Passwords in the URLs of databases, which no message, run file or page may show.

/// The schemes of URLs that may hold a password.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// The text in the place of a password.
const HIDDEN: &str = "***";

/// Returns the text with each password of a `postgres://` URL replaced by `***`: the one before the
/// host, and that of the parameter `password`. A URL ends with white space or a quotation mark.
pub fn without_passwords(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    let next = |text: &str| {
        let find = |scheme: &&str| Some((text.find(scheme)?, scheme.len()));
        SCHEMES.iter().filter_map(find).min()
    };
    while let Some((at, length)) = next(rest) {
        let (before, url) = rest.split_at(at + length);
        let is_end =
            |letter: char| letter.is_whitespace() || matches!(letter, '`' | '"' | '\'' | '<' | '>');
        let (url, after) = url.split_at(url.find(is_end).unwrap_or(url.len()));
        safe.push_str(before);
        safe.push_str(&without_parameter(&without_userinfo(url)));
        rest = after;
    }
    safe + rest
}

/// A URL without its scheme. A password may hold an `@` that its user forgot to encode, so that the
/// last one ends it.
fn without_userinfo(url: &str) -> String {
    let parts = url.rsplit_once('@').and_then(|(info, host)| Some((info.split_once(':')?.0, host)));
    parts.map_or(url.to_owned(), |(user, host)| format!("{user}:{HIDDEN}@{host}"))
}

fn without_parameter(url: &str) -> String {
    let Some((place, query)) = url.split_once('?') else { return url.to_owned() };
    let parameters = query.split('&').map(|parameter| match parameter.split_once('=') {
        Some((name, _)) if name.contains("password") => format!("{name}={HIDDEN}"),
        _ => parameter.to_owned(),
    });
    format!("{place}?{}", parameters.collect::<Vec<_>>().join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_is_left() {
        for (text, safe) in [
            ("postgres://u:pw@h/d", "postgres://u:***@h/d"),
            ("--store=postgresql://u:p@w/x:y@h:5/d -q", "--store=postgresql://u:***@h:5/d -q"),
            (
                "`postgres://u:pw@h/d` and postgres://v:qw@h",
                "`postgres://u:***@h/d` and postgres://v:***@h",
            ),
            (
                "postgres://h/d?sslmode=require&password=pw",
                "postgres://h/d?sslmode=require&password=***",
            ),
            ("postgres://u@h/d", "postgres://u@h/d"),
            ("https://u:pw@h", "https://u:pw@h"),
            ("", ""),
        ] {
            assert_eq!(without_passwords(text), safe);
        }
    }
}
