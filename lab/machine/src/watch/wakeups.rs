//! The wake-ups of a program's own threads: the time from the kernel's decision to wake a thread to the
//! switch to it, by the kernel's events `sched_waking` and `sched_switch`. The program needs no marks.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ffi::OsString,
    fs,
    sync::atomic::AtomicBool,
    time::Duration,
};

use anyhow::{Result, bail};

use super::{
    Followed, Subject, Take,
    probes::{self, Hit, Place, Probes},
    terms,
};
use crate::{
    Machine, Properties, Provenance, Recording, Request, Start,
    stream::{Interval, samples},
};
use chronoscope_run::Target;
use chronoscope_suite::wire::{Record, Series};
use chronoscope_units::printable;

/// The series of all threads.
pub const ALL: &str = "wake-up";

/// The most series of single threads. Those with the fewest wake-ups have none.
const MOST_THREADS: usize = 40;

/// The places, in their order.
const WAKING: usize = 0;
const SWITCH: usize = 1;

/// The number of the idle thread of every processor.
const IDLE: u32 = 0;

/// A program whose threads' wake-ups are watched.
pub struct Wakeups {
    followed: Followed,
    places: [Place; 2],
}

impl Wakeups {
    /// Finds the program, by its command or its process, and the kernel's events.
    ///
    /// # Errors
    /// There is no such program or process, or this account may not read of the kernel's events.
    pub fn new(command: &[OsString], pid: Option<u32>, duration: Option<Duration>) -> Result<Self> {
        let followed = Followed::new(command, pid, duration)?;
        let places = [
            Place::tracepoint("sched:sched_waking", Some("pid"))?,
            Place::tracepoint("sched:sched_switch", Some("next_pid"))?,
        ];
        places.iter().try_for_each(probes::check)?;
        Ok(Self { followed, places })
    }

    /// The target that the watch's case names.
    pub fn target(&self) -> Target {
        self.followed.target()
    }

    /// The names and values of the parameters of the watch's case.
    pub fn settings(&self) -> Vec<(String, String)> {
        self.followed.settings(Some("wake-up to running"))
    }

    /// Returns whether a thread is of the program.
    fn owns(&self, thread: u32) -> bool {
        match &self.followed.subject {
            Subject::Process(pid) => fs::metadata(format!("/proc/{pid}/task/{thread}")).is_ok(),
            Subject::Command(_) => self.followed.program.is_executed_by(thread),
        }
    }
}

/// The state of all threads of this computer, and the waits of the program's.
struct Threads<'a> {
    wakeups: &'a Wakeups,
    /// The threads that were seen to stop running, and have not run since.
    asleep: HashSet<u32>,
    /// The sleeping threads that are to wake, and since when.
    woken: HashMap<u32, u64>,
    /// The threads of the program, by their numbers, and their names. `None` for another program's.
    threads: HashMap<u32, Option<String>>,
    waits: BTreeMap<u32, Vec<Interval>>,
    count: usize,
    /// The runs of the program's threads whose begin the kernel has not recorded.
    unseen: u64,
    first: Option<u64>,
}

impl<'a> Threads<'a> {
    fn new(wakeups: &'a Wakeups) -> Self {
        Self {
            wakeups,
            asleep: HashSet::new(),
            woken: HashMap::new(),
            threads: HashMap::new(),
            waits: BTreeMap::new(),
            count: 0,
            unseen: 0,
            first: None,
        }
    }

    /// Returns whether the thread is of the program. A thread that has ended before it was first
    /// looked at is not known as the program's.
    fn is_own(&mut self, thread: u32) -> bool {
        let wakeups = self.wakeups;
        let name = self.threads.entry(thread).or_insert_with(|| {
            wakeups.owns(thread).then(|| {
                let name = fs::read_to_string(format!("/proc/{thread}/comm")).unwrap_or_default();
                printable(name.trim_end())
            })
        });
        name.is_some()
    }

    /// The series of all threads and, where there are several, of each, with its name.
    fn series(&self) -> Vec<(String, Vec<Interval>)> {
        let mut all: Vec<Interval> = self.waits.values().flatten().copied().collect();
        all.sort_by_key(|wait| wait.start);
        let mut series = vec![(ALL.to_owned(), all)];
        if self.waits.len() > 1 {
            let mut threads: Vec<_> = self.waits.iter().collect();
            threads.sort_by_key(|(_, waits)| std::cmp::Reverse(waits.len()));
            series.extend(threads.into_iter().take(MOST_THREADS).map(|(thread, waits)| {
                let name = self.threads.get(thread).and_then(Option::as_deref).unwrap_or("thread");
                (format!("{name} {thread}"), waits.clone())
            }));
        }
        series
    }
}

impl Take for Threads<'_> {
    fn take(&mut self, hits: Vec<Hit>) {
        // The program's own process is another program's until it executes its file.
        self.threads.retain(|_, name| name.is_some());
        for hit in hits {
            let Some(thread) = hit.argument.and_then(|thread| u32::try_from(thread).ok()) else {
                continue;
            };
            let now = hit.time.saturating_sub(*self.first.get_or_insert(hit.time));
            match hit.place {
                WAKING if self.asleep.contains(&thread) => {
                    self.woken.entry(thread).or_insert(now);
                }
                SWITCH => {
                    // The event is of the thread that stops running.
                    let is_seen = self.asleep.insert(hit.thread) || hit.thread == IDLE;
                    if !is_seen && self.is_own(hit.thread) {
                        self.unseen += 1;
                    }
                    self.asleep.remove(&thread);
                    if let Some(since) = self.woken.remove(&thread)
                        && self.is_own(thread)
                    {
                        let wait = Interval { start: since, length: now.saturating_sub(since) };
                        self.waits.entry(thread).or_default().push(wait);
                        self.count += 1;
                    }
                }
                _ => {}
            }
        }
    }

    fn has_room(&self) -> bool {
        terms::has_room(self.count)
    }

    fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl Machine for Wakeups {
    fn properties(&self) -> Properties {
        Properties::default()
    }

    fn prepare(&self, _request: &Request, _stop: &AtomicBool) -> Result<Provenance> {
        let remark = "by the kernel's events, whose cost is part of each wait";
        Ok(self.followed.provenance(remark))
    }

    fn run(
        &self,
        start: &Start<'_>,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<Recording> {
        let mut stream = self.followed.begin(start.request)?;
        let mut probes = Probes::open(&self.places)?;
        let mut threads = Threads::new(self);
        let remarks = self.followed.follow(&mut probes, start.stop, &mut threads)?;
        if threads.is_empty() {
            bail!(
                "no thread of {} was woken: does it sleep or wait at all? Name the process, if it is \
                 not the command's",
                self.followed.program.shown()
            );
        }
        stream.evidence("wake-ups", threads.count as f64, 1.0, f64::INFINITY)?;
        stream.evidence("lost events", (probes.lost + threads.unseen) as f64, 0.0, 0.0)?;
        for (name, waits) in threads.series() {
            stream.series(Series::measured(&name), samples(&waits))?;
        }
        for line in &remarks {
            stream.send(&Record::Log(line))?;
        }
        sink(&stream.end()?)?;
        Ok(Recording::new())
    }
}
