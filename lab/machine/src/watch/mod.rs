//! Watches a program on this computer: the intervals between its marks, or between functions that are
//! named, by uprobes. Named functions need no other build of the program; a mark costs it a `nop`.

pub mod board;
mod probes;
mod terms;
pub mod wakeups;

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    ffi::OsString,
    fs,
    io::{self, Write as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    process::{self, Command},
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};

use self::{
    probes::{Argument, Event, Hit, Place, Probes},
    terms::{Live, Room, Terms},
};
use crate::{
    Machine, Properties, Provenance, Recording, Request, Start,
    marks::{Kind, Mark, Pairing},
    observe::{self, image::Image},
    stream::{StreamBuilder, samples},
};
use chronoscope_child as child;
use chronoscope_run::Target;
use chronoscope_suite::wire::{Clock, Domain, Record, Series};
use chronoscope_units::printable;

/// The pause between two looks at the kernel's buffers.
const PAUSE: Duration = Duration::from_millis(10);

/// The intervals of the control.
const CONTROLS: usize = 500;

/// The program and the places that the user names.
pub struct Question<'a> {
    /// The program and its arguments; empty if a process is named.
    pub command: &'a [OsString],
    /// A process that runs already.
    pub pid: Option<u32>,
    /// The file with the marks, if it is a library that the program loads.
    pub marks: Option<&'a Path>,
    /// The start of the intervals, as `uprobe:FILE:FUNCTION`, `FUNCTION` or `tracepoint:GROUP:EVENT`; `None`
    /// for the marks.
    pub from: Option<&'a str>,
    /// The end of the intervals, or `uretprobe:FILE:FUNCTION` for a return; `from` itself if `None`.
    pub to: Option<&'a str>,
    /// The time after which the watch ends; `None` for the program's end.
    pub duration: Option<Duration>,
}

/// A program under watch.
pub struct Watched {
    followed: Followed,
    marks: Vec<Mark>,
    places: Vec<Place>,
    /// The functions that are named in place of marks.
    between: Option<String>,
}

/// A program, which is started or runs already, and the end of its watch.
struct Followed {
    subject: Subject,
    program: Program,
    terms: Terms,
}

enum Subject {
    Command(Vec<OsString>),
    Process(u32),
}

/// A program's file.
struct Program {
    /// The path by which this process and the kernel read it.
    path: PathBuf,
    /// The path that names it.
    name: PathBuf,
    image: Image,
}

impl Program {
    fn read(path: &Path) -> Result<Self> {
        let path = probes::absolute(path)?;
        Ok(Self { image: Image::read(&path)?, name: path.clone(), path })
    }

    /// The program of a process, read through `/proc/PID/exe`: the path behind that may name another file
    /// here, if the process has its own file systems or the file was replaced.
    fn of_process(pid: u32) -> Result<Self> {
        let path = PathBuf::from(format!("/proc/{pid}/exe"));
        let name = fs::read_link(&path).map_err(|_| {
            anyhow::anyhow!("there is no process {pid}, or this account may not watch it: name another, or start as \
                 root")
        })?;
        Ok(Self { image: Image::read(&path)?, path, name })
    }

    /// A process that executes the file, and is not this one.
    fn running(&self) -> Option<u32> {
        let entries = fs::read_dir("/proc").ok()?.flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter(|pid| *pid != process::id()).find(|pid| self.is_executed_by(*pid))
    }

    /// Returns whether the process of `task`, which is a process or a thread, executes the file.
    fn is_executed_by(&self, task: u32) -> bool {
        let file = |path: &Path| fs::metadata(path).map(|file| (file.dev(), file.ino())).ok();
        let exe = file(Path::new(&format!("/proc/{task}/exe")));
        exe.is_some() && exe == file(&self.path)
    }

    fn shown(&self) -> String {
        printable(&self.name.display().to_string())
    }

