//! The sentence that reads the result of an experiment: a row of a table for each experiment.

use chronoscope_suite::experiments;

use super::list;
use chronoscope_run::{Run, names::OBSERVE};

/// The sentences by experiment. `{p50}` stands for a statistic of the first measured series (of
/// `operations`, of all), or a figure, over all cases with evidence. A second sentence is for runs that lack a figure of the
/// first, such as p99.
const READINGS: [(&str, &[&str]); 18] = [
    ("delay", &["a delay ends {p50} late at the median, {max} at worst"]),
    (
        "period",
        &[
            "a periodic task starts {p50} late at the median, {p99} at p99, {max} at worst",
            "a periodic task starts {p50} late at the median, {max} at worst",
        ],
    ),
    (
        "switch",
        &[
            "a switch takes {p50} at the median, {p99} at p99, {max} at worst",
            "a switch takes {p50} at the median, {max} at worst",
        ],
    ),
    ("ticks", &["the executor runs its empty tasks in {p50} at the median, {max} at worst"]),
    ("spawn", &["a task is made and ended in {p50} at the median, {max} at worst"]),
    ("interrupt", &["a handler starts {p50} after its interrupt, {max} at worst"]),
    (
        "masked",
        &["interrupts stay off for {masked} at most", "interrupts stay off for {max} at most"],
    ),
    ("noise", &["others take the processor for {p50} at the median, {max} at worst"]),
    ("wakeup", &["a task runs {p50} after the handler that wakes it, {max} at worst"]),
    ("message", &["a message reaches a more urgent task in {p50}, {max} at worst"]),
    ("transaction", &["a call to another process takes {p50} at the median, {max} at worst"]),
    ("latency", &["a call through binder takes {p50} at the median, {max} at worst"]),
    ("inversion", &["an urgent task waits {p50} for a lock at the median, {max} at worst"]),
    (
        "interference",
        &[
            "a short program takes {latency stretched} times as long beside another as alone",
            "a program takes {p50} beside another",
        ],
    ),
    ("log", &["a line of the log costs its task {p50} at the median, {max} at worst"]),
    ("pipeline", &["a block of work takes {p50} at the median, {max} at worst"]),
    (
        "image",
        &[
            "the smallest image has {p50} bytes of text",
            "the smallest image has {max} bytes of text",
        ],
    ),
    ("operations", &["the kernel's operations take {p50} at the median"]),
];

/// The statistics of which a sentence says that nothing was above: of several cases, that of the
/// worst is told, not the middle.
const WORST: [&str; 2] = ["max", "masked"];

/// The sentences on an observation. `{series}` stands for the name of its first measured series.
const OBSERVED: (&str, &[&str]) =
    (OBSERVE, &["{series}: {p50} at the median, {max} at worst", "{series}: {max} at worst"]);

/// The sentence on an experiment of a run, without its first capital; `None` without figures.
pub fn of(run: &Run, experiment: &str) -> Option<String> {
    let mut readings = READINGS.iter().chain([&OBSERVED]);
    let (_, sentences) = readings.find(|(name, _)| *name == experiment)?;
    sentences.iter().find_map(|sentence| fill(run, experiment, sentence))
}

fn fill(run: &Run, experiment: &str, sentence: &str) -> Option<String> {
    let mut text = String::new();
    let mut rest = sentence;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}')?;
        text.push_str(before);
        match name {
            "series" => text.push_str(first_series(run, experiment)?),
            _ => {
                let span = list::of_experiment(run, experiment, name)?;
                let span = if WORST.contains(&name) { span.worst() } else { span };
                text.push_str(&span.words());
            }
        }
        rest = after;
    }
    Some(text + rest)
}

/// The name of the first measured series of an experiment's cases with evidence.
fn first_series<'a>(run: &'a Run, experiment: &str) -> Option<&'a str> {
    let mut cases =
        run.cases.iter().filter(|case| case.experiment == experiment && case.is_proven());
    Some(&cases.next()?.measured().next()?.name)
}

/// The names of the run's experiments that have a sentence, each once, in the order of the suite,
/// and an observation's last.
pub fn experiments(run: &Run) -> Vec<&'static str> {
    let has = |name: &str| run.cases.iter().any(|case| case.experiment == name && case.is_proven());
    let all = experiments::EXPERIMENTS.iter().map(|spec| spec.name).chain([OBSERVE]);
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
    use super::*;
    use chronoscope_run::sample;

    #[test]
    fn every_experiment_has_its_sentence() {
        let named: Vec<&str> = READINGS.iter().map(|(name, _)| *name).collect();
        let all: Vec<&str> = experiments::EXPERIMENTS.iter().map(|spec| spec.name).collect();
        assert_eq!(named, all);
    }

    #[test]
    fn a_sentence_has_the_figures_of_all_cases() {
        let mut run = sample::run();
        let plain = |run: &Run, name| of(run, name).map(|text| text.replace('\u{a0}', " "));
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
        let text = of(&run, OBSERVE).unwrap().replace('\u{a0}', " ");
        assert_eq!(text, "from switch to switch: 2.90 µs at the median, 69.6 µs at worst");
    }
}
