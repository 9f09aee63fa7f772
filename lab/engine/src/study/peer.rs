//! Peers: well-known tools that measure the same quantity as an experiment, run in pairs with one
//! of its cases. In this module, `ours` is Chronoscope's case and `theirs` the peer's tool.
//!
//! A study's `[[peer]]` names a known tool, its settings, and the case. The lab knows the tool's
//! command and parses its output. A study may also contain the command of another program, which
//! runs only with `--allow-programs`.
//!
//! The order alternates from pair to pair, so that drift of the machine affects both sides alike.
//! Each side of a pair is a fresh process. Placeholders in a command, such as `{loops}` or
//! `{loops/2}`, are the case's own parameters: both sides run with the same priority, on the same
//! processor, equally long.
//!
//! Both sides run on this computer, or in a Linux guest, which is given the host's program
//! (`docs/machines/vm.md`).
//!
//! For each statistic that the study names, every pair gives a ratio, ours to theirs. The median of
//! the ratios is judged: a pass if it lies within the tolerance of 1, else a limit missed. A
//! statistic without a tolerance is shown, not judged; one with only one side is shown without a
//! ratio.

use anyhow::{Context, Result, anyhow, bail};
use serde::{Deserialize, Deserializer};

use super::{Entry as CaseEntry, Overrides, Study, linux_here};
use crate::{case, case::Case, case::Vary, peer::Format, peer::STDOUT, peer::TOOLS, peer::Tool};
use chronoscope_base::{toml_text::word, toml_text::words};
use chronoscope_machine::{Machines, host::processors};
use chronoscope_run::Target;
use chronoscope_units::{OneLine, Text, words::nearest};

/// A peer as a study writes it: a known tool with its settings, or a program of the study's own,
/// which runs only where the command line permits it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Entry {
    name: OneLine,
    /// A known tool; with `command`, the program that must be installed where it is not the
    /// command's first word.
    tool: Option<String>,
    /// The settings of a known tool.
    #[serde(default)]
    settings: toml::Table,
    /// The words of a program's command, with placeholders; no shell reads them.
    command: Option<Vec<String>>,
    /// Further programs of this computer that a program starts: a guest gets them too.
    #[serde(default)]
    starts: Vec<String>,
    /// The Debian package of a program.
    package: Option<String>,
    /// The format of a program's output.
    reads: Option<Format>,
    /// The experiment of Chronoscope's case.
    experiment: String,
    /// The targets that both sides run on: this computer, or Linux guests.
    #[serde(default = "linux_here", deserialize_with = "words")]
    target: Vec<String>,
    #[serde(default)]
    set: toml::Table,
    /// The number of pairs; the study's `repeat` if `None`.
    pairs: Option<usize>,
    beside: Vec<StatisticPair>,
    /// How the two sides differ, and how to read the ratio.
    #[serde(default)]
    note: String,
}

/// A peer's tool and command, before the command's placeholders are filled.
struct Start {
    tool: String,
    package: String,
    format: Format,
    words: Vec<String>,
    starts: Vec<String>,
    settings: Vec<(&'static str, String)>,
    is_known: bool,
}

/// A statistic of Chronoscope's case and the tool's statistic for the same quantity.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct StatisticPair {
    /// The statistic of Chronoscope's case, named as in a limit.
    pub ours: Option<String>,
    /// The case's series: the first of these that it has.
    #[serde(default, deserialize_with = "words")]
    pub series: Vec<String>,
    /// The row is one for each processor of the case: `{cpu}` in `series` is its number.
    pub each: Option<Each>,
    /// The processor of such a row.
    #[serde(skip)]
    pub cpu: Option<usize>,
    /// The tool's statistic, as the format names it.
    pub theirs: Option<String>,
    /// The factor for the tool's value: 0.5 if an operation of the tool is two of Chronoscope's.
    #[serde(default = "one")]
    pub scale: f64,
    /// The tolerance of the median ratio around 1, as a fraction; written as `10 %`.
    #[serde(default, deserialize_with = "tolerance")]
    pub within: Option<f64>,
}

/// The list that a row of a study is repeated over.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Each {
    /// The processors of the case.
    Cpu,
}

impl StatisticPair {
    /// The rows that this row of a study stands for.
    ///
    /// # Errors
    /// The row is one for each processor, and the case leaves the choice to the scheduler.
    fn rows(&self, case: &Case) -> Result<Vec<Self>> {
        if self.each.is_none() {
            return Ok(vec![self.clone()]);
        }
        let processors = case.parameter("cpu").and_then(processors);
        let processors = processors.context("`each = \"cpu\"`: the case names no processors")?;
        let row = |cpu: usize| {
            let own = |name: &String| name.replace("{cpu}", &cpu.to_string());
            Self { cpu: Some(cpu), series: self.series.iter().map(own).collect(), ..self.clone() }
        };
        Ok(processors.into_iter().map(row).collect())
    }
}