    /// The place in the file of an address in the program's memory, or the return of the function that
    /// begins there.
    fn place(&self, address: u64, is_return: bool) -> Result<Place> {
        let offset = self
            .image
            .offset(address)
            .with_context(|| format!("{}: nothing is at {address:#x}", self.shown()))?;
        let event = Event::Instruction { file: self.path.clone(), offset, is_return };
        Ok(Place { event, argument: Argument::None })
    }
}

impl Watched {
    /// Finds the program and the places.
    ///
    /// # Errors
    /// There is no such program, process or function, or the program has no marks.
    pub fn new(question: &Question<'_>) -> Result<Self> {
        let followed = Followed::new(question.command, question.pid, question.duration)?;
        let mut watched = Self { followed, marks: Vec::new(), places: Vec::new(), between: None };
        match question.from {
            Some(from) => watched.add_functions(from, question.to)?,
            None => watched.add_marks(question.marks)?,
        }
        Ok(watched)
    }

    fn add_functions(&mut self, from: &str, to: Option<&str>) -> Result<()> {
        let (start, from) = self.named_place(from)?;
        if is_return(&start) {
            bail!("an interval begins where a function does: write --from uprobe:FILE:FUNCTION");
        }
        let end = to.map(|to| self.named_place(to)).transpose()?.filter(|(end, _)| *end != start);
        let mark =
            |name: &str, kind| Mark { name: name.to_owned(), kind, address: 0, argument: None };
        let name = match &end {
            Some((end, to)) if !is_return(end) || *to != from => format!("{from} to {to}"),
            _ => from,
        };
        (self.marks, self.places) = match end {
            // From each call to the next.
            None => (vec![mark(&name, Kind::Instant)], vec![start]),
            Some((end, _)) => {
                ([Kind::Begin, Kind::End].map(|kind| mark(&name, kind)).into(), vec![start, end])
            }
        };
        self.between = Some(name);
        Ok(())
    }

    /// The place of a function or of an event of the kernel's, and its name.
    fn named_place(&self, text: &str) -> Result<(Place, String)> {
        if let Some(name) = text.strip_prefix("tracepoint:") {
            if let Subject::Command(_) = self.followed.subject {
                bail!("events of the kernel count in one process: name the process, as --pid 812");
            }
            return Ok((Place::tracepoint(name, None)?, name.to_owned()));
        }
        let (rest, is_return) =
            match (text.strip_prefix("uprobe:"), text.strip_prefix("uretprobe:")) {
                (_, Some(rest)) => (rest, true),
                (Some(rest), _) => (rest, false),
                (None, None) => (text, false),
            };
        // `a::b` is a path of Rust's, without a file.
        let (place, name) = match rest.rsplit_once(':').filter(|(file, _)| !file.ends_with(':')) {
            Some((file, function)) => {
                let program = Program::read(Path::new(file))?;
                let found = program.image.place(function)?;
                (program.place(found.address, is_return)?, found.name)
            }
            None => {
                let program = &self.followed.program;
                let found = program.image.place(rest)?;
                (program.place(found.address, is_return)?, found.name)
            }
        };
        Ok((place, name))
    }

    /// Adds the marks of a library, or of the program.
    fn add_marks(&mut self, library: Option<&Path>) -> Result<()> {
        let library = library.map(Program::read).transpose()?;
        let marked = library.as_ref().unwrap_or(&self.followed.program);
        let marks = marked.image.marks()?;
        if marks.is_empty() {
            bail!(
                "{} has no marks: name two functions, as --from step --to uretprobe:FILE:step, or the \
                 library that has them, as --marks FILE; marks are those of the crate chronoscope-mark, \
                 or of chronoscope_mark.h",
                marked.shown()
            );
        }
        for mark in marks {
            let argument = mark.argument.map_or(Argument::None, Argument::Register);
            self.places.push(Place { argument, ..marked.place(mark.address, false)? });
            self.marks.push(mark);
        }
        Ok(())
    }

