//! Runs peers: Chronoscope's case and the peer's tool in pairs.

use std::{
    env,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

use super::repetition::{Progress, patience, repetition};
use crate::{
    judge::judge_peer,
    machine::{self, Machine, Program, Start},
    observation::Observation,
    peer::Reading,
    run::{CaseResult, Domain, Paired, PeerResult, Status, Unit, Verdict, statistics},
    study::{Beside, Peer},
};

/// The limit for a peer's output in bytes; no known tool writes as much.
const MAX_OUTPUT: usize = 32 << 20;

/// The results of running peers.
pub struct Outcome {
    /// A result for each peer that has all its pairs, or that cannot be run.
    pub results: Vec<PeerResult>,
    pub interrupted: bool,
}

/// Runs all peers, one pair of each in turn. When `stop` becomes true, the pair under way is ended,
/// and the peers that have all their pairs are kept.
///
/// # Errors
/// A target does not exist. Failures of single peers are reported in their verdicts.
pub fn run(peers: &[Peer], progress: &mut dyn Progress, stop: &AtomicBool) -> Result<Outcome> {
    let mut under_way = peers.iter().map(UnderWay::new).collect::<Result<Vec<_>>>()?;
    let total = under_way.iter().map(UnderWay::expected_left).sum();
    while under_way.iter().any(UnderWay::needs_more) && !stop.load(Ordering::Relaxed) {
        for index in 0..under_way.len() {
            if stop.load(Ordering::Relaxed) || !under_way[index].needs_more() {
                continue;
            }
            let left: Duration = under_way.iter().map(UnderWay::expected_left).sum();
            progress.step(&under_way[index].peer.case, total - left.min(total), total);
            under_way[index].pair(stop);
        }
    }
    progress.finish();
    let complete = under_way.into_iter().filter(|peer| !peer.needs_more());
    Ok(Outcome {
        results: complete.map(UnderWay::finish).collect(),
        interrupted: stop.load(Ordering::Relaxed),
    })
}

/// The number of failed pairs that ends a peer. A tool that is starved on a busy machine fails
/// once; a broken one fails each time.
const MAX_FAILURES: usize = 3;

struct UnderWay<'a> {
    peer: &'a Peer,
    machine: Box<dyn Machine>,
    statistics: Vec<Paired>,
    pairs: usize,
    spent: Duration,
    failures: Vec<String>,
    trouble: Option<Verdict>,
}

impl<'a> UnderWay<'a> {
    fn new(peer: &'a Peer) -> Result<Self> {
        Ok(Self {
            peer,
            machine: machine::with_programs(&peer.case.target, &peer.programs())?,
            statistics: peer.beside.iter().map(unmeasured).collect(),
            pairs: 0,
            spent: Duration::ZERO,
            failures: Vec::new(),
            trouble: missing(peer).map(|mend| Verdict::new(Status::Inconclusive, mend)),
        })
    }

    fn needs_more(&self) -> bool {
        let case = &self.peer.case;
        let too_short = case.duration.is_some_and(|duration| self.spent < duration);
        self.trouble.is_none() && (self.pairs < case.repeat || too_short)
    }

    fn expected_left(&self) -> Duration {
        if !self.needs_more() {
            return Duration::ZERO;
        }
        let case = &self.peer.case;
        let pairs = u32::try_from(case.repeat.saturating_sub(self.pairs)).unwrap_or(u32::MAX);
        let by_time =
            case.duration.map_or(Duration::ZERO, |duration| duration.saturating_sub(self.spent));
        (2 * case.expected() * pairs).max(by_time)
    }

    /// Runs one more pair. A failed pair is run again, up to [`MAX_FAILURES`].
    fn pair(&mut self, stop: &AtomicBool) {
        let start = Instant::now();
        let outcome = self.both(stop).and_then(|(ours, theirs)| {
            let mut besides = self.statistics.iter_mut().zip(&self.peer.beside);
            besides.try_for_each(|(paired, beside)| push(paired, beside, &ours, &theirs))
        });
        self.spent += start.elapsed();
        match outcome {
            Ok(()) => self.pairs += 1,
            Err(_) if stop.load(Ordering::Relaxed) => {}
            Err(error) => self.failed(format!("{error:#}")),
        }
    }

