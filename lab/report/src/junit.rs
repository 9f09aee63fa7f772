//! JUnit XML, which most CI systems display: a `testsuite` for each experiment and a `testcase` for
//! each case.
//!
//! | verdict | element |
//! |---|---|
//! | pass | none |
//! | limit missed, regression, mixed | `failure` |
//! | inconclusive, error | `error`: nothing was measured; `skipped` would look like a success |
//! | not offered | `skipped` |
//!
//! The `time` of a `testcase` is the total of its measured samples by the target's clock, not of its
//! set-up. A comparison has none.

use std::fmt::Write as _;

use super::outcomes::{Outcome, Outcomes};
use chronoscope_run::Status;

/// Renders a test suite for each experiment, as XML.
pub fn render(outcomes: &Outcomes) -> String {
    let mut experiments: Vec<&str> = Vec::new();
    for outcome in &outcomes.all {
        if !experiments.contains(&outcome.experiment.as_str()) {
            experiments.push(&outcome.experiment);
        }
    }
    let all: Vec<&Outcome> = outcomes.all.iter().collect();
    // The duration of an imported run is unknown.
    let time = match outcomes.context.imported.is_some() {
        true => String::new(),
        false => outcomes.context.seconds.to_string(),
    };
    let attributes = attributes(&[("name", &outcomes.name), ("time", &time)]);
    let mut text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
    let _ = writeln!(text, "<testsuites{attributes}{}>", counts(&all));
    for experiment in experiments {
        let own: Vec<&Outcome> =
            all.iter().copied().filter(|outcome| outcome.experiment == experiment).collect();
        text.push_str(&suite(experiment, &own, outcomes));
    }
    text + "</testsuites>\n"
}

fn suite(experiment: &str, own: &[&Outcome], outcomes: &Outcomes) -> String {
    let context = &outcomes.context;
    // JUnit's timestamps have no zone.
    let date = context.date.trim_end_matches('Z');
    let attributes =
        attributes(&[("name", experiment), ("timestamp", date), ("hostname", &context.host)]);
    let mut text = format!("  <testsuite{attributes}{}>\n", counts(own));
    own.iter().for_each(|outcome| text.push_str(&testcase(outcome)));
    text + "  </testsuite>\n"
}

fn counts(outcomes: &[&Outcome]) -> String {
    let count = |kind: &str| {
        outcomes.iter().filter(|outcome| element(outcome.status) == Some(kind)).count().to_string()
    };
    attributes(&[
        ("tests", &outcomes.len().to_string()),
        ("failures", &count("failure")),
        ("errors", &count("error")),
        ("skipped", &count("skipped")),
    ])
}

fn element(status: Status) -> Option<&'static str> {
    match status {
        Status::Pass => None,
        Status::NotOffered => Some("skipped"),
        Status::Inconclusive | Status::Error => Some("error"),
        Status::Mixed | Status::Regression | Status::LimitMissed => Some("failure"),
    }
}

fn testcase(outcome: &Outcome) -> String {
    let mut text = format!(
        "    <testcase{}>\n",
        attributes(&[
            ("classname", &outcome.experiment),
            ("name", &outcome.name),
            ("time", &outcome.seconds.map_or_else(String::new, |seconds| format!("{seconds:.6}"))),
        ])
    );
    if let Some(element) = element(outcome.status) {
        let words = outcome.status.words();
        let message =
            if outcome.reasons.is_empty() { words.to_owned() } else { outcome.reasons.join("; ") };
        // JUnit's schema gives `skipped` no type.
        let kind =
            if element == "skipped" { String::new() } else { attributes(&[("type", words)]) };
        let _ = writeln!(
            text,
            "      <{element}{}{kind}>{}</{element}>",
            attributes(&[("message", &message)]),
            escaped(&message)
        );
    }
    if !outcome.figures.is_empty() {
        let _ = writeln!(
            text,
            "      <system-out>{}</system-out>",
            escaped(&outcome.figures.join("\n"))
        );
    }
    text + "    </testcase>\n"
}

