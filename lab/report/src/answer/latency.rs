//! The rows of an answer about latencies: median, p99 and worst of a case, in groups.

use super::{rule, span, trust};
use chronoscope_run::{
    Answering, CaseResult, Precision, Run, SeriesResult, Statistic, Unit, answer::Pick,
};

/// A latency: a row of the answer.
pub struct Latency<'a> {
    /// The word above rows that follow each other; may be empty.
    pub group: String,
    /// The words at the head of the row.
    pub name: String,
    /// The measured case.
    pub case: &'a CaseResult,
    /// The series with the samples.
    pub series: &'a SeriesResult,
    /// A contrast to the others, such as an ordinary task among real-time ones.
    pub contrast: bool,
    /// The hypervisor took time from a repetition: the worst may be its.
    pub stolen: bool,
}

impl<'a> Latency<'a> {
    fn new(name: String, case: &'a CaseResult, series: &'a SeriesResult) -> Self {
        Self {
            group: String::new(),
            name,
            case,
            series,
            contrast: false,
            stolen: trust::steal(case).is_some(),
        }
    }

    fn picked(pick: &Pick, case: &'a CaseResult, series: &'a SeriesResult) -> Self {
        Self {
            group: pick.group.to_string(),
            contrast: pick.contrast,
            ..Self::new(row_name(pick, case, series), case, series)
        }
    }

    /// The unit of the samples.
    pub fn unit(&self) -> Unit {
        self.series.unit
    }

    /// The values that are drawn: median, p99 and worst, as far as there are any. Means of a batch
    /// have no tail. A median that is one of several values by chance is the mean.
    pub fn values(&self) -> [Option<f64>; 3] {
        let summary = &self.series.summary;
        let is_average = span::is_average(self.case, self.series);
        let typical = if is_average { summary.mean } else { summary.p50 };
        match self.series.batch() {
            Some(_) => [typical, None, None],
            None => [typical, summary.p99, summary.max],
        }
    }

    /// The figures that are written: each value with whether its own repetitions agree on three digits.
    pub fn figures(&self) -> [Option<(f64, bool)>; 3] {
        let is_exact = |name: &str| {
            Statistic::find(name).is_none_or(|one| self.series.precision(one) == Precision::Full)
        };
        let [p50, p99, worst] = self.values();
        [(p50, "p50"), (p99, "p99"), (worst, "max")]
            .map(|(value, name)| Some((value?, is_exact(name))))
    }
}

/// The name of a rule's row, which says where its samples are means, or its median one.
fn row_name(pick: &Pick, case: &CaseResult, series: &SeriesResult) -> String {
    match series.batch() {
        Some(count) => format!("{}, mean of {count}", pick.name),
        None if span::is_average(case, series) => format!("{}, mean", pick.name),
        None => pick.name.to_string(),
    }
}

/// The rows that the rules pick; without such, a row for each case with evidence.
pub fn rows<'a>(run: &'a Run, rules: &Answering) -> Vec<Latency<'a>> {
    let picked: Vec<Latency<'a>> = rules
        .rows
        .iter()
        .filter_map(|pick| {
            let case = rule::cases(pick, run).next()?;
            Some(Latency::picked(pick, case, rule::series(pick, case)?))
        })
        .collect();
    if picked.is_empty() { each(run) } else { picked }
}

/// A row for each usual series of each case with evidence. Its group is the experiment; its name
/// leaves out the parts that all cases of the run share, and the series' name if the case has no
/// other.
fn each(run: &Run) -> Vec<Latency<'_>> {
    let proven: Vec<&CaseResult> = run.cases.iter().filter(|case| case.is_proven()).collect();
    let several_targets = proven.windows(2).any(|pair| pair[0].target != pair[1].target);
    let rows = proven.iter().flat_map(|case| {
        let target = if several_targets { case.target.as_str() } else { "" };
        let label = rule::label(run, case);
        let is_alone = rule::usual(case).nth(1).is_none();
        rule::usual(case).map(move |series| {
            let is_named = !is_alone || label.len() + target.len() == 0;
            let words = [if is_named { &*series.name } else { "" }, &*label, target];
            let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
            let is_average = span::is_average(case, series);
            let mean = series.batch().map(|count| format!(" (mean of {count})"));
            let mean = mean.or_else(|| is_average.then(|| " (mean)".to_owned()));
            let name = words.join(" ") + &mean.unwrap_or_default();
            Latency { group: case.experiment.to_string(), ..Latency::new(name, case, series) }
        })
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use chronoscope_run::sample;

    #[test]
    fn rows_are_picked_in_the_order_of_the_rules() {
        let run = sample::run();
        let pick = |name: &str, experiment: &str, series: &str| Pick {
            name: name.into(),
            experiment: experiment.into(),
            series: series.into(),
            ..Pick::default()
        };
        let rows = vec![
            pick("a delay", "delay", "task 2"),
            pick("refused", "interrupt", ""),
            pick("a switch", "switch", ""),
        ];
        let rules = Answering { rows, ..Answering::default() };
        let found = super::rows(&run, &rules);
        let names: Vec<_> =
            found.iter().map(|row| (&*row.name, row.series.name.as_str())).collect();
        assert_eq!(names, [("a delay", "task 2"), ("a switch", "switch")]);
    }

    #[test]
    fn without_rules_each_case_with_evidence_has_a_row() {
        let run = sample::run();
        let rules = Answering::default();
        let rows = rows(&run, &rules);
        let names: Vec<_> = rows.iter().map(|row| (&*row.group, &*row.name, row.stolen)).collect();
        let expected = [
            ("switch", "pair=thread-thread", false),
            ("switch", "pair=process-process", true),
            ("delay", "task 1", false),
            ("inversion", "protocol=none", false),
        ];
        assert_eq!(names, expected);
    }
}
