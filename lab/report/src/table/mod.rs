//! The table of all figures, `--full`: one line for each series, with the verdict last. Below it
//! are the reasons of verdicts, the evidence, cycles by function, published figures, peers and the
//! machine's conditions. Most sections have a submodule of their own.

pub(crate) mod conditions;
mod cycles;
pub(crate) mod evidence;
pub(crate) mod figures;
mod peers;
pub(crate) mod published;

use crate::{Paint, Screen};
use chronoscope_run::{CaseResult, Run, label::Part};

/// The header of the column with the interval of p50. The share is the interval's least confidence,
/// which five repetitions give; from six repetitions on, the confidence is at least 95 %.
pub(crate) const INTERVAL: &str = "p50, 93 %";

/// Line width in characters at which wrappable lines are broken.
const WIDTH: usize = 120;

/// Renders a run as text for a terminal.
pub fn render(run: &Run, screen: &Screen) -> String {
    let paint = screen.paint;
    joined(vec![
        run.title.to_string(),
        figures::section(run, paint, screen.columns),
        reasons(run, paint).join("\n"),
        evidence::section(run),
        cycles::section(run),
        published::section(run, screen.columns),
        peers::section(run, paint),
        conditions::section(run),
        run.notes.trim().to_owned(),
    ])
}

/// Renders the evidence of a run, the reasons of its verdicts and the conditions of its machines.
pub fn proofs(run: &Run, paint: Paint) -> String {
    joined(vec![reasons(run, paint).join("\n"), evidence::section(run), conditions::section(run)])
}

/// Joins the sections that are not blank, with an empty line between them.
fn joined(mut sections: Vec<String>) -> String {
    sections.retain(|section| !section.trim().is_empty());
    sections
        .iter()
        .map(|section| section.trim_end().to_owned() + "\n")
        .collect::<Vec<_>>()
        .join("\n")
}

/// A case's full name: experiment and label.
fn name(case: &CaseResult) -> String {
    format!("{} {}", case.experiment, case.label).trim_end().to_owned()
}

/// Shortens a name to `most` characters. The end is kept: in a path, the function's name is there.
fn truncate_start(name: &str, most: usize) -> String {
    let length = name.chars().count();
    if length <= most {
        name.to_owned()
    } else {
        "…".to_owned() + &name.chars().skip(length - most + 1).collect::<String>()
    }
}

/// Consecutive cases of one experiment on one target, which share a heading.
pub(crate) struct Group<'a> {
    pub(crate) cases: &'a [CaseResult],
    /// The parts common to the labels of all cases; shown once, in the heading.
    common: Vec<Part<'a>>,
}

impl<'a> Group<'a> {
    /// The groups of a run, in run order.
    pub(crate) fn all(run: &'a Run) -> impl Iterator<Item = Self> {
        run.cases
            .chunk_by(|one, next| one.experiment == next.experiment && one.target == next.target)
            .map(|cases| {
                let in_all = |part: &Part<'_>| cases.iter().all(|case| case.label.has(*part));
                let parts = cases[0].label.parts();
                Self {
                    cases,
                    common: parts.filter(|part| cases.len() > 1 && in_all(part)).collect(),
                }
            })
    }

    /// The parts of a case's label that are not common to the group. Without such a part the label
    /// is `defaults`, or empty if the case is alone in its group.
    fn label(&self, case: &'a CaseResult) -> String {
        let label = case.label.filtered(|part| !self.common.contains(&part));
        match label.is_empty() && self.cases.len() > 1 {
            true => "defaults".to_owned(),
            false => label.into(),
        }
    }
}

