//! The rules for the answer to a study's question. A study's file has them, and a run keeps them,
//! so that a stored run can be answered without the file. The module writes no answer.
//!
//! Unknown keys are ignored, since a newer program may have written the run. The reader of studies
//! refuses them.

use std::collections::BTreeMap;

use chronoscope_units::{OneLine, parse_time};
use serde::{Deserialize, Deserializer, Serialize};

/// The reason why a sentence of an answer cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// A sentence names a value that the rules do not have.
    #[error("`{sentence}`: the answer has no value `{name}`")]
    NoValue {
        /// The sentence.
        sentence: OneLine,
        /// The name.
        name: String,
    },
    /// A condition has no `<`, `>` or `=`.
    #[error(
        "`{0}` is no condition: write `NAME > BOUND`, `NAME < BOUND`, `NAME = NAME` or `NAME = NAME within 2 %`"
    )]
    NotACondition(String),
}

/// The rules for the answer of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct Answering {
    /// The study's question, shorter than its title.
    pub question: OneLine,
    /// The form of the rows.
    pub layout: Layout,
    /// The question is answered by *Yes*, *No* or *Not decided*: limits decide, and the run's status is
    /// 0, 2 or 4.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub decides: bool,
    /// The kernel whose limits and wins the title of a ranking counts; the best one if empty.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub subject: OneLine,
    /// The kernel of a ranking that is shown, but not ranked.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub floor: OneLine,
    /// The machine whose cases are ranked; all if empty.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub machine: OneLine,
    /// A machine whose figures are shown in a table of their own, and not ranked.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub beside: OneLine,
    /// The rows of the answer, in order; chosen from the cases if there are none.
    #[serde(rename = "row", skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<Pick>,
    /// The curves of a sweep, which the page draws.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sweep: Option<Sweep>,
    /// The parts of costs, which the page draws as stacked bars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack: Option<Stack>,
    /// One round of each of several traced cases, drawn on one time line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<Rounds>,
    /// The values that sentences name.
    #[serde(rename = "value", skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<Pick>,
    /// The title: the first sentence whose conditions hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub title: Vec<Sentence>,
    /// Lines below the rows: all sentences whose conditions hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Sentence>,
    /// Next steps for the reader: all sentences whose conditions hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<Sentence>,
    /// The claims of the report that the study repeats, in its order.
    #[serde(rename = "claim", skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Claim>,
}

/// A claim of a published report, and what a run can find about it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct Claim {
    /// The claim in a sentence, with its published figures.
    pub says: OneLine,
    /// The findings; the first whose conditions hold counts.
    #[serde(rename = "finding")]
    pub findings: Vec<Finding>,
}

/// A finding about a claim.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct Finding {
    /// The verdict on the claim.
    pub is: Ruling,
    /// The conditions, as in a [`Sentence`].
    #[serde(rename = "if", skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<OneLine>,
    /// The reason, as in a [`Sentence`].
    pub text: OneLine,
}

impl Finding {
    /// The conditions and the reason as a sentence.
    pub fn sentence(&self) -> Sentence {
        Sentence { conditions: self.conditions.clone(), text: self.text.clone() }
    }
}

/// A verdict on a claim.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Ruling {
    /// The run shows the same.
    Confirmed,
    /// The run shows the opposite.
    Refuted,
    /// The figure is right, and has another cause than the report gives.
    Explained,
    /// The run measures something else, for the reason that is given.
    #[default]
    NotComparable,
}

impl Ruling {
    /// The verdict in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::Refuted => "refuted",
            Self::Explained => "explained",
            Self::NotComparable => "not comparable",
        }
    }
}

/// The form of an answer's rows.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// A ranking where several kernels ran the same cases, else latencies.
    #[default]
    Auto,
    /// A latency a row, on one logarithmic axis.
    Latencies,
    /// An operation a row, a kernel a column, with ratios to the best one.
    Ranking,
    /// A limit a row.
    Limits,
    /// A published figure a row, beside the measured one.
    Published,
    /// A statistic of a peer tool a row.
    Peers,
}

