//! The command line: commands, flags, help texts, and one-line messages for mistakes.

use std::{env, ffi::OsString, path::PathBuf, process, sync::LazyLock, thread};

use anyhow::{Result, anyhow, bail};
use chronoscope_suite::experiments;
use clap::{
    Args, CommandFactory as _, Parser, Subcommand, ValueEnum, error::ContextKind,
    error::ContextValue, error::ErrorKind,
};

use chronoscope_engine::study;
use chronoscope_report::{
    format::BenchmarkFormat, format::ComparisonFormat, format::EVIDENCE, format::EXPLANATION,
    format::FULL, format::RunFormat, format::TraceFormat,
};
use chronoscope_run as run;
use chronoscope_store::{self as store, Place};
use chronoscope_units as units;

mod baseline;
mod capture;
mod cyclictest;
mod help;
mod observe;
mod oslat;
mod timerlat;
mod watch;

pub use baseline::{Baseline, BaselineCheck, BaselineCommand, BaselineWrite};
pub use capture::{Capture, Phase};
pub use cyclictest::Cyclictest;
pub use observe::Observe;
pub use oslat::Oslat;
pub use timerlat::{Mode, Timerlat};
pub use watch::Watch;

/// Measures how well a kernel keeps time.
#[derive(Parser)]
#[command(version = version(), subcommand_required = true, arg_required_else_help = true, after_help = help::PROGRAM)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

/// The version, the revision of the program's sources, and the version of the run's form.
fn version() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let revision = match crate::revision::REVISION {
            "" => String::new(),
            revision => format!(", revision {revision}"),
        };
        format!("{}{revision}, schema {}", env!("CARGO_PKG_VERSION"), run::SCHEMA)
    });
    &TEXT
}

const COMPARE_HELP: &str = "\
A and B are both runs (12, last, last-1, or a JSON file), or both variants,
which are run now in turn: a target, with settings after commas
(linux@host,primitive=pipe).
Exit status: 0 pass, 1 error, 3 regression, 4 inconclusive.";

const MERGE_HELP: &str = "\
The merged run is stored, or with -o written as JSON, or both with -o and --store.
Exit status: that of the run; 1 if a part is damaged, missing or does not fit the
others, and then nothing is written.";

// One value exists, so that the size of the largest variant does not matter.
#[allow(clippy::large_enum_variant)]
#[derive(Subcommand)]
pub enum Command {
    /// Run experiments, or a study, and show the answer.
    #[command(after_help = help::RUN)]
    Run(Run),
    /// Draw a picture to learn from, of a run that is made now: who runs when, in an inversion, a
    /// wake-up, a preemption, a miss. It takes the options of `run`.
    #[command(after_help = help::SHOW)]
    Show(Run),
    /// How long can an interrupt wait? Have one arrive at every instruction of a round of an
    /// experiment, on an emulated chip. It takes the options of `run`.
    #[command(after_help = help::WORST)]
    Worst(Worst),
    /// Why is A slower than B? The instructions of one round of two emulated targets, by role.
    #[command(after_help = help::WHY)]
    Why(Why),
    /// Find the commit that made a figure worse: build and measure those between a good one and a
    /// bad one with `git bisect`, on an emulated target, and show what it executes more.
    #[command(after_help = help::BISECT)]
    Bisect(Bisect),
    /// Do all tasks of a set meet their deadlines? The response times by analysis with the kernel's
    /// measured worst costs, and then of the same set when it runs, on emulated targets.
    #[command(after_help = help::SCHEDULE)]
    Schedule(Schedule),
    /// Show a run that is stored, or a JSON file of one, in any format.
    #[command(after_help = help::REPORT)]
    Report(Report),
    /// Explain a word of the screen or the page, such as p99, control or evidence.
    Explain(Explain),
    /// Print the JSON Schema of a run (`--format json`).
    Schema,
    /// Print the manual page, in roff: chronoscope manual | man -l -
    Manual,
    /// Print completions of the command line for a shell.
    Completions { shell: clap_complete::Shell },
    /// Show the order of events: write a run as a timeline for Perfetto (ui.perfetto.dev) or a
    /// waveform viewer.
    Trace(Trace),
    /// Measure pins: pulses, latencies, periods and jitter in captures of simulators and logic
    /// analysers.
    #[command(after_help = capture::HELP)]
    Capture(Capture),
    /// Observe an unmodified image in QEMU: its switches, system calls and intervals, in
    /// instructions.
    #[command(after_help = observe::HELP)]
    Observe(Observe),
    /// How long does each round of your own program take, at worst? Its marks or functions, in a
    /// process on this computer or in firmware in an emulator.
    #[command(after_help = watch::HELP)]
    Watch(Watch),
    /// Is B slower than A? Two stored runs, or two variants run now.
    #[command(after_help = COMPARE_HELP)]
    Compare(Compare),
    /// Write a run's medians to a small file to commit, or check a later run against it.
    Baseline(Baseline),
    /// List the runs in the store, or show an experiment's figures from run to run.
    History(History),
    /// How long must a run without misses last, to support a claim such as "fewer than 1 in 1e6"?
    Plan(Plan),
    /// Store the complete repetitions of runs that were killed or could not be stored.
    Recover(Recover),
    /// Give back the places of labgrid's that killed runs hold.
    Place(Labgrid),
    /// Merge the runs of shards (`run --shard`), or of one study on several machines, into one run.
    #[command(after_help = MERGE_HELP)]
    Merge(Merge),
    /// Write runs of the store as lines of JSON, for `import` into another store.
    Export(Export),
    /// Store the runs of files, or the results of hyperfine, Google Benchmark, criterion, rtla,
    /// SystemView, TraceX, perf script, trace-cmd report or babeltrace2. A run that the store has
    /// already, by its UUID, changes nothing.
    Import(Import),
    /// Show all experiments, their parameters, and all targets.
    List(List),
    /// Measure real-time and ordinary calls to a service through binder, as Android's binder
    /// latency test does.
    BinderLatency(Latency),
    /// Measure the same calls through hwbinder, as libhwbinder_latency does.
    HwbinderLatency(Latency),
    /// The experiment period with cyclictest's whole command line and output.
    #[command(after_help = cyclictest::HELP)]
    Cyclictest(Cyclictest),
    /// The experiment noise with oslat's whole command line and output.
    #[command(after_help = oslat::HELP)]
    Oslat(Oslat),
    /// The experiment period with the command line and output of `rtla timerlat`.
    #[command(after_help = timerlat::HELP)]
    Timerlat(Timerlat),
    /// List the cached kernels and virtual machines. All of them can be made again.
    Cache(Cache),
    /// Ends the child processes and removes the folders of a lab that was killed; started by the
    /// lab itself.
    #[command(hide = true)]
    Supervise,
    /// Find the causes of doubtful figures on this machine, and their remedies. Exit status: 0
    /// nothing bad, 4 figures are doubtful.
    Doctor(Doctor),
}

