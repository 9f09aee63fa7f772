//! Compares the JSON of two runs case by case, without the keys that may differ between two runs
//! of one program or two builds of one source.

use std::collections::BTreeMap;

use serde_json::Value;

/// Keys of a run that are not compared: dates, machine, command line and revision.
const OF_RUN: [&str; 2] = ["context", "cases"];

/// Keys of a case that are not compared: versions and hashes of kernel, emulator and image.
const OF_CASE: [&str; 2] = ["identity", "release"];

/// The longest text of a value in a message, in characters.
const LONGEST: usize = 40;

/// The comparison of one case, or of everything in a run but its cases.
#[derive(Debug, PartialEq)]
pub struct Compared {
    /// Experiment, target, and the parameters that were asked for.
    pub name: String,
    pub outcome: Outcome,
}

#[derive(Debug, PartialEq)]
pub enum Outcome {
    Equal,
    Different(Vec<Difference>),
    OnlyInBase,
    OnlyInTree,
}

/// Two values at the same path.
#[derive(Debug, PartialEq)]
pub struct Difference {
    /// The keys and indices that lead to the value, as `series[0].p50`.
    path: String,
    /// The base's value, and the tree's. Absent is a text of its own.
    texts: [String; 2],
}

/// Compares two runs: first everything but the cases, then the cases in the base's order, then
/// those that only the tree has. Cases of one name are compared in their order.
pub fn runs(base: &Value, tree: &Value) -> Vec<Compared> {
    let mut tree_cases = cases(tree);
    let mut compared = vec![Compared {
        name: "the run without its cases".to_owned(),
        outcome: outcome(base, tree, &OF_RUN),
    }];
    for (name, case) in cases(base) {
        let place = tree_cases.iter().position(|(other, _)| *other == name);
        let outcome = match place.map(|place| tree_cases.remove(place)) {
            Some((_, other)) => outcome(case, other, &OF_CASE),
            None => Outcome::OnlyInBase,
        };
        compared.push(Compared { name, outcome });
    }
    let only = tree_cases.into_iter();
    compared.extend(only.map(|(name, _)| Compared { name, outcome: Outcome::OnlyInTree }));
    compared
}

/// The cases of a run. A name that an earlier case has gets a number.
fn cases(run: &Value) -> Vec<(String, &Value)> {
    let mut seen = BTreeMap::new();
    let cases = run["cases"].as_array().into_iter().flatten();
    cases
        .map(|case| {
            let words =
                ["experiment", "target", "label"].map(|key| case[key].as_str().unwrap_or(""));
            let name = words.join(" ").trim_end().to_owned();
            let count = seen.entry(name.clone()).and_modify(|count| *count += 1).or_insert(1);
            (if *count == 1 { name } else { format!("{name} #{count}") }, case)
        })
        .collect()
}

fn outcome(base: &Value, tree: &Value, left_out: &[&str]) -> Outcome {
    let without = |value: &Value| {
        let mut value = value.clone();
        if let Value::Object(keys) = &mut value {
            keys.retain(|key, _| !left_out.contains(&key.as_str()));
        }
        value
    };
    let mut found = Vec::new();
    differences("", Some(&without(base)), Some(&without(tree)), &mut found);
    if found.is_empty() { Outcome::Equal } else { Outcome::Different(found) }
}

/// Adds the places at which two values differ. Where both are lists or both are objects, compares
/// their elements; else the values as a whole.
fn differences(
    path: &str,
    base: Option<&Value>,
    tree: Option<&Value>,
    found: &mut Vec<Difference>,
) {
    match (base, tree) {
        (Some(Value::Object(base)), Some(Value::Object(tree))) => {
            let dot = if path.is_empty() { "" } else { "." };
            let keys = base.keys().chain(tree.keys().filter(|key| !base.contains_key(*key)));
            for key in keys {
                let path = format!("{path}{dot}{key}");
                differences(&path, base.get(key), tree.get(key), found);
            }
        }
        (Some(Value::Array(base)), Some(Value::Array(tree))) => {
            for index in 0..base.len().max(tree.len()) {
                let path = format!("{path}[{index}]");
                differences(&path, base.get(index), tree.get(index), found);
            }
        }
        _ if base == tree => {}
        _ => found.push(Difference { path: path.to_owned(), texts: texts(base, tree) }),
    }
}

/// The texts of two values that differ. Long ones begin near the first difference.
fn texts(base: Option<&Value>, tree: Option<&Value>) -> [String; 2] {
    let texts = [base, tree].map(|value| value.map_or("absent".to_owned(), Value::to_string));
    if texts.iter().all(|text| text.chars().count() <= LONGEST) {
        return texts;
    }
    let [base, tree] = &texts;
    let common = base.chars().zip(tree.chars()).take_while(|(base, tree)| base == tree).count();
    let skipped = common.saturating_sub(LONGEST / 2);
    texts.map(|text| {
        let start = if skipped == 0 { "" } else { "…" };
        let part: String = text.chars().skip(skipped).take(LONGEST).collect();
        let end = if text.chars().count() > skipped + LONGEST { "…" } else { "" };
        format!("{start}{part}{end}")
    })
}