fn one() -> f64 {
    1.0
}

fn tolerance<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    match percent {
        Some(percent) if percent.is_finite() && percent > 0.0 => Ok(Some(percent / 100.0)),
        _ => Err(serde::de::Error::custom(format!(
            "`{text}` is not a tolerance: write a number and %, as `10 %`"
        ))),
    }
}

/// A tool and the case that it is run in pairs with.
#[derive(Clone)]
pub struct Peer {
    /// The tool's name in the report.
    pub name: OneLine,
    /// The program that must be installed.
    pub tool: String,
    /// The Debian package of the program.
    pub package: String,
    /// The command, with its placeholders filled; never empty.
    pub command: Vec<String>,
    /// Further programs that the command starts.
    pub starts: Vec<String>,
    /// The command is a known tool's, not a program's of the study's own.
    pub is_known: bool,
    /// The format of the program's output.
    pub format: Format,
    /// Chronoscope's case, whose number of repetitions is the number of pairs.
    pub case: Case,
    /// The statistics that are compared or shown.
    pub beside: Vec<StatisticPair>,
    /// The study's note on the comparison; may be empty.
    pub note: Text,
}

impl Entry {
    /// The name of the experiment of Chronoscope's case.
    pub fn experiment(&self) -> &str {
        &self.experiment
    }

    /// The peers of all targets and all combinations of the settings' values.
    ///
    /// # Errors
    /// An unknown name or value, with the nearest valid one.
    pub fn peers(
        &self,
        machines: &Machines,
        study: &Study,
        overrides: &Overrides,
    ) -> Result<Vec<Peer>> {
        let mut targets =
            self.target.iter().map(|target| target.parse()).collect::<Result<Vec<Target>, _>>()?;
        targets.iter().try_for_each(super::no_image)?;
        if let Some(other) =
            targets.iter().find(|target| !["host", "vm"].contains(&target.machine.as_str()))
        {
            bail!(
                "`{}` cannot run on {other}: peers run on linux@host and on the machine vm",
                self.name
            );
        }
        targets.retain(|target| overrides.targets.is_empty() || overrides.targets.contains(target));
        if targets.is_empty() {
            return Ok(Vec::new());
        }
        // A tool has one start, so Chronoscope's side has no other.
        let overrides = Overrides { targets, vary: None, ..overrides.clone() };
        let mut ours = CaseEntry::with_defaults(case::experiment(&self.experiment)?);
        ours.set = self.set.clone();
        ours.repeat = self.pairs;
        ours.vary = Some(Vary::default());
        let start = self.start(overrides.allow_programs)?;
        self.check(start.format)?;
        let cases = ours.cases(machines, study, &overrides)?;
        cases.into_iter().map(|case| self.peer(&start, case)).collect()
    }

    /// The tool and command of the peer.
    ///
    /// # Errors
    /// If the tool is unknown or a setting of it is wrong; or if the peer is a program and programs
    /// are not allowed.
    fn start(&self, allow_programs: bool) -> Result<Start> {
        let Some(command) = &self.command else { return self.start_tool() };
        if !allow_programs {
            bail!(
                "`{}` runs the program `{}`: a study runs known tools only ({}); read it, and permit \
                 its programs with --allow-programs",
                self.name,
                command.join(" "),
                TOOLS.iter().map(|tool| tool.name).collect::<Vec<_>>().join(", ")
            );
        }
        let program = command.first().with_context(|| format!("`{}` has no command", self.name))?;
        let needs = |key: &str| format!("`{}` runs a program, so it needs `{key}`", self.name);
        if !self.settings.is_empty() {
            bail!("`{}` runs a program: `settings` are those of a known tool", self.name);
        }
        Ok(Start {
            tool: self.tool.as_ref().unwrap_or(program).clone(),
            package: self.package.clone().with_context(|| needs("package"))?,
            format: self.reads.with_context(|| needs("reads"))?,
            words: command.clone(),
            starts: self.starts.clone(),
            settings: Vec::new(),
            is_known: false,
        })
    }

    fn start_tool(&self) -> Result<Start> {
        let name = self.tool.as_deref();
        let tool = Tool::find(name.with_context(|| format!("`{}` names no `tool`", self.name))?)?;
        if self.package.is_some() || self.reads.is_some() || !self.starts.is_empty() {
            bail!(
                "`{}`: {} has its own package, format and programs: leave out `package`, `reads` and `starts`",
                self.name,
                tool.name
            );
        }
        let given = self.settings.iter().map(|(name, value)| (name.clone(), word(value)));
        Ok(Start {
            tool: tool.program.to_owned(),
            package: tool.package.to_owned(),
            format: tool.format,
            words: tool.words().into_iter().map(str::to_owned).collect(),
            starts: Vec::new(),
            settings: tool.settings(&given.collect::<Vec<_>>())?,
            is_known: true,
        })
    }

