//! The costs of a kernel that the analysis of a set needs, from experiments on the target.

use anyhow::{Context, Result, bail, ensure};

use super::run;
use chronoscope_engine::{
    case,
    case::{Case, Plan},
    schedule::Scale,
};
use chronoscope_machine::Machines;
use chronoscope_run::{CaseResult, Domain, SeriesResult, Target, names::CHIP};
use chronoscope_statistics::schedule::Costs;

/// The experiments that measure costs, with their settings; on a chip, its time is measured too.
const EXPERIMENTS: [(&str, &[&str]); 4] = [
    ("switch", &["tasks=2", "loops=300"]),
    ("wakeup", &["loops=100"]),
    ("worst", &["of=switch", "tasks=2"]),
    ("worst", &["of=message"]),
];

/// The experiment that measures a free lock.
const LOCK: (&str, &[&str]) =
    ("inversion", &["protocol=inheritance", "hog_us=1000", "hold_us=100"]);

/// The cases, in instructions, and then for a chip in its cycles.
///
/// # Errors
/// The target or the chip is unknown.
pub(super) fn cases(
    machines: &Machines,
    target: &Target,
    chip: Option<&str>,
    has_locks: bool,
) -> Result<Vec<Case>> {
    let lock = has_locks.then_some(LOCK);
    let plain = EXPERIMENTS.into_iter().chain(lock).map(|row| (row, None));
    // The lock's costs are scaled.
    let on_chip = chip.map(|chip| EXPERIMENTS.into_iter().map(move |row| (row, Some(chip))));
    let mut cases = Vec::new();
    for ((name, settings), chip) in plain.chain(on_chip.into_iter().flatten()) {
        let settings: Vec<String> = settings.iter().map(|&text| text.to_owned()).collect();
        let chip = chip.map(|chip| (CHIP, vec![chip.to_owned()]));
        let settings = run::set(chip.into_iter().collect(), &settings)?;
        let plan = Plan { repeat: 1, ..Plan::default() };
        cases.extend(case::expand(machines, case::experiment(name)?, target, &settings, &plan)?);
    }
    Ok(cases)
}

/// Checks that a case has figures.
///
/// # Errors
/// The target has refused it, or its evidence does not hold.
pub(super) fn check(case: &CaseResult) -> Result<()> {
    let is_sound = case.is_proven() && case.measured().next().is_some();
    if is_sound {
        return Ok(());
    }
    let why = case.verdict.reasons.first().map_or("no evidence", |reason| reason.as_str());
    bail!("`{}` has no figures: {why}", case.experiment)
}

/// The costs without those that the set's own run measures, and the scale of all times.
pub(super) struct Plain {
    pub scale: Scale,
    /// The time of the emulator that an instruction takes, in ns.
    pub ns: f64,
    costs: Costs,
    /// How many times as long the kernel takes by the model's upper bound: of a switch, which scales the
    /// costs that are measured in instructions. `None` without a model.
    bound: Option<(f64, Costs)>,
}