impl Outcome {
    /// The outcome in words, on one line, with the first `most` differences; `None` if the values
    /// are equal.
    pub fn line(&self, most: usize) -> Option<String> {
        match self {
            Self::Equal => None,
            Self::OnlyInBase => Some("only in the base".to_owned()),
            Self::OnlyInTree => Some("only in the tree".to_owned()),
            Self::Different(all) => {
                let shown =
                    all.iter().take(most).map(|Difference { path, texts: [base, tree] }| {
                        format!("{path} {base} → {tree}")
                    });
                let mut line = shown.collect::<Vec<_>>().join(", ");
                if all.len() > most {
                    line += &format!(", and {} more", all.len() - most);
                }
                Some(line)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn case(target: &str, label: &str, p50: f64) -> Value {
        json!({
            "experiment": "switch",
            "target": target,
            "release": format!("{p50}"),
            "identity": { "build": format!("rustc {p50}") },
            "label": label,
            "series": [{ "name": "switch", "p50": p50, "histogram": [[p50, 10]] }],
        })
    }

    fn run(cases: &[Value]) -> Value {
        json!({ "schema": 2, "context": { "date": format!("{cases:?}") }, "title": "t", "cases": cases })
    }

    /// The names of the cases that differ, with their lines.
    fn lines(base: &Value, tree: &Value) -> Vec<String> {
        let compared = runs(base, tree);
        let differing = compared
            .iter()
            .filter_map(|Compared { name, outcome }| Some(format!("{name}: {}", outcome.line(2)?)));
        differing.collect()
    }

    #[test]
    fn context_versions_and_hashes_are_not_compared() {
        let base = run(&[case("a@rv32", "", 99.0)]);
        let mut tree = base.clone();
        tree["context"] = json!({ "date": "later" });
        tree["cases"][0]["identity"] = json!({ "build": "another" });
        tree["cases"][0]["release"] = json!("0.2.0");
        let compared = runs(&base, &tree);
        assert!(compared.iter().all(|one| one.outcome == Outcome::Equal), "{compared:?}");
        assert_eq!(compared.len(), 2);
    }

    #[test]
    fn a_changed_figure_is_shown_with_its_path_and_both_values() {
        let base = run(&[case("a@rv32", "tasks=2", 99.0), case("a@rv32", "tasks=3", 99.0)]);
        let tree = run(&[case("a@rv32", "tasks=2", 99.0), case("a@rv32", "tasks=3", 101.0)]);
        let expected = "switch a@rv32 tasks=3: series[0].p50 99.0 → 101.0, \
                        series[0].histogram[0][0] 99.0 → 101.0";
        assert_eq!(lines(&base, &tree), [expected]);
    }

    #[test]
    fn any_other_key_of_a_run_or_a_case_is_compared() {
        let base = run(&[case("a@rv32", "", 99.0)]);
        let with = |place: &dyn Fn(&mut Value)| {
            let mut tree = base.clone();
            place(&mut tree);
            lines(&base, &tree)
        };
        let title = with(&|run| run["title"] = json!("u"));
        assert_eq!(title, [r#"the run without its cases: title "t" → "u""#]);
        let added = with(&|run| run["cases"][0]["log"] = json!(["new"]));
        assert_eq!(added, [r#"switch a@rv32: log absent → ["new"]"#]);
        let removed =
            with(&|run| drop(run["cases"][0]["series"][0].as_object_mut().unwrap().remove("p50")));
        assert_eq!(removed, ["switch a@rv32: series[0].p50 99.0 → absent"]);
        let many = with(&|run| run["cases"][0]["series"] = json!([1, 2, 3]));
        assert!(many[0].ends_with("series[1] absent → 2, and 1 more"), "{many:?}");
        // Whole numbers and fractions are different JSON.
        let kind = with(&|run| run["cases"][0]["series"][0]["p50"] = json!(99));
        assert_eq!(kind, ["switch a@rv32: series[0].p50 99.0 → 99"]);
    }

    #[test]
    fn a_case_of_one_run_alone_is_named() {
        let base = run(&[case("a@rv32", "", 9.0), case("b@rv32", "", 9.0)]);
        let tree = run(&[case("c@rv32", "", 9.0), case("b@rv32", "", 9.0)]);
        assert_eq!(
            lines(&base, &tree),
            ["switch a@rv32: only in the base", "switch c@rv32: only in the tree"]
        );
    }

    #[test]
    fn cases_of_one_name_are_compared_in_their_order() {
        let base = run(&[case("a@rv32", "", 1.0), case("a@rv32", "", 2.0)]);
        let tree = run(&[case("a@rv32", "", 1.0), case("a@rv32", "", 3.0)]);
        assert!(lines(&base, &tree)[0].starts_with("switch a@rv32 #2: series[0].p50 2.0 → 3.0"));
        assert_eq!(lines(&base, &base), [""; 0]);
        let fewer = run(&[case("a@rv32", "", 1.0)]);
        assert_eq!(lines(&base, &fewer), ["switch a@rv32 #2: only in the base"]);
    }

    #[test]
    fn long_texts_begin_near_the_first_difference() {
        let long = |end: &str| {
            run(&[json!({ "log": format!("{}{end}{}", "x".repeat(100), "y".repeat(100)) })])
        };
        let line = &lines(&long("1"), &long("2"))[0];
        assert!(line.contains("…xxx") && line.contains("x1y") && line.contains("x2y"), "{line}");
        assert!(line.chars().count() < 4 * LONGEST, "{line}");
    }
}