    /// Checks that this computer and this account have uprobes, and that a program that is to be started
    /// does not run already.
    ///
    /// # Errors
    /// The kernel refuses, or the program runs; the message has the mend.
    pub fn check(&self) -> Result<()> {
        let program = &self.followed.program;
        let is_own = self.places.iter().all(|place| {
            matches!(&place.event, Event::Instruction { file, .. } if *file == program.path)
        });
        if let (Subject::Command(_), true) = (&self.followed.subject, is_own)
            && let Some(pid) = program.running()
        {
            bail!(
                "process {pid} runs {} already, and its marks would count: end it, or watch it by \
                 --pid {pid}",
                program.shown()
            );
        }
        self.places.iter().try_for_each(probes::check)
    }

    /// The target that the watch's case names.
    pub fn target(&self) -> Target {
        self.followed.target()
    }

    /// The names and values of the parameters of the watch's case.
    pub fn settings(&self) -> Vec<(String, String)> {
        self.followed.settings(self.between.as_deref())
    }

    /// The names of the series that may arise, and their kinds.
    pub fn marks(&self) -> BTreeMap<&str, Kind> {
        self.marks.iter().map(|mark| (&*mark.name, mark.kind)).collect()
    }

    /// Sets the longest lengths that are allowed, by the name of the series, in ns: the live view counts
    /// the intervals above.
    pub fn with_bounds(self, bounds: BTreeMap<String, f64>) -> Self {
        let Followed { subject, program, terms } = self.followed;
        let followed = Followed { subject, program, terms: terms.with_bounds(bounds) };
        Self { followed, ..self }
    }

    /// Takes in hits until the program ends, the time is over or `stop` becomes true.
    fn watch(&self, probes: &mut Probes, stop: &AtomicBool) -> Result<(Seen, Vec<String>)> {
        let (pairing, live) = (Pairing::new(&self.marks), self.followed.terms.live());
        let process = self.followed.subject.process();
        let mut seen = Seen { pairing, live, process, ..Seen::default() };
        let remarks = self.followed.follow(probes, stop, &mut seen)?;
        Ok((seen, remarks))
    }
}

/// The taker of hits.
trait Take {
    /// Takes in hits in the order of time.
    fn take(&mut self, hits: Vec<Hit>);

    fn has_room(&self) -> bool;

    /// Returns whether there is no interval so far.
    fn is_empty(&self) -> bool;
}

impl Subject {
    /// The process whose hits alone count; `None` for all.
    fn process(&self) -> Option<u32> {
        match self {
            Self::Process(pid) => Some(*pid),
            Self::Command(_) => None,
        }
    }
}

impl Followed {
    /// Finds the program of a command, or of a process that runs.
    fn new(command: &[OsString], pid: Option<u32>, duration: Option<Duration>) -> Result<Self> {
        let (subject, program) = match pid {
            Some(pid) => (Subject::Process(pid), Program::of_process(pid)?),
            None => (Subject::Command(command.to_vec()), of_command(command)?),
        };
        Ok(Self { subject, program, terms: Terms::new(duration) })
    }

    fn target(&self) -> Target {
        terms::target(&self.program.name, "host")
    }

    /// The parameters of a case, with the ends of its intervals where these are no marks.
    fn settings(&self, between: Option<&str>) -> Vec<(String, String)> {
        let mut settings: Vec<_> = self.terms.setting().into_iter().collect();
        if self.subject.process().is_some() {
            settings.push(("of".to_owned(), "process".to_owned()));
        }
        if let Some(between) = between {
            settings.push(("between".to_owned(), between.replace(' ', "+")));
        }
        settings
    }

    /// Begins the stream of a case, whose clock counts ns.
    fn begin(&self, request: &Request) -> Result<StreamBuilder> {
        let mut stream = StreamBuilder::begin(&observe::name(&self.program.name), request)?;
        let clock = Clock { domain: Domain::Wall, hertz: 1_000_000_000, resolution: 1 };
        stream.send(&Record::Clock(clock))?;
        Ok(stream)
    }

