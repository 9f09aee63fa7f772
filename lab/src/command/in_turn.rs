//! The command that decides a doubtful comparison of stored runs: it measures both cases in turn.

use chronoscope_engine::case;
use chronoscope_machine::Machines;
use chronoscope_run::{CaseResult, Target};
use chronoscope_suite::experiments;
use chronoscope_units::words::quoted;

/// Returns the command that measures both cases in turn; `None` if the experiment or the target is
/// unknown to this version.
pub(super) fn in_turn(machines: &Machines, a: &CaseResult, b: &CaseResult) -> Option<String> {
    let spec = experiments::find(&b.experiment)?;
    // A baseline's case names no target: it is the case of B.
    let a = if a.target.is_empty() { b } else { a };
    let differs = |name: &str| a.parameters.get(name) != b.parameters.get(name);
    let side = |case: &CaseResult| {
        let own = case.parameters.iter().filter(|(name, _)| differs(name));
        let settings = own.map(|(name, value)| format!(",{name}={value}"));
        quoted(&format!("{}{}", case.target, settings.collect::<String>()))
    };
    let target: Target = b.target.parse().ok()?;
    let defaults = case::parameters(machines, spec, &target).unwrap_or_default();
    let is_default = |name: &str, value: &str| {
        defaults.iter().any(|(parameter, default)| parameter.name == name && default == value)
    };
    let common =
        b.parameters.iter().filter(|(name, value)| !differs(name) && !is_default(name, value));
    let set = common.map(|(name, value)| format!(" --set {}", quoted(&format!("{name}={value}"))));
    Some(format!(
        "chronoscope compare {} {} {}{}",
        side(a),
        side(b),
        b.experiment,
        set.collect::<String>()
    ))
}

#[cfg(test)]
mod tests {
    use chronoscope_run::sample;

    use super::*;

    #[test]
    fn the_command_in_turn_repeats_what_is_no_default() {
        let machines = Machines::default();
        let in_turn = |a: &CaseResult, b: &CaseResult| in_turn(&machines, a, b);
        let mut a = sample::case("switch", "tasks=3");
        assert_eq!(
            in_turn(&a, &a).unwrap(),
            "chronoscope compare linux@host linux@host switch --set tasks=3"
        );
        let mut b = a.clone();
        b.parameters.insert("pad".into(), "50".into());
        a.parameters.insert("pad".into(), "0".into());
        assert_eq!(
            in_turn(&a, &b).unwrap(),
            "chronoscope compare linux@host,pad=0 linux@host,pad=50 switch --set tasks=3"
        );
        b.experiment = "gone".into();
        assert_eq!(in_turn(&a, &b), None);
    }
}
