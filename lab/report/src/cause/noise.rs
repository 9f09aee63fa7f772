//! Says what took the processor from the loop of `noise`, and how much of that no event of the
//! kernel's explains: the hypervisor's part, the firmware's, the hardware's.

use super::{
    account::{Account, CLASSES, Noises, took},
    schedule::{DOUBT, Record},
    window::{RepetitionSamples, Window},
};
use chronoscope_run::{CaseResult, SeriesResult};
use chronoscope_units::{count, show};

pub fn sentence(
    case: &CaseResult,
    series: &SeriesResult,
    repetition: &RepetitionSamples,
) -> Option<String> {
    if case.experiment != "noise" {
        return None;
    }
    let record = Record::new(case, series, repetition)?;
    let noises = Noises::read(&record)?;
    let threshold: f64 = case.parameters.get("threshold_ns")?.parse().ok()?;
    // The longest turn of a window without a gap is no gap.
    let is_gap = |window: &&Window| window.length * record.ns > threshold;
    let spans = repetition.windows.iter().filter(is_gap).map(|window| record.span(window));
    let spans: Vec<_> = spans.filter(|span| noises.covers(*span)).collect();
    let mut total = Account::default();
    for span in &spans {
        total.iter_mut().zip(noises.account(*span)).for_each(|(sum, ns)| *sum += ns);
    }
    let bare: Vec<f64> = spans
        .iter()
        .filter(|span| noises.is_unexplained(**span))
        .map(|(from, to)| to - from)
        .collect();
    let told = |ns: f64| show((ns / record.ns).round(), series.unit.name());
    let mut classes = took(&total, &told);
    classes.push(format!("{} explains {}", CLASSES[0], told(total[0])));
    let longest = bare.iter().copied().fold(0.0, f64::max);
    let without = match bare.len() {
        0 => "each gap has one".to_owned(),
        gaps => format!(
            "of {} the kernel knows nothing, the longest of {}",
            counted(gaps),
            told(longest)
        ),
    };
    (!spans.is_empty()).then(|| {
        format!(
            "Of the {} in {} {}; {without}: from {}, each moment to within {}.",
            told(total.iter().sum()),
            counted(spans.len()),
            classes.join(", "),
            noises.source(),
            show(DOUBT, "ns")
        )
    })
}

fn counted(gaps: usize) -> String {
    format!("{} {}", count(gaps as f64), if gaps == 1 { "gap" } else { "gaps" })
}

#[cfg(test)]
mod tests {
    use super::{
        super::{parts, schedule::tests},
        *,
    };

    fn case() -> CaseResult {
        let mut case = tests::case(tests::RECORD);
        case.experiment = "noise".into();
        case.parameters.insert("threshold_ns".into(), "20000".into());
        case
    }

    fn sentence_on(case: &CaseResult) -> Option<String> {
        sentence(case, &case.series[0], &RepetitionSamples::with_worst(case, &case.series[0])?)
    }

    #[test]
    fn gaps_are_explained_by_the_kernel_s_events() {
        // The other samples are not above the threshold.
        assert_eq!(
            sentence_on(&case()).unwrap(),
            "Of the 50 µs in 1 gap interrupts took 9 µs, other tasks took 14 µs, no kernel event \
             explains 27 µs; each gap has one: from the kernel's irq, sched and nmi events, each \
             moment to within 1 µs."
        );
        let mut other = case();
        other.experiment = "wakeup".into();
        assert_eq!(sentence_on(&other), None);
    }

    #[test]
    fn a_gap_without_any_event_is_told() {
        let mut quiet = case();
        quiet.series[0].samples[1] = (150e3, 35e3);
        let told = sentence_on(&quiet).unwrap();
        assert!(
            told.contains("no kernel event explains 35 µs; of 1 gap the kernel knows nothing"),
            "{told}"
        );
    }

    #[test]
    fn the_worst_are_divided() {
        let case = case();
        let parts = parts::longest(&case, &case.series[0], 1);
        assert_eq!((parts.len(), parts[0].names), (1, &CLASSES[..]));
        assert_eq!(parts[0].rows, [(100e3, vec![27e3, 9e3, 0.0, 14e3, 0.0])]);
    }
}
