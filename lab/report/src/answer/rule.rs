//! The rules of an answer: the cases and values that they pick, and their sentences.

use chronoscope_suite::{Parameter, Values, experiments, spec::Better, spec::Figure};

use super::{reading, span::Span};
use chronoscope_run::{
    Answering, CaseResult, Label, Run, SeriesResult, answer::Bound, answer::Condition,
    answer::Pick, answer::Sentence, names::CHIP, names::COMPILED, names::IMPORT, names::WATCH,
};
use chronoscope_units::OneLine;

/// The kernel of a target.
pub fn kernel(case: &CaseResult) -> &str {
    case.target.split('@').next().unwrap_or_default()
}

/// The names of kernels as their makers write them, where that is not the name in targets.
const PROPER: [(&str, &str); 6] = [
    ("embos", "embOS"),
    ("freertos", "FreeRTOS"),
    ("linux", "Linux"),
    ("rtic", "RTIC"),
    ("threadx", "ThreadX"),
    ("zephyr", "Zephyr"),
];

/// The name of a kernel as its makers write it; a variant keeps the name that targets have.
pub fn proper(kernel: &str) -> String {
    let name = PROPER.iter().find(|(name, _)| *name == kernel);
    name.map_or(kernel, |(_, name)| name).to_owned()
}

/// The kinds of task, in the order in which they stand.
pub const KINDS: [&str; 3] = ["thread", "process", "coroutine"];

/// A kind of task in the plural: `threads`, `processes`.
pub fn kinds(kind: &str) -> String {
    format!("{kind}{}", if kind.ends_with('s') { "es" } else { "s" })
}

/// The machine of a target.
pub fn machine(case: &CaseResult) -> &str {
    case.target.split_once('@').map_or("", |(_, machine)| machine)
}

/// The label of a case without the parts that all cases of its experiment have.
pub fn label(run: &Run, case: &CaseResult) -> Label {
    let others = || run.cases.iter().filter(|other| other.experiment == case.experiment);
    let alone = others().count() == 1;
    case.label.filtered(|part| alone || !others().all(|other| other.label.has(part)))
}

/// The cases with evidence that a pick selects. Time by a model of a chip, and figures of another
/// build, are for a pick that names the chip or the build, unless there is nothing else.
pub fn cases<'a>(pick: &Pick, run: &'a Run) -> impl Iterator<Item = &'a CaseResult> {
    let found = || run.cases.iter().filter(|case| selects(pick, case));
    let leaves_out = [CHIP, COMPILED].map(|name| {
        let has = |case: &CaseResult| case.parameters.contains_key(name);
        (name, !pick.when.contains_key(name) && !found().all(has))
    });
    found().filter(move |case| {
        !leaves_out.iter().any(|(name, leaves)| *leaves && case.parameters.contains_key(*name))
    })
}

/// The cases with evidence; of several builds, the usual one's.
pub fn usual_builds(run: &Run) -> impl Iterator<Item = &CaseResult> {
    let proven = || run.cases.iter().filter(|case| case.is_proven());
    let is_usual = |case: &&CaseResult| !case.parameters.contains_key(COMPILED);
    let has_usual = proven().any(|case| is_usual(&case));
    proven().filter(move |case| !has_usual || is_usual(case))
}

/// Returns whether a case has evidence, and what the pick asks for.
fn selects(pick: &Pick, case: &CaseResult) -> bool {
    asks_for(pick, case) && case.is_proven()
}

/// Returns whether a case is one that the pick asks for, with evidence or without.
pub fn asks_for(pick: &Pick, case: &CaseResult) -> bool {
    let has = |(name, value): (&OneLine, &OneLine)| match case.parameters.get(name) {
        Some(own) => own == value,
        None => left_out(&case.experiment, name).is_some_and(|default| **value == *default),
    };
    case.experiment == pick.experiment
        && [&case.target, "", kernel(case)].contains(&&*pick.target)
        && pick.when.iter().all(has)
}

/// The default of a parameter that cases leave out when they have it.
fn left_out(experiment: &str, name: &str) -> Option<&'static str> {
    let mut parameters = experiments::find(experiment)?.parameters.iter();
    let extra = |known: &&Parameter| known.name == name && matches!(known.values, Values::Extra(_));
    parameters.find(extra).map(|parameter| parameter.default)
}

/// The series that represent a case if nothing picks one: the one that answers the experiment's
/// question, in most cases the first measured series. The series of the experiment `operations` and the
/// marks of a program are of equal rank, so all of them represent the case.
pub fn usual(case: &CaseResult) -> impl Iterator<Item = &SeriesResult> {
    let are_equals =
        [experiments::operations::SPEC.name, WATCH, IMPORT].contains(&&*case.experiment);
    let typical = reading::find(&case.experiment).map(|reading| reading.typical);
    let skipped = match typical {
        Some(Figure::Last(_)) => case.measured().count().saturating_sub(1),
        _ => 0,
    };
    // A number that a mark gives stands on no axis of times.
    let unit = case.measured().next().map(|series| series.unit);
    let rest = case.measured().skip(skipped).filter(move |series| Some(series.unit) == unit);
    rest.take(if are_equals { usize::MAX } else { 1 })
}

/// The series of a case that a pick selects. A name that begins with `*` selects the last one whose name
/// ends with the rest.
pub fn series<'a>(pick: &Pick, case: &'a CaseResult) -> Option<&'a SeriesResult> {
    match &*pick.series {
        "" => case.measured().next(),
        name => match name.strip_prefix('*') {
            Some(end) => case.series.iter().rfind(|series| series.name.ends_with(end)),
            None => case.series.iter().find(|series| *series.name == *name),
        },
    }
}

