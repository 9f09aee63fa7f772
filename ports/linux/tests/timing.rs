//! Runs whole cases without privileges, and checks properties of their streams that hold on any
//! machine, however slow or busy.

use std::process::Command;

use chronoscope_suite::{
    Request,
    wire::{Evidence, Record, Role, decode},
};

struct Case {
    ended: bool,
    evidence: Vec<(String, Evidence<'static>)>,
    /// The role and the number of samples of each series.
    series: Vec<(Role, usize)>,
    /// The times from the start of a sample to the start of the next, in ns, of each series.
    gaps: Vec<Vec<u64>>,
}

impl Case {
    /// The time that the measured samples would take if each took as long as the median one, in us.
    /// Other processes delay some samples of a busy machine, and not most.
    fn undisturbed_us(mut self) -> u64 {
        let measured = |(role, _): &(Role, usize)| *role == Role::Measured;
        let of_series =
            self.gaps.iter_mut().zip(&self.series).filter(|(_, series)| measured(series));
        let spans = of_series.map(|(gaps, _)| {
            gaps.sort_unstable();
            gaps[gaps.len() / 2] * gaps.len() as u64 / 1_000
        });
        spans.max().expect("a case measures something")
    }

    fn run(request: &str) -> Self {
        let output = Command::new(env!("CARGO_BIN_EXE_chronoscope-linux"))
            .args(request.split(' '))
            .args(["policy=other", "mlock=no"])
            .output()
            .unwrap();
        let mut case = Self { ended: false, evidence: vec![], series: vec![], gaps: vec![] };
        let mut stream = output.stdout;
        for frame in stream.split_mut(|&byte| byte == 0).filter(|frame| !frame.is_empty()) {
            match decode(frame).unwrap() {
                Record::Evidence(evidence) => {
                    case.evidence
                        .push((evidence.name.to_owned(), Evidence { name: "", ..evidence }));
                }
                Record::Series(series) => {
                    case.series.push((series.role, 0));
                    case.gaps.push(vec![]);
                }
                Record::Samples(samples) => {
                    let series = usize::from(samples.series);
                    case.series[series].1 += samples.block.len();
                    let gaps = samples.block.iter().map(|sample| sample.gap.unsigned_abs());
                    case.gaps[series].extend(gaps);
                }
                Record::End { .. } => case.ended = true,
                _ => {}
            }
        }
        case
    }

    /// Asserts that the case ended, that its evidence holds, and that its measured series have as
    /// many samples as given.
    fn check(&self, request: &str, measured: &[usize]) {
        assert!(self.ended, "{request}");
        for (name, evidence) in &self.evidence {
            assert!(
                (evidence.low..=evidence.high).contains(&evidence.value),
                "{request}: {name} {evidence:?}"
            );
        }
        let samples =
            |role| self.series.iter().filter(move |series| series.0 == role).map(|series| series.1);
        assert_eq!(samples(Role::Measured).collect::<Vec<_>>(), measured, "{request}");
        assert!(samples(Role::Control).any(|count| count > 0), "{request}");
    }
}

#[test]
fn timers() {
    for kind in ["thread", "coroutine", "process"] {
        for rest in ["", " idle=spin"] {
            let delay = format!("delay tasks=3 delay_us=2000 loops=5 kind={kind}{rest}");
            Case::run(&delay).check(&delay, &[5; 3]);
            let period = format!(
                "period tasks=2 interval_us=2000 distance_us=500 loops=20 kind={kind}{rest}"
            );
            Case::run(&period).check(&period, &[20; 2]);
        }
    }
    Case::run("delay start=own delay_us=2000").check("delay start=own", &[10; 5]);
}

#[test]
fn interrupts() {
    for source in ["software", "timer"] {
        let interrupt = format!("interrupt loops=20 source={source}");
        Case::run(&interrupt).check(&interrupt, &[20]);
        for kind in ["thread", "coroutine", "process"] {
            let wakeup = format!("wakeup loops=20 source={source} kind={kind}");
            Case::run(&wakeup).check(&wakeup, &[20]);
        }
    }
}

#[test]
fn estimates_of_duration_are_near() {
    for request in ["delay", "period", "interrupt", "wakeup source=timer"] {
        let parsed = Request::parse(request).unwrap();
        let estimate = (parsed.spec().duration_us)(&parsed);
        let taken = Case::run(request).undisturbed_us();
        assert!(
            (estimate / 3..3 * estimate).contains(&taken),
            "{request}: {taken} us, estimated {estimate} us"
        );
    }
}
