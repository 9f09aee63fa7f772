//! A case: experiment × target × parameters, and how often to repeat it.

mod analyser;
mod observed;
mod vary;

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Result, bail};
use chronoscope_suite::{
    self as suite, Parameter, Spec, Values, experiments, request::MAX_REQUEST,
};

pub use self::{analyser::Analyser, vary::Vary};
use chronoscope_machine::{BREAK, Description, Machines, Request, SOAK, WORKLOAD, host};
use chronoscope_run::{
    Label, Limit, Published, Target, compared::StatisticChoice, names::COMPILED, names::EVERY_BUILD,
};
use chronoscope_units::{words::hint, words::nearest};

/// The values to run, by parameter; each value of a list makes a case.
pub type Settings = BTreeMap<String, Vec<String>>;

/// An experiment on a target with parameters, the number of its repetitions, and its limits.
#[derive(Clone)]
pub struct Case {
    /// The experiment.
    pub spec: &'static Spec,
    /// The kernel and the machine.
    pub target: Target,
    /// All parameters, the experiment's and the port's, in the order of their tables.
    pub parameters: Vec<(String, String)>,
    /// The names of the parameters that were set; the others have their defaults.
    pub asked: Vec<String>,
    /// The minimum of repetitions. Each is a fresh process. Repetitions of all cases are interleaved.
    pub repeat: usize,
    /// The start states of the repetitions: not more than `repeat`.
    pub vary: Vary,
    /// The minimum of time to repeat for. `None` for a soak.
    pub duration: Option<Duration>,
    /// The time after which a repetition is ended; if `None`, a multiple of its expected duration.
    pub watchdog: Option<Duration>,
    /// Samples above this many ns (or ticks, where the clock has no ns) are misses.
    pub deadline: Option<f64>,
    /// A sampling analyser that reads the pins as well.
    pub analyser: Option<Analyser>,
    /// The limits by which the result is judged.
    pub limits: Vec<Limit>,
    /// The statistics that a comparison judges; the usual ones if none is named.
    pub judge: StatisticChoice,
    /// Published figures, of which those that apply are shown beside the result.
    pub published: Vec<Published>,
}

impl Case {
    /// The request that all repetitions have in common.
    pub fn request(&self) -> Request {
        let parameters = self.parameters.iter();
        parameters
            .fold(Request::new(self.spec.name), |request, (name, value)| request.with(name, value))
    }

    /// The request of a repetition, counted from 0: the common one with the seed of the start state.
    pub fn request_for(&self, repetition: usize) -> Request {
        self.vary.applied_to(self.request(), repetition)
    }

    /// Makes the case a soak of this length, if its experiment and its machine offer soaks: one
    /// process that runs for the whole time, `repeat` times, instead of many short ones.
    ///
    /// # Errors
    /// There is no such target.
    pub fn soaked(self, machines: &Machines, length: Duration, repeat: usize) -> Result<Self> {
        let is_offered = self.spec.name == experiments::period::SPEC.name
            && machines.describe(&self.target)?.properties.offers_soaks;
        Ok(if is_offered { self.lasting(length, repeat) } else { self })
    }

    /// Makes a case of `noise` on this machine last this long, in one process. Each turn of its loop
    /// copies `workload` bytes, if there is a number; all turns are counted.
    pub fn watched(self, length: Duration, workload: Option<u64>) -> Self {
        let case = self.lasting(length, 1);
        match workload {
            Some(bytes) => case.asking(WORKLOAD, bytes),
            None => case,
        }
    }

    fn lasting(mut self, length: Duration, repeat: usize) -> Self {
        // The length decides about the number of due times, or of windows.
        self.parameters.retain(|(name, _)| name != "loops");
        (self.duration, self.repeat) = (None, repeat);
        self.vary = self.vary.within(repeat);
        self.asking(SOAK, length.as_secs())
    }