/// The headings of the options of `run`.
const WHAT: &str = "What to run";
const HOW: &str = "How to run it";
const OWN: &str = "Guests and boards of your own";
const OUTPUT: &str = "Output";
const KEEP: &str = "Store";

// A number below zero is a wrong value, not an unknown flag.
#[derive(Args)]
#[command(allow_negative_numbers = true)]
pub struct Run {
    /// A study by its name, or experiments [default: the quick study, all of it].
    #[arg(value_name = "STUDY|EXPERIMENT")]
    pub experiments: Vec<String>,
    /// Run this study instead of the quick one: its name, or a file.
    #[arg(long, value_name = "NAME|FILE", help_heading = WHAT)]
    pub study: Option<PathBuf>,
    /// Run the programs that the study's peers name, after printing each command. Known tools need
    /// no permission.
    #[arg(long, help_heading = WHAT)]
    pub allow_programs: bool,
    /// Targets, as linux@host; with an image of your own NAME=IMAGE@MACHINE.
    #[arg(long, value_delimiter = ',', value_name = "KERNEL@MACHINE", help_heading = WHAT)]
    pub target: Vec<String>,
    /// The image of a study's target with a variable: for `mine=$app@cortex-m4` in the study,
    /// app=build/app.elf. Can be repeated.
    #[arg(long, value_name = "NAME=FILE", help_heading = OWN)]
    pub image: Vec<String>,
    // In documentation, the brackets would be a link.
    #[arg(
        long,
        value_name = "serial:LINE",
        help_heading = WHAT,
        help = "A board on a serial line (serial:DEVICE[:BAUD]), with any kernel: short for --target board@ with this value"
    )]
    pub machine: Option<String>,
    /// Reserve, lock and use a board of labgrid's with this tag; repeat it for several tags;
    /// name=PLACE is a place by its name. The target is board@board:PLACE, and KERNEL@place in
    /// --target names its kernel. Given back at the end.
    #[arg(
        long,
        value_name = "KEY=VALUE",
        help_heading = WHAT,
        conflicts_with_all = ["machine", "list", "shard", "on"]
    )]
    pub place: Vec<String>,
    /// Spread the cases over up to N boards with the tags of --place: over those that are free now.
    /// Each case runs on one board. A board that fails twice is set aside, and its cases run
    /// elsewhere.
    #[arg(
        long,
        value_name = "N",
        value_parser = one_or_more,
        requires = "place",
        help_heading = WHAT
    )]
    pub places: Option<u64>,
    /// Write this image into the board's flash first, with the program probe-rs, or as boards.toml
    /// says for a target KERNEL@board:NAME.
    #[arg(long, value_name = "IMAGE", help_heading = OWN)]
    pub flash: Option<PathBuf>,
    /// Give the time of an emulated target on this chip, as stm32f405, by a model with bounds. With
    /// --flash: the board's chip, as probe-rs calls it (`probe-rs chip list`), into which the image
    /// of NAME=IMAGE@serial:LINE is written.
    #[arg(long, help_heading = OWN)]
    pub chip: Option<String>,
    /// The rate of the chip's clock, as 84MHz.
    #[arg(long, value_name = "RATE", requires = "chip", help_heading = OWN)]
    pub clock: Option<String>,
    /// Measure every build of a chip's image too: cargo's defaults, the smallest code, a kernel in C
    /// at -O3 and with LTO. A ranking then says under how many it holds.
    #[arg(long, help_heading = WHAT)]
    pub builds: bool,
    /// Set a parameter; several values make several cases. Can be repeated.
    #[arg(long, value_name = "NAME=VALUE[,…]", help_heading = WHAT)]
    pub set: Vec<String>,
    /// Real-time priority (1 to 91).
    #[arg(short = 'p', long, value_name = "PRIO", value_parser = whole, help_heading = HOW)]
    pub priority: Option<u64>,
    /// Interval of periodic experiments, in µs, or with a unit as 1ms.
    #[arg(short = 'i', long, value_name = "US", value_parser = microseconds, help_heading = HOW)]
    pub interval: Option<u64>,
    /// Samples per case, over all repetitions.
    #[arg(short = 'l', long, value_name = "LOOPS", value_parser = one_or_more, help_heading = HOW)]
    pub loops: Option<u64>,
    /// Run each case for at least this time: a number and s, m, h or d. `period` on linux@host runs
    /// without a break, and counts every due time.
    #[arg(short = 'D', long, value_name = "TIME", help_heading = HOW)]
    pub duration: Option<String>,
    /// Lock memory (the default; --set mlock=no turns it off).
    #[arg(short = 'm', long = "mlockall", help_heading = HOW)]
    pub mlock: bool,
    /// The processors to run on: one, several as 0+2, 0-3, all or isolated, or free.
    #[arg(short = 'a', long, value_name = "CPU", help_heading = HOW)]
    pub affinity: Option<String>,
    /// A load beside the cases: cpu, cache, memory, disk, udp, timers, fork, mmap or messages, or a
    /// command of your own, as "stress-ng --cpu 0", which is killed at the end.
    #[arg(long, value_name = "LOAD|COMMAND", help_heading = HOW)]
    pub load: Option<String>,
    /// The number of tasks.
    #[arg(short = 't', long = "threads", value_name = "TASKS", value_parser = whole, help_heading = HOW)]
    pub tasks: Option<u64>,
    /// Deadline in µs, or with a unit as 2ms: samples above it are misses.
    #[arg(short = 'b', value_name = "US", value_parser = deadline, help_heading = HOW)]
    pub deadline: Option<u64>,
    /// The kernel of linux@vm: a bzImage or a vmlinux of your own, or a Debian package.
    #[arg(long, value_name = "FILE", help_heading = OWN)]
    pub kernel_image: Option<PathBuf>,
    /// The Debian packages of one kernel, where it is split over several: the kernel of linux@vm.
    #[arg(long, value_name = "FILE,…", value_delimiter = ',', conflicts_with = "kernel_image", help_heading = OWN)]
    pub kernel_deb: Vec<PathBuf>,
    /// Load all modules of this folder into the guest, packed ones too, each after those it needs.
    #[arg(long, value_name = "DIR", help_heading = OWN)]
    pub kernel_modules: Option<PathBuf>,
    /// Additional boot arguments of the guest's kernel.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, help_heading = OWN)]
    pub append: Option<String>,
    /// Repetitions of each case, each a fresh process.
    #[arg(long, value_name = "N", value_parser = one_or_more, help_heading = HOW)]
    pub repeat: Option<u64>,
    /// Start the repetitions from N different states of the kernel: what ran before, the phase of
    /// the tick, the order in which tasks are created. N repetitions, unless --repeat says
    /// otherwise. The same N and SEED give the same states.
    #[arg(long, value_name = "N[:SEED]", help_heading = HOW)]
    pub vary: Option<String>,
    #[command(flatten)]
    pub jobs: Jobs,
    /// Run only the cases of shard I of N. Each case belongs to one of the N shards by its
    /// experiment, target and parameters; `merge` makes one run of all shards.
    #[arg(long, value_name = "I/N", help_heading = WHAT)]
    pub shard: Option<String>,
    /// Run the cases as shards on a cluster, and merge them: slurm.
    #[arg(long, value_name = "ENGINE", help_heading = WHAT)]
    pub on: Option<String>,
    /// The number of shards of --on [default: 8].
    #[arg(long, value_name = "N", value_parser = one_or_more, requires = "on", help_heading = WHAT)]
    pub shards: Option<u64>,
    /// Pass this option on to the engine's submission, as --on-option=--partition=fast. Can be
    /// repeated.
    #[arg(long, value_name = "OPTION", requires = "on", allow_hyphen_values = true, help_heading = WHAT)]
    pub on_option: Vec<String>,
    /// Go on with the shards of the same command, whose lab was killed: with the parts that are in
    /// the current folder, and the jobs that still run.
    #[arg(long, requires = "on", help_heading = WHAT)]
    pub resume: bool,
    /// Write the run of the shard to this file, as JSON, if it is complete, and do nothing else
    /// with it; given by --on.
    #[arg(long, value_name = "FILE", requires = "shard", hide = true)]
    pub part: Option<PathBuf>,
    /// List the cases, and with --shard 1/N also their shards, as a table or with --format json;
    /// run nothing.
    #[arg(long, help_heading = WHAT)]
    pub list: bool,
    /// Keep the run under this name of the machine, instead of a digest of its machine id.
    #[arg(long = "as", value_name = "NAME", help_heading = KEEP)]
    pub machine_name: Option<String>,
    /// Keep the run with this label, as commit=489879a. Can be repeated.
    #[arg(long, value_name = "NAME=VALUE", help_heading = KEEP)]
    pub label: Vec<String>,
    /// Give a repetition up after this time [default: ten times the expected time].
    #[arg(long, value_name = "TIME", help_heading = HOW)]
    pub watchdog: Option<String>,
    #[command(flatten)]
    pub output: Output,
    #[command(flatten)]
    pub keep: Keep,
    /// Keep every sample in the JSON; implied by --set trace=yes.
    #[arg(long, help_heading = OUTPUT)]
    pub samples: bool,
}