/// A choice of figures of a run, by experiment, target and parameters, in the words of an answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct Pick {
    /// The words of a row, or the name of a value in sentences.
    pub name: OneLine,
    /// The word above or beside rows that follow each other; may be empty.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub group: OneLine,
    /// The experiment of the cases.
    pub experiment: OneLine,
    /// The target, or the kernel; any if empty.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub target: OneLine,
    /// The parameters of the cases.
    #[serde(deserialize_with = "words", skip_serializing_if = "BTreeMap::is_empty")]
    pub when: BTreeMap<OneLine, OneLine>,
    /// The series; the first measured one if empty. `*, from release`: the last one whose name ends so.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub series: OneLine,
    /// The statistic or figure; the median if empty.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub statistic: OneLine,
    /// A figure that is no time: no win counts, and the row's floor is not its best.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub untimed: bool,
    /// The row is a contrast to the others, such as an ordinary task among real-time ones.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub contrast: bool,
    /// The words for the subject's cost in this row, for a title; empty if the title has none.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub cost: OneLine,
}

/// A sweep: figures against a numeric parameter, beside the published ones.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct Sweep {
    /// The heading.
    pub name: OneLine,
    /// The parameter.
    pub by: OneLine,
    /// The unit of the figures, in words.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub unit: OneLine,
    /// Each curve is divided by its first value, so that curves of different clocks compare.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub relative: bool,
    /// The curves.
    #[serde(rename = "line")]
    pub lines: Vec<Pick>,
}

/// The parts of costs: one bar for each cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct Stack {
    /// The heading.
    pub name: OneLine,
    /// A sentence below the heading.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub note: OneLine,
    /// The bars, in order.
    #[serde(rename = "bar")]
    pub bars: Vec<Bar>,
}

/// The parts of one cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct Bar {
    /// The words beside the bar.
    pub name: OneLine,
    /// The figures are published ones, of the machine whose description starts with this text;
    /// measured ones if empty.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub published: OneLine,
    /// Figures that each contain the one before. A part is the difference of two neighbours; the
    /// last part is the one in question.
    #[serde(rename = "part")]
    pub parts: Vec<Pick>,
}

/// One round of each of several traced cases: who ran when, on one time line whose zero is the start
/// of the wait. The round of each is one whose wait is nearest to the panel's figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct Rounds {
    /// The tasks of a case by their names in the picture, in the order in which they are made: first
    /// the one that waits, last the one that begins and ends a round.
    pub tasks: Vec<OneLine>,
    /// The name of all other tasks of the case.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub others: OneLine,
    /// The panels from the top: heading, cases, and the series with the statistic that tells the wait.
    #[serde(rename = "panel")]
    pub panels: Vec<Pick>,
}

/// A sentence with `{value}` or `{value statistic}` in it, and its conditions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct Sentence {
    /// The conditions, as `ordinary p99 > 1 ms`: each must hold in every repetition.
    #[serde(rename = "if", skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<OneLine>,
    /// The sentence.
    pub text: OneLine,
}

impl Answering {
    /// Returns the value with this name, and the statistic that follows the name after a space.
    pub fn value<'a>(&'a self, name: &'a str) -> Option<(&'a Pick, &'a str)> {
        let named = |name: &str| self.values.iter().find(|pick| *pick.name == *name);
        named(name).map(|pick| (pick, "")).or_else(|| {
            let (name, statistic) = name.rsplit_once(' ')?;
            Some((named(name)?, statistic))
        })
    }

    /// Checks that all sentences can be read, and name values that the rules have.
    ///
    /// # Errors
    /// If a condition cannot be read, or a name is unknown.
    pub fn check(&self) -> Result<(), AnswerError> {
        let findings = self.claims.iter().flat_map(|claim| &claim.findings);
        let findings: Vec<Sentence> = findings.map(Finding::sentence).collect();
        for sentence in self.title.iter().chain(&self.also).chain(&self.next).chain(&findings) {
            let known = |name: &str| match self.value(name) {
                Some(_) => Ok(()),
                None => Err(AnswerError::NoValue {
                    sentence: sentence.text.clone(),
                    name: name.to_owned(),
                }),
            };
            for condition in &sentence.conditions {
                let condition = Condition::parse(condition)?;
                known(condition.value)?;
                if let Bound::Value(name) = condition.bound {
                    known(name)?;
                }
            }
            for name in sentence.text.split('{').skip(1) {
                known(name.split('}').next().unwrap_or_default())?;
            }
        }
        Ok(())
    }
}

