//! Runs peers: Chronoscope's case and the peer's tool in pairs.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Instant,
};

use anyhow::{Context, Error, Result, anyhow, bail};

use super::{
    pair_tally::PairTally,
    remaining::Work,
    repetition::{Intake, Progress, Step, patience, play},
};
use crate::{
    journal::Journal, journal::Pair, journal::PairOutcome, journal::PairValue, journal::PeerForm,
    observation::Observation, peer::Reading, study::Peer, study::StatisticPair,
};
use chronoscope_machine::{self as machine, Machine, Machines, Program, Start, TargetFailed};
use chronoscope_run::{CaseResult, Domain, Paired, PeerResult, Status, Unit, Verdict, statistics};
use chronoscope_units::OneLine;

/// The limit for a peer's output in bytes; no known tool writes as much.
const MAX_OUTPUT: usize = 32 << 20;

/// The results of running peers.
pub struct Outcome {
    /// An element for each peer: `None` if it can be run and has no complete pair.
    pub results: Vec<Option<PeerResult>>,
    /// The number of peers that have all their pairs, or that cannot be run.
    pub complete: usize,
    /// The peers were stopped before their end.
    pub interrupted: bool,
}

/// Runs all peers, one pair of each in turn, and keeps each complete pair in the journal. When
/// `stop` becomes true, the pair under way is dropped, and the complete ones are kept. `forms` has
/// the form of each peer.
///
/// # Errors
/// A target does not exist. Failures of single peers are reported in their verdicts.
pub fn run(
    machines: &Machines,
    peers: &[Peer],
    forms: &[PeerForm],
    progress: &mut dyn Progress,
    stop: &AtomicBool,
    journal: &mut Journal,
) -> Result<Outcome> {
    let under_way = peers.iter().zip(forms).map(|(peer, form)| UnderWay::new(machines, peer, form));
    let mut under_way = under_way.collect::<Result<Vec<_>>>()?;
    while under_way.iter().any(UnderWay::needs_more) && !stop.load(Ordering::Relaxed) {
        for index in 0..under_way.len() {
            if stop.load(Ordering::Relaxed) || !under_way[index].needs_more() {
                continue;
            }
            let works: Vec<_> = under_way.iter().map(UnderWay::work).collect();
            progress.step(&Step::alone(&under_way[index].peer.case, &works));
            under_way[index].pair(index, stop, journal);
        }
    }
    progress.finish();
    Ok(Outcome {
        complete: under_way.iter().filter(|peer| !peer.needs_more()).count(),
        results: under_way.into_iter().map(|peer| peer.tally.finish()).collect(),
        interrupted: stop.load(Ordering::Relaxed),
    })
}

struct UnderWay<'a> {
    peer: &'a Peer,
    machine: Box<dyn Machine + 'a>,
    tally: PairTally,
}

impl<'a> UnderWay<'a> {
    fn new(machines: &'a Machines, peer: &'a Peer, form: &PeerForm) -> Result<Self> {
        Ok(Self {
            peer,
            machine: machines.open_with_programs(&peer.case.target, &peer.programs())?,
            tally: PairTally::new(form),
        })
    }

    fn needs_more(&self) -> bool {
        self.tally.needs_more()
    }

    /// The pairs that ran and those that are left.
    fn work(&self) -> Work {
        self.tally.work(self.peer.case.expected().saturating_mul(2))
    }

    /// Runs one more pair of the peer at `place`.
    fn pair(&mut self, place: usize, stop: &AtomicBool, journal: &mut Journal) {
        let prepared = self.machine.prepare(&self.peer.case.request(), stop);
        let start = Instant::now();
        let outcome = match prepared {
            Err(error) if !error.is::<TargetFailed>() => {
                PairOutcome::Unprepared(format!("{error:#}"))
            }
            prepared => match prepared.and_then(|_| self.values(stop)) {
                Ok(values) => PairOutcome::Values(values),
                Err(error) => PairOutcome::Failed(format!("{error:#}")),
            },
        };
        if stop.load(Ordering::Relaxed) && !matches!(outcome, PairOutcome::Values(_)) {
            return;
        }
        let pair = Pair { peer: place, spent: start.elapsed(), outcome };
        journal.pair(pair.clone());
        self.tally.add(pair);
    }

    /// Runs a pair; the values of its statistics. A statistic that this pair lacks has none.
    ///
    /// # Errors
    /// A side failed, or the pair has not a single statistic.
    fn values(&self, stop: &AtomicBool) -> Result<Vec<PairValue>> {
        let (ours, theirs) = self.both(stop)?;
        values(&self.peer.beside, &ours, &theirs)
    }