/// The flag that says how many cases run at once.
#[derive(Args)]
pub struct Jobs {
    /// Run up to N cases of emulated and simulated targets side by side [default: as many as
    /// processors]. All other cases run alone, before them. The results are the same for every N.
    #[arg(short = 'j', value_name = "N", value_parser = one_or_more, help_heading = HOW)]
    pub jobs: Option<u64>,
}

impl Jobs {
    /// The number of cases that may run at once.
    pub fn count(&self) -> usize {
        let given = self.jobs.map(|jobs| usize::try_from(jobs).unwrap_or(usize::MAX));
        given.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from))
    }
}

#[derive(Args)]
#[command(next_help_heading = OUTPUT)]
pub struct Output {
    /// How to print the result [default: answer; html for a file named so].
    #[arg(long, value_enum)]
    pub format: Option<RunFormat>,
    /// Print all figures: --format table.
    #[arg(long, conflicts_with_all = ["format", "evidence", "explain"])]
    pub full: bool,
    /// Print the evidence and the conditions of the machine.
    #[arg(long, conflicts_with_all = ["format", "explain"])]
    pub evidence: bool,
    /// Print the reasons for the answer: its trust, and why cases measured nothing.
    #[arg(long, conflicts_with = "format")]
    pub explain: bool,
    /// Google Benchmark's name of --format.
    #[arg(
        long = "benchmark_format",
        value_enum,
        hide = true,
        value_name = "FORMAT",
        conflicts_with = "format"
    )]
    pub benchmark_format: Option<BenchmarkFormat>,
    /// Write the result to a file instead.
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// No progress, no remarks.
    #[arg(short = 'q', long)]
    pub quiet: bool,
}

