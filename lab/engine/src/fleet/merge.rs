//! Merges the runs of several labs into the run that one lab would have made.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail, ensure};
use serde::Serialize;

use chronoscope_base::digest;
use chronoscope_run::{CaseResult, Context, Domain, Run, Shard, names::GIVEN_IMAGE};
use chronoscope_units::OneLine;

/// A run to merge, and the name of its file in messages.
pub type Part = (String, Run);

/// Merges runs into one: all shards of one plan, or runs of one study with different cases. The
/// cases of shards are in the order of the plan; the cases of other runs are in the order of `parts`.
/// `command` is the command line that merges.
///
/// # Errors
/// The parts are not of the same study, program and machines; a shard is missing; or two parts have
/// unlike results of one case.
pub fn merge(parts: Vec<Part>, command: Vec<OneLine>) -> Result<Run> {
    let Some((first_name, first)) = parts.first() else { bail!("there is nothing to merge") };
    for (name, run) in &parts[1..] {
        check(first_name, first, name, run)?;
    }
    check_shards(&parts)?;
    check_releases(&parts)?;
    check_machines(&parts)?;
    let context = context(&parts, command);
    let mut cases = Gathered::new();
    let mut peers = Gathered::new();
    let mut run = Run { context, cases: Vec::new(), peers: Vec::new(), ..first.clone() };
    for (name, part) in parts {
        let shard = part.context.shard.as_ref();
        for (at, case) in part.cases.into_iter().enumerate() {
            let what = format!("{} {} {}", case.experiment, case.target, case.label);
            let key =
                shard.map_or_else(|| Key::Name(case.key()), |shard| Key::Place(shard.cases[at]));
            cases.add(key, &name, what.trim_end(), case)?;
        }
        for (at, peer) in part.peers.into_iter().enumerate() {
            let what = format!("{} beside {} {}", peer.name, peer.experiment, peer.target);
            let key = format!("{what} {:?}", peer.parameters);
            let key = shard.map_or(Key::Name(key), |shard| Key::Place(shard.peers[at]));
            peers.add(key, &name, &what, peer)?;
        }
    }
    (run.cases, run.peers) = (cases.finish(), peers.finish());
    Ok(run)
}

/// Checks that a part is of the same study and program as the first.
fn check(first_name: &str, first: &Run, name: &str, run: &Run) -> Result<()> {
    let studies = [first, run]
        .map(|run| serde_json::to_string(&(&run.study, &run.title, &run.notes, &run.answering)));
    let [a, b] = studies;
    if a? != b? {
        bail!(
            "{name} is of `{}` and {first_name} of `{}`: merge parts of one study, in one version",
            title(run),
            title(first)
        );
    }
    let programs = [first, run].map(program);
    if programs[0] != programs[1] {
        bail!(
            "{name} is by {} and {first_name} by {}: merge parts of one build of the program",
            programs[1],
            programs[0]
        );
    }
    Ok(())
}

fn title(run: &Run) -> &OneLine {
    if run.study.is_empty() { &run.title } else { &run.study }
}

fn program(run: &Run) -> String {
    let Context { program, revision, build, .. } = &run.context;
    [program.as_str(), revision, build].join(" ").trim_end().to_owned()
}

/// Checks that the parts are all shards of one plan, or that none is a shard.
fn check_shards(parts: &[Part]) -> Result<()> {
    let mut first: Option<(&str, &Shard)> = None;
    let mut numbers = BTreeSet::new();
    for (name, run) in parts {
        let Some(shard) = &run.context.shard else { continue };
        let (first_name, one) = *first.get_or_insert((name, shard));
        if (&shard.plan, shard.of) != (&one.plan, one.of) {
            bail!(
                "{name} is shard {}/{} of another plan than {first_name}, {}/{}: give the same study \
                 and options to each `run --shard`",
                shard.number,
                shard.of,
                one.number,
                one.of
            );
        }
        let fits = |places: &[usize], count: usize| {
            places.len() == count && places.windows(2).all(|pair| pair[0] < pair[1])
        };
        ensure!(
            fits(&shard.cases, run.cases.len())
                && fits(&shard.peers, run.peers.len())
                && (1..=shard.of).contains(&shard.number),
            "{name} is damaged: its shard does not fit its cases"
        );
        if run.context.interrupted {
            bail!(
                "{name} was interrupted, so cases of its shard are missing: run shard {}/{} again",
                shard.number,
                shard.of
            );
        }
        numbers.insert(shard.number);
    }
    let Some((first_name, one)) = first else { return Ok(()) };
    if let Some((name, _)) = parts.iter().find(|(_, run)| run.context.shard.is_none()) {
        bail!("{name} is no shard, and {first_name} is one: merge shards of one plan");
    }
    let missing = (1..=one.of).filter(|number| !numbers.contains(number));
    let missing: Vec<String> = missing.take(10).map(|number| number.to_string()).collect();
    if !missing.is_empty() {
        bail!(
            "of {} shards, {} are given, and not {}: merge all shards of the plan",
            one.of,
            numbers.len(),
            missing.join(", ")
        );
    }
    Ok(())
}

