//! Passwords in the URLs of databases, which no message, run file or page may show.

/// The schemes of URLs that may hold a password.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// The text in the place of a password.
const HIDDEN: &str = "***";

/// Returns the text with each password of a `postgres://` URL replaced by `***`: the password
/// before the host, and the parameter `password`. A URL ends with white space. A quotation mark
/// ends a URL only behind the last `@`, since a password may hold a mark; so too much is hidden
/// where another `@` follows without a blank.
pub fn without_passwords(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((at, length)) = next(rest) {
        let (before, url) = rest.split_at(at + length);
        let (word, _) = url.split_at(url.find(char::is_whitespace).unwrap_or(url.len()));
        // Another URL in the same word has a user of its own.
        let word = next(word).map_or(word, |(at, _)| &word[..at]);
        let host = word.rfind('@').unwrap_or(0);
        let is_end = |letter: char| matches!(letter, '`' | '"' | '\'' | '<' | '>');
        let end = word[host..].find(is_end).map_or(word.len(), |at| host + at);
        let (url, after) = url.split_at(end);
        safe.push_str(before);
        safe.push_str(&without_password(url));
        rest = after;
    }
    safe + rest
}

/// Returns a word of a command line with `***` for the passwords of the URL that ends it. They may have
/// blanks.
pub fn word_without_passwords(word: &str) -> String {
    let Some((start, _)) = next(word) else { return word.to_owned() };
    let (before, url) = word.split_at(start);
    before.to_owned() + &without_password(url)
}

/// The start of the first URL in a text, and the length of its scheme.
fn next(text: &str) -> Option<(usize, usize)> {
    let find = |scheme: &&str| Some((text.find(scheme)?, scheme.len()));
    SCHEMES.iter().filter_map(find).min()
}

/// Returns the URL of a database with `***` for its passwords, also for passwords with `@` or `:`.
pub fn without_password(url: &str) -> String {
    let scheme = SCHEMES.iter().find(|scheme| url.starts_with(**scheme)).map_or(0, |s| s.len());
    let (scheme, rest) = url.split_at(scheme);
    scheme.to_owned() + &without_parameter(&without_userinfo(rest))
}

/// Hides the password before the host. `url` has no scheme. The last `@` ends the password, since
/// its user may have forgotten to encode an earlier one.
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
            ("postgres://u:p'w/x#y\"@h/d", "postgres://u:***@h/d"),
            ("`postgres://u:p`w@h/d`: no route", "`postgres://u:***@h/d`: no route"),
            ("'postgres://h/d','postgres://u:pw@h'", "'postgres://h/d','postgres://u:***@h'"),
            ("postgres://u@h/d", "postgres://u@h/d"),
            ("https://u:pw@h", "https://u:pw@h"),
            ("", ""),
        ] {
            assert_eq!(without_passwords(text), safe);
        }
    }

    #[test]
    fn a_url_alone_may_have_blanks_in_its_password() {
        let url = "postgres://u:p w?'/#@h/d?password=a b&x=1";
        assert_eq!(without_password(url), "postgres://u:***@h/d?password=***&x=1");
        let word = word_without_passwords(&format!("--store={url}"));
        assert_eq!(word, "--store=postgres://u:***@h/d?password=***&x=1");
        assert_eq!(word_without_passwords("a:b@c"), "a:b@c");
    }
}