impl Output {
    /// The format of either flag, or else the one that the file's name selects.
    pub fn format(&self) -> RunFormat {
        let named = self.benchmark_format.map(RunFormat::from).or(self.format);
        let flags = [(self.full, FULL), (self.evidence, EVIDENCE), (self.explain, EXPLANATION)];
        let flag = flags.into_iter().find_map(|(given, format)| given.then_some(format));
        let requested = named.or(flag);
        requested.unwrap_or_else(|| RunFormat::of_file(self.output.as_deref()))
    }
}

/// The flag that chooses the store of runs.
#[derive(Args)]
pub struct Store {
    /// The store of runs, instead of the one in the user's data folder: a file, or a database on a
    /// PostgreSQL server (postgres://USER@HOST/DATABASE; PGPASSWORD has the password).
    #[arg(long, value_name = "FILE|URL")]
    pub store: Option<PathBuf>,
}

impl Store {
    /// The place of `--store`, or of the store in the user's data folder.
    ///
    /// # Errors
    /// The word is no place, or the user has no data folder.
    pub fn place(&self) -> Result<Place> {
        self.store.as_deref().map_or_else(store::default_place, Place::read)
    }
}

/// The flags that say whether a new run is stored, and in which store.
#[derive(Args)]
#[command(next_help_heading = KEEP)]
pub struct Keep {
    #[command(flatten)]
    pub store: Store,
    /// Do not store the run.
    #[arg(long, conflicts_with = "store")]
    pub no_store: bool,
}

#[derive(Args)]
pub struct Report {
    /// A number, last, last-1, or a JSON file; several for a page.
    #[arg(value_name = "RUN", default_value = "last")]
    pub runs: Vec<OsString>,
    /// Show recorded runs instead: make a folder [default: chronoscope-demo] with a store, a page
    /// and a comparison, and print an answer and a history. Nothing is measured.
    #[arg(
        long,
        value_name = "FOLDER",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "chronoscope-demo",
        conflicts_with_all = ["runs", "format", "output", "store", "full", "evidence", "explain"]
    )]
    pub demo: Option<PathBuf>,
    /// Show the store over time instead: each case on each machine with its changes of level, and a
    /// page for each run, as files for any web server, in the folder of -o
    /// [default: chronoscope-history].
    #[arg(
        long,
        conflicts_with_all = ["runs", "demo", "format", "full", "evidence", "explain"]
    )]
    pub history: bool,
    /// Show what five published reports claimed instead, one claim after the other, beside what the
    /// newest run of each study in the store found: text, or a page with -o FILE.html.
    #[arg(
        long,
        conflicts_with_all = ["runs", "demo", "history", "format", "full", "evidence", "explain"]
    )]
    pub published: bool,
    #[command(flatten)]
    pub filter: Filter,
    /// With --history: show only the newest N runs.
    #[arg(long, default_value_t = 200, value_name = "N", requires = "history", value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
    #[command(flatten)]
    pub output: Output,
    #[command(flatten)]
    pub store: Store,
}

#[derive(Args)]
pub struct Worst {
    /// Have this other exception arrive, too, at every instruction before and after: every pair of
    /// arrivals (Cortex-M).
    #[arg(long, value_name = "NUMBER", help_heading = WHAT)]
    pub nested: Option<u8>,
    #[command(flatten)]
    pub run: Run,
}

