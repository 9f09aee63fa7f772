//! Whole cases, for charts of cycle profiles and captures.

use super::{
    panel::{Subject, domain},
    text::joined,
};
use chronoscope_run::{CaseResult, Domain, Label, Unit, label::Part};

/// A case with evidence, prepared for a chart.
pub struct ProvenCase<'a> {
    pub experiment: &'a str,
    pub case: &'a CaseResult,
    /// The case's target, preceded by the run's name if the page shows several runs.
    pub target: String,
    /// The parts of the case's label that are not common to all cases of the experiment.
    pub label: Label,
}

impl<'a> ProvenCase<'a> {
    /// The cases of an experiment that have evidence.
    pub fn all(experiment: &'a str, subjects: &'a [Subject<'a>]) -> Vec<Self> {
        let of =
            |subject: &'a Subject<'a>| subject.run.cases.iter().map(move |case| (subject, case));
        let proven = |(_, case): &(&Subject<'_>, &CaseResult)| {
            case.experiment == experiment && case.is_proven()
        };
        let cases: Vec<_> = subjects.iter().flat_map(of).filter(proven).collect();
        let is_own = |part: Part<'_>| cases.iter().any(|(_, other)| !other.label.has(part));
        let proven_case = |(subject, case): &(&'a Subject<'a>, &'a CaseResult)| Self {
            experiment,
            case,
            target: joined(&[
                if subjects.len() > 1 { subject.name.as_str() } else { "" },
                &case.target,
            ]),
            label: case.label.filtered(is_own),
        };
        cases.iter().map(proven_case).collect()
    }

    pub fn name(&self) -> String {
        joined(&[self.target.as_str(), &self.label])
    }
}

/// The unit in which times of a case are shown: ns for a wall clock, otherwise ticks of the clock.
pub fn time_unit(case: &CaseResult) -> Unit {
    domain(case).map_or(Unit::Nanoseconds, Domain::unit)
}
