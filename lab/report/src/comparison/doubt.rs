//! Conditions under which two stored runs ran, and which may explain a difference between them.

use std::collections::BTreeSet;

use chronoscope_run::{CaseResult, Context};

/// The least difference of the load, for each processor, that counts.
const LOAD: f64 = 0.5;

/// The conditions of A and B that differ, one sentence each. Empty if a side's are not known, as of
/// a baseline.
pub fn conditions(a: &Context, b: &Context) -> Vec<String> {
    if a.date.is_empty() || b.date.is_empty() {
        return Vec::new();
    }
    warnings(a, b).into_iter().chain(load(a, b)).collect()
}

/// The doctor's warnings of one side only, by the names of the checks. The load has a rule of its
/// own.
fn warnings(a: &Context, b: &Context) -> Vec<String> {
    let checks = |context: &Context| -> BTreeSet<String> {
        let names = context.doctor.iter().filter_map(|line| line.split_once(':'));
        names.map(|(check, _)| check.to_owned()).filter(|check| check != "load").collect()
    };
    let (of_a, of_b) = (checks(a), checks(b));
    let alone = |side: &str, checks: Vec<&String>| {
        let names = checks.into_iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        (!names.is_empty()).then(|| format!("the doctor warned of {names} beside {side} only"))
    };
    let a_only = alone("A", of_a.difference(&of_b).collect());
    a_only.into_iter().chain(alone("B", of_b.difference(&of_a).collect())).collect()
}

fn load(a: &Context, b: &Context) -> Option<String> {
    let each = |context: &Context| Some(context.load.first()? / context.processors.max(1) as f64);
    let differs = (each(a)? - each(b)?).abs() >= LOAD;
    differs.then(|| {
        let on = |context: &Context| match context.processors {
            1 => "1 processor".to_owned(),
            several => format!("{several} processors"),
        };
        let (on_a, on_b) = match a.processors == b.processors {
            true => (String::new(), on(b)),
            false => (format!(", on {}", on(a)), on(b)),
        };
        format!("the load was {} beside A{on_a} and {} beside B, on {on_b}", a.load[0], b.load[0])
    })
}

/// The difference between the times that the hypervisor took from the two cases, as a sentence.
/// `None` unless one time is at least twice the other.
pub fn steal(a: &CaseResult, b: &CaseResult) -> Option<String> {
    let most = |case: &CaseResult| case.figure("steal").map(|figure| figure.max);
    let (of_a, of_b) = (most(a)?, most(b)?);
    let (less, more) = (of_a.min(of_b), of_a.max(of_b));
    (more > 0.0 && more >= 2.0 * less && of_a.is_finite() && of_b.is_finite()).then(|| {
        format!("the hypervisor took up to {of_a} ms of a repetition of A and {of_b} ms of B")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use chronoscope_run::{Run, sample};

    fn context() -> Context {
        let Run { context, .. } = sample::run();
        context
    }

    #[test]
    fn conditions_that_differ_are_named() {
        let of = |change: &dyn Fn(&mut Context)| {
            let mut b = context();
            change(&mut b);
            conditions(&context(), &b)
        };
        assert!(of(&|_| ()).is_empty());
        // Half a processor each: 0.5 and 1.5 of two.
        assert_eq!(
            of(&|b| b.load[0] = 1.5),
            ["the load was 0.5 beside A and 1.5 beside B, on 2 processors"]
        );
        assert!(of(&|b| b.load[0] = 1.4).is_empty());
        assert_eq!(
            of(&|b| b.doctor = vec!["governor: powersave: slow".into(), "load: 9".into()]),
            ["the doctor warned of governor beside B only"]
        );
        // A baseline has no conditions.
        assert!(conditions(&Context::default(), &of_load(9.0)).is_empty());
        let warned = Context { doctor: vec!["governor: powersave: slow".into()], ..context() };
        assert!(conditions(&Context::default(), &warned).is_empty());
        assert!(conditions(&warned, &Context::default()).is_empty());
    }

    fn of_load(load: f64) -> Context {
        Context { load: vec![load], ..context() }
    }

    #[test]
    fn stolen_time_of_one_side_is_a_condition() {
        let with = |ms: f64| {
            let mut case = sample::case("switch", "tasks=2");
            case.figures = vec![sample::figure("steal", "ms", ms)];
            case
        };
        let differs = |a: f64, b: f64| steal(&with(a), &with(b)).is_some();
        assert!(differs(0.0, 10.0) && differs(40.0, 10.0) && differs(10.0, 20.0));
        assert!(!differs(0.0, 0.0) && !differs(20.0, 30.0));
        let mut unknown = with(0.0);
        unknown.figures.clear();
        assert_eq!((steal(&with(10.0), &unknown), steal(&unknown, &with(10.0))), (None, None));
    }
}
