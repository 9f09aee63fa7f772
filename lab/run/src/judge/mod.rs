//! Judging: computes the verdict of a case, or of a peer, from its figures.

use crate::{CaseResult, Paired, Status, Verdict};
use chronoscope_units::{OneLine, count, digits, show};

/// The results of a case whose verdict is to be made.
pub struct Unjudged {
    /// The result, whose verdict means nothing.
    pub result: CaseResult,
    /// The verdict of a case that failed or was refused: its figures are not judged.
    pub failure: Option<Verdict>,
}

impl Unjudged {
    /// The result with its verdict.
    pub fn judged(self) -> CaseResult {
        let Self { result, failure } = self;
        let verdict = failure.unwrap_or_else(|| judge(&result));
        CaseResult { verdict, ..result }
    }
}

/// Judges a case that ran: inconclusive without evidence, or if a control costs as much as its
/// signal; otherwise by its limits. A limit missed while the hypervisor stole time is inconclusive.
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
        reasons.push(
            format!(
                "the hypervisor stole {stolen} ms in one repetition, so the machine may be to blame"
            )
            .into(),
        );
        return Verdict { status: Status::Inconclusive, reasons };
    }
    Verdict { status: Status::LimitMissed, reasons: missed }
}

fn doubts(case: &CaseResult) -> Vec<OneLine> {
    let mut doubts: Vec<String> = Vec::new();
    if case.evidence.is_empty() {
        doubts.push("no evidence that the mechanism happened".to_owned());
    }
    if case.measured().all(|series| series.summary.count == 0) {
        doubts.push("no sample was taken".to_owned());
    }
    for evidence in case.evidence.iter().filter(|evidence| !evidence.holds) {
        // A bound of a whole number is shown whole: 665 of at least 665.3 is not "665, not at least 665".
        let is_whole = evidence.value.fract() == 0.0;
        let low = if is_whole { evidence.low.ceil() } else { evidence.low };
        let wanted = match evidence.high {
            Some(high) if high == evidence.low => count(high),
            Some(high) => {
                format!("{} to {}", count(low), count(if is_whole { high.floor() } else { high }))
            }
            None => format!("at least {}", count(low)),
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
            let cost = show(cost, control.unit.name());
            doubts.push(format!(
                "{}: the control alone takes {cost}, as much as the signal",
                series.name
            ));
        }
    }
    doubts.into_iter().map(OneLine::from).collect()
}

/// Judges a peer: each median ratio must be within its tolerance.
pub fn judge_peer(statistics: &[Paired]) -> Verdict {
    let missed: Vec<OneLine> = statistics.iter().filter_map(missed).map(OneLine::from).collect();
    if !missed.is_empty() {
        return Verdict { status: Status::LimitMissed, reasons: missed };
    }
    let unknown: Vec<OneLine> = statistics.iter().filter_map(unknown).map(OneLine::from).collect();
    let status = if unknown.is_empty() { Status::Pass } else { Status::Inconclusive };
    Verdict { status, reasons: unknown }
}

/// A statistic with a tolerance of which no pair has both values.
fn unknown(paired: &Paired) -> Option<String> {
    let is_judged = paired.within.is_some() && !paired.ours_is.is_empty();
    (is_judged && !paired.theirs_is.is_empty() && paired.ratio.is_none())
        .then(|| format!("no pair has {}", paired.name()))
}

fn missed(paired: &Paired) -> Option<String> {
    let (ratio, within) = paired.ratio.zip(paired.within)?;
    ((ratio.median - 1.0).abs() > within).then(|| {
        format!(
            "{} is {:.3} of theirs ({:.3} to {:.3}), not within {} %",
            paired.ours_is,
            ratio.median,
            ratio.min,
            ratio.max,
            digits(100.0 * within)
        )
    })
}

#[cfg(test)]
mod tests;