    /// Ends the case at the first start that is later than `us`, or the first gap that is longer, if it is
    /// one of `period` or `noise` on Linux, with the trace of just then where it has one.
    ///
    /// # Errors
    /// The experiment or the target does not offer that.
    pub fn breaking(self, machines: &Machines, us: u64) -> Result<Self> {
        let known = machines.describe(&self.target)?.parameters;
        let is_linux = known.iter().any(|(parameter, _)| parameter.name == "trace");
        let breaks = [experiments::period::SPEC.name, experiments::noise::SPEC.name];
        if !breaks.contains(&self.spec.name) || !is_linux {
            bail!(
                "only `period` and `noise` on Linux end at a late start, and not `{}`",
                self.spec.name
            );
        }
        Ok(self.asking(BREAK, us))
    }

    /// The case with a parameter of the port's that is in no table.
    fn asking(mut self, name: &str, value: u64) -> Self {
        self.parameters.push((name.to_owned(), value.to_string()));
        self.asked.push(name.to_owned());
        self
    }

    /// The length of a soak; `None` for any other case.
    pub fn soak(&self) -> Option<Duration> {
        Some(Duration::from_secs(self.parameter(SOAK)?.parse().ok()?))
    }

    /// How long one repetition is expected to take.
    pub fn expected(&self) -> Duration {
        if let Some(length) = self.soak() {
            return length;
        }
        let request = self.request().to_string();
        // expand() has made the request and checked it.
        let us =
            suite::Request::parse(&request).map_or(0, |request| (self.spec.duration_us)(&request));
        Duration::from_micros(us)
    }

    /// The key of the case's result, [`CaseResult::key`](chronoscope_run::CaseResult::key).
    pub fn key(&self) -> String {
        let parameters = self.parameters.iter().map(|(name, value)| (name.as_str(), value.clone()));
        let states = self.vary.parameter().into_iter().collect::<Vec<_>>();
        let states = states.iter().map(|(name, states)| (name.as_str(), states.to_string()));
        let all: BTreeMap<&str, String> = parameters.chain(states).collect();
        let words: Vec<String> =
            all.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        format!("{} {} {}", self.spec.name, self.target, words.join(" "))
    }

    /// Returns whether a published figure applies to the case: all of its parameters agree.
    pub fn has(&self, published: &Published) -> bool {
        published.when.iter().all(|(name, value)| self.parameter(name) == Some(value))
    }

    /// The value of a parameter; `None` if the case does not have it.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns whether the case leaves the parameter out because it has its default.
    pub fn may_have(&self, name: &str) -> bool {
        let mut parameters = self.spec.parameters.iter();
        parameters.any(|known| {
            known.name == name
                && matches!(known.values, Values::Extra(_))
                && is_offered(self.spec, known, &self.target)
        })
    }

    /// The parameters that were set, which tell this case from others of its experiment: `tasks=10
    /// pair=thread-thread`. A varied case has its start states too.
    pub fn label(&self) -> Label {
        let asked = self.parameters.iter().filter(|(name, _)| self.asked.contains(name));
        let asked = asked.map(|(name, value)| (name.as_str(), value.as_str()));
        // A default that the case leaves out was asked for all the same.
        let left_out = self.spec.parameters.iter().filter(|known| {
            matches!(known.values, Values::Extra(_))
                && self.asked.iter().any(|name| name == known.name)
                && self.parameter(known.name).is_none()
        });
        let asked = asked.chain(left_out.map(|known| (known.name, known.default)));
        let states = self.vary.parameter();
        let states = states.iter().map(|(name, states)| (&**name, &**states));
        Label::new(asked.chain(states))
    }
}

/// The settings that all cases of one experiment share. A field means the same as in [`Case`].
#[derive(Clone, Default)]
pub struct Plan {
    /// The minimum of repetitions; 0 counts as 1.
    pub repeat: usize,
    /// The start states, of which a case takes at most one a repetition.
    pub vary: Vary,
    /// The minimum of time to repeat for.
    pub duration: Option<Duration>,
    /// The time after which a repetition is ended.
    pub watchdog: Option<Duration>,
    /// Samples per case in all, spread over the repetitions.
    pub loops: Option<u64>,
    /// The bound above which samples are misses.
    pub deadline: Option<f64>,
    /// A sampling analyser that reads the pins as well.
    pub analyser: Option<Analyser>,
    /// The limits by which results are judged.
    pub limits: Vec<Limit>,
    /// The statistics that a comparison judges.
    pub judge: StatisticChoice,
    /// The study's published figures for the experiment.
    pub published: Vec<Published>,
}

