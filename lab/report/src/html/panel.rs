//! Panels: the series of an experiment that may share an axis, because they have one clock, one
//! unit and one nominal value.

use std::collections::BTreeSet;

use super::{
    frame::number,
    text::{common_words, joined},
};
use chronoscope_run::{
    CaseResult, Domain, Instrument, Published, Role, Run, SeriesResult, Statistic, Unit,
};
use chronoscope_units::{count, show};

/// A run on the page, with its display name.
pub struct Subject<'a> {
    pub name: String,
    pub run: &'a Run,
}

/// A series on a panel.
#[derive(Clone)]
pub struct Entry<'a> {
    pub case: &'a CaseResult,
    pub series: &'a SeriesResult,
    /// The run's name; empty in a page of one run.
    pub subject: &'a str,
    /// The words that distinguish the entry from the panel's others.
    pub words: Vec<String>,
    /// The words joined by ` · `.
    pub name: String,
}

/// The unit of an axis.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum AxisUnit {
    /// The unit of the series.
    Of(Unit),
    /// The counts of the experiment `image`.
    Bytes,
}

impl AxisUnit {
    pub fn name(self) -> &'static str {
        match self {
            Self::Of(unit) => unit.name(),
            Self::Bytes => "bytes",
        }
    }
}

/// Series that may share an axis.
pub struct Panel<'a> {
    pub experiment: &'a str,
    /// The clock's domain; `None` where nothing is timed.
    pub domain: Option<Domain>,
    pub unit: AxisUnit,
    /// The nominal value that all values exclude, in `unit`.
    pub nominal: f64,
    pub entries: Vec<Entry<'a>>,
}

impl<'a> Panel<'a> {
    /// The panels of an experiment. They hold the series of cases with evidence that are measured
    /// or have a published figure.
    pub fn all(experiment: &'a str, subjects: &'a [Subject<'a>]) -> Vec<Self> {
        let mut panels: Vec<Self> = Vec::new();
        for subject in subjects {
            let cases = subject
                .run
                .cases
                .iter()
                .filter(|case| case.experiment == experiment && case.is_proven());
            for case in cases {
                let shown = |series: &&SeriesResult| {
                    series.role == Role::Measured || is_published(case, series)
                };
                for series in case.series.iter().filter(shown).filter(|series| can_be_drawn(series))
                {
                    let unit = unit(case, series);
                    let domain = if unit == AxisUnit::Bytes { None } else { domain(case) };
                    let fits = |panel: &&mut Self| {
                        panel.domain == domain
                            && panel.unit == unit
                            && panel.nominal == series.nominal
                    };
                    let name = if subjects.len() > 1 { subject.name.as_str() } else { "" };
                    let entry = Entry {
                        case,
                        series,
                        subject: name,
                        words: Vec::new(),
                        name: String::new(),
                    };
                    match panels.iter_mut().find(fits) {
                        Some(panel) => panel.entries.push(entry),
                        None => panels.push(Self {
                            experiment,
                            domain,
                            unit,
                            nominal: series.nominal,
                            entries: vec![entry],
                        }),
                    }
                }
            }
        }
        panels.iter_mut().for_each(Self::name_entries);
        panels
    }

    /// Names each entry by the words that are not common to all entries.
    fn name_entries(&mut self) {
        let mut words: Vec<Vec<String>> =
            self.entries.iter().map(|entry| self::words(entry, false)).collect();
        // Include `loops` where only that distinguishes two entries.
        if words.iter().collect::<BTreeSet<_>>().len() < words.len() {
            words = self.entries.iter().map(|entry| self::words(entry, true)).collect();
        }
        let common = common_words(&words);
        let alone = words.len() == 1;
        for (entry, mut own) in self.entries.iter_mut().zip(words) {
            if alone {
                own = vec![entry.subject.to_owned(), entry.case.target.to_string()];
                own.retain(|word| !word.is_empty());
            } else {
                own.retain(|word| !common.contains(word));
            }
            if own.is_empty() {
                own.push(entry.series.name.to_string());
            }
            entry.name = joined(&own);
            entry.words = own;
        }
    }

    /// The entries of measured series, without auxiliary ones and controls.
    pub fn measured(&self) -> impl Iterator<Item = &Entry<'a>> {
        self.entries.iter().filter(|entry| entry.series.role == Role::Measured)
    }