    fn failed(&mut self, why: String) {
        // The pair may have failed after some of its statistics were added.
        for paired in &mut self.statistics {
            paired.ours.truncate(self.pairs);
            paired.theirs.truncate(self.pairs);
        }
        self.failures.push(why.clone());
        if self.failures.len() == MAX_FAILURES {
            self.trouble = Some(Verdict::new(Status::Inconclusive, why));
        }
    }

    fn both(&self, stop: &AtomicBool) -> Result<(CaseResult, Vec<Reading>)> {
        if self.pairs.is_multiple_of(2) {
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
        repetition(self.machine.as_ref(), case, &mut observation, stop).context("ours")?;
        let result = observation.finish(case);
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

    fn finish(self) -> PeerResult {
        let statistics = self.statistics.into_iter().map(Paired::finish).collect();
        result(self.peer, statistics, self.pairs, &self.failures, self.trouble)
    }
}

/// A pair of statistics without a value yet.
fn unmeasured(beside: &Beside) -> Paired {
    Paired {
        ours_is: beside.ours.clone().unwrap_or_default(),
        theirs_is: beside.theirs.clone().unwrap_or_default(),
        unit: String::new(),
        ours: Vec::new(),
        theirs: Vec::new(),
        ratio: None,
        within: beside.within,
    }
}

/// Adds the values of one pair.
fn push(paired: &mut Paired, beside: &Beside, ours: &CaseResult, theirs: &[Reading]) -> Result<()> {
    let mut units = Vec::new();
    if let Some(statistic) = &beside.ours {
        let (value, unit) = of_ours(ours, statistic, &beside.series)?;
        paired.ours.push(value);
        units.push(unit);
    }
    if let Some(statistic) = &beside.theirs {
        let reading = theirs.iter().find(|reading| reading.name == statistic);
        let reading = reading.with_context(|| format!("theirs has no `{statistic}` this time"))?;
        let reading = &by_clock(reading, ours);
        if reading.value <= 0.0 && beside.ours.is_some() {
            bail!("theirs says that `{statistic}` is {}, which makes no ratio", reading.value);
        }
        paired.theirs.push(reading.value * beside.scale);
        units.push(reading.unit.name().to_owned());
    }
    if let [ours, theirs] = units.as_slice()
        && ours != theirs
    {
        bail!("{} is in {ours}, and {} in {theirs}", paired.ours_is, paired.theirs_is);
    }
    paired.unit = units.pop().unwrap_or_default();
    Ok(())
}

/// The result of a peer, from its statistics of all pairs.
fn result(
    peer: &Peer,
    statistics: Vec<Paired>,
    pairs: usize,
    failures: &[String],
    trouble: Option<Verdict>,
) -> PeerResult {
    let given_up = trouble.is_some();
    let again = failures.iter().filter(|_| !given_up);
    let again: String =
        again.map(|why| format!("A pair failed and was run again: {why}\n")).collect();
    PeerResult {
        name: peer.name.clone(),
        command: peer.command.clone(),
        experiment: peer.case.spec.name.to_owned(),
        target: peer.case.target.to_string(),
        parameters: peer.case.parameters.iter().cloned().collect(),
        label: peer.case.label(),
        pairs,
        verdict: trouble.unwrap_or_else(|| judge_peer(&statistics)),
        statistics,
        note: again + &peer.note,
    }
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
            name: reading.name,
        },
        None => *reading,
    }
}

fn of_ours(result: &CaseResult, statistic: &str, series: &[String]) -> Result<(f64, String)> {
    let found = match series {
        [] => statistics(result, statistic, None),
        series => {
            let each = series.iter().map(|name| statistics(result, statistic, Some(name)));
            each.into_iter().find(|found| !found.is_empty()).unwrap_or_default()
        }
    };
    let found = found.into_iter().next().with_context(|| format!("ours has no `{statistic}`"))?;
    Ok((found.1, found.2))
}

impl Peer {
    /// The programs that the machine must have.
    fn programs(&self) -> Vec<&str> {
        let mut programs = vec![self.command[0].as_str(), self.tool.as_str()];
        programs.dedup();
        programs
    }
}

/// Says which program is missing and how to install it; `None` if all are installed.
fn missing(peer: &Peer) -> Option<String> {
    if !installed(&peer.tool) {
        return Some(format!("{} is not installed: apt-get install {}", peer.tool, peer.package));
    }
    (!installed(&peer.command[0])).then(|| format!("{} is not installed", peer.command[0]))
}

fn installed(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    // Joining an absolute path yields that path.
    program.contains('/') && Path::new(program).is_file()
        || env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