/// The figures of a pick in a case. `statistic` replaces the pick's own statistic; if both are
/// empty, the median is taken.
pub fn figure(pick: &Pick, case: &CaseResult, statistic: &str) -> Option<Span> {
    let name = [statistic, &pick.statistic, "p50"].into_iter().find(|name| !name.is_empty())?;
    Span::of_case(case, series(pick, case), name)
}

/// The rules of an answer with the run that they answer for.
#[derive(Clone, Copy)]
pub struct Ruled<'a> {
    /// The run.
    pub run: &'a Run,
    /// The rules, from the run or the defaults.
    pub rules: &'a Answering,
}

impl Ruled<'_> {
    /// The first sentence that holds, with its values.
    pub fn first(self, sentences: &[Sentence]) -> Option<String> {
        sentences.iter().find_map(|sentence| self.fill(sentence))
    }

    /// All sentences that hold, with their values.
    pub fn all(self, sentences: &[Sentence]) -> Vec<String> {
        sentences.iter().filter_map(|sentence| self.fill(sentence)).collect()
    }

    /// The sentence with its values; `None` if a condition does not hold, or a value is missing.
    fn fill(self, sentence: &Sentence) -> Option<String> {
        for condition in &sentence.conditions {
            let condition = Condition::parse(condition).ok()?;
            let span = self.value(condition.value)?;
            let bound = match condition.bound {
                Bound::Number(bound) => (bound, bound),
                Bound::Value(name) => {
                    let span = self.value(name)?;
                    (span.low, span.high)
                }
            };
            if !condition.holds((span.low, span.high), bound) {
                return None;
            }
        }
        let mut text = String::new();
        let mut rest = &*sentence.text;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}')?;
            text.push_str(before);
            text.push_str(&self.value_in_text(name)?.words());
            rest = after;
        }
        Some(text + rest)
    }

    /// The value that a condition names: a value of the rules, and a statistic of it after a space.
    fn value(self, name: &str) -> Option<Span> {
        self.over_cases(name, |span, _| span)
    }

    /// The value that a sentence shows: of a case's worst figures the one worst.
    fn value_in_text(self, name: &str) -> Option<Span> {
        self.over_cases(name, |span, statistic| match statistic {
            "max" => span.worst(&Better::Less),
            _ => span,
        })
    }

    fn over_cases(self, name: &str, as_shown: impl Fn(Span, &str) -> Span) -> Option<Span> {
        let (pick, statistic) = self.rules.value(name)?;
        let named = if statistic.is_empty() { &pick.statistic } else { statistic };
        let of_case = |case| Some(as_shown(figure(pick, case, statistic)?, named));
        let found: Option<Vec<Span>> = cases(pick, self.run).map(of_case).collect();
        let mut found = found?.into_iter();
        let first = found.next()?;
        found.try_fold(first, |all, one| all.and(&one))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chronoscope_run::sample;

    fn rules(title: &[(&[&str], &str)]) -> Answering {
        let sentence = |(conditions, text): &(&[&str], &str)| Sentence {
            conditions: conditions.iter().map(|one| (*one).into()).collect(),
            text: (*text).into(),
        };
        let when = [("pair".into(), "thread-thread".into())].into();
        let thread =
            Pick { name: "thread".into(), experiment: "switch".into(), when, ..Pick::default() };
        let all = Pick { name: "all".into(), experiment: "switch".into(), ..Pick::default() };
        let unproven =
            Pick { name: "none".into(), experiment: "interrupt".into(), ..Pick::default() };
        Answering {
            values: vec![thread, all, unproven],
            title: title.iter().map(sentence).collect(),
            ..Answering::default()
        }
    }

    #[test]
    fn a_case_has_the_default_of_a_parameter_that_it_leaves_out() {
        let mut run = sample::run();
        let case = run.cases.iter_mut().find(|case| case.is_proven()).unwrap();
        case.experiment = "wakeup".into();
        let count = |value: &str| {
            let when = [("primitive".into(), value.into())].into();
            cases(&Pick { experiment: "wakeup".into(), when, ..Pick::default() }, &run).count()
        };
        assert_eq!((count("semaphore"), count("native"), count("futex")), (1, 0, 0));
    }

    fn title(title: &[(&[&str], &str)]) -> Option<String> {
        let (run, rules) = (sample::run(), rules(title));
        rules.check().unwrap();
        Ruled { run: &run, rules: &rules }
            .first(&rules.title)
            .map(|text| text.replace('\u{a0}', " "))
    }

    #[test]
    fn the_first_sentence_whose_conditions_hold_is_the_title() {
        let sentences: &[(&[&str], &str)] = &[
            (&["thread > 3 us"], "slow: {thread}"),
            (
                &["thread < 3 us", "thread p99 > 4 us"],
                "{thread}, {thread p99} at p99; all {all max}",
            ),
            (&[], "never"),
        ];
        assert_eq!(title(sentences).unwrap(), "2.90 µs, 4.35 µs at p99; all 69.6 µs");
        assert_eq!(title(&[(&[], "{none}"), (&[], "no value")]).unwrap(), "no value");
        assert_eq!(title(&[(&["none > 1"], "it")]), None);
        assert_eq!(title(&[(&["thread = all p50"], "equal")]).unwrap(), "equal");
        assert_eq!(title(&[(&["all p99 > thread"], "longer")]).unwrap(), "longer");
        assert_eq!(title(&[(&["thread = all p99"], "equal")]), None);
    }
}
