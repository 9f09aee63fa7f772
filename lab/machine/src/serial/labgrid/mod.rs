//! Boards that labgrid shares between people and CI. A place is reserved by its tags, waited for,
//! locked, and given back. All of it is done by `labgrid-client`, so labgrid's own settings hold.
//! LG_ENV holds for drivers alone: it names places of its own, which would be locked and released
//! in place of the reserved one.
//!
//! A file that this process locks notes each place that it holds. A process that is killed leaves
//! the file unlocked; the next one gives the place back. The token of the reservation names the
//! place, so a place that somebody else holds by then is left alone.

mod record;
mod show;

use std::{
    process::Command,
    str::from_utf8,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Error, Result, anyhow, bail, ensure};

use self::record::Record;
pub use self::show::Resources;
use chronoscope_base::console;
use chronoscope_child::{self as child, Limit};
use chronoscope_units::printable;

const CLIENT: &str = "labgrid-client";

/// How long the coordinator may take to answer.
const ANSWER: Duration = Duration::from_secs(60);

/// How long a further place may take to be allocated: one that is free is so at once.
const FREE: Duration = Duration::from_secs(5);

/// How long the coordinator of a killed run's place may take.
const SHORT: Duration = Duration::from_secs(10);

/// How long the exporter of a place may be away, as when it restarts.
const AWAY: Duration = Duration::from_secs(30);

/// A place that this process holds; given back on drop.
#[derive(Debug)]
pub struct Place {
    /// The name of the place.
    pub name: String,
    token: String,
    record: Option<Record>,
}

impl Place {
    /// Reserves and locks up to `most` places with all of these tags, each `KEY=VALUE`; `name=PLACE`
    /// is the place of that name. Blocks until the first is free, and takes others only if they are
    /// free then. Places of killed processes are given back first.
    ///
    /// # Errors
    /// If there is no such place, the coordinator does not answer, the first place is off line, or
    /// `stop` becomes true. Nothing is held then.
    pub fn get(tags: &[String], most: usize, stop: &AtomicBool) -> Result<Vec<Self>> {
        let most = most.min(Self::fitting(tags, stop)?);
        let mut places = vec![Self::reserve(tags, Limit::ENDLESS, stop)?];
        while places.len() < most && !stop.load(Ordering::Relaxed) {
            match Self::reserve(tags, FREE.into(), stop) {
                Ok(place) => places.push(place),
                Err(error) => {
                    let held = places.len();
                    console::remark(&format!("{held} of {most} places are used: {error:#}"));
                    break;
                }
            }
        }
        Ok(places)
    }

    /// The number of places with these tags. Gives back the places of killed processes.
    ///
    /// # Errors
    /// If there is no such place, or the coordinator does not answer.
    fn fitting(tags: &[String], stop: &AtomicBool) -> Result<usize> {
        if let Some(tag) = tags.iter().find(|tag| tag.split('=').count() != 2) {
            bail!("`--place {tag}`: write KEY=VALUE, as board=nucleo or name=nucleo-1");
        }
        for fault in give_back_lost()?.kept {
            console::remark(&format!("{fault}: `chronoscope place --release` tries again"));
        }
        let all = tags.join(" ");
        let known = client(&["-v", "places"], stop)?;
        let fitting = show::places(&known).iter().filter(|place| place.has(tags)).count();
        ensure!(
            fitting > 0,
            "no place has {all}: `{CLIENT} -v places` shows the places and their tags"
        );
        Ok(fitting)
    }

    /// Reserves a place, waits for it for `limit`, and locks it.
    fn reserve(tags: &[String], limit: Limit, stop: &AtomicBool) -> Result<Self> {
        let all = tags.join(" ");
        let reserve: Vec<&str> =
            ["reserve", "--shell"].into_iter().chain(tags.iter().map(String::as_str)).collect();
        let answer = client(&reserve, stop)?;
        let token = answer.trim().strip_prefix("export LG_TOKEN=").map(str::to_owned);
        let token = token
            .filter(|token| record::is_token(token))
            .with_context(|| format!("{CLIENT} reserve: no token in `{}`", printable(&answer)))?;
        let record = Some(Record::new(&token)?);
        let mut place = Self { name: String::new(), token, record };
        place.name = place.wait(&all, limit, stop)?;
        place.lock(stop)?;
        Ok(place)
    }

    /// Waits until a place is allocated to the reservation; returns its name.
    fn wait(&self, tags: &str, limit: Limit, stop: &AtomicBool) -> Result<String> {
        let (mut text, mut is_noted) = (String::new(), false);
        let mut command = Command::new(CLIENT);
        command.args(["wait", &self.token]).env_remove("LG_ENV");
        run(&mut command, limit, stop, &mut |bytes| {
            text.push_str(&String::from_utf8_lossy(bytes));
            if !is_noted && text.contains("state: waiting") {
                is_noted = true;
                console::note(&format!(
                    "waiting for a place with {tags}: `{CLIENT} who` shows who holds it"
                ));
            }
            // Only the last state counts.
            text.drain(..text.rfind("owner: ").unwrap_or_default());
            Ok(())
        })?;
        show::allocated(&text)
            .with_context(|| format!("{CLIENT} wait: no place was allocated to {tags}"))
    }

