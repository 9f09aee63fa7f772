//! The requirements of a study on the system under test: `requires = ["preempt_rt", "isolated
//! cpus"]`. The port checks them, so they hold for guests as well as for this computer; where one is
//! not met, the case is not offered, with the reason.

use serde::Deserialize;

use crate::case::Case;
use chronoscope_run::Target;

/// A property of the system under test.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
pub enum Requirement {
    /// The kernel has PREEMPT_RT.
    #[serde(rename = "preempt_rt")]
    PreemptRt,
    /// All processors of the case are isolated from the scheduler (isolcpus).
    #[serde(rename = "isolated cpus")]
    IsolatedCpus,
}

impl Requirement {
    /// The requirement in a request, which has no spaces.
    const fn word(self) -> &'static str {
        match self {
            Self::PreemptRt => "preempt_rt",
            Self::IsolatedCpus => "isolated-cpus",
        }
    }
}

/// The key of a request.
const KEY: &str = "requires";

/// Adds the requirements to the requests of the cases.
///
/// # Errors
/// The target of a case is no Linux system.
pub fn add<'a>(
    cases: &mut [Case],
    all: impl Iterator<Item = &'a Requirement>,
) -> Result<(), Target> {
    let mut all: Vec<_> = all.collect();
    all.sort_unstable();
    all.dedup();
    if all.is_empty() {
        return Ok(());
    }
    let words = all.iter().map(|requirement| requirement.word()).collect::<Vec<_>>().join("+");
    for case in cases {
        // The port to Linux alone has scheduling classes.
        if case.parameter("policy").is_none() {
            return Err(case.target.clone());
        }
        case.parameters.push((KEY.to_owned(), words.clone()));
        case.asked.push(KEY.to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::{study::Overrides, study::parse};
    use chronoscope_machine::Machines;

    #[test]
    fn requirements_of_a_study_and_of_a_case_are_in_the_request() {
        let study = |target: &str| {
            format!(
                "name = \"one\"\ntitle = \"One.\"\nrequires = [\"isolated cpus\"]\n[[case]]\n\
                 experiment = \"period\"\ntarget = \"{target}\"\n\
                 requires = [\"preempt_rt\", \"isolated cpus\"]\n"
            )
        };
        let cases = |text: &str| {
            parse(text).unwrap().cases(&Machines::default(), &Overrides::default()).unwrap()
        };
        let both = cases(&study("linux@host"));
        assert!(both[0].request().to_string().ends_with(" requires=preempt_rt+isolated-cpus"));
        let none = study("linux@host").replace("[\"isolated cpus\"]", "[]");
        let none = none.replace("[\"preempt_rt\", \"isolated cpus\"]", "[]");
        assert_eq!(cases(&none)[0].parameter("requires"), None);
        let error = parse(&study("linux@host").replace("preempt_rt", "preempt")).unwrap_err();
        assert!(format!("{error:#}").contains("preempt_rt"), "{error:#}");
    }
}