/// The limit for cases of one experiment. More are a mistake: lists multiplied without intent.
const MAX_CASES: usize = 10_000;

/// All parameters of an experiment on a target, the experiment's and the port's, with their
/// defaults.
///
/// # Errors
/// There is no such target.
pub fn parameters(
    machines: &Machines,
    spec: &'static Spec,
    target: &Target,
) -> Result<Vec<(&'static Parameter, String)>> {
    Ok(parameters_on(&machines.describe(target)?, spec, target))
}

/// Returns whether the kernel of a target has the parameter of an experiment.
fn is_offered(spec: &Spec, parameter: &Parameter, target: &Target) -> bool {
    match (spec.name, parameter.name) {
        ("interrupt", "tasks") => target.image.is_some() || target.kernel == "tandem-basepri",
        // A kernel of the user's in a guest is a Linux.
        ("spawn", "way") => target.kernel.starts_with("linux") || target.machine.starts_with("vm"),
        _ => true,
    }
}

/// All parameters of an experiment on a described target, as [`parameters`].
fn parameters_on(
    machine: &Description,
    spec: &'static Spec,
    target: &Target,
) -> Vec<(&'static Parameter, String)> {
    let default = |parameter: &'static Parameter| {
        machine.default(spec, parameter).unwrap_or(parameter.default).to_owned()
    };
    let own = spec.parameters.iter().filter(|parameter| is_offered(spec, parameter, target));
    let own = own.map(|parameter| (parameter, default(parameter)));
    let of_port = machine.parameters.iter().map(|(parameter, value)| {
        (*parameter, machine.default(spec, parameter).unwrap_or(value).to_owned())
    });
    own.chain(of_port).collect()
}

/// All cases of one experiment on one target: every combination of the settings' values; the first
/// setting changes slowest.
///
/// # Errors
/// An unknown parameter or a value out of range, with the nearest valid one.
pub fn expand(
    machines: &Machines,
    spec: &'static Spec,
    target: &Target,
    settings: &Settings,
    plan: &Plan,
) -> Result<Vec<Case>> {
    let machine = machines.describe(target)?;
    let table = parameters_on(&machine, spec, target);
    let settings = with_fallbacks(&machine, settings, plan);
    let settings = with_pairs(&machine, spec, settings)?;
    let (settings, of_every_build) = with_every_build(&table, settings);
    let settings = &settings;
    for (name, values) in settings {
        let Some((parameter, _)) = table.iter().find(|(parameter, _)| parameter.name == name)
        else {
            let names = table.iter().map(|(parameter, _)| parameter.name);
            bail!("`{}` has no parameter `{name}`{}", spec.name, nearest(name, names));
        };
        if values.is_empty() {
            bail!("`{name}` is given no value");
        }
        for value in values {
            check(spec, parameter, value)?;
        }
    }
    check_product(spec.name, settings)?;
    let mut combinations: Vec<Vec<(String, String)>> = vec![Vec::new()];
    for (parameter, default) in &table {
        let values = settings.get(parameter.name).cloned().unwrap_or_else(|| vec![default.clone()]);
        combinations = combinations
            .iter()
            .flat_map(|chosen| {
                values.iter().map(|value| {
                    let mut chosen = chosen.clone();
                    let is_extra = matches!(parameter.values, Values::Extra(_))
                        || parameter.default.is_empty();
                    if !is_extra || value != parameter.default {
                        chosen.push((parameter.name.to_owned(), value.clone()));
                    }
                    chosen
                })
            })
            .collect();
    }
    let make = |parameters| {
        let case = make(spec, target, settings, plan, parameters)?;
        match machine.check(&case.request()) {
            // An experiment with images of its own has one build.
            Err(_) if of_every_build && case.parameter(COMPILED).is_some() => Ok(None),
            checked => checked.map(|()| Some(case)),
        }
    };
    combinations.into_iter().map(make).filter_map(Result::transpose).collect()
}

/// # Errors
/// The settings' lists make more than [`MAX_CASES`] cases of an experiment.
pub(super) fn check_product(experiment: &str, settings: &Settings) -> Result<()> {
    let product =
        settings.values().try_fold(1_usize, |product, values| product.checked_mul(values.len()));
    if product.is_none_or(|product| product > MAX_CASES) {
        bail!("`{experiment}` would make more than {MAX_CASES} cases: give fewer values");
    }
    Ok(())
}