    fn check(&self, format: Format) -> Result<()> {
        if self.beside.is_empty() {
            bail!("`{}` stands beside nothing", self.name);
        }
        for theirs in self.beside.iter().filter_map(|beside| beside.theirs.as_deref()) {
            let known = format.statistics();
            if !known.contains(&theirs) {
                let near = nearest(theirs, known.iter().copied());
                bail!(
                    "`{}` has no statistic `{theirs}`{near}; it has {}",
                    self.name,
                    known.join(", ")
                );
            }
        }
        Ok(())
    }

    fn peer(&self, start: &Start, case: Case) -> Result<Peer> {
        let words = start.words.iter();
        let command = words.map(|word| fill(word, start, &case)).collect::<Result<_>>()?;
        let beside = self.beside.iter().map(|beside| beside.rows(&case));
        let beside = beside.collect::<Result<Vec<_>>>()?.concat();
        Ok(Peer {
            name: self.name.clone(),
            tool: start.tool.clone(),
            package: start.package.clone(),
            command,
            starts: start.starts.clone(),
            is_known: start.is_known,
            format: start.format,
            case,
            beside,
            note: self.note.clone().into(),
        })
    }
}

/// A word of a command with its placeholders filled: `{cpu}`, `{loops/2}`.
fn fill(word: &str, start: &Start, case: &Case) -> Result<String> {
    let mut filled = String::new();
    let mut rest = word;
    while let Some((before, after)) = rest.split_once('{') {
        let (inside, after) =
            after.split_once('}').with_context(|| format!("`{word}`: a `{{` without its `}}`"))?;
        filled += before;
        filled += &value(inside, start, case).with_context(|| format!("`{word}`"))?;
        rest = after;
    }
    Ok(filled + rest)
}