impl Plain {
    /// The costs from the results of [`cases`]. A tick of the analysis is a cycle of the chip, or
    /// one instruction at the rate `clock`, which is ignored on a chip.
    ///
    /// # Errors
    /// A case has no figures.
    pub fn new(results: &[&CaseResult], on_chip: bool, clock: Option<u64>) -> Result<Self> {
        results.iter().try_for_each(|case| check(case))?;
        let domain = if on_chip { Domain::Modelled } else { Domain::Instructions };
        // The longest of all cases of an experiment in a domain.
        let longest = |name: &str, domain: Domain, of: fn(&CaseResult) -> Option<&SeriesResult>| {
            let cases = results.iter().filter(|case| {
                case.experiment == name
                    && case.clock.as_ref().is_some_and(|clock| clock.domain == domain)
            });
            let ticks = |case: &CaseResult| {
                let longest = of(case)?.summary.max?;
                // Modelled time is in ns, and all else in the ticks of its clock.
                let is_time = domain == Domain::Modelled;
                let each = case.clock.as_ref().filter(|_| is_time).map(|clock| clock.hertz);
                Some(each.map_or(longest, |hertz| (longest * hertz as f64 / 1e9).round()))
            };
            cases
                .filter_map(|case| ticks(case))
                .reduce(f64::max)
                .with_context(|| format!("`{name}` has no figure"))
        };
        let clock_of = |domain: Domain| {
            let mut clocks = results.iter().filter_map(|case| case.clock.as_ref());
            clocks.find(|clock| clock.domain == domain).map(|clock| clock.hertz)
        };
        let emulator = clock_of(Domain::Instructions).context("no case counts instructions")?;
        let clock = if on_chip { clock_of(Domain::Modelled) } else { clock };
        let hertz = clock.context("no case counts cycles of the chip")?;
        let [switch, wake, masked] =
            ["switch", "wakeup", "worst"].map(|name| longest(name, domain, first));
        let switch = switch?;
        let rate = longest("switch", Domain::Instructions, first)? / switch;
        ensure!(rate > 0.0 && rate <= 1.0, "a switch takes fewer cycles than instructions");
        let has_lock = results.iter().any(|case| case.experiment == LOCK.0);
        let lock =
            if has_lock { longest(LOCK.0, Domain::Instructions, unheld)? / rate } else { 0.0 };
        let costs = |wake: f64, switch: f64, masked: f64, lock: f64| {
            let [wake, switch, masked, lock] =
                [wake, switch, masked, lock].map(|ticks| ticks.ceil() as u64);
            Costs { wake, switch, masked, lock, ..Costs::default() }
        };
        let bound = || -> Result<(f64, Costs)> {
            let [most, wake, masked] =
                ["switch", "wakeup", "worst"].map(|name| longest(name, domain, at_most));
            let most = most?;
            Ok((most / switch, costs(wake?, most, masked?, lock * most / switch)))
        };
        Ok(Self {
            scale: Scale { hertz, rate },
            ns: 1e9 / emulator as f64,
            costs: costs(wake?, switch, masked?, lock),
            bound: on_chip.then(bound).transpose()?,
        })
    }

    /// The costs with the handlers that the set's own run has measured.
    pub fn with_handlers(&self, ran: &CaseResult) -> Costs {
        self.handlers(ran, 1.0, self.costs)
    }

    /// The costs with the same handlers, by the model's upper bound; `None` without a model.
    pub fn with_handlers_at_most(&self, ran: &CaseResult) -> Option<Costs> {
        self.bound.map(|(times, costs)| self.handlers(ran, times, costs))
    }

    fn handlers(&self, ran: &CaseResult, times: f64, costs: Costs) -> Costs {
        let measured = |name: &str| ran.figure(name).map(|figure| figure.max);
        let figure = |name: &str| measured(name).unwrap_or(0.0);
        let in_ticks = |length: f64| (length / self.scale.rate * times).ceil() as u64;
        let ticks = |name: &str| in_ticks(figure(name));
        let period = self.scale.ticks(1000.0 * figure("tick period")) as u64;
        let tick = if period > 0 { ticks("tick") } else { 0 };
        Costs {
            release: ticks("release"),
            job: measured("job").map(in_ticks),
            tick,
            tick_period: period,
            ..costs
        }
    }

    /// The ticks of the analysis, in words.
    pub fn words(&self, chip: Option<&str>) -> String {
        let megahertz = self.scale.hertz as f64 / 1e6;
        match chip.and_then(|chip| chip.split(':').next()) {
            Some(chip) => format!(
                "cycles of {chip} at {megahertz} MHz, by the model's estimate; run at {:.2} \
                 instructions a cycle",
                self.scale.rate
            ),
            None => format!("instructions, one a cycle at {megahertz} MHz"),
        }
    }
}

/// The first measured series.
fn first(case: &CaseResult) -> Option<&SeriesResult> {
    case.measured().next()
}

/// The series with the upper bounds of the first measured one.
fn at_most(case: &CaseResult) -> Option<&SeriesResult> {
    case.at_most(first(case)?)
}

/// The series of a lock that nobody holds.
fn unheld(case: &CaseResult) -> Option<&SeriesResult> {
    case.series.iter().find(|series| series.name == "nobody holds the lock")
}
