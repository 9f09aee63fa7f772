//! Verdicts: what may be said of a case, and why.

use serde::{Deserialize, Serialize};

use crate::{
    run::CaseResult,
    units::{count, show},
};

/// Ordered from good to bad; the worst of a run is the run's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    Pass,
    /// This kernel has no such thing; nobody's fault, and no failure of the run.
    NotOffered,
    Inconclusive,
    Regression,
    LimitMissed,
}

impl Status {
    /// The program's exit status. 1 is for errors.
    pub fn exit_code(self) -> u8 {
        match self {
            Status::Pass | Status::NotOffered => 0,
            Status::LimitMissed => 2,
            Status::Regression => 3,
            Status::Inconclusive => 4,
        }
    }

    pub fn words(self) -> &'static str {
        match self {
            Status::Pass => "pass",
            Status::NotOffered => "not offered",
            Status::Inconclusive => "inconclusive",
            Status::Regression => "regression",
            Status::LimitMissed => "limit missed",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    pub status: Status,
    /// Empty for a pass.
    pub reasons: Vec<String>,
}

impl Verdict {
    pub fn new(status: Status, reason: impl Into<String>) -> Self {
        Self { status, reasons: vec![reason.into()] }
    }
}

/// Judges a case that ran. Without evidence, or where the instrument costs as much as what it
/// measures, there is nothing to judge: inconclusive. Else its limits decide.
pub fn judge(case: &CaseResult) -> Verdict {
    let doubts = doubts(case);
    if !doubts.is_empty() {
        return Verdict { status: Status::Inconclusive, reasons: doubts };
    }
    let missed: Vec<_> = case.limits.iter().flat_map(|limit| limit.missed(case)).collect();
    if missed.is_empty() {
        return Verdict { status: Status::Pass, reasons: Vec::new() };
    }
    let stolen = case.figure("steal").map_or(0.0, |steal| steal.max);
    if stolen > 0.0 {
        let mut reasons = missed;
        reasons.push(format!(
            "the hypervisor stole {stolen} ms in one repetition, so the machine may be to blame"
        ));
        return Verdict { status: Status::Inconclusive, reasons };
    }
    Verdict { status: Status::LimitMissed, reasons: missed }
}

fn doubts(case: &CaseResult) -> Vec<String> {
    let mut doubts = Vec::new();
    if case.evidence.is_empty() {
        doubts.push("no evidence that the mechanism happened".to_owned());
    }
    if case.measured().all(|series| series.summary.count == 0) {
        doubts.push("no sample was taken".to_owned());
    }
    for evidence in case.evidence.iter().filter(|evidence| !evidence.holds) {
        let wanted = match evidence.high {
            Some(high) if high == evidence.low => count(high),
            Some(high) => format!("{} to {}", count(evidence.low), count(high)),
            None => format!("at least {}", count(evidence.low)),
        };
        doubts.push(format!("{}: {}, not {wanted}", evidence.name, count(evidence.value)));
    }
    for limit in case.limits.iter().filter(|limit| !limit.applies(case)) {
        doubts.push(format!("there is no `{}` to hold against its limit", limit.statistic));
    }
    for series in &case.series {
        if let Some(control) = case.control_of(series)
            && let Some(cost) = control.summary.p50
            && series.summary.p50.is_some_and(|signal| signal <= cost)
        {
            let cost = show(cost, &control.unit);
            doubts.push(format!(
                "{}: the control alone takes {cost}, as much as the signal",
                series.name
            ));
        }
    }
    doubts
}