    /// The clocks of cases, joined by `; `.
    pub fn clocks<'c>(cases: impl Iterator<Item = &'c CaseResult>) -> String {
        let clocks: BTreeSet<String> = cases.map(|case| clock(domain(case))).collect();
        clocks.into_iter().collect::<Vec<_>>().join("; ")
    }

    /// The measured quantity, as `time` or `counts`.
    pub fn measure(&self) -> String {
        match (self.unit, self.nominal > 0.0) {
            (AxisUnit::Of(Unit::Nanoseconds), true) => {
                format!("time beyond {}", show(self.nominal, "ns"))
            }
            (AxisUnit::Of(Unit::Nanoseconds), false) => "time".to_owned(),
            (AxisUnit::Of(Unit::Count), _) => "counts".to_owned(),
            (unit, _) => unit.name().to_owned(),
        }
    }

    /// A quantity with the panel's nominal value, as `p50 beyond 50 ms`.
    pub fn beyond(&self, what: &str) -> String {
        match (self.nominal > 0.0, self.unit) {
            (true, AxisUnit::Of(Unit::Nanoseconds)) => {
                format!("{what} beyond {}", show(self.nominal, "ns"))
            }
            (true, unit) => format!("{what} beyond {} {}", number(self.nominal), unit.name()),
            (false, _) => what.to_owned(),
        }
    }

    /// The facts line of a chart of these entries: clock, control, evidence and number of samples.
    pub fn facts(&self, entries: &[&Entry<'_>]) -> String {
        let clock = clock(self.domain);
        let samples = entries.iter().map(|entry| entry.series.summary.count);
        let n = match (samples.clone().min(), samples.max()) {
            (Some(least), Some(most)) if least == most => format!("n = {most}"),
            (Some(least), Some(most)) => format!("n = {least}…{most}"),
            _ => String::new(),
        };
        joined(&[clock, control(entries), evidence(entries), n])
    }
}

/// The description of a clock domain; without one, values are counts.
fn clock(domain: Option<Domain>) -> String {
    match domain {
        None => "counted, not timed".to_owned(),
        Some(Domain::Modelled) => "time by a model of the core, not of a chip".to_owned(),
        Some(Domain::Instructions) => "instructions of an emulator, not time".to_owned(),
        Some(domain) => format!("{domain} clock"),
    }
}

/// The words that identify a series: run, target, parameters and series. `loops=` is left out
/// unless `with_loops` is set, because charts show n.
fn words(entry: &Entry<'_>, with_loops: bool) -> Vec<String> {
    let mut words = vec![entry.subject.to_owned(), entry.case.target.to_string()];
    let parts = entry.case.label.parts();
    let parts = parts.filter(|part| with_loops || part.name() != Some("loops"));
    words.extend(parts.map(|part| part.text().to_owned()));
    words.push(entry.series.name.to_string());
    words.retain(|word| !word.is_empty());
    words
}

/// The unit of a series' values. The counts of `image` are bytes, a unit that the record stream
/// lacks.
fn unit(case: &CaseResult, series: &SeriesResult) -> AxisUnit {
    match series.unit {
        Unit::Count if case.experiment == "image" => AxisUnit::Bytes,
        unit => AxisUnit::Of(unit),
    }
}

/// Returns whether a series has a maximum and all its figures are finite.
fn can_be_drawn(series: &SeriesResult) -> bool {
    let summary = &series.summary;
    let mut figures = [summary.min, summary.p50, summary.p99, summary.max].into_iter().flatten();
    summary.max.is_some() && figures.all(f64::is_finite)
}

/// Returns whether a published figure names this series, or is of the pin that shows it.
fn is_published(case: &CaseResult, series: &SeriesResult) -> bool {
    let is_requested =
        |figure: &&Published| figure.series.is_some() || figure.instrument == Instrument::Pin;
    case.published.iter().filter(is_requested).any(|figure| figure.is_of(case, series))
}