#[derive(Args)]
pub struct Why {
    /// A target, as freertos@cortex-m4.
    pub a: String,
    /// The target to compare with.
    pub b: String,
    /// The experiment whose round is compared.
    #[arg(default_value = "switch")]
    pub experiment: String,
    /// Set a parameter of the experiment on both sides. Can be repeated.
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// The functions of each role too.
    #[arg(long)]
    pub full: bool,
    /// Write the answer to a file instead; a page if it is named FILE.html.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Args)]
pub struct Schedule {
    /// The tasks, a TOML file; several for several sets.
    #[arg(value_name = "TASKS.toml", required = true)]
    pub tasks: Vec<PathBuf>,
    /// Emulated targets; tandem@cortex-m4 and freertos@cortex-m4 unless some are named.
    #[arg(long, value_delimiter = ',', value_name = "KERNEL@MACHINE")]
    pub target: Vec<String>,
    /// Take the costs in cycles of this chip, as stm32f405, by a model's estimate; one cycle an
    /// instruction without it.
    #[arg(long)]
    pub chip: Option<String>,
    /// The rate of the processor's clock, as 84MHz; in place of the file's.
    #[arg(long, value_name = "RATE")]
    pub clock: Option<String>,
    /// Write the answer to a file instead.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write the answer as JSON, for programs.
    #[arg(long)]
    pub json: bool,
    /// Print no progress and no notes.
    #[arg(short, long)]
    pub quiet: bool,
    #[command(flatten)]
    pub keep: Keep,
}

#[derive(Args)]
pub struct Bisect {
    /// The experiment whose figure got worse.
    pub experiment: String,
    /// The image that the build makes and its machine, as mine=build/app.elf@cortex-m4.
    #[arg(long, value_name = "NAME=IMAGE@MACHINE")]
    pub target: String,
    /// A commit before the change.
    #[arg(long, value_name = "COMMIT")]
    pub good: String,
    /// A commit with the change.
    #[arg(long, value_name = "COMMIT", default_value = "HEAD")]
    pub bad: String,
    /// Set a parameter of the experiment. Can be repeated.
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// The command that builds the image.
    #[arg(last = true, required = true, value_name = "BUILD")]
    pub build: Vec<OsString>,
}

#[derive(Args)]
pub struct Explain {
    /// The words; all are listed if they are left out.
    #[arg(value_name = "WORD")]
    pub words: Vec<String>,
}

#[derive(Args)]
pub struct Trace {
    /// A number, last, last-1, or a JSON file.
    #[arg(default_value = "last")]
    pub run: OsString,
    /// Only this case: its number in the run, from 1, or words that all occur in its experiment,
    /// target or parameters.
    #[arg(long, value_name = "CASE")]
    pub case: Option<String>,
    /// The viewer that the file is written for.
    #[arg(long, value_enum, default_value_t)]
    pub format: TraceFormat,
    /// Write the timeline to a file instead.
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// No remarks.
    #[arg(short = 'q', long)]
    pub quiet: bool,
    #[command(flatten)]
    pub store: Store,
}

#[derive(Args)]
#[command(allow_negative_numbers = true)]
pub struct Compare {
    /// The run or variant to compare with.
    pub a: OsString,
    /// The run or variant to judge.
    pub b: OsString,
    /// Only these experiments [default for variants: the quick study's]. For a page: more runs.
    pub experiments: Vec<String>,
    /// The smallest growth that matters, in percent.
    #[arg(long, default_value_t = 5.0, value_name = "PERCENT")]
    pub threshold: f64,
    /// Variants: run this study instead of the quick one: its name, or a file.
    #[arg(long, value_name = "NAME|FILE")]
    pub study: Option<PathBuf>,
    /// Variants: repetitions of each case on each side [default: 10].
    #[arg(long, value_name = "N")]
    pub repeat: Option<usize>,
    /// Variants: start the repetitions of both sides from the same N states, as `run` does.
    #[arg(long, value_name = "N[:SEED]")]
    pub vary: Option<String>,
    /// Variants: set a parameter on both sides. Can be repeated.
    #[arg(long, value_name = "NAME=VALUE[,…]")]
    pub set: Vec<String>,
    /// Variants: add pairs until every case is settled, or this time is over [default: 10m]. Last
    /// on the line, or with a time: a number and s, m, h or d.
    #[arg(long, value_name = "TIME", num_args = 0..=1, default_missing_value = "10m")]
    pub until_sure: Option<String>,
    /// Runs: pair cases that differ in this parameter, or in their `target` [default: target, if
    /// each run has a single one].
    #[arg(long, value_name = "NAME")]
    pub pair: Option<String>,
    #[command(flatten)]
    pub jobs: Jobs,
    #[command(flatten)]
    pub judge: JudgeFlags,
    #[command(flatten)]
    pub print: PrintComparison,
    #[command(flatten)]
    pub keep: Keep,
}

/// The flags that say what a comparison judges, and how strictly.
#[derive(Args)]
pub struct JudgeFlags {
    /// Statistics to judge: min, p50, mean, p99, p99.9, max [default: p50, and where
    /// every repetition has them p99 and p99.9; with an exact clock also max].
    #[arg(long, value_delimiter = ',', value_name = "STATISTIC,…")]
    pub judge: Vec<String>,
    /// Exit with 4 where a regression is not shown, but not excluded either.
    #[arg(long)]
    pub strict: bool,
}

impl PrintComparison {
    /// The requested format, or the one that the output file's name selects.
    pub fn format(&self) -> ComparisonFormat {
        self.format.unwrap_or_else(|| ComparisonFormat::of_file(self.output.as_deref()))
    }

