//! Places a value among known machines, by published figures with their sources. The figures orient
//! and are never ranked: each has its own hardware and its own definition.

use std::sync::LazyLock;

use serde::Deserialize;

use super::{rule, span::Span};
use chronoscope_base::toml_text::from_toml;
use chronoscope_run::{CaseResult, Domain, Quantity, Unit, answer::Pick};
use chronoscope_units::OneLine;

/// A reference value: a range of a statistic on known machines.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Elsewhere {
    /// The cases that it is beside: experiment and parameters.
    of: Pick,
    /// The clock of the value, which must be the cases' clock.
    #[serde(default)]
    clock: Clock,
    /// The machine of the cases; any if empty. Values by ticks hold for one machine only.
    #[serde(default)]
    machine: OneLine,
    /// The statistic, for display.
    statistic: OneLine,
    from: Quantity,
    to: Option<Quantity>,
    /// The machines.
    on: OneLine,
    /// The publication.
    pub source: OneLine,
}

/// The clock of a reference value.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Clock {
    #[default]
    Wall,
    Instructions,
    Cycles,
}

impl Clock {
    fn domain(self) -> Domain {
        match self {
            Self::Wall => Domain::Wall,
            Self::Instructions => Domain::Instructions,
            Self::Cycles => Domain::Cycles,
        }
    }

    fn unit(self) -> &'static str {
        match self {
            Self::Wall => Unit::Nanoseconds.name(),
            Self::Instructions => Unit::Instructions.name(),
            Self::Cycles => Unit::Cycles.name(),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    value: Vec<Elsewhere>,
}

static TABLE: LazyLock<Vec<Elsewhere>> = LazyLock::new(|| {
    // A test reads the file.
    from_toml::<Table>(include_str!("elsewhere.toml")).map(|table| table.value).unwrap_or_default()
});

/// The reference value beside a case by the same clock; `None` if there is none.
pub fn for_case(case: &CaseResult) -> Option<&'static Elsewhere> {
    let domain = case.clock.as_ref().map(|clock| clock.domain);
    TABLE.iter().find(|one| {
        let has = |(name, value)| case.parameters.get(name).is_some_and(|own| own == value);
        domain == Some(one.clock.domain())
            && ["", rule::machine(case)].contains(&&*one.machine)
            && one.of.experiment == case.experiment
            && one.of.when.iter().all(has)
    })
}

impl Elsewhere {
    /// The published figure, or the lower end of a published range.
    pub fn low(&self) -> f64 {
        self.from.0
    }

    /// The published figure, or the upper end of a published range.
    pub fn high(&self) -> f64 {
        self.to.map_or(self.from.0, |to| to.0)
    }

    /// The statistic, the range and the machines.
    pub fn words(&self) -> String {
        let (low, high) = (self.low(), self.high());
        let value = (low == high).then_some(low);
        let span = Span { low, high, value, unit: self.clock.unit().to_owned(), exact: true };
        format!("{} {} {}", self.statistic, span.words(), self.on)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chronoscope_run::sample;

    #[test]
    fn every_value_has_its_source() {
        let table: Table = from_toml(include_str!("elsewhere.toml")).unwrap();
        assert!(!table.value.is_empty());
        for one in &table.value {
            assert!(!one.source.is_empty() && !one.on.is_empty() && one.low() <= one.high());
            let spec = chronoscope_suite::experiments::find(&one.of.experiment);
            assert!(spec.is_some(), "{one:?}");
            // A count of ticks is one of a machine.
            let is_wall = one.clock.domain() == Domain::Wall;
            assert!(is_wall || !one.machine.is_empty(), "{one:?}");
        }
    }

    #[test]
    fn a_value_is_beside_cases_by_its_own_clock() {
        let mut case = sample::case("interrupt", "source=software");
        assert_eq!(for_case(&case).unwrap().words(), "mean 1.05\u{a0}µs STM32F401, 84 MHz");
        case.clock.as_mut().unwrap().domain = Domain::Cycles;
        assert!(for_case(&case).is_none());
        assert!(for_case(&sample::case("pipeline", "")).is_none());
        let mut case = sample::case("message", "kind=thread shape=round-trip");
        assert!(for_case(&case).is_none());
        case.clock.as_mut().unwrap().domain = Domain::Instructions;
        case.target = "tandem@rv32".into();
        assert!(for_case(&case).is_none(), "instructions of another processor");
        case.target = "tandem@cortex-m4".into();
        let words = for_case(&case).unwrap().words();
        assert_eq!(words, "each 230–652\u{a0}instructions ChibiOS, ThreadX, FreeRTOS");
    }
}