    fn both(&self, stop: &AtomicBool) -> Result<(CaseResult, Vec<Reading>)> {
        if self.tally.pairs().is_multiple_of(2) {
            let ours = self.ours(stop)?;
            Ok((ours, self.theirs(stop)?))
        } else {
            let theirs = self.theirs(stop)?;
            Ok((self.ours(stop)?, theirs))
        }
    }

    /// Runs one repetition of Chronoscope's case.
    fn ours(&self, stop: &AtomicBool) -> Result<CaseResult> {
        let case = &self.peer.case;
        let mut observation = Observation::new(case, false);
        let mut intake = Intake::new(&mut observation);
        let seen = play(self.machine.as_ref(), case, &mut intake, stop, &mut |_| {}, &mut |_| {});
        intake.finish(seen.as_ref().map_err(|error| anyhow!("{error:#}"))).context("ours")?;
        let result = observation.finish(case).judged();
        if result.verdict.status != Status::Pass {
            bail!(
                "ours is {}: {}",
                result.verdict.status.words(),
                result.verdict.reasons.join("; ")
            );
        }
        Ok(result)
    }

    fn theirs(&self, stop: &AtomicBool) -> Result<Vec<Reading>> {
        let peer = self.peer;
        let mut output = Vec::new();
        let program = Program { name: &peer.name, command: &peer.command };
        let request = peer.case.request();
        let limit = patience(&peer.case, self.machine.as_ref());
        self.machine
            .run_program(&program, &Start { request: &request, limit, stop }, &mut |bytes| {
                output.extend_from_slice(bytes);
                if output.len() > MAX_OUTPUT {
                    bail!("{} writes more than {MAX_OUTPUT} bytes", peer.name);
                }
                Ok(())
            })
            .context("theirs")?;
        let text = String::from_utf8_lossy(&output);
        peer.format
            .read(&text)
            .with_context(|| format!("the output of `{}` cannot be read", peer.command.join(" ")))
    }
}

/// A peer before its first pair, whose programs may be missing. Looks at nothing but the peer.
pub fn form(peer: &Peer) -> PeerForm {
    let result = PeerResult {
        name: peer.name.clone(),
        command: peer.command.iter().map(OneLine::from).collect(),
        experiment: peer.case.spec.name.into(),
        target: peer.case.target.to_string().into(),
        parameters: peer
            .case
            .parameters
            .iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
        label: peer.case.label(),
        pairs: 0,
        statistics: peer.beside.iter().map(unmeasured).collect(),
        note: peer.note.clone(),
        verdict: Verdict { status: Status::Pass, reasons: Vec::new() },
    };
    let case = &peer.case;
    PeerForm { result, repeat: case.repeat, duration: case.duration, is_given_up: false }
}

/// A peer before its first pair on this machine. Installs the peer's tool if the tool is known and
/// missing. A peer whose programs are still missing is given up.
pub fn ready(machines: &Machines, peer: &Peer) -> PeerForm {
    let form = form(peer);
    match missing(machines, peer) {
        None => form,
        Some(mend) => {
            let verdict = Verdict::new(Status::Error, mend);
            PeerForm { result: PeerResult { verdict, ..form.result }, is_given_up: true, ..form }
        }
    }
}

/// A pair of statistics without a value yet.
fn unmeasured(beside: &StatisticPair) -> Paired {
    let named = |statistic: &Option<String>| {
        let statistic = statistic.clone().unwrap_or_default();
        match beside.cpu {
            Some(cpu) if !statistic.is_empty() => format!("{statistic} on cpu {cpu}").into(),
            _ => statistic.into(),
        }
    };
    Paired {
        ours_is: named(&beside.ours),
        theirs_is: named(&beside.theirs),
        unit: "".into(),
        ours: Vec::new(),
        theirs: Vec::new(),
        ratio: None,
        within: beside.within,
    }
}

/// The values of all statistics of one pair.
///
/// # Errors
/// If no statistic has a value, or none of those that compare both sides; the first reason.
fn values(
    beside: &[StatisticPair],
    ours: &CaseResult,
    theirs: &[Reading],
) -> Result<Vec<PairValue>> {
    let mut found: Vec<Result<PairValue>> =
        beside.iter().map(|beside| value(beside, ours, theirs)).collect();
    let compares = |beside: &StatisticPair| beside.ours.is_some() && beside.theirs.is_some();
    let any_compares = beside.iter().any(compares);
    let mut decisive = (0..found.len()).filter(|&at| !any_compares || compares(&beside[at]));
    if decisive.clone().all(|at| found[at].is_err())
        && let Some(first) = decisive.next()
    {
        found.swap_remove(first)?;
    }
    let missing =
        |error: Error| PairValue { missing: Some(format!("{error:#}")), ..PairValue::default() };
    Ok(found.into_iter().map(|value| value.unwrap_or_else(missing)).collect())
}

