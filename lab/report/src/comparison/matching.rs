//! Pairs each case of A with the case of B that it is compared with.

use crate::error::{Result, refuse};
use chronoscope_run::{CaseResult, Run};
use chronoscope_units::words::hint;

/// A case that both sides have.
pub struct Pair<'a> {
    /// The words that both cases share.
    pub label: String,
    /// The case of A.
    pub a: &'a CaseResult,
    /// The case of B.
    pub b: &'a CaseResult,
}

/// The property in which two cases may differ and still be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// None: all parameters and the target are equal.
    Alike,
    /// The target.
    Target,
    /// The parameter of this name.
    Parameter(String),
}

impl Pairing {
    /// The pairing that `--pair` asks for. Without it, two runs are paired across their targets if
    /// each has a single one and they differ.
    ///
    /// # Errors
    /// No case has the named parameter.
    pub fn choose(asked: Option<&str>, a: &Run, b: &Run) -> Result<Self> {
        let name = match asked {
            Some("target") => return Ok(Self::Target),
            Some(name) => name,
            None => {
                let apart = single_target(a).zip(single_target(b)).is_some_and(|(a, b)| a != b);
                return Ok(if apart { Self::Target } else { Self::Alike });
            }
        };
        let cases = || a.cases.iter().chain(&b.cases);
        if !cases().any(|case| case.parameters.contains_key(name)) {
            let names = cases().flat_map(|case| case.parameters.keys().map(|name| name.as_str()));
            refuse!(
                "`--pair {name}`: no case has such a parameter{}",
                hint(name, names.chain(["target"]))
            );
        }
        Ok(Self::Parameter(name.to_owned()))
    }

    /// Returns whether two cases are compared. A parameter that only one of two targets has cannot
    /// be equal and does not count.
    fn matches(&self, a: &CaseResult, b: &CaseResult) -> bool {
        let alike = |ignored: Option<&str>, required: bool| {
            let names = a.parameters.keys().chain(b.parameters.keys());
            names.filter(|name| Some(name.as_str()) != ignored).all(|name| {
                match (a.parameters.get(name), b.parameters.get(name)) {
                    (Some(a), Some(b)) => a == b,
                    _ => !required,
                }
            })
        };
        a.experiment == b.experiment
            && match self {
                Self::Alike => a.target == b.target && alike(None, true),
                Self::Target => alike(None, false),
                Self::Parameter(name) => a.target == b.target && alike(Some(name), true),
            }
    }

    /// The difference between the sides of all pairs, as `A is linux-full@vm, B is linux-rt@vm`;
    /// `None` if they differ in nothing, or not all in the same.
    pub fn note(&self, pairs: &[Pair<'_>]) -> Option<String> {
        let value = |case: &CaseResult| match self {
            Self::Alike => None,
            Self::Target => Some(case.target.to_string()),
            Self::Parameter(name) => {
                Some(format!("{name}={}", case.parameters.get(name.as_str())?))
            }
        };
        let [a, b] = shared(pairs, value)?;
        Some(format!("A is {a}, B is {b}"))
    }

    /// The label of a pair: the label of its case, without the parts that differ between the sides.
    fn label(&self, case: &CaseResult, with_target: bool) -> String {
        match self {
            Self::Parameter(name) => {
                let kept = case.label.filtered(|part| part.name() != Some(name));
                let target = if with_target { case.target.as_str() } else { "" };
                format!("{target} {kept}").trim().to_owned()
            }
            _ => label(case, with_target),
        }
    }
}

/// The value of all cases of A and the one of all cases of B; `None` without pairs, or if a case has
/// no value or another one.
fn shared(
    pairs: &[Pair<'_>],
    value: impl Fn(&CaseResult) -> Option<String>,
) -> Option<[String; 2]> {
    let both = |pair: &Pair<'_>| Some([value(pair.a)?, value(pair.b)?]);
    let first = both(pairs.first()?)?;
    pairs.iter().all(|pair| both(pair).as_ref() == Some(&first)).then_some(first)
}

/// The values of a property by which A and B of all pairs differ; `None` if they do not, or not all
/// in the same.
pub fn told_apart(
    pairs: &[Pair<'_>],
    value: impl Fn(&CaseResult) -> Option<String>,
) -> Option<[String; 2]> {
    shared(pairs, value).filter(|[a, b]| a != b)
}

fn single_target(run: &Run) -> Option<&str> {
    let first = run.cases.first()?;
    (!has_several_targets(run)).then_some(first.target.as_str())
}

/// Returns the cases that two runs share, then the keys of cases that only `a` or only `b` has.
/// Where a run has a case twice, the first occurrences are paired.
pub fn match_cases<'a>(
    a: &'a Run,
    b: &'a Run,
    pairing: &Pairing,
    wanted: impl Fn(&CaseResult) -> bool,
) -> (Vec<Pair<'a>>, Vec<String>, Vec<String>) {
    let (mut pairs, mut only_in_a) = (Vec::new(), Vec::new());
    let targets = *pairing != Pairing::Target && has_several_targets(a);
    let mut left: Vec<&CaseResult> = b.cases.iter().filter(|case| wanted(case)).collect();
    for a in a.cases.iter().filter(|case| wanted(case)) {
        match left.iter().position(|b| pairing.matches(a, b)) {
            Some(place) => {
                let b = left.remove(place);
                let named = if a.label.is_empty() { b } else { a };
                pairs.push(Pair { label: pairing.label(named, targets), a, b });
            }
            None => only_in_a.push(a.key()),
        }
    }
    (pairs, only_in_a, left.into_iter().map(CaseResult::key).collect())
}

pub(crate) fn has_several_targets(run: &Run) -> bool {
    run.cases.iter().any(|case| case.target != run.cases[0].target)
}

/// The case's label, which tells it from other cases of its experiment, after its target if that is
/// wanted.
pub(crate) fn label(case: &CaseResult, with_target: bool) -> String {
    let target = if with_target { case.target.as_str() } else { "" };
    format!("{target} {}", case.label).trim().to_owned()
}