/// Checks that each target reported one version of itself, and was one image.
fn check_releases(parts: &[Part]) -> Result<()> {
    let mut known: BTreeMap<&OneLine, (&str, &OneLine)> = BTreeMap::new();
    let mut images: BTreeMap<&OneLine, (&str, &OneLine)> = BTreeMap::new();
    for (name, run) in parts {
        for case in &run.cases {
            let Some(image) = case.identity.get(GIVEN_IMAGE) else { continue };
            let (first, one) = *images.entry(&case.target).or_insert((name, image));
            if one != image {
                bail!(
                    "{} is another image in {name} than in {first}: give both the same",
                    case.target
                );
            }
        }
    }
    for (name, run) in parts {
        for case in run.cases.iter().filter(|case| !case.release.is_empty()) {
            let (first, release) = *known.entry(&case.target).or_insert((name, &case.release));
            if *release != case.release {
                bail!(
                    "{} is {} in {name} and {release} in {first}: merge parts with one version of \
                     each target",
                    case.target,
                    case.release
                );
            }
        }
    }
    Ok(())
}

/// Checks that all figures in wall time are from one machine: they are compared with each other.
fn check_machines(parts: &[Part]) -> Result<()> {
    let by_wall =
        |case: &CaseResult| case.clock.as_ref().is_some_and(|clock| clock.domain == Domain::Wall);
    let mut first: Option<(&str, &OneLine)> = None;
    for (name, run) in parts {
        if run.peers.is_empty() && !run.cases.iter().any(by_wall) {
            continue;
        }
        let machine = &run.context.machine;
        let (first_name, one) = *first.get_or_insert((name, machine));
        if machine.is_empty() && *name != first_name {
            bail!(
                "{name} and {first_name} have figures in wall time, and the machine of {name} is not \
                 known: run the cases again, and name it with --as NAME"
            );
        }
        if one != machine {
            bail!(
                "{name} has figures in wall time of the machine {machine} and {first_name} of {one}: \
                 run these cases on one machine"
            );
        }
    }
    Ok(())
}

/// The context of the merged run. A property in which the parts differ has all their values, or
/// none.
fn context(parts: &[Part], command: Vec<OneLine>) -> Context {
    let contexts = || parts.iter().map(|(_, run)| &run.context);
    let first = &parts[0].1.context;
    let all = |of: fn(&Context) -> &OneLine| {
        let values: BTreeSet<&str> = contexts().map(|context| of(context).as_str()).collect();
        OneLine::from(values.into_iter().collect::<Vec<_>>().join(" + "))
    };
    let longest = contexts().map(|context| context.seconds).fold(0.0, f64::max);
    let sum = contexts().map(|context| context.case_seconds.unwrap_or(context.seconds)).sum();
    let mut labels = first.labels.clone();
    labels.retain(|name, value| contexts().all(|context| context.labels.get(name) == Some(value)));
    let doctor: BTreeSet<&OneLine> = contexts().flat_map(|context| &context.doctor).collect();
    let uuids: BTreeSet<&OneLine> = contexts().map(|context| &context.uuid).collect();
    // Parts of older programs have no UUID; their content tells them apart then.
    let uuid = match uuids.iter().any(|uuid| uuid.is_empty()) {
        true => {
            let runs: Vec<&Run> = parts.iter().map(|(_, run)| run).collect();
            digest::uuid(&serde_json::to_vec(&runs).unwrap_or_default())
        }
        false => digest::uuid(format!("{uuids:?}").as_bytes()),
    };
    Context {
        date: contexts().map(|context| &context.date).min().cloned().unwrap_or_default(),
        seconds: longest,
        case_seconds: Some(sum),
        host: all(|context| &context.host),
        system: all(|context| &context.system),
        processor: all(|context| &context.processor),
        processors: contexts().map(|context| context.processors).max().unwrap_or_default(),
        megahertz: first.megahertz.filter(|_| parts.len() == 1),
        load: if parts.len() == 1 { first.load.clone() } else { Vec::new() },
        uuid: uuid.into(),
        machine: all(|context| &context.machine),
        labels,
        program: first.program.clone(),
        revision: first.revision.clone(),
        build: first.build.clone(),
        command,
        doctor: doctor.into_iter().cloned().collect(),
        interrupted: contexts().any(|context| context.interrupted),
        shard: None,
        // Figures of another tool stay such.
        imported: contexts().find_map(|context| context.imported.clone()),
    }
}

/// The sign by which two parts have the same case.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    /// Its place in the plan.
    Place(usize),
    Name(String),
}

/// Results in the order in which they came.
struct Gathered<T> {
    results: Vec<(Key, T)>,
    /// For each key: the index of its result, and the file.
    known: BTreeMap<Key, (usize, String)>,
}

impl<T: Serialize> Gathered<T> {
    fn new() -> Self {
        Self { results: Vec::new(), known: BTreeMap::new() }
    }

    /// Adds a result. The same result given twice counts once.
    fn add(&mut self, key: Key, name: &str, what: &str, result: T) -> Result<()> {
        if let Some((index, first)) = self.known.get(&key) {
            let one = &self.results[*index].1;
            if serde_json::to_string(one)? != serde_json::to_string(&result)? {
                bail!("{name} and {first} have unlike results of {what}: give one of them");
            }
            return Ok(());
        }
        self.known.insert(key.clone(), (self.results.len(), name.to_owned()));
        self.results.push((key, result));
        Ok(())
    }

    /// The results: a plan's in its order, others in the order in which they came.
    fn finish(mut self) -> Vec<T> {
        self.results.sort_by_key(|(key, _)| match key {
            Key::Place(place) => *place,
            Key::Name(_) => 0,
        });
        self.results.into_iter().map(|(_, result)| result).collect()
    }
}