/// A condition of a sentence, as `ordinary p99 > 1 ms` or `slow = fast`.
pub struct Condition<'a> {
    /// The name of the value on the left side, perhaps with a statistic.
    pub value: &'a str,
    sign: char,
    /// The right side.
    pub bound: Bound<'a>,
    /// The ratio up to which two values are equal.
    within: f64,
}

/// The right side of a condition.
pub enum Bound<'a> {
    /// A plain number, or a time in ns.
    Number(f64),
    /// The name of a value.
    Value(&'a str),
}

/// The factor up to which two values count as equal.
const EQUAL: f64 = 1.1;

impl<'a> Condition<'a> {
    /// Reads a condition.
    ///
    /// # Errors
    /// If the text has no `<`, `>` or `=`.
    pub fn parse(text: &'a str) -> Result<Self, AnswerError> {
        let at = text.find(['<', '>', '=']);
        let at = at.ok_or_else(|| AnswerError::NotACondition(text.to_owned()))?;
        let (bound, within) = match text[at + 1..].split_once(" within ") {
            Some((bound, percent)) => {
                let share = percent.trim().strip_suffix('%').map(|number| number.trim().parse());
                let Some(Ok::<f64, _>(share)) = share else {
                    return Err(AnswerError::NotACondition(text.to_owned()));
                };
                (bound.trim(), 1.0 + share / 100.0)
            }
            None => (text[at + 1..].trim(), EQUAL),
        };
        let number = bound.parse().or_else(|_| parse_time(bound));
        Ok(Self {
            value: text[..at].trim(),
            sign: text[at..].chars().next().unwrap_or('>'),
            bound: number.map_or(Bound::Value(bound), Bound::Number),
            within,
        })
    }

    /// Returns whether all values from the least to the greatest one are on the right side of all
    /// bounds, or none differs from the bounds by more than a tenth, or the share after `within`.
    pub fn holds(&self, (low, high): (f64, f64), (least, most): (f64, f64)) -> bool {
        match self.sign {
            '>' => low > most,
            '<' => high < least,
            _ => high.max(most) <= self.within * low.min(least),
        }
    }
}

/// Reads values of parameters, which may be numbers, as words.
fn words<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<OneLine, OneLine>, D::Error> {
    #[derive(Deserialize, schemars::JsonSchema)]
    #[serde(untagged, expecting = "write a word or a whole number")]
    enum Word {
        Whole(i64),
        Text(OneLine),
    }
    let read = BTreeMap::<OneLine, Word>::deserialize(deserializer)?;
    let word = |word| match word {
        Word::Whole(number) => number.to_string().into(),
        Word::Text(text) => text,
    };
    Ok(read.into_iter().map(|(name, value)| (name, word(value))).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json, to_value};

    use super::*;

    #[test]
    fn rules_are_written_as_they_are_read() {
        let written = json!({
            "question": "Is it?", "layout": "latencies",
            "row": [{ "name": "a task", "experiment": "period", "when": { "tasks": "2" } }],
            "title": [{ "if": ["a > 1 ms"], "text": "yes: {a p99}" }],
        });
        let mut numbered = written.clone();
        numbered["row"][0]["when"]["tasks"] = json!(2);
        let rules: Answering = from_value(numbered).unwrap();
        assert_eq!(to_value(&rules).unwrap(), written);
    }

    #[test]
    fn keys_of_a_newer_program_are_passed_over() {
        let newer = json!({
            "question": "Is it?", "colour": "red",
            "row": [{ "name": "a task", "experiment": "period", "scale": "log" }],
            "title": [{ "text": "yes", "tone": "warm" }],
        });
        let rules: Answering = from_value(newer).unwrap();
        assert_eq!(rules.rows[0].experiment, "period");
        assert_eq!(rules.title[0].text, "yes");
    }

    #[test]
    fn mistakes_are_found_before_a_run() {
        for (conditions, text, why) in [
            (&["a is 1"][..], "", "no condition"),
            (&["a > fast"], "", "no value `fast`"),
            (&["b > 1"], "", "no value `b`"),
            (&[], "{a} {p99}", "no value `p99`"),
        ] {
            let sentence = json!({ "if": conditions, "text": text });
            let rules = json!({ "value": [{ "name": "a" }], "title": [sentence] });
            let error = from_value::<Answering>(rules).unwrap().check().unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
        let rules =
            json!({ "value": [{ "name": "a b" }], "also": [{ "text": "{a b} {a b p99}" }] });
        from_value::<Answering>(rules).unwrap().check().unwrap();
    }
}