/// The domain of a case's clock.
pub fn domain(case: &CaseResult) -> Option<Domain> {
    case.clock.as_ref().map(|clock| clock.domain)
}

/// The range of the cases' controls, as `control 20 ns to 22 ns`.
fn control(entries: &[&Entry<'_>]) -> String {
    let costs = entries.iter().filter_map(|entry| {
        let control = entry.case.control()?;
        Some((control.summary.p50?, control.unit.name()))
    });
    let low = costs.clone().min_by(|one, other| one.0.total_cmp(&other.0));
    let high = costs.max_by(|one, other| one.0.total_cmp(&other.0));
    let Some(((low, unit), (high, _))) = low.zip(high) else { return "no control".to_owned() };
    // A mean of many whole numbers may be off by a rounding error.
    let shown = [low, high].map(|cost| show((cost * 100.0).round() / 100.0, unit));
    if shown[0] == shown[1] {
        format!("control {}", shown[0])
    } else {
        format!("control {} to {}", shown[0], shown[1])
    }
}

/// The first evidence of the first case, with its value if the entries are of one case.
fn evidence(entries: &[&Entry<'_>]) -> String {
    let mut cases: Vec<&CaseResult> = entries.iter().map(|entry| entry.case).collect();
    cases.dedup_by(|one, other| std::ptr::eq(*one, *other));
    let first = cases.first().and_then(|case| case.evidence.first());
    match (first, cases.len()) {
        (Some(evidence), 1) => format!("evidence: {} {} ✓", evidence.name, count(evidence.value)),
        (Some(evidence), cases) => format!("evidence: {} ✓ ({cases} cases)", evidence.name),
        (None, _) => String::new(),
    }
}

/// A published figure's value on the panel's axis, without the nominal part. `None` if the figure
/// was measured with another clock or unit and cannot share the axis.
pub fn comparable_value(figure: &Published, panel: &Panel<'_>) -> Option<f64> {
    // Figures that are no statistics of samples, such as ratios and rates, are not times.
    let statistic = Statistic::find(&figure.statistic);
    let is_of_samples = statistic.is_some_and(Statistic::is_of_series);
    let is_plain = [Unit::Nanoseconds, Unit::Count].map(AxisUnit::Of).contains(&panel.unit);
    let plain = figure.unit.is_empty() && is_of_samples && is_plain;
    let same = figure.unit == panel.unit.name() || plain;
    let has_nominal = statistic.is_none_or(Statistic::is_duration);
    let nominal = if has_nominal { panel.nominal } else { 0.0 };
    Some(figure.value - nominal).filter(|value| same && value.is_finite())
}

/// Returns whether a published figure is of this entry's series.
pub fn applies_to(figure: &Published, entry: &Entry<'_>) -> bool {
    figure.is_of(entry.case, entry.series)
}

/// The value of a name in a case: a statistic of the series, or one of the case's figures.
pub fn value_of(entry: &Entry<'_>, name: &str) -> Option<f64> {
    statistic(entry.series, name).or_else(|| entry.case.figure(name).map(|figure| figure.value))
}

/// A statistic of a series by its name, in the series' unit and without the nominal part. The p50
/// of a single sample is that sample.
pub fn statistic(series: &SeriesResult, name: &str) -> Option<f64> {
    let statistic = Statistic::find(name).filter(|statistic| statistic.is_in_unit())?;
    let single = series.summary.max.filter(|_| name == "p50");
    statistic.of_series(series).or(single)
}

/// The `shown` entries with the largest maxima, in their original order. `shown` must be positive.
pub fn worst<'p, 'a>(
    entries: &'p [&'p Entry<'a>],
    shown: usize,
) -> impl Iterator<Item = &'p Entry<'a>> {
    let mut longest: Vec<f64> =
        entries.iter().filter_map(|entry| entry.series.summary.max).collect();
    longest.sort_by(|one, other| other.total_cmp(one));
    let least = longest.get(shown - 1).copied().unwrap_or(f64::NEG_INFINITY);
    entries
        .iter()
        .copied()
        .filter(move |entry| entry.series.summary.max.is_some_and(|max| max >= least))
        .take(shown)
}