/// Formats attributes, leaving out those with an empty value.
fn attributes(attributes: &[(&str, &str)]) -> String {
    let present = attributes.iter().filter(|(_, value)| !value.is_empty());
    // XML parsers normalize a literal line break in an attribute to a space.
    present
        .map(|(name, value)| format!(" {name}=\"{}\"", escaped(value).replace('\n', "&#10;")))
        .collect()
}

/// Escapes text for XML 1.0. Characters that it forbids or discourages, controls and noncharacters,
/// are removed; a tab becomes a space.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push('\n'),
            '\t' => escaped.push(' '),
            _ if character.is_control() || u32::from(character) & 0xfffe == 0xfffe => {}
            _ => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use roxmltree::{Document, Node};

    use super::*;
    use chronoscope_run::sample;
    use chronoscope_units::OneLine;

    fn find<'a>(document: &'a Document<'_>, element: &str) -> Vec<Node<'a, 'a>> {
        document.descendants().filter(|node| node.has_tag_name(element)).collect()
    }

    #[test]
    fn every_case_is_there_with_its_verdict() {
        let run = sample::full();
        let text = render(&Outcomes::of_run(&run));
        let document = Document::parse(&text).unwrap();
        let suites: Vec<_> = find(&document, "testsuite")
            .iter()
            .filter_map(|suite| suite.attribute("name"))
            .collect();
        assert_eq!(suites, ["switch", "delay", "inversion", "interrupt"]);
        let cases = find(&document, "testcase");
        assert_eq!(cases.len(), run.cases.len() + run.peers.len());
        assert_eq!(cases[0].attribute("classname"), Some("switch"));
        assert_eq!(cases[0].attribute("name"), Some("linux@host pair=thread-thread tasks=2"));
        let series = &run.cases[0].series[0];
        let total = series.summary.count as f64 * series.summary.mean.unwrap() * series.per * 1e-9;
        assert_eq!(cases[0].attribute("time"), Some(format!("{total:.6}").as_str()));
        let figures = find(&document, "system-out")[0].text().unwrap().replace('\u{a0}', " ");
        let (answer, figures) = figures.split_once('\n').unwrap();
        assert_eq!(
            answer,
            "A switch takes 2.90 µs at the median, 4.35 µs at p99, 69.6 µs at worst"
        );
        assert!(figures.starts_with("switch: n 5000, p50 2.90 µs"), "{text}");
        for (element, message) in [
            ("failure", "a reason"),
            ("error", "rounds of high: 11, not 12"),
            ("skipped", "coroutines are not offered by this kernel"),
        ] {
            let found = find(&document, element);
            assert_eq!((found.len(), found[0].attribute("message")), (1, Some(message)), "{text}");
        }
        assert_eq!(find(&document, "failure")[0].attribute("type"), Some("limit missed"));
        let sums = ["tests", "failures", "errors", "skipped"]
            .map(|sum| find(&document, "testsuites")[0].attribute(sum));
        assert_eq!(sums, ["7", "1", "1", "1"].map(Some));
        // The sample is an imported run.
        assert_eq!(document.root_element().attribute("time"), None);
        let timed = render(&Outcomes::of_run(&sample::run()));
        assert!(timed.contains("<testsuites name=\"sample\" time=\"1.5\""), "{timed}");
        // A case without evidence shows no figures.
        let unproven = find(&document, "error")[0].parent().unwrap();
        assert_eq!(unproven.attribute("time"), None);
        assert!(unproven.children().all(|child| !child.has_tag_name("system-out")), "{text}");
    }

    proptest! {
        #[test]
        fn any_text_makes_xml_that_says_the_same(reason in any::<String>()) {
            let mut run = sample::full();
            run.study = reason.clone().into();
            run.cases[0].label = reason.clone().into();
            run.cases[0].verdict.reasons = vec![reason.clone().into()];
            let text = render(&Outcomes::of_run(&run));
            let document = Document::parse(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
            let kept = OneLine::from(reason);
            let failure = find(&document, "failure")[0];
            prop_assert_eq!(failure.attribute("message").unwrap_or_default(), kept.as_str());
            prop_assert_eq!(failure.text().unwrap_or_default(), kept.as_str());
        }
    }
}