/// The settings with all builds of the target's image where every one is asked for, and whether it
/// is.
fn with_every_build(
    table: &[(&'static Parameter, String)],
    mut settings: Settings,
) -> (Settings, bool) {
    let Some(asked) = settings.get_mut(COMPILED).filter(|asked| *asked == &[EVERY_BUILD]) else {
        return (settings, false);
    };
    let known = table.iter().find(|(parameter, _)| parameter.name == COMPILED);
    if let Some((Parameter { values: Values::Extra(words), .. }, _)) = known {
        *asked = words.iter().map(|word| (*word).to_owned()).collect();
    }
    (settings, true)
}

/// The settings with every processor, and every pair of two, where a matrix of them is asked for.
///
/// # Errors
/// Another experiment than `switch`, a ring of more than two tasks, or a processor that may not be used.
fn with_pairs(machine: &Description, spec: &Spec, mut settings: Settings) -> Result<Settings> {
    let two = settings.get("tasks").is_none_or(|tasks| *tasks == ["2"]);
    let Some(asked) = settings.get_mut("cpu") else { return Ok(settings) };
    let mut cpus = Vec::new();
    for value in asked.iter() {
        match host::matrix(value, machine.processors)? {
            None => cpus.push(value.clone()),
            Some(_) if spec.name != experiments::switch::SPEC.name || !two => {
                bail!("`cpu={value}`: only `switch` between two tasks has a matrix of processors")
            }
            Some(pairs) => cpus.extend(pairs),
        }
    }
    *asked = cpus;
    Ok(settings)
}

/// The settings, and the values in the place of defaults that this account may not have. A case with
/// limits is not changed: its limits are for the tasks that it names.
fn with_fallbacks(machine: &Description, settings: &Settings, plan: &Plan) -> Settings {
    let mut settings = settings.clone();
    if plan.limits.is_empty() {
        for fallback in &machine.fallbacks {
            let values = settings.entry(fallback.parameter.to_owned());
            values.or_insert_with(|| vec![fallback.value.to_owned()]);
        }
    }
    settings
}

fn make(
    spec: &'static Spec,
    target: &Target,
    settings: &Settings,
    plan: &Plan,
    mut parameters: Vec<(String, String)>,
) -> Result<Case> {
    let mut repeat = plan.repeat.max(1);
    if let Some((total, (low, high))) = plan.loops.zip(loops(spec)) {
        let each = total.div_ceil(repeat as u64).clamp(low, high);
        repeat = usize::try_from(total.div_ceil(each))?.max(1);
        parameters
            .iter_mut()
            .filter(|(name, _)| name == "loops")
            .for_each(|(_, value)| *value = each.to_string());
    }
    let case = Case {
        spec,
        target: target.clone(),
        parameters,
        asked: settings.keys().cloned().collect(),
        repeat,
        vary: if has_body(spec) { plan.vary.within(repeat) } else { Vary::default() },
        duration: plan.duration,
        watchdog: plan.watchdog,
        deadline: plan.deadline,
        analyser: plan.analyser,
        limits: plan.limits.clone(),
        judge: plan.judge.clone(),
        published: plan.published.clone(),
    };
    if case.request().to_string().len() + LONGEST_SEED > MAX_REQUEST {
        bail!("the request of `{}` is longer than {MAX_REQUEST} bytes", spec.name);
    }
    Ok(case)
}

/// The length of the longest words that a start state adds to a request.
const LONGEST_SEED: usize = " vary=4294967295".len();

/// Returns whether the experiment runs on the target, which then has a start state.
fn has_body(spec: &Spec) -> bool {
    experiments::OF_THE_LAB.iter().all(|of_the_lab| of_the_lab.name != spec.name)
}

/// The minimum and maximum of samples of the experiment; `None` if the number cannot be set.
pub fn loops(spec: &Spec) -> Option<(u64, u64)> {
    let loops = spec.parameters.iter().find(|parameter| parameter.name == "loops")?;
    match loops.values {
        Values::Number(low, high) => Some((low, high)),
        Values::Word(_) | Values::Extra(_) | Values::Text(_) => None,
    }
}

fn check(spec: &Spec, parameter: &Parameter, value: &str) -> Result<()> {
    if parameter.values.contain(value) {
        return Ok(());
    }
    let name = format!("{} {}", spec.name, parameter.name);
    match parameter.values {
        Values::Number(low, high) => {
            bail!("`{name}={value}`: it is a whole number from {low} to {high}")
        }
        Values::Word(words) | Values::Extra(words) => {
            bail!(
                "`{name}={value}`: it is one of {}{}",
                words.join(", "),
                nearest(value, words.iter().copied())
            )
        }
        Values::Text(kind) => bail!("`{name}={value}`: it is {kind}"),
    }
}

/// The experiment of that name.
///
/// # Errors
/// There is no such experiment; the message has the nearest name.
pub fn experiment(name: &str) -> Result<&'static Spec> {
    experiments::find(name).ok_or_else(|| {
        let names = experiments::EXPERIMENTS.iter().map(|spec| spec.name);
        anyhow::anyhow!(
            "unknown experiment `{name}`{} `chronoscope list` shows all",
            hint(name, names)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cases of an experiment on machines of their own.
    fn expand(
        spec: &'static Spec,
        target: &Target,
        settings: &Settings,
        plan: &Plan,
    ) -> Result<Vec<Case>> {
        super::expand(&Machines::default(), spec, target, settings, plan)
    }

    fn settings(text: &[(&str, &str)]) -> Settings {
        let split = |values: &str| values.split(',').map(str::to_owned).collect();
        text.iter().map(|(name, values)| ((*name).to_owned(), split(values))).collect()
    }

    #[test]
    fn lists_multiply() {
        let target: Target = "linux@host".parse().unwrap();
        let asked = settings(&[("tasks", "2,10"), ("pair", "thread-thread,process-process")]);
        let cases =
            expand(experiment("switch").unwrap(), &target, &asked, &Plan::default()).unwrap();
        assert_eq!(cases.len(), 4);
        assert_eq!(cases[0].label(), "pair=thread-thread tasks=2");
    }

    #[test]
    fn a_default_that_was_asked_for_is_in_the_label() {
        let target: Target = "linux@host".parse().unwrap();
        let asked = settings(&[("way", "plain,task")]);
        let cases =
            expand(experiment("spawn").unwrap(), &target, &asked, &Plan::default()).unwrap();
        assert_eq!([cases[0].label(), cases[1].label()], ["way=plain", "way=task"]);
        // The key is as before there was a choice.
        assert_eq!((cases[0].parameter("way"), cases[1].parameter("way")), (Some("plain"), None));
    }

    #[test]
    fn processors_make_a_matrix() {
        let asked = settings(&[("cpu", "matrix")]);
        let target: Target = "linux-full@vm".parse().unwrap();
        let spec = experiment("switch").unwrap();
        let cases = expand(spec, &target, &asked, &Plan::default()).unwrap();
        let cpus: Vec<_> = cases.iter().filter_map(|case| case.parameter("cpu")).collect();
        assert_eq!(cpus, ["0", "0+1", "1"]);
        let three = settings(&[("cpu", "matrix"), ("tasks", "3")]);
        assert!(expand(spec, &target, &three, &Plan::default()).is_err());
    }

    #[test]
    fn lists_do_not_fill_the_memory() {
        let target: Target = "linux@host".parse().unwrap();
        let many = (2..=1000).map(|tasks| tasks.to_string()).collect::<Vec<_>>();
        let asked =
            Settings::from(["tasks", "batch", "pad"].map(|name| (name.to_owned(), many.clone())));
        let error =
            expand(experiment("switch").unwrap(), &target, &asked, &Plan::default()).err().unwrap();
        assert!(error.to_string().contains("more than 10000 cases"), "{error}");
        let hundred = many[..100].to_vec();
        let most =
            Settings::from(["tasks", "batch"].map(|name| (name.to_owned(), hundred.clone())));
        let cases = expand(experiment("switch").unwrap(), &target, &most, &Plan::default());
        assert_eq!(cases.unwrap().len(), 10_000);
    }

    #[test]
    fn a_published_figure_applies_where_all_its_parameters_agree() {
        let target: Target = "linux@host".parse().unwrap();
        let asked = settings(&[("tasks", "2")]);
        let spec = experiment("switch").unwrap();
        let case = expand(spec, &target, &asked, &Plan::default()).unwrap().remove(0);
        let has = |when: &[(&str, &str)]| {
            let when = when.iter().map(|(name, value)| ((*name).into(), (*value).into()));
            case.has(&Published {
                source: "P1".into(),
                on: "a chip".into(),
                statistic: "mean".into(),
                series: None,
                instrument: Default::default(),
                value: 1.0,
                unit: "".into(),
                same_clock: false,
                when: when.collect(),
                note: "".into(),
            })
        };
        assert!(has(&[]) && has(&[("tasks", "2")]));
        assert!(has(&[("tasks", "2"), ("policy", "fifo")]));
        assert!(!has(&[("tasks", "2"), ("policy", "other")]));
        assert!(!has(&[("tasks", "3"), ("policy", "fifo")]) && !has(&[("cores", "2")]));
    }

    /// The samples asked for are spread over the repetitions, within the experiment's bounds, and
    /// none of them is left out.
    #[test]
    fn loops_are_spread_over_repetitions() {
        let target: Target = "linux@host".parse().unwrap();
        let spec = experiment("switch").unwrap();
        let (low, high) = loops(spec).unwrap();
        let spread = |total: u64, repeat: usize| {
            let plan = Plan { repeat, loops: Some(total), ..Plan::default() };
            let case = expand(spec, &target, &Settings::new(), &plan).unwrap().remove(0);
            let each: u64 = case.parameter("loops").unwrap().parse().unwrap();
            assert!((low..=high).contains(&each), "{total} over {repeat}: {each}");
            assert!(each * case.repeat as u64 >= total, "{total} over {repeat}");
            (each, case.repeat)
        };
        assert_eq!(spread(1_000, 5), (200, 5));
        assert_eq!(spread(1_001, 5), (201, 5));
        // More than the repetitions hold: more repetitions.
        assert_eq!(spread(2 * high + 1, 2), (high, 3));
        assert_eq!(spread(1, 5), (low, 1));
    }

    #[test]
    fn only_periods_of_this_machine_are_soaks() {
        let hour = Duration::from_secs(3600);
        let plan = Plan { repeat: 5, duration: Some(hour), ..Plan::default() };
        let make = |experiment_name: &str, target: &str| {
            let (spec, target) = (experiment(experiment_name).unwrap(), target.parse().unwrap());
            let case = expand(spec, &target, &Settings::new(), &plan).unwrap().remove(0);
            case.soaked(&Machines::default(), hour, 1).unwrap()
        };
        let soak = make("period", "linux@host");
        assert_eq!((soak.soak(), soak.repeat, soak.duration), (Some(hour), 1, None));
        assert_eq!((soak.expected(), soak.parameter("loops")), (hour, None));
        let request = soak.request().to_string();
        assert!(request.ends_with(" soak_s=3600"), "{request}");
        for (experiment, target) in [("switch", "linux@host"), ("period", "linux-full@vm")] {
            let case = make(experiment, target);
            assert_eq!((case.soak(), case.repeat, case.duration), (None, 5, Some(hour)));
            assert!(case.parameter("loops").is_some());
        }
    }

    #[test]
    fn the_extremes_of_every_parameter_have_a_duration() {
        let target: Target = "linux@host".parse().unwrap();
        for spec in experiments::EXPERIMENTS {
            for extreme in [|low: u64, _: u64| low, |_: u64, high: u64| high] {
                let numbers =
                    spec.parameters.iter().filter_map(|parameter| match parameter.values {
                        Values::Number(low, high) => {
                            Some((parameter.name.to_owned(), vec![extreme(low, high).to_string()]))
                        }
                        Values::Word(_) | Values::Extra(_) | Values::Text(_) => None,
                    });
                let cases = expand(spec, &target, &numbers.collect(), &Plan::default()).unwrap();
                // Products of it in the watchdog and the progress bar must not overflow.
                assert!(cases[0].expected().checked_mul(10_000).is_some(), "{}", spec.name);
            }
        }
    }
}