    /// Locks the place. One that is off line is tried for [`AWAY`].
    fn lock(&self, stop: &AtomicBool) -> Result<()> {
        self.patiently(stop, || self.client(&["acquire"], stop).map(drop))
    }

    /// The resources of the place as they are now. The line may have moved since the last call, if
    /// the exporter has restarted.
    ///
    /// # Errors
    /// If the place has no serial line, or is off line for 30 s.
    pub fn resources(&self, stop: &AtomicBool) -> Result<Resources> {
        self.patiently(stop, || {
            let text = self.client(&["show"], stop)?;
            Resources::parse(&text).with_context(|| format!("the place {}", self.name))
        })
    }

    /// Repeats `attempt` until it succeeds, or for [`AWAY`].
    fn patiently<T>(&self, stop: &AtomicBool, attempt: impl Fn() -> Result<T>) -> Result<T> {
        let begin = Instant::now();
        loop {
            match attempt() {
                Ok(done) => return Ok(done),
                Err(error) if stop.load(Ordering::Relaxed) || begin.elapsed() >= AWAY => {
                    return Err(error.context(format!(
                        "the place {} cannot be used: is its exporter running?",
                        self.name
                    )));
                }
                Err(_) => thread::sleep(Duration::from_secs(1)),
            }
        }
    }

    fn client(&self, arguments: &[&str], stop: &AtomicBool) -> Result<String> {
        client(&[&["-p", &format!("+{}", self.token)], arguments].concat(), stop)
    }

    /// A command of labgrid's on this place, as words.
    pub fn command(&self, words: &[&str]) -> Vec<String> {
        let place = format!("+{}", self.token);
        [CLIENT, "-p", &place].into_iter().chain(words.iter().copied()).map(str::to_owned).collect()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some(record) = self.record.take() else { return };
        match give_back(&self.token, &record.coordinator, ANSWER) {
            Ok(()) => record.remove(),
            // The record stays: the next start tries again.
            Err(error) => console::remark(&format!(
                "the place {} was not given back: {error:#}: `chronoscope place --release` does it",
                self.name
            )),
        }
    }
}

/// The places of killed processes, after [`give_back_lost`].
#[derive(Default)]
pub struct Lost {
    /// The number of places that were given back.
    pub given_back: usize,
    /// The reason for each place that was not given back. Its record stays.
    pub kept: Vec<String>,
}

/// Gives back the places of processes that were killed. A place whose coordinator does not answer
/// within 10 s is left for the next call: another laboratory's trouble stops no run here.
///
/// # Errors
/// If the records cannot be read.
pub fn give_back_lost() -> Result<Lost> {
    let mut lost = Lost::default();
    for record in Record::lost()? {
        match give_back(&record.token, &record.coordinator, SHORT) {
            Ok(()) => {
                let token = &record.token;
                console::note(&format!(
                    "gave back the place of a killed run (reservation {token})"
                ));
                record.remove();
                lost.given_back += 1;
            }
            Err(error) => lost.kept.push(format!(
                "the place of the reservation {} at {} is not given back: {error:#}",
                record.token,
                printable(&record.coordinator)
            )),
        }
    }
    Ok(lost)
}

/// Unlocks the place of a reservation, and cancels the reservation. Each of the two may take
/// `limit`; signals do not end this.
fn give_back(token: &str, coordinator: &str, limit: Duration) -> Result<()> {
    let never = AtomicBool::new(false);
    let place = format!("+{token}");
    let at = |words: &[&str], nothing: &[&str]| {
        let mut command = Command::new(CLIENT);
        command.args(words).env("LG_COORDINATOR", coordinator).env_remove("LG_ENV");
        match run(&mut command, limit.into(), &never, &mut |_| Ok(())) {
            Err(error) if nothing.iter().any(|words| error.to_string().contains(words)) => Ok(()),
            done => done,
        }
    };
    // A place that was not locked yet, or that somebody else has by now, is not unlocked.
    at(
        &["-p", &place, "release"],
        &["not acquired", "matches nothing", "acquired by a different user"],
    )?;
    at(&["cancel-reservation", token], &["does not exist"])
}

/// Runs `labgrid-client`, and returns its output.
fn client(arguments: &[&str], stop: &AtomicBool) -> Result<String> {
    let mut output = Vec::new();
    let mut command = Command::new(CLIENT);
    run(command.args(arguments).env_remove("LG_ENV"), ANSWER.into(), stop, &mut |bytes| {
        output.extend_from_slice(bytes);
        ensure!(output.len() <= MAX_OUTPUT, "{CLIENT} says more than {MAX_OUTPUT} bytes");
        Ok(())
    })?;
    Ok(from_utf8(&output).with_context(|| format!("{CLIENT} writes no UTF-8"))?.to_owned())
}

/// The limit for the client's output, in bytes.
const MAX_OUTPUT: usize = 16 << 20;

fn run(
    command: &mut Command,
    limit: Limit,
    stop: &AtomicBool,
    sink: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    child::run(command, CLIENT, limit, stop, sink).map_err(|error: Error| {
        match error.downcast_ref().is_some_and(child::Error::is_missing) {
            true => anyhow!("{CLIENT} is not there: install labgrid (pip install labgrid), or add its folder to PATH"),
            false => error,
        }
    })
}