/// The value of a statistic in one pair.
fn value(beside: &StatisticPair, ours: &CaseResult, theirs: &[Reading]) -> Result<PairValue> {
    let mut value = PairValue::default();
    let mut units = Vec::new();
    if let Some(statistic) = &beside.ours {
        let (own, unit) = our_value(ours, statistic, &beside.series)?;
        value.ours = Some(own);
        units.push(unit);
    }
    if let Some(statistic) = &beside.theirs {
        let is_asked = |reading: &&Reading| reading.name == statistic && reading.cpu == beside.cpu;
        let reading = theirs.iter().find(is_asked);
        let reading = reading.with_context(|| format!("theirs has no `{statistic}` this time"))?;
        let reading = &by_clock(reading, ours);
        if reading.value <= 0.0 && beside.ours.is_some() {
            bail!("theirs says that `{statistic}` is {}, which makes no ratio", reading.value);
        }
        value.theirs = Some(reading.value * beside.scale);
        units.push(reading.unit.name().to_owned());
    }
    if let ([ours, theirs], Some(ours_is), Some(theirs_is)) =
        (units.as_slice(), &beside.ours, &beside.theirs)
        && ours != theirs
    {
        bail!("{ours_is} is in {ours}, and {theirs_is} in {theirs}");
    }
    value.unit = units.pop().unwrap_or_default();
    Ok(value)
}

/// The tool reads in ns a clock whose ticks the case counts.
fn by_clock(reading: &Reading, ours: &CaseResult) -> Reading {
    match ours
        .clock
        .as_ref()
        .filter(|clock| clock.domain == Domain::Instructions && reading.unit == Unit::Nanoseconds)
    {
        Some(clock) => Reading {
            unit: Unit::Instructions,
            value: reading.value * clock.hertz as f64 / 1e9,
            ..*reading
        },
        None => *reading,
    }
}

/// Chronoscope's value of a statistic, with its unit.
fn our_value(result: &CaseResult, statistic: &str, series: &[String]) -> Result<(f64, String)> {
    let found = match series {
        [] => statistics(result, statistic, None),
        series => {
            let each = series.iter().map(|name| statistics(result, statistic, Some(name)));
            each.into_iter().find(|found| !found.is_empty()).unwrap_or_default()
        }
    };
    let found = found.into_iter().next().with_context(|| format!("ours has no `{statistic}`"))?;
    Ok((found.1, found.2.to_string()))
}

impl Peer {
    /// The programs that the machine must have.
    fn programs(&self) -> Vec<&str> {
        let mut programs = vec![self.command[0].as_str(), self.tool.as_str()];
        programs.dedup();
        programs.extend(self.starts.iter().map(String::as_str));
        programs
    }
}

/// Installs the package of a known tool that is missing. Returns a message with the program that is
/// still missing and how to install it; `None` if all programs are installed.
fn missing(machines: &Machines, peer: &Peer) -> Option<String> {
    if !machine::is_installed(&peer.tool) {
        let installed = if peer.is_known { machines.install_peer(&peer.package) } else { Ok(()) };
        let why = installed.err().map_or_else(String::new, |error| format!(" ({error:#})"));
        if !machine::is_installed(&peer.tool) {
            let (tool, package) = (&peer.tool, &peer.package);
            return Some(format!("{tool} is not installed: apt-get install {package}{why}"));
        }
    }
    (!machine::is_installed(&peer.command[0]))
        .then(|| format!("{} is not installed", peer.command[0]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use chronoscope_run::sample;

    #[test]
    fn a_statistic_that_is_missing_leaves_the_others() {
        let case = &sample::run().cases[0];
        let beside = |theirs: &str| StatisticPair {
            each: None,
            cpu: None,
            ours: Some("p50".to_owned()),
            series: Vec::new(),
            theirs: Some(theirs.to_owned()),
            scale: 1.0,
            within: None,
        };
        let both = [beside("p50"), beside("p99")];
        let median = Reading { name: "p50", unit: Unit::Nanoseconds, value: 10.0, cpu: None };
        let found = values(&both, case, &[median]).unwrap();
        assert!(found[0].missing.is_none() && found[0].theirs == Some(10.0));
        assert_eq!(found[1].missing.as_deref(), Some("theirs has no `p99` this time"));
        assert!(found[1].ours.is_none() && found[1].theirs.is_none());
        // A ratio to 0 is missing, too.
        let zero = Reading { name: "p99", value: 0.0, ..median };
        assert!(values(&both, case, &[median, zero]).unwrap()[1].missing.is_some());
        assert!(values(&both, case, &[]).is_err(), "a pair without any statistic has failed");
        let shown = StatisticPair { ours: None, ..beside("p50") };
        let zeros = [zero, Reading { value: 0.0, ..median }];
        let error = values(&[shown, beside("p50")], case, &zeros).unwrap_err();
        assert!(error.to_string().contains("makes no ratio"), "{error:#}");
    }
}