    /// Returns whether the result is printed for a reader, as a table.
    pub fn is_for_reading(&self) -> bool {
        self.output.is_none() && self.format().is_table()
    }
}

#[derive(Args)]
pub struct History {
    /// Show the figures of this experiment from run to run.
    pub experiment: Option<String>,
    #[command(flatten)]
    pub filter: Filter,
    /// Show only the newest N runs.
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
    /// Take a run out of the store.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["experiment", "study", "machine", "label", "limit", "keep"])]
    pub forget: Option<i64>,
    /// Take all but the newest N runs out of the store, and shrink its file to those that remain.
    /// Meanwhile the disk must have room for a second copy of them.
    #[arg(long, value_name = "N", conflicts_with_all = ["experiment", "study", "machine", "label", "limit"])]
    pub keep: Option<u32>,
    #[command(flatten)]
    pub print: Print,
    #[command(flatten)]
    pub store: Store,
}

/// The flags that choose runs of a store.
#[derive(Args)]
pub struct Filter {
    /// Only runs of this study.
    #[arg(long, value_name = "NAME")]
    pub study: Option<String>,
    /// Only runs of this machine: the name of `run --as`, or the digest in the run's context.
    #[arg(long, value_name = "NAME")]
    pub machine: Option<String>,
    /// Only runs with this label.
    #[arg(long, value_name = "NAME=VALUE")]
    pub label: Option<String>,
}

#[derive(Args)]
pub struct Export {
    /// Numbers, UUIDs, last or last-1 [default: all runs].
    #[arg(value_name = "RUN", conflicts_with_all = ["study", "machine", "label"])]
    pub runs: Vec<OsString>,
    #[command(flatten)]
    pub filter: Filter,
    /// Write to this file instead of standard output.
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// No remarks.
    #[arg(short = 'q', long)]
    pub quiet: bool,
    #[command(flatten)]
    pub store: Store,
}

#[derive(Args)]
pub struct Import {
    /// Files that `export` or `run --format json` wrote, or results of another tool, or a folder with
    /// a trace in the Common Trace Format; - for standard input.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// The rate of the clock of a recording of TraceX's, as 168MHz.
    #[arg(long, value_name = "RATE", value_parser = capture::rate)]
    pub clock: Option<u64>,
    /// No remarks.
    #[arg(short = 'q', long)]
    pub quiet: bool,
    #[command(flatten)]
    pub store: Store,
}

#[derive(Args)]
pub struct Plan {
    /// The claim on the rate of misses: "fewer than 1 in 1e6", 1/1000000, 1e-6 or "0.0001 %".
    #[arg(long, value_name = "RATE", allow_hyphen_values = true)]
    pub claim: String,
    /// A run whose bursts are taken into account: a number, last, last-1, or a JSON file.
    pub run: Option<OsString>,
    /// The interval of samples, in µs [default: the case's, else 1000].
    #[arg(short = 'i', value_name = "US", value_parser = one_or_more)]
    pub interval: Option<u64>,
    #[command(flatten)]
    pub print: Print,
    #[command(flatten)]
    pub store: Store,
}

#[derive(Args)]
pub struct Merge {
    /// JSON files of the runs to merge.
    #[arg(value_name = "FILE", required = true)]
    pub parts: Vec<PathBuf>,
    /// Write the merged run to this file, as JSON, instead of the store.
    #[arg(short = 'o', long, value_name = "RUN.json")]
    pub output: Option<PathBuf>,
    /// No remarks.
    #[arg(short = 'q', long)]
    pub quiet: bool,
    #[command(flatten)]
    pub store: Store,
}

#[derive(Args)]
pub struct Labgrid {
    /// Give them back now. The next `run --place` does it, too.
    #[arg(long, required = true)]
    pub release: bool,
}

#[derive(Args)]
pub struct Recover {
    /// Remove it instead.
    #[arg(long)]
    pub discard: bool,
    /// No remarks.
    #[arg(short = 'q', long)]
    pub quiet: bool,
    #[command(flatten)]
    pub store: Store,
}

/// The flags for output of a result that is not a run.
#[derive(Args)]
pub struct Print {
    /// How to print the result.
    #[arg(long, value_enum, default_value_t)]
    pub format: PrintFormat,
    /// Write the result to a file instead.
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// No progress, no remarks.
    #[arg(short = 'q', long)]
    pub quiet: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum PrintFormat {
    #[default]
    Table,
    Json,
}

/// How to print a comparison.
#[derive(Args)]
pub struct PrintComparison {
    /// How to print the result [default: table; html for a file named so].
    #[arg(long, value_enum)]
    pub format: Option<ComparisonFormat>,
    /// Write the result to a file instead.
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// No progress, no remarks.
    #[arg(short = 'q', long)]
    pub quiet: bool,
}

#[derive(Args)]
pub struct List {
    /// Only this experiment.
    pub experiment: Option<String>,
    /// All experiments, as docs/experiments.md has them.
    #[arg(long, hide = true)]
    pub markdown: bool,
}

#[derive(Args)]
pub struct Cache {
    /// Remove all of it.
    #[arg(long)]
    pub clear: bool,
}

#[derive(Args)]
pub struct Doctor {
    /// The processors to examine, as 2, 1-3, 0,2 or all; without, the one on which cases run that name
    /// none.
    #[arg(short = 'a', long = "affinity", value_name = "LIST")]
    pub affinity: Option<String>,
    /// How to print the findings.
    #[arg(long, value_enum, default_value_t)]
    pub format: DoctorFormat,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum DoctorFormat {
    #[default]
    Table,
    Json,
}

/// The flags of `hwbinder-latency` and `binder-latency`. The original accepts long names after a
/// single dash too.
#[derive(Args)]
pub struct Latency {
    /// Rounds of each pair: a real-time call and an ordinary one.
    #[arg(short = 'i', default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub iterations: u64,
    /// Pairs of a client and a service.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=32))]
    pub pair: u64,
    /// Same as --pair: the newer original's name of the flag.
    #[arg(short = 'w', value_name = "N", conflicts_with = "pair", value_parser = clap::value_parser!(u64).range(1..=32))]
    pub workers: Option<u64>,
    /// The server: a process behind the driver, or a function of the client.
    #[arg(short = 'm', value_name = "MODE", value_enum)]
    pub mode: Option<LatencyMode>,
    /// Print each real-time call, in ns.
    #[arg(long = "raw_data")]
    pub raw_data: bool,
    /// Print the newer original's form: all pairs together, percentiles, and the mode. -w, -m and
    /// --raw_data print it too.
    #[arg(long)]
    pub newer: bool,
    /// Calls that take longer are misses.
    #[arg(long = "deadline_us", default_value_t = 2500, value_name = "US", value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub deadline_us: u64,
    /// Print the callers and servers of each call to standard error.
    #[arg(short = 'v')]
    pub verbose: bool,
    /// Record the kernel's scheduling, stop at the first real-time miss, and save the trace.
    #[arg(long)]
    pub trace: bool,
    /// Add exact percentiles to the original's figures.
    #[arg(long)]
    pub detail: bool,
    /// Miss the limit (exit status 2) when a real-time call takes longer.
    #[arg(long, value_name = "US", value_parser = one_or_more)]
    pub limit: Option<u64>,
    /// The time that the service works before it answers, in µs.
    #[arg(long, default_value_t = 0, value_name = "US")]
    pub work_us: u64,
    /// Ordinary processes that compete for the processor.
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub hogs: u64,
    /// The client gives the service its own class before each call: an emulation of inheritance.
    #[arg(long)]
    pub boost: bool,
    /// The target; this host if it has the device, else linux-full@vm, unless given.
    #[arg(long, value_name = "KERNEL@MACHINE")]
    pub target: Option<String>,
    /// A kernel of your own, in a guest: linux@vm, unless --target is linux@vm-arm64.
    #[arg(long, value_name = "FILE", help_heading = OWN)]
    pub kernel_image: Option<PathBuf>,
    /// A folder of modules for it (*.ko), loaded in the order of their names.
    #[arg(long, value_name = "DIR", requires = "kernel_image", help_heading = OWN)]
    pub kernel_modules: Option<PathBuf>,
    /// Boot arguments for it.
    #[arg(long, value_name = "TEXT", requires = "kernel_image", allow_hyphen_values = true, help_heading = OWN)]
    pub append: Option<String>,
}

/// The values of the original's -m.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "UPPER")]
pub enum LatencyMode {
    Binderize,
    Passthrough,
}

/// Reads the command line.
///
/// # Errors
/// A mistake on the command line; the message is one line that says how to correct it.
pub fn parse() -> Result<Cli> {
    let mut arguments: Vec<OsString> = env::args_os().collect();
    if arguments
        .get(1)
        .is_some_and(|command| command == "hwbinder-latency" || command == "binder-latency")
    {
        for argument in &mut arguments {
            if matches!(argument.to_str(), Some("-pair" | "-deadline_us" | "-trace" | "-raw_data"))
            {
                *argument = OsString::from(format!("-{}", argument.display()));
            }
        }
    }
    let word = arguments.get(1).map(|word| word.display().to_string()).unwrap_or_default();
    // Behind `--` is the command line of another program; the tools' own command lines have clusters.
    let own = arguments.iter().skip(1).take_while(|argument| *argument != "--");
    let own: Vec<&str> = own.filter_map(|argument| argument.to_str()).collect();
    if !["cyclictest", "oslat", "timerlat"].contains(&&*word) {
        check_histogram(&own)?;
        own.iter().try_for_each(|argument| check_cluster(argument))?;
    }
    Cli::try_parse_from(arguments).map_err(|error| {
        if !error.use_stderr() {
            // Help and version are no errors.
            help::print(&error.to_string());
            process::exit(0);
        }
        if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            return anyhow!("say what to do: run, list or doctor; `chronoscope --help` tells more");
        }
        let what = one_line(&error.to_string());
        match error.kind() {
            ErrorKind::InvalidSubcommand => anyhow!("{}", unknown_command(&what, &word)),
            ErrorKind::UnknownArgument => match error.get(ContextKind::InvalidArg) {
                Some(ContextValue::String(flag)) if word == "run" && is_of_cyclictest(flag) => {
                    anyhow!("{}", of_cyclictest(flag))
                }
                Some(ContextValue::String(flag)) => anyhow!("{}", dropped(flag).unwrap_or(&what)),
                _ => anyhow!("{what}"),
            },
            _ => anyhow!("{what}"),
        }
    })
}

/// Commands and flags of earlier versions, each with the message that names its replacement.
const DROPPED: [(&str, &str); 2] = [
    (
        "serve",
        "`serve` was dropped: `chronoscope report --history -o FOLDER` writes the same pages as files",
    ),
    (
        "--extrapolate",
        "`--extrapolate` was dropped: no recording passed the gates of its model; `report --full` \
         says by rank how soon a longer run exceeds the maximum",
    ),
];

/// The message of [`DROPPED`] about a command or a flag.
fn dropped(word: &str) -> Option<&'static str> {
    DROPPED.iter().find(|(dropped, _)| *dropped == word).map(|(_, message)| *message)
}

/// The message about an unknown command: the replacement of a dropped command, or `run` for the
/// name of a study or an experiment, else `complaint`.
fn unknown_command(complaint: &str, word: &str) -> String {
    if let Some(message) = dropped(word) {
        return message.to_owned();
    }
    let kind = if study::named(word).is_some() {
        "a study"
    } else if experiments::find(word).is_some() {
        "an experiment"
    } else {
        let commands = Cli::command();
        let names = commands.get_subcommands().filter(|one| !one.is_hide_set());
        let near = units::words::nearest(word, names.map(clap::Command::get_name));
        return if near.is_empty() {
            complaint.to_owned()
        } else {
            format!("unrecognized subcommand '{}'{near}", units::printable(word))
        };
    };
    format!("`{word}` is {kind}: `chronoscope run {word}` runs it")
}

/// Flags of cyclictest that `run` does not have.
const OF_CYCLICTEST: [&str; 26] = [
    "-A",
    "--aligned",
    "--breaktrace",
    "-d",
    "--distance",
    "-H",
    "--histfile",
    "--histofall",
    "--histogram",
    "--json",
    "--latency",
    "-M",
    "-N",
    "-n",
    "--nsecs",
    "--policy",
    "-R",
    "-r",
    "-S",
    "--secaligned",
    "--smp",
    "-s",
    "--tracemark",
    "-u",
    "-v",
    "-x",
];

fn is_of_cyclictest(flag: &str) -> bool {
    let name = flag.split('=').next().unwrap_or_default();
    OF_CYCLICTEST.contains(&name)
}

fn of_cyclictest(flag: &str) -> String {
    format!(
        "`run` has no `{}`: `chronoscope cyclictest` takes cyclictest's whole command line",
        units::printable(flag)
    )
}

/// Rejects cyclictest's `-h400`, which would ask for help.
fn check_histogram(arguments: &[&str]) -> Result<()> {
    let is_number = |text: &str| text.parse::<u64>().is_ok();
    let pairs = arguments.iter().zip(arguments.iter().skip(1).chain([&""]));
    for (argument, next) in pairs {
        let of_flag = argument.strip_prefix("-h").is_some_and(is_number);
        if of_flag || (*argument == "-h" && is_number(next)) {
            bail!("{}", of_cyclictest("-h"));
        }
    }
    Ok(())
}

/// Rejects clusters of short flags: cyclictest's users mean three flags by `-smp`, while the parser
/// would read `-s` and `mp`.
fn check_cluster(argument: &str) -> Result<()> {
    let Some(letters) =
        argument.strip_prefix('-').filter(|rest| rest.len() > 1 && !rest.starts_with('-'))
    else {
        return Ok(());
    };
    if letters.chars().all(|letter| letter.is_ascii_alphabetic()) {
        let apart: Vec<String> = letters.chars().map(|letter| format!("-{letter}")).collect();
        bail!(
            "`{argument}` is a cluster of flags: write them apart ({}), each with its value",
            apart.join(" ")
        );
    }
    Ok(())
}

/// Reads a whole number of a flag.
fn whole(text: &str) -> Result<u64, &'static str> {
    text.parse().map_err(|_| "write a whole number")
}