    fn provenance(&self, remark: &str) -> Provenance {
        let identity = BTreeMap::from([self.program.image.fact()]);
        Provenance { identity, remark: remark.to_owned() }
    }

    /// Passes on hits until the program ends, its time is over, there is no more room or `stop` becomes
    /// true. Returns the remarks.
    fn follow(
        &self,
        probes: &mut Probes,
        stop: &AtomicBool,
        taker: &mut dyn Take,
    ) -> Result<Vec<String>> {
        let begun = Instant::now();
        let is_over = || stop.load(Relaxed) || self.terms.is_over(begun);
        let mut remarks = Vec::new();
        match &self.subject {
            Subject::Process(pid) => {
                let folder = PathBuf::from(format!("/proc/{pid}"));
                while folder.exists() && !is_over() && taker.has_room() {
                    thread::sleep(PAUSE);
                    taker.take(probes.take(false));
                }
                taker.take(probes.take(true));
            }
            Subject::Command(words) => remarks.extend(run_beside(words, probes, &is_over, taker)?),
        }
        if !taker.has_room() {
            remarks.push(terms::full());
        }
        Ok(remarks)
    }
}

/// Runs a command, and passes on hits until it ends, or `is_over` asks it to. Returns a remark on its
/// end.
fn run_beside(
    words: &[OsString],
    probes: &mut Probes,
    is_over: &dyn Fn() -> bool,
    taker: &mut dyn Take,
) -> Result<Option<String>> {
    let end_asked = AtomicBool::new(false);
    let ended = thread::scope(|scope| {
        let program = scope.spawn(|| run(words, &end_asked));
        while !program.is_finished() {
            if is_over() || !taker.has_room() {
                end_asked.store(true, Relaxed);
            }
            thread::sleep(PAUSE);
            taker.take(probes.take(false));
        }
        taker.take(probes.take(true));
        program.join()
    });
    match ended {
        Ok(Ok(())) => Ok(None),
        // A program that is asked to end may end by the signal.
        Ok(Err(_)) if end_asked.load(Relaxed) => Ok(None),
        Ok(Err(error)) if taker.is_empty() => Err(error),
        Ok(Err(error)) => Ok(Some(format!("{error:#}"))),
        Err(_) => bail!("the program's thread panicked"),
    }
}

/// The hits of a watch.
#[derive(Default)]
struct Seen {
    pairing: Pairing,
    /// The process whose hits count; `None` for all.
    process: Option<u32>,
    processes: BTreeSet<u32>,
    first: Option<u64>,
    live: Live,
}

impl Take for Seen {
    fn take(&mut self, hits: Vec<Hit>) {
        let process = self.process;
        for hit in hits.into_iter().filter(|hit| process.is_none_or(|one| one == hit.process)) {
            let first = *self.first.get_or_insert(hit.time);
            self.processes.insert(hit.process);
            let now = hit.time.saturating_sub(first);
            // Only a hit of an unknown mark is refused, and each place is a mark.
            let _ = self.pairing.hit(hit.place, hit.thread.into(), now, hit.argument);
        }
        self.live.show(&self.pairing, 1.0);
    }

    fn has_room(&self) -> bool {
        terms::has_room(self.pairing.count())
    }

    fn is_empty(&self) -> bool {
        self.pairing.count() == 0
    }
}

/// Returns whether a place is the return of a function.
fn is_return(place: &Place) -> bool {
    matches!(place.event, Event::Instruction { is_return: true, .. })
}

