//! The sentence that reads the result of an experiment, by the `READING` of the experiment's row.

use chronoscope_suite::{
    experiments,
    spec::{Decides, Figure, Reading},
};

use super::{
    list,
    reading::{figures, find, settled},
    rule,
    span::Span,
};
use chronoscope_run::{CaseResult, Run, Statistic, names::IMPORT, names::OBSERVE, names::WATCH};

/// Returns the sentence on an experiment of these cases, without its first capital; `None` without
/// figures.
pub fn sentence(cases: &[CaseResult], experiment: &str) -> Option<String> {
    let reading = find(experiment)?;
    let mut sentences = reading.sentences.iter();
    let sentence = sentences.find_map(|sentence| fill(cases, experiment, reading, sentence));
    sentence.or_else(|| longest(cases, experiment, reading)).or_else(|| {
        // Means of batches have a median alone.
        Some(format!("{}, as means of batches", short(cases, experiment)?))
    })
}

/// The sentence with the figure that answers the question alone.
pub fn short(cases: &[CaseResult], experiment: &str) -> Option<String> {
    let reading = find(experiment)?;
    let (figure, _) = figures(reading);
    let span = over_cases(cases, experiment, reading, figure)?;
    (!reading.compared.is_empty()).then(|| format!("{} {}", reading.compared, span.words()))
}

/// The sentence on a result with so few samples that it has the longest alone.
fn longest(cases: &[CaseResult], experiment: &str, reading: &Reading) -> Option<String> {
    let span = over_cases(cases, experiment, reading, reading.worst?)?;
    let end = if reading.decides == Decides::Worst { "" } else { " at worst" };
    Some(format!("{} {}{end}", reading.compared, span.words()))
}

/// The figure that a placeholder names.
fn placeholder(text: &'static str) -> Figure {
    let is_statistic = |name: &str| Statistic::find(name).is_some_and(Statistic::is_of_series);
    match text.rsplit_once(' ') {
        Some(("last", statistic)) => Figure::Last(statistic),
        Some((series, statistic)) if is_statistic(statistic) => Figure::Of(series, statistic),
        None if is_statistic(text) => Figure::First(text),
        _ => Figure::Named(text),
    }
}

/// The span of a figure over the cases of an experiment: of one that nothing exceeds, the worst end
/// alone.
fn over_cases(
    cases: &[CaseResult],
    experiment: &str,
    reading: &Reading,
    figure: Figure,
) -> Option<Span> {
    let span = list::of_experiment(cases, experiment, figure)?;
    let is_bound = reading.worst == Some(figure)
        || matches!(figure, Figure::First("max") | Figure::Last("max") | Figure::Of(_, "max"));
    Some(if is_bound { span.worst(&reading.better) } else { span })
}

/// A sentence with its placeholders filled; `None` where the cases lack a figure.
fn fill(
    cases: &[CaseResult],
    experiment: &str,
    reading: &Reading,
    sentence: &'static str,
) -> Option<String> {
    let mut text = String::new();
    let mut rest = sentence;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}')?;
        text.push_str(before);
        match name {
            "series" => text.push_str(first_series(cases, experiment)?),
            _ => {
                let figure = placeholder(name);
                text.push_str(&over_cases(cases, experiment, reading, figure)?.words());
                if let Some(end) = after.strip_prefix(MEDIAN_WORDS)
                    && has_average(cases, experiment, figure)
                {
                    text.push_str(" on average");
                    rest = end;
                    continue;
                }
            }
        }
        rest = after;
    }
    Some(text + rest)
}

/// The words of a sentence after its median.
const MEDIAN_WORDS: &str = " at the median";

/// Returns whether a figure of an experiment's cases is a mean in the place of a median.
fn has_average(cases: &[CaseResult], experiment: &str, figure: Figure) -> bool {
    let mut proven = cases.iter().filter(|case| case.experiment == experiment && case.is_proven());
    proven.any(|case| rule::usual(case).nth(1).is_none() && settled(case, figure) != figure)
}

/// The name of the first measured series of an experiment's cases with evidence.
fn first_series<'a>(cases: &'a [CaseResult], experiment: &str) -> Option<&'a str> {
    let mut cases = cases.iter().filter(|case| case.experiment == experiment && case.is_proven());
    Some(&cases.next()?.measured().next()?.name)
}

/// The names of the run's experiments that have a sentence, each once, in the order of the suite,
/// and others last.
pub fn experiments(run: &Run) -> Vec<&'static str> {
    let has = |name: &str| run.cases.iter().any(|case| case.experiment == name && case.is_proven());
    let all = experiments::EXPERIMENTS.iter().map(|spec| spec.name).chain([OBSERVE, WATCH, IMPORT]);
    all.filter(|name| has(name)).collect()
}

/// The text with its first letter as a capital.
pub fn capital(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| {
        first.to_uppercase().collect::<String>() + characters.as_str()
    })
}

#[cfg(test)]
mod tests {
    use super::{super::reading::READINGS, *};
    use chronoscope_run::sample;

    #[test]
    fn every_experiment_has_its_sentence() {
        let named: Vec<&str> = READINGS.iter().map(|(name, _)| *name).collect();
        let all: Vec<&str> = experiments::EXPERIMENTS.iter().map(|spec| spec.name).collect();
        assert_eq!(named, all);
    }

    #[test]
    fn the_first_sentence_begins_with_the_figure_that_decides() {
        for (experiment, reading) in READINGS {
            let (decides, _) = figures(reading);
            assert!(reading.decides == Decides::Typical || reading.worst.is_some());
            let (_, rest) = reading.sentences[0].split_once('{').unwrap();
            let (first, _) = rest.split_once('}').unwrap();
            assert_eq!(placeholder(first), decides, "{experiment}");
            assert!(reading.question.ends_with('?') && !reading.compared.is_empty());
        }
    }

    #[test]
    fn a_sentence_has_the_figures_of_all_cases() {
        let mut run = sample::run();
        let plain =
            |run: &Run, name| sentence(&run.cases, name).map(|text| text.replace('\u{a0}', " "));
        assert_eq!(
            plain(&run, "switch").unwrap(),
            "a switch takes 2.90 µs at the median, 4.35 µs at p99, 69.6 µs at worst"
        );
        let worst = run.cases[1].series[0].summary.max;
        run.cases[1].series[0].summary.max = Some(75.0e3);
        let text = plain(&run, "switch").unwrap();
        assert!(text.ends_with("75 µs at worst"), "{text}");
        run.cases[1].series[0].summary.max = worst;
        run.cases[1].series[0].summary.p50 = Some(29.0e3);
        for repetition in &mut run.cases[1].series[0].by_repetition {
            repetition.p50 = 29.0e3;
        }
        assert!(plain(&run, "switch").unwrap().contains("takes 2.9–29 µs at the median"));
        run.cases[1].series[0].summary.p99 = None;
        assert_eq!(plain(&run, "interrupt"), None, "it was refused");
        assert_eq!(experiments(&run), ["delay", "switch", "inversion"]);
    }

    #[test]
    fn an_observation_is_read_by_its_first_series() {
        let mut run = sample::run();
        run.cases.truncate(2);
        run.cases.remove(0);
        run.cases[0].experiment = OBSERVE.into();
        run.cases[0].series[0].name = "from switch to switch".into();
        assert_eq!(experiments(&run), [OBSERVE]);
        let text = sentence(&run.cases, OBSERVE).unwrap().replace('\u{a0}', " ");
        assert_eq!(text, "from switch to switch: 2.90 µs at the median, 69.6 µs at worst");
    }
}