/// Reads a whole number of at least 1.
fn one_or_more(text: &str) -> Result<u64, &'static str> {
    whole(text).ok().filter(|number| *number > 0).ok_or("write a whole number of at least 1")
}

/// Reads a time of a flag, in µs without a unit.
fn microseconds(text: &str) -> Result<u64, &'static str> {
    let wrong = "write a whole number of µs, or a time with its unit, as 1ms";
    if let Ok(number) = whole(text) {
        return Ok(number);
    }
    let time = units::parse_time(text).map_err(|_| wrong)? / 1e3;
    let is_whole = time.fract() == 0.0 && time < 1e15;
    if is_whole { Ok(time as u64) } else { Err(wrong) }
}

/// Reads a time of a flag that is not 0, in µs without a unit.
fn deadline(text: &str) -> Result<u64, &'static str> {
    let us = microseconds(text).ok().filter(|us| *us > 0);
    us.ok_or("write a whole number of µs of at least 1, or a time with its unit, as 2ms")
}

/// Reduces clap's message to its first sentence and its tip or its list of valid values, if any.
fn one_line(message: &str) -> String {
    let mut lines = message.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut what = lines.next().unwrap_or_default().trim_start_matches("error: ").to_owned();
    if what.ends_with(':') {
        // The missing arguments follow, one per line.
        what = format!("{what} {}", lines.next().unwrap_or_default());
    }
    let mend = lines.find_map(|line| {
        // A tip to pass a flag as a value is never meant.
        let tip = line.strip_prefix("tip: ").filter(|tip| !tip.starts_with("to pass"));
        tip.or_else(|| line.strip_prefix('[')?.strip_suffix(']'))
    });
    format!("{what}; {}", mend.unwrap_or("`chronoscope --help` shows what there is"))
}