/// Runs a command to its end; its output goes to this process' standard error.
fn run(words: &[OsString], end_asked: &AtomicBool) -> Result<()> {
    let Some((name, arguments)) = words.split_first() else { return Ok(()) };
    let shown = printable(&name.display().to_string());
    let sink = &mut |bytes: &[u8]| {
        // A program under watch goes on, whether its output is read or not.
        let _ = io::stderr().write_all(bytes);
        Ok::<(), child::Error>(())
    };
    let endless = child::Limit::ENDLESS;
    let command = &mut Command::new(name);
    Ok(child::run_to_an_end(command.args(arguments), &shown, endless, end_asked, sink)?)
}

/// The first program among a command's words that has marks, or else the first word's: a command may begin
/// with another program, as `chrt -f 80 ./app`.
fn of_command(words: &[OsString]) -> Result<Program> {
    let found = |word: &OsString| in_path(word).and_then(|path| Program::read(&path).ok());
    let has_marks = |program: &Program| program.image.marks().is_ok_and(|marks| !marks.is_empty());
    if let Some(program) = words.iter().filter_map(found).find(has_marks) {
        return Ok(program);
    }
    let Some(first) = words.first() else { bail!("name a program, as -- ./app, or --pid") };
    let Some(path) = in_path(first) else {
        bail!(
            "there is no program `{}`: write its path, as -- ./app",
            printable(&first.display().to_string())
        );
    };
    Program::read(&path)
}

/// The file of a program's name, as a shell finds it.
fn in_path(word: &OsString) -> Option<PathBuf> {
    let path = Path::new(word);
    if path.components().count() > 1 {
        return path.is_file().then(|| path.to_owned());
    }
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders).map(|folder| folder.join(path)).find(|path| path.is_file())
}

/// The cost of a watch: begin and end of an interval with nothing between, in this process.
fn control() -> Result<Vec<crate::stream::Interval>> {
    let program = Program::read(Path::new("/proc/self/exe"))?;
    let marks: Vec<Mark> = program.image.marks()?;
    let marks: Vec<Mark> = marks.into_iter().filter(|mark| mark.name == "control").collect();
    let places =
        marks.iter().map(|mark| program.place(mark.address, false)).collect::<Result<Vec<_>>>()?;
    let mut probes = Probes::open(&places)?;
    (0..CONTROLS).for_each(|_| chronoscope_mark::control());
    let mut pairing = Pairing::new(&marks);
    for hit in probes.take(true).iter().filter(|hit| hit.process == process::id()) {
        let _ = pairing.hit(hit.place, 0, hit.time, None);
    }
    Ok(pairing.finish().into_iter().flat_map(|series| series.intervals).collect())
}

impl Machine for Watched {
    fn properties(&self) -> Properties {
        Properties::default()
    }

    fn prepare(&self, _request: &Request, _stop: &AtomicBool) -> Result<Provenance> {
        let remark = "watched by uprobes, whose cost is part of each interval: see the control";
        Ok(self.followed.provenance(remark))
    }

    fn run(
        &self,
        start: &Start<'_>,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<Recording> {
        let mut stream = self.followed.begin(start.request)?;
        let control = control()?;
        let mut probes = Probes::open(&self.places)?;
        let (seen, remarks) = self.watch(&mut probes, start.stop)?;
        let processes = seen.processes.len();
        let all = seen.pairing.finish();
        let hits: u64 = all.iter().map(|series| series.hits).sum();
        stream.evidence("marks", hits as f64, 1.0, f64::INFINITY)?;
        stream.evidence("lost marks", probes.lost as f64, 0.0, 0.0)?;
        let mut room = Room::new(&mut stream, all.iter(), 1)?;
        for series in &all {
            room.send(&mut stream, series)?;
        }
        stream.series(Series::control("mark to mark"), samples(&control))?;
        if processes > 1 {
            let line = format!("{processes} processes of the program have set marks: all count");
            stream.send(&Record::Log(&line))?;
        }
        for line in &remarks {
            stream.send(&Record::Log(line))?;
        }
        sink(&stream.end()?)?;
        Ok(Recording::new())
    }
}
