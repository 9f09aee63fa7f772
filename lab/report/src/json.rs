//! Chronoscope's JSON: the complete run, as documented in `docs/run-file.md`.

use crate::error::Result;
use chronoscope_run::Run;
use chronoscope_units::is_unprintable;

/// Renders a run as JSON. Unprintable characters of an attachment, which is the target's own text,
/// are written as `\u009b`, and `##[` as `#\u0023[`, so that the JSON can be shown on a terminal and
/// in the log of a GitHub workflow.
///
/// # Errors
/// When serialization fails; a run holds no value for which it does.
pub fn render(run: &Run) -> Result<String> {
    Ok(escaped(serde_json::to_string_pretty(run)?) + "\n")
}

/// JSON with all unprintable characters of its strings escaped; serde escapes only C0 controls.
fn escaped(json: String) -> String {
    let is_raw = |c: char| c != '\n' && is_unprintable(c);
    // Both occur in strings only.
    let json = if json.contains("##[") { json.replace("##[", "#\\u0023[") } else { json };
    if !json.contains(is_raw) {
        return json;
    }
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        if is_raw(c) {
            let mut units = [0; 2];
            let units = c.encode_utf16(&mut units).iter();
            units.for_each(|unit| text.push_str(&format!("\\u{unit:04x}")));
        } else {
            text.push(c);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;
    use crate::csv;
    use chronoscope_run::{STATISTICS, sample};

    /// Collects the path of every key in `value`, as `run.cases[].series[].p50`.
    fn paths(value: &Value, at: &str, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    let path = format!("{at}.{name}");
                    // The keys of these maps are data: names of parameters, facts and files.
                    if !["parameters", "when", "identity", "attachments", "labels"]
                        .contains(&name.as_str())
                    {
                        paths(value, &path, found);
                    }
                    found.insert(path);
                }
            }
            Value::Array(items) => {
                items.iter().for_each(|item| paths(item, &format!("{at}[]"), found))
            }
            _ => {}
        }
    }

    /// The keys described by the document: the first cells of its tables, prefixed with the path in
    /// the heading above.
    fn described() -> BTreeSet<String> {
        let (mut under, mut found) = ("", BTreeSet::new());
        for line in include_str!("../../../docs/run-file.md").lines() {
            let quoted = line.split('`').nth(1);
            if line.starts_with('#') {
                under = quoted.unwrap_or_default();
            } else if let (true, Some(key)) = (line.starts_with("| `") && !under.is_empty(), quoted)
            {
                found.insert(format!("{under}.{key}"));
            }
        }
        found
    }

    #[test]
    fn the_document_describes_every_key_and_no_other() {
        let mut expected: BTreeSet<String> =
            csv::columns().map(|column| format!("csv.{}", column.name)).collect();
        paths(
            &serde_json::from_str(&render(&sample::full()).unwrap()).unwrap(),
            "run",
            &mut expected,
        );
        let described = described();
        let missing: Vec<_> = expected.difference(&described).collect();
        let outdated: Vec<_> = described.difference(&expected).collect();
        assert!(
            missing.is_empty() && outdated.is_empty(),
            "missing: {missing:?}; outdated: {outdated:?}"
        );
    }

    #[test]
    fn the_document_lists_the_statistics_of_limits() {
        let names: Vec<String> =
            STATISTICS.iter().map(|statistic| format!("`{}`", statistic.name)).collect();
        let list = format!("| {}, or a figure's name;", names.join(", "));
        let document = include_str!("../../../docs/run-file.md");
        assert!(document.contains(&list), "docs/run-file.md does not have `{list}`");
    }

    #[test]
    fn attachments_are_kept_and_printable() {
        let mut run = sample::full();
        let raw = "a##[error]\u{9b}1m\u{1b}[2J\u{202e}\u{7f}\u{1fffe}\r\nµ";
        run.cases[0].attachments = [("trace".into(), raw.to_owned())].into();
        let text = render(&run).unwrap();
        assert!(!text.contains(|c| c != '\n' && is_unprintable(c)), "{text}");
        assert!(!text.contains("##["), "{text}");
        let read: Run = serde_json::from_str(&text).unwrap();
        assert_eq!(read.cases[0].attachments["trace"], raw);
    }

    #[test]
    fn written_runs_can_be_read() {
        let mut run = sample::full();
        run.cases[0].figures[0].value = f64::NAN;
        run.cases[0].evidence[0].low = f64::NEG_INFINITY;
        let text = render(&run).unwrap();
        let read: Run = serde_json::from_str(&text).unwrap();
        assert!(render(&read).unwrap() == text);
    }
}