fn value(placeholder: &str, start: &Start, case: &Case) -> Result<String> {
    if start.is_known && placeholder == STDOUT {
        // A guest has no /dev/stdout.
        let is_guest = case.target.machine == "vm";
        return Ok(if is_guest { "/proc/self/fd/1" } else { "/dev/stdout" }.to_owned());
    }
    if let Some((_, value)) = start.settings.iter().find(|(name, _)| *name == placeholder) {
        return Ok(value.clone());
    }
    let (name, divisor) = placeholder.split_once('/').unwrap_or((placeholder, "1"));
    let value = case.parameter(name).ok_or_else(|| {
        let names = case.parameters.iter().map(|(name, _)| name.as_str());
        anyhow!("`{}` has no parameter `{name}`{}", case.spec.name, nearest(name, names))
    })?;
    match (divisor.parse::<u64>(), value.parse::<u64>()) {
        (Ok(1), _) => Ok(value.to_owned()),
        (Ok(divisor), Ok(number)) if divisor > 0 => Ok((number / divisor).max(1).to_string()),
        _ => bail!("`{{{placeholder}}}` does not divide a number by a number"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STUDY: &str = r#"
        name = "one"
        title = "One peer."
        [[peer]]
        name = "pipe"
        package = "linux-perf"
        command = ["chrt", "-f", "{priority}", "perf", "-l", "{loops/2}", "--cpu={cpu}"]
        reads = "perf-bench-pipe"
        experiment = "switch"
        set = { primitive = "pipe", loops = 1000, cpu = 0 }
        pairs = 7
        beside = [{ ours = "mean", theirs = "operation", scale = 0.5, within = "5 %" }]
    "#;

    fn peers(text: &str) -> Result<Vec<Peer>> {
        let overrides = Overrides { allow_programs: true, ..Overrides::default() };
        Ok(super::super::parse(text)?.plan(&Machines::default(), &overrides)?.1)
    }

    #[test]
    fn a_peer_runs_as_its_case_does() {
        let peers = peers(STUDY).unwrap();
        assert_eq!(peers[0].command.join(" "), "chrt -f 80 perf -l 500 --cpu=0");
        assert_eq!(peers[0].case.repeat, 7);
        assert_eq!(peers[0].beside[0].within, Some(0.05));
    }

    /// The commands of a study's peers, on processor 3.
    fn commands(study: &str) -> Vec<String> {
        let settings = [("cpu".to_owned(), vec!["3".to_owned()])].into();
        let overrides = Overrides { settings, ..Overrides::default() };
        let (_, peers) =
            super::super::parse(study).unwrap().plan(&Machines::default(), &overrides).unwrap();
        peers.iter().map(|peer| peer.command.join(" ")).collect()
    }

    #[test]
    fn a_row_for_each_processor_names_them() {
        let study = STUDY
            .replace("cpu = 0", "cpu = \"0+2\"")
            .replace("ours = \"mean\"", "each = \"cpu\", series = \"cpu {cpu}\", ours = \"mean\"");
        let rows: Vec<_> = peers(&study).unwrap()[0]
            .beside
            .iter()
            .map(|row| (row.cpu, row.series.clone()))
            .collect();
        let row = |cpu: usize| (Some(cpu), vec![format!("cpu {cpu}")]);
        assert_eq!(rows, [row(0), row(2)]);
        let error = peers(&study.replace("0+2", "free")).err().unwrap();
        assert!(format!("{error:#}").contains("names no processors"), "{error:#}");
    }

    #[test]
    fn the_studies_of_peers_run_these_commands() {
        let expected = [
            "cyclictest --quiet --default-system --mlockall --policy=fifo --priority=80 \
             --affinity=3 --threads=1 --interval=1000 --loops=250 --nsecs --histogram=1000000 \
             --histfile=/dev/null --json=/dev/stdout",
            "cyclictest --quiet --default-system --mlockall --policy=fifo --priority=80 --smp \
             --distance=0 --interval=1000 --loops=500 --nsecs --histogram=1000000 \
             --histfile=/dev/null --json=/dev/stdout",
            "cyclicdeadline --quiet --threads=1 --interval=5000 --duration=1 --json=/dev/stdout",
            "oslat --quiet --zero-omit --rtprio=80 --cpu-list=3 --cpu-main-thread=3 --duration=1 \
             --json=/dev/stdout",
            "chrt --fifo 80 taskset --cpu-list 3 perf bench sched pipe --loop 40000",
            "chrt --fifo 80 taskset --cpu-list 3 perf bench sched pipe --threaded --loop 40000",
            "ptsematest --quiet --affinity=3 --prio=80 --interval=1 --loops=10000 \
             --json=/dev/stdout",
            "sigwaittest --quiet --affinity=3 --prio=80 --interval=1 --loops=10000 \
             --json=/dev/stdout",
            "chrt --fifo 80 taskset --cpu-list 3 hackbench --threads --pipe --groups 1 --fds 1 \
             --datasize 4 --loops 100000",
            "pi_stress --quiet --mlockall --groups=1 --inversions=2000",
        ];
        assert_eq!(commands(include_str!("../../../../studies/peers.toml")), expected);
        let guest = "cyclictest --quiet --default-system --mlockall --policy=fifo --priority=80 \
                     --affinity=3 --threads=1 --interval=1000 --loops=2000 --nsecs \
                     --histogram=3000000 --histfile=/dev/null --json=/proc/self/fd/1";
        let timerlat = "rtla timerlat hist --nano --cpus=3 --period=1000 --priority=f:80 \
                        --duration=1s --entries=100000";
        let expected = [guest, guest, guest, guest, timerlat];
        assert_eq!(commands(include_str!("../../../../studies/vm-peers.toml")), expected);
    }

    #[test]
    fn a_program_is_not_a_tool() {
        for (settings, why) in [
            ("tool = \"sh\"", "there is no tool `sh`"),
            ("tool = \"/bin/sh\"", "there is no tool `/bin/sh`"),
            ("settings = { groups = \"1 -h\" }\ntool = \"hackbench\"", "a whole number from 1"),
            ("settings = { group = 1 }\ntool = \"hackbench\"", "did you mean `groups`?"),
            ("tool = \"hackbench\"\npackage = \"evil\"", "leave out `package`"),
            ("", "names no `tool`"),
            ("command = [\"perf\"]\npackage = \"p\"", "so it needs `reads`"),
            ("command = []\npackage = \"p\"", "has no command"),
        ] {
            let study = format!(
                "name = 'x'\ntitle = ''\n[[peer]]\nname = 'p'\nexperiment = 'switch'\nbeside = []\n{settings}"
            );
            let error = peers(&study).err().unwrap();
            assert!(format!("{error:#}").contains(why), "{error:#}");
        }
    }

    #[test]
    fn mistakes_are_told_with_the_nearest_name() {
        for (right, wrong, told) in [
            ("{loops/2}", "{lops}", "did you mean `loops`?"),
            ("{loops/2}", "{loops/0}", "does not divide"),
            ("{loops/2}", "{loops", "without its `}`"),
            ("theirs = \"operation\"", "theirs = \"operations\"", "did you mean `operation`?"),
            ("5 %", "5", "is not a tolerance"),
            ("perf-bench-pipe", "lmbench", "unknown variant"),
            ("experiment = \"switch\"", "experiment = \"swich\"", "did you mean `switch`?"),
        ] {
            let error = peers(&STUDY.replace(right, wrong)).err().unwrap();
            assert!(format!("{error:#}").contains(told), "{error:#}");
        }
    }
}