/// The reasons of verdicts and the notes that targets logged, one line each. A line common to
/// several cases appears once, followed by their names.
pub(crate) fn reasons(run: &Run, paint: Paint) -> Vec<String> {
    let mut known: Vec<(String, Vec<String>)> = Vec::new();
    for case in &run.cases {
        let status = paint.status(case.verdict.status);
        let reasons = case.verdict.reasons.iter().map(|reason| format!("{status}: {reason}"));
        for line in reasons.chain(case.log.iter().map(|line| format!("note: {line}"))) {
            match known.iter_mut().find(|(other, _)| *other == line) {
                Some((_, names)) => names.push(name(case)),
                None => known.push((line, vec![name(case)])),
            }
        }
    }
    let lines = known.iter().map(|(line, names)| match names.as_slice() {
        all if all.len() == run.cases.len() && all.len() > 1 => format!("{line} (all cases)"),
        [first, second, rest @ ..] if !rest.is_empty() => {
            format!("{line} ({first}, {second} and {} more)", rest.len())
        }
        names => format!("{line} ({})", names.join(", ")),
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use chronoscope_run::{Status, sample};

    fn text(run: &Run) -> String {
        render(run, &Screen::plain())
    }

    /// The first line that holds all these words.
    fn line<'a>(text: &'a str, words: &[&str]) -> &'a str {
        let found = text.lines().find(|line| words.iter().all(|word| line.contains(word)));
        found.unwrap_or_else(|| panic!("no line with {words:?} in\n{text}"))
    }

    #[test]
    fn a_figure_claims_no_more_than_its_repetitions_agree_on() {
        let mut run = sample::run();
        let series = &mut run.cases[0].series[0];
        let medians = [19.7e3, 27.6e3, 28.6e3, 33.7e3, 48.1e3];
        let p99s = [40e3, 60e3, 55e3, 14e6, 33e3];
        for (repetition, (p50, p99)) in
            series.by_repetition.iter_mut().zip(medians.iter().zip(p99s))
        {
            (repetition.p50, repetition.p99) = (*p50, Some(p99));
        }
        (series.summary.p50, series.summary.p99) = (Some(28.6e3), Some(13.64e6));
        run.cases[0].find_intervals();
        let text = text(&run);
        for cell in ["20–48 µs", "drifts", "14 ms"] {
            assert!(
                line(&text, &["pair=thread-thread", "measured"]).contains(cell),
                "{cell}\n{text}"
            );
        }
        line(&text, &["p99: one of 5 repetitions makes it; that of the others is 60 µs at most"]);
        line(&text, &["drifts: neighbouring repetitions"]);
    }

    #[test]
    fn an_exact_figure_has_no_interval_and_an_alternating_one_a_mean() {
        let mut run = sample::run();
        run.cases.truncate(1);
        let case = &mut run.cases[0];
        case.target = "tandem@cortex-m4".into();
        case.clock.as_mut().unwrap().domain = chronoscope_run::Domain::Instructions;
        let series = &mut case.series[0];
        series.unit = chronoscope_run::Unit::Instructions;
        series.histogram = vec![(2_900.0, 3_000), (3_100.0, 2_000)];
        series.summary.mean = Some(2_980.0);
        case.find_intervals();
        let text = text(&run);
        assert!(line(&text, &["pair=thread-thread", "measured"]).contains(" exact "), "{text}");
        line(&text, &["alternates between 2900 (60 %) and 3100 (40 %): mean 2980 instr"]);
        assert!(!text.contains("confidence"), "{text}");
    }

    #[test]
    fn the_next_run_is_predicted_from_three_runs_on() {
        let mut run = sample::run();
        run.predict(&[sample::run()]);
        let one = text(&run);
        assert!(!one.contains("confidence") && !one.contains("next run"), "{one}");
        run.predict(&[sample::run(), sample::run()]);
        let text = text(&run);
        line(&text, &["the next run, by the ranks of 3:", "p50 in 2.90 µs…2.90 µs in 2 of 4"]);
        assert!(text.contains("worst above 69.6 µs in 1 of 4"), "{text}");
    }

    #[test]
    fn verdicts_are_last_and_numbers_have_their_units() {
        let text = text(&sample::run());
        let switch = line(&text, &["pair=thread-thread", "measured"]);
        for cell in ["5000", "11.6 µs", "2.90 µs", "2.85…2.95", "4.35 µs", "69.6 µs", "10.5 ns"]
        {
            assert!(switch.contains(cell), "{cell} in {switch}");
        }
        assert!(switch.ends_with("measured"));
        assert!(line(&text, &["interrupt", "wall"]).contains("linux@host"));
    }

    #[test]
    fn words_common_to_all_cases_are_shown_once() {
        let text = text(&sample::run());
        assert!(line(&text, &["switch ·", "wall"]).contains("tasks=2"));
        assert!(!line(&text, &["pair=thread-thread", "measured"]).contains("tasks=2"));
    }

    #[test]
    fn a_nominal_part_does_not_hide_the_excess() {
        let text = text(&sample::run());
        assert!(line(&text, &["task 1"]).contains("50 ms + 61.2 µs"));
        assert!(line(&text, &["task 2"]).contains("50 ms + 75.1 µs"));
        assert!(
            line(&text, &["task 1"]).ends_with("measured")
                && !line(&text, &["task 2"]).contains("measured")
        );
    }

    #[test]
    fn a_slope_has_its_error_and_auxiliary_series_are_in_brackets() {
        let text = text(&sample::run());
        assert!(line(&text, &["slope"]).contains("0.99984 ± 0.00031"));
        assert!(line(&text, &["lock that nobody holds"]).contains("(lock that nobody holds)"));
        assert!(text.contains("(…) auxiliary series"));
    }

    #[test]
    fn a_case_without_evidence_shows_no_number() {
        let text = text(&sample::run());
        let row = line(&text, &["protocol=ceiling", "inconclusive"]);
        assert!(!row.contains("µs") && row.contains('–'), "{row}");
        assert!(
            text.contains("inconclusive: rounds of high: 11, not 12 (inversion protocol=ceiling)")
        );
        assert!(text.contains("✗ rounds of high 11 of 12"));
        assert!(text.contains("✓ switches 5004 ≥ 4954"));
    }

    #[test]
    fn evidence_common_to_all_cases_is_shown_once() {
        let mut run = sample::run();
        run.cases[0].evidence.push(sample::evidence("switches by name", 7.0, 7.0, Some(7.0)));
        let text = text(&run);
        let evidence = &text[text.find("Evidence").unwrap()..];
        assert!(line(evidence, &["all cases"]).contains("✓ switches 5004 ≥ 4954"));
        assert_eq!(
            line(evidence, &["pair=thread-thread"]),
            "  pair=thread-thread  ✓ switches by name 7 of 7 · switches per step 1"
        );
        assert!(!evidence.contains("pair=process-process"), "it has nothing of its own");
    }

    #[test]
    fn steal_marks_the_maximum() {
        let text = text(&sample::run());
        assert!(line(&text, &["pair=process-process", "measured"]).contains("69.6 µs *"));
        assert!(text.contains("\n* the hypervisor took up to 20 ms"));
        assert!(line(&text, &["pair=thread-thread", "measured"]).contains("69.6 µs  "));
    }

    #[test]
    fn a_reason_of_many_cases_is_shown_once() {
        let mut run = sample::run();
        for case in &mut run.cases[..3] {
            case.verdict = chronoscope_run::Verdict::new(
                Status::Inconclusive,
                "needs CAP_SYS_NICE: run as root",
            );
        }
        let text = text(&run);
        assert_eq!(text.matches("needs CAP_SYS_NICE").count(), 1);
        assert!(
            line(&text, &["needs CAP_SYS_NICE"])
                .ends_with("pair=process-process tasks=2 and 1 more)")
        );
    }

    #[test]
    fn colours_only_where_they_are_wanted() {
        let run = sample::run();
        assert!(!text(&run).contains('\x1b'));
        let screen = Screen { paint: Paint::Coloured, ..Screen::plain() };
        let coloured = render(&run, &screen);
        assert!(coloured.contains("\x1b[32mmeasured\x1b[0m"));
        let bare = ["\x1b[32m", "\x1b[33m", "\x1b[2m", "\x1b[0m"]
            .iter()
            .fold(coloured, |text, code| text.replace(code, ""));
        assert_eq!(bare, text(&run));
    }

    #[test]
    fn a_narrow_terminal_loses_columns_and_names_them() {
        let render = |columns| render(&sample::run(), &Screen { columns, ..Screen::plain() });
        let narrow = render(Some(72));
        let figures = narrow.lines().skip_while(|line| !line.starts_with("case ")).nth(1).unwrap();
        assert!(figures.chars().count() <= 72, "{figures}");
        line(&narrow, &["left out for want of width: cold, p50, 93 %"]);
        assert_eq!(render(Some(200)), render(None));
    }

    #[test]
    fn it_fits_a_wide_terminal() {
        for line in text(&sample::run()).lines() {
            assert!(line.chars().count() <= WIDTH, "{line}");
        }
    }

    #[test]
    fn published_figures_are_next_to_measured_ones() {
        let mut run = sample::run();
        run.cases[0].published = vec![sample::published("mean", 3595.2)];
        run.cases[2].published = vec![sample::published("mean", 50.05e6)];
        let text = text(&run);
        assert_eq!(
            text.matches("P1.switch.timer, on STM32F401 at 84 MHz").count(),
            1,
            "a source is named once"
        );
        assert!(line(&text, &["2.92 µs", "3.60 µs"]).contains("mean [1]"));
        assert!(line(&text, &["50 ms + 61.2 µs", "50 ms + 50 µs"]).contains("task 1"));
        assert!(text.contains("[1] all logging off"));
    }

    #[test]
    fn published_times_stay_times_next_to_other_clocks() {
        let mut run = sample::run();
        run.cases[0].published = vec![sample::published("p50", 3595.2)];
        run.cases[0].series[0].unit = chronoscope_run::Unit::Cycles;
        line(&text(&run), &["p50", "2900 cycles", "3.60 µs"]);
    }

    #[test]
    fn ticks_of_the_same_clock_are_converted_to_time() {
        let mut run = sample::run();
        let published =
            chronoscope_run::Published { same_clock: true, ..sample::published("p50", 24_000.0) };
        run.cases[0].published = vec![published];
        run.cases[0].series[0].unit = chronoscope_run::Unit::Instructions;
        run.cases[0].clock = Some(chronoscope_run::Clock {
            domain: chronoscope_run::Domain::Instructions,
            hertz: 500_000_000,
            resolution: 1,
        });
        let one = text(&run);
        line(&one, &["p50", "2900 instructions = 5.80 µs", "24 µs"]);
        line(&one, &["= µs: ", "500 instructions a µs"]);
        assert!(!one.contains("switch linux@host pair"), "there is one target");
        run.cases[1].target = "linux-rt@vm".into();
        line(&text(&run), &["switch linux@host pair=thread-thread", "5.80 µs"]);
    }

    #[test]
    fn the_origin_of_figures_is_abbreviated() {
        let mut run = sample::run();
        for case in &mut run.cases {
            let facts = [
                ("emulator", "qemu 7.2.22 (Debian), sha256 01"),
                ("kernel's origin", "linux-image 6.1, sha256 23"),
            ];
            case.identity = facts.map(|(name, fact)| (name.into(), fact.into())).into();
        }
        let one = text(&run);
        let origin = line(&one, &["qemu 7.2.22 · linux-image 6.1 · identity "]);
        assert_eq!(origin.matches("identity").count(), 1, "{origin}");
        run.cases[0].identity.insert("boot arguments".into(), "preempt=full".into());
        assert_eq!(text(&run).matches("identity ").count(), 2);
    }

    #[test]
    fn a_noisy_machine_is_called_so() {
        let mut run = sample::run();
        run.cases[0].figures.push(sample::figure("reference loop before", "ns", 80_000.0));
        assert!(!text(&run).contains("noisy"));
        run.cases[1].figures.push(sample::figure("reference loop after", "ns", 90_000.0));
        assert!(line(&text(&run), &["noisy"]).contains("13 %"));
    }
}
