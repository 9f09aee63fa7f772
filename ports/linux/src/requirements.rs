//! The requirements that a study has on the system: PREEMPT_RT, isolated processors.

use chronoscope_suite::Refusal;

use crate::{
    preemption,
    processors::{Processors, isolated},
};

/// The properties that the system must have for a case to be offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requirements {
    preempt_rt: bool,
    isolated_cpus: bool,
}

impl Requirements {
    /// Reads the value of `requires`: `preempt_rt`, `isolated-cpus`, or both with `+`.
    pub fn parse(text: &str) -> Option<Self> {
        text.split('+').try_fold(Self::default(), |all, word| match word {
            "preempt_rt" => Some(Self { preempt_rt: true, ..all }),
            "isolated-cpus" => Some(Self { isolated_cpus: true, ..all }),
            _ => None,
        })
    }

    /// # Errors
    /// [`Reason::NotOffered`](chronoscope_suite::Reason::NotOffered) for the first requirement that
    /// the system does not meet.
    pub fn check(self, processors: &Processors) -> Result<(), Refusal> {
        if self.preempt_rt && preemption::model() != Some("rt") {
            return Err(Refusal::not_offered("required: a kernel with PREEMPT_RT"));
        }
        if self.isolated_cpus && !are_isolated(&isolated(), processors) {
            return Err(Refusal::not_offered(
                "required: processors that are isolated (isolcpus), all that the case uses",
            ));
        }
        Ok(())
    }
}

/// Returns whether the case runs on isolated processors only. `cpu=free` is no such case.
pub fn are_isolated(isolated: &[usize], processors: &Processors) -> bool {
    match (processors.one(), processors.several()) {
        (Some(cpu), _) => isolated.contains(&cpu),
        (None, Some(mut several)) => several.all(|cpu| isolated.contains(&cpu)),
        (None, None) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_are_words_with_plus() {
        let both = Requirements { preempt_rt: true, isolated_cpus: true };
        assert_eq!(Requirements::parse("preempt_rt+isolated-cpus"), Some(both));
        let one = Requirements { preempt_rt: true, isolated_cpus: false };
        assert_eq!(Requirements::parse("preempt_rt"), Some(one));
        for text in ["", "rt", "preempt_rt+"] {
            assert_eq!(Requirements::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_case_is_isolated_if_all_its_processors_are() {
        let isolated = [2, 3, 6];
        for (cpu, expected) in
            [("2", true), ("4", false), ("2+6", true), ("2-4", false), ("free", false)]
        {
            let processors = Processors::parse(cpu).unwrap();
            assert_eq!(are_isolated(&isolated, &processors), expected, "{cpu}");
        }
    }
}
