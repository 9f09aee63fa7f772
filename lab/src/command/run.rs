//! `chronoscope run`: cases from a study or from the command line, run, judged, shown.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use chronoscope_suite::experiments;

use super::{beside, on, places, session::Session};
use crate::cli;
use crate::revision::REVISION;
use chronoscope_base::{console, signals, signals::INTERRUPTED};
use chronoscope_engine::{
    case::Case, case::Settings, case::Vary, case::experiment, doctor, fleet, fleet::Number,
    fleet::Plan, fleet::label, journal::Header, journal::PeerForm, runner, runner::RunOptions,
    runner::context, runner::pairs, study, study::Overrides, study::Peer, study::Study,
};
use chronoscope_machine::{
    Machines, host, serial, serial::boards, serial::boards::Holding, vm::kernel,
};
use chronoscope_report::{self as report, Screen, answer::decision, format::JSON};
use chronoscope_run::{Context, Shard, Target, names::COMPILED, names::EVERY_BUILD};
use chronoscope_units::{OneLine, words, words::listed};

pub fn execute(arguments: &cli::Run) -> Result<u8> {
    if arguments.list {
        return list(arguments);
    }
    let stop = signals::watch()?;
    let machines = machines(arguments);
    if let (Some(engine), None) = (&arguments.on, &arguments.part) {
        // A wrong name or label ends here, and not in each job.
        identified(arguments)?;
        let (study, experiments) = study_and_experiments(arguments)?;
        let overrides = overrides(arguments, experiments, None)?;
        let (cases, peers) = chosen_study(study, experiments)?.plan(&machines, &overrides)?;
        let cases: Vec<Case> =
            cases.into_iter().chain(peers.into_iter().map(|peer| peer.case)).collect();
        return on::execute(&machines, arguments, &cases, engine, stop);
    }
    // The places are given back however this function returns.
    let prepared = places::held(&machines, arguments, stop)
        .and_then(|places| Ok((Prepared::new(&machines, arguments, &places, stop)?, places)));
    match prepared {
        // A failure after a signal is an effect of the signal.
        Err(_) if stop.load(Ordering::Relaxed) => {
            console::remark("interrupted: nothing was measured");
            Ok(INTERRUPTED)
        }
        prepared => {
            let (prepared, _places) = prepared?;
            let load = arguments.load.as_deref().filter(|load| !host::LOADS.contains(load));
            beside::run(load, || prepared.measure(&machines, arguments, stop))
        }
    }
}

/// The cases and peers of a run, or of a shard of it.
struct Planned {
    cases: Vec<Case>,
    peers: Vec<Peer>,
    /// A timeline needs the samples beside the trace.
    keep_samples: bool,
    shard: Option<Shard>,
}

impl Planned {
    fn new(
        machines: &Machines,
        arguments: &cli::Run,
        study: &Study,
        overrides: &Overrides,
    ) -> Result<Self> {
        let (cases, peers) = study.plan(machines, overrides)?;
        say_left_alone(arguments, &cases, overrides);
        let keep_samples = arguments.samples || cases.iter().any(is_traced);
        let Some(number) = shard_number(arguments)? else {
            return Ok(Self { cases, peers, keep_samples, shard: None });
        };
        let shard = plan(machines, study, &cases, &peers, keep_samples)?.shard(number);
        Ok(Self {
            cases: fleet::chosen(cases, &shard.cases),
            peers: fleet::chosen(peers, &shard.peers),
            keep_samples,
            shard: Some(shard),
        })
    }
}

/// Prints the remarks of [`left_alone`], unless the command line wants none.
fn say_left_alone(arguments: &cli::Run, cases: &[Case], overrides: &Overrides) {
    if !arguments.output.quiet {
        left_alone(cases, overrides).iter().for_each(|remark| console::remark(remark));
    }
}

/// The remarks on settings that some of several named experiments do not have.
fn left_alone(cases: &[Case], overrides: &Overrides) -> Vec<String> {
    let names = |name: &str, is_set: bool| -> Vec<&str> {
        let of = |experiment: &&String| {
            let mut ours = cases.iter().filter(|case| case.spec.name == **experiment);
            ours.any(|case| case.asked.iter().any(|asked| asked == name)) == is_set
        };
        overrides.experiments.iter().filter(of).map(String::as_str).collect()
    };
    let remark = |name: &String| {
        let (set, without) = (names(name, true), names(name, false));
        (!set.is_empty() && !without.is_empty()).then(|| {
            let have = if without.len() == 1 { "has" } else { "have" };
            format!(
                "`{name}` is set for {}; {} {have} no such parameter here",
                listed(&set, "and"),
                listed(&without, "and")
            )
        })
    };
    overrides.settings.keys().filter_map(remark).collect()
}

fn plan(
    machines: &Machines,
    study: &Study,
    cases: &[Case],
    peers: &[Peer],
    keep_samples: bool,
) -> Result<Plan> {
    let forms: Vec<PeerForm> = peers.iter().map(pairs::form).collect();
    Plan::new(machines, study, cases, peers, &forms, keep_samples)
}

fn shard_number(arguments: &cli::Run) -> Result<Option<Number>> {
    let text = arguments.shard.as_deref();
    text.map(|text| text.parse().with_context(|| format!("`--shard {text}`"))).transpose()
}

/// Prints the plan of the run, with the shard of each case if it is divided.
fn list(arguments: &cli::Run) -> Result<u8> {
    let (study, experiments) = study_and_experiments(arguments)?;
    let overrides = overrides(arguments, experiments, None)?;
    let study = chosen_study(study, experiments)?;
    let machines = machines(arguments);
    let (cases, peers) = study.plan(&machines, &overrides)?;
    say_left_alone(arguments, &cases, &overrides);
    let keep_samples = arguments.samples || cases.iter().any(is_traced);
    let mut plan = plan(&machines, &study, &cases, &peers, keep_samples)?;
    if let Some(Number { of, .. }) = shard_number(arguments)? {
        plan.divide(of);
    }
    let format = arguments.output.format();
    let text = match format {
        _ if format.is_json() => serde_json::to_string_pretty(&plan)? + "\n",
        _ if format.is_table() => {
            let screen = Screen::for_output(arguments.output.output.as_deref(), None);
            super::cases::table(&plan, screen.columns)
        }
        _ => bail!("`--list` is printed as a table, or with --format json"),
    };
    report::emit(&text, arguments.output.output.as_deref())?;
    Ok(0)
}

/// The file that the run is written to, if it is.
fn output_file(arguments: &cli::Run) -> Option<&Path> {
    arguments.part.as_deref().or(arguments.output.output.as_deref())
}

/// The context of a run that starts now, with the name of the machine and the labels.
fn identified(arguments: &cli::Run) -> Result<Context> {
    let context = context::now(REVISION);
    let machine = arguments.machine_name.as_deref().map(label::machine).transpose()?;
    Ok(Context {
        machine: machine.unwrap_or(context.machine),
        labels: label::labels(&arguments.label, |name| env::var(name).ok())?,
        ..context
    })
}

/// A run before its first repetition.
struct Prepared {
    cases: Vec<Case>,
    peers: Vec<Peer>,
    /// The boards among which the cases are spread; empty if each case has one machine. `cases` has
    /// each case on each board then.
    boards: Vec<String>,
    session: Session,
}

impl Prepared {
    /// Plans the run, opens the store, and writes a board's image to its chip.
    ///
    /// # Errors
    /// If the arguments make no run, its results cannot be kept, or `stop` becomes true.
    fn new(
        machines: &Machines,
        arguments: &cli::Run,
        places: &[Holding<'_>],
        stop: &AtomicBool,
    ) -> Result<Self> {
        let (study, experiments) = study_and_experiments(arguments)?;
        let overrides = overrides(arguments, experiments, places.first())?;
        let study = chosen_study(study, experiments)?;
        let planned = Planned::new(machines, arguments, &study, &overrides)?;
        let Planned { cases, peers, keep_samples, shard } = planned;
        let flashed = flashed(arguments, &cases)?;
        let board = board(arguments, &cases)?.map(str::to_owned);
        let boards = places::spread(places, &cases, &peers)?;
        let cases = if boards.is_empty() { cases } else { places::on_each(&cases, &boards) };
        report::check(output_file(arguments))?;
        let quiet = arguments.output.quiet || arguments.part.is_some();
        if quiet {
            console::be_quiet();
        }
        check_own_kernel(
            machines,
            arguments,
            cases.iter().chain(peers.iter().map(|peer| &peer.case)),
        )?;
        tell_programs(&peers);
        let mut all = cases.iter().chain(peers.iter().map(|peer| &peer.case));
        let on_this_machine = all.any(|case| case.target.machine == "host");
        let doctor = if on_this_machine { spoilers() } else { Vec::new() };
        if !quiet {
            doctor.iter().for_each(|finding| console::remark(&format!("doctor: {finding}")));
        }
        let context = Context { doctor, shard, ..identified(arguments)? };
        let header = Header {
            study: study.name,
            notes: study.notes,
            answering: study.answering,
            keep_samples,
            peers: peers.iter().map(|peer| pairs::ready(machines, peer)).collect(),
            ..Header::new(context, vec![study.title], &cases)
        };
        let session = match arguments.part {
            None => Session::open(&arguments.keep, header, quiet)?,
            // The verdict and the store are the merged run's.
            Some(_) => Session::unkept(header),
        };
        if let Some((image, chip)) = flashed {
            serial::flash(&image, chip, stop)?;
        } else if let (Some(image), Some(board), true) =
            (&arguments.flash, &board, boards.is_empty())
        {
            machines.flash_board(board, image, stop)?;
        }
        Ok(Self { cases, peers, boards, session })
    }

    /// Runs everything, and writes and stores the results. Returns the exit status.
    ///
    /// # Errors
    /// If a target does not exist, or the results cannot be written or stored.
    fn measure(self, machines: &Machines, arguments: &cli::Run, stop: &AtomicBool) -> Result<u8> {
        let Self { cases, peers, boards, session } = self;
        let jobs = arguments.jobs.count();
        let count = cases.len() / boards.len().max(1) + peers.len();
        let mut measured = session.measure(|header, progress, journal| {
            if !boards.is_empty() {
                let flash = |board: &str| match &arguments.flash {
                    Some(image) => machines.flash_board(board, image, stop),
                    None => Ok(()),
                };
                let boards = runner::boards::Boards { names: boards, prepare: &flash };
                let keep_samples = header.keep_samples;
                return runner::boards::run(
                    machines,
                    &cases,
                    &boards,
                    keep_samples,
                    progress,
                    stop,
                    journal,
                );
            }
            let options = RunOptions { keep_samples: header.keep_samples, jobs };
            let outcome = runner::run(machines, &cases, options, progress, stop, journal)?;
            let forms = &header.peers;
            Ok(outcome.with_peers(pairs::run(machines, &peers, forms, progress, stop, journal)?))
        })?;
        if let Some(part) = &arguments.part {
            let run = measured.run()?;
            if run.context.interrupted {
                return Ok(INTERRUPTED);
            }
            report::write(run, JSON, Some(part), None)?;
            return Ok(0);
        }
        measured.store_and_write(&arguments.output)?;
        let run = measured.run()?;
        if run.context.interrupted {
            let complete = measured.complete;
            console::remark(&format!("interrupted: {complete} of {count} cases are complete"));
            return Ok(INTERRUPTED);
        }
        Ok(decision::status(run).exit_code())
    }
}

/// The board by name that `--flash` writes to; `None` without that flag, with `--chip`, and in a
/// shard without a case on a board.
///
/// # Errors
/// If the cases run on no such board, or on two.
fn board<'a>(arguments: &cli::Run, cases: &'a [Case]) -> Result<Option<&'a str>> {
    if arguments.flash.is_none() || arguments.chip.is_some() {
        return Ok(None);
    }
    let named = cases.iter().filter_map(|case| case.target.machine.strip_prefix(boards::PREFIX));
    let names: BTreeSet<&str> = named.collect();
    match names.into_iter().collect::<Vec<_>>()[..] {
        [name] => Ok(Some(name)),
        [] if arguments.shard.is_some() => Ok(None),
        [] => bail!("`--flash` needs --chip, or a target KERNEL@board:NAME"),
        [first, second, ..] => bail!("`--flash` is for one board, not for {first} and {second}"),
    }
}

/// The machines of the run, with the kernel of the user's that the command line names.
fn machines(arguments: &cli::Run) -> Machines {
    Machines::with_kernel(kernel_settings(arguments))
}

fn kernel_settings(arguments: &cli::Run) -> kernel::Settings {
    kernel::Settings {
        image: named_kernel(arguments).cloned(),
        packages: arguments.kernel_deb.iter().skip(1).cloned().collect(),
        modules: arguments.kernel_modules.clone(),
        append: arguments.append.clone().unwrap_or_default(),
    }
}

/// The kernel of the user's that an option names.
fn named_kernel(arguments: &cli::Run) -> Option<&PathBuf> {
    arguments.kernel_image.as_ref().or_else(|| arguments.kernel_deb.first())
}

/// Checks the command line's settings for kernels of the user's.
///
/// # Errors
/// If a file cannot be read, or no case runs on such a kernel. A shard may be without such a case.
fn check_own_kernel<'a>(
    machines: &Machines,
    arguments: &cli::Run,
    cases: impl Iterator<Item = &'a Case>,
) -> Result<()> {
    let cli::Run { kernel_modules, append, .. } = arguments;
    let kernel_image = named_kernel(arguments);
    if kernel_image.is_none() && kernel_modules.is_none() && append.is_none() {
        return Ok(());
    }
    let kernels = cases.map(|case| machines.own_kernel(&case.target));
    let kernels: Vec<_> = kernels.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
    let is_used = match kernel_image {
        Some(image) => kernels.iter().any(|kernel| kernel.image == *image),
        None => !kernels.is_empty(),
    };
    if is_used {
        return kernel_settings(arguments).check();
    }
    if arguments.shard.is_some() {
        return Ok(());
    }
    let target = kernel::OWN_TARGETS[0];
    if kernel_image.is_none() {
        bail!(
            "--kernel-modules and --append are for a kernel of your own, and no case runs on one: add \
             --kernel-image FILE --target {target}, or --target linux=FILE@vm"
        );
    }
    if !kernels.is_empty() {
        bail!("`--kernel-image` and the target name two kernels: leave out one of them");
    }
    bail!(
        "`--kernel-image` is the kernel of {target}, and no case runs there: add --target {target}"
    )
}

/// Prints the commands of the study's own programs, even with `--quiet`: they run with the user's
/// rights.
fn tell_programs(peers: &[Peer]) {
    for peer in peers.iter().filter(|peer| !peer.is_known) {
        console::remark(&format!("the study runs the program `{}`", peer.command.join(" ")));
    }
}

/// The causes of doubtful figures on this host that quick checks find.
fn spoilers() -> Vec<OneLine> {
    let findings = doctor::quick().into_iter();
    findings
        .map(|finding| {
            format!("{}: {}: {}: {}", finding.check, finding.seen, finding.why, finding.mend).into()
        })
        .collect()
}

/// Returns whether a case records what its kernel does.
fn is_traced(case: &Case) -> bool {
    case.parameter("trace") == Some("yes")
}

/// The study and the experiments that the command line names. The first word may be a study.
///
/// # Errors
/// If two studies are named, or a word is neither a study nor an experiment.
fn study_and_experiments(arguments: &cli::Run) -> Result<(Option<&Path>, &[String])> {
    let study = arguments.study.as_deref();
    let Some((first, rest)) = arguments.experiments.split_first() else {
        return Ok((study, &[]));
    };
    let is_file = Path::new(first).extension().is_some_and(|extension| extension == "toml");
    if study::named(first).is_some() || is_file {
        if let Some(study) = study {
            bail!("two studies: {first} and {}: name one of them", study.display());
        }
        return Ok((Some(Path::new(first)), rest));
    }
    let experiments = experiments::EXPERIMENTS.iter().map(|spec| spec.name);
    if study.is_none() && experiment(first).is_err() {
        let near = |name: &str| words::distance(first, name);
        let study = study::names().min_by_key(|name| near(name));
        let nearest = experiments.map(near).min().unwrap_or(usize::MAX);
        if let Some(study) = study.filter(|name| near(name) < nearest && near(name) <= 2) {
            bail!("no such experiment: {first}: did you mean the study `{study}`?");
        }
    }
    Ok((study, &arguments.experiments))
}

/// The study that the command line names, by its name or as a file; the experiments, if it names
/// any without a study; else the quick study.
pub(super) fn chosen_study(study: Option<&Path>, experiments: &[String]) -> Result<Study> {
    match study {
        Some(word) => study::find(word),
        None if experiments.is_empty() => study::find(Path::new("quick")),
        None => {
            let entries =
                experiments.iter().map(|name| Ok(study::Entry::with_defaults(experiment(name)?)));
            Ok(Study::from_entries(entries.collect::<Result<_>>()?))
        }
    }
}

fn overrides(
    arguments: &cli::Run,
    experiments: &[String],
    place: Option<&Holding<'_>>,
) -> Result<Overrides> {
    for name in experiments {
        experiment(name)?;
    }
    Ok(Overrides {
        experiments: experiments.to_vec(),
        targets: targets(arguments, place)?,
        images: images(&arguments.image)?,
        settings: settings(arguments)?,
        repeat: arguments.repeat.map(usize::try_from).transpose()?,
        fewest: arguments.output.format().fewest,
        vary: vary(arguments.vary.as_deref())?,
        loops: arguments.loops,
        duration: arguments.duration.as_deref().map(|text| duration("-D", text)).transpose()?,
        watchdog: arguments
            .watchdog
            .as_deref()
            .map(|text| duration("--watchdog", text))
            .transpose()?,
        deadline: arguments.deadline.map(|us| us as f64 * 1e3),
        allow_programs: arguments.allow_programs,
    })
}

/// Returns whether `--chip` names the chip of a board, into which an image is written, and not a chip
/// whose time is modelled.
fn flashes(arguments: &cli::Run) -> bool {
    let on_a_line = |target: &String| target.contains(&format!("@{}", serial::PREFIX));
    arguments.flash.is_some()
        || arguments.machine.is_some()
        || arguments.target.iter().any(on_a_line)
}

/// The image to write into a board's chip, from `--flash` or a board's target, and the chip.
///
/// # Errors
/// A chip without an image, or with several.
fn flashed<'a>(arguments: &'a cli::Run, cases: &[Case]) -> Result<Option<(PathBuf, &'a str)>> {
    let Some(chip) = arguments.chip.as_ref().filter(|_| flashes(arguments)) else {
        return Ok(None);
    };
    let boards = cases.iter().filter(|case| case.target.machine.starts_with(serial::PREFIX));
    let given = boards.filter_map(|case| case.target.image.as_deref());
    let images: BTreeSet<&Path> = arguments.flash.as_deref().into_iter().chain(given).collect();
    match images.into_iter().collect::<Vec<_>>()[..] {
        [image] => Ok(Some((image.to_owned(), chip))),
        [] if arguments.shard.is_some() => Ok(None),
        [] => {
            bail!("`--chip {chip}` without an image: give --flash IMAGE, or NAME=IMAGE@serial:LINE")
        }
        _ => bail!("`--chip {chip}` is one board: give one image"),
    }
}

/// The machine in `--target KERNEL@place`: the board of `--place`.
const PLACE: &str = "place";

/// The targets of `--target`, the board of `--machine`, and the place that is held.
fn targets(arguments: &cli::Run, place: Option<&Holding<'_>>) -> Result<Vec<Target>> {
    let mut targets =
        arguments.target.iter().map(|target| target.parse()).collect::<Result<Vec<Target>, _>>()?;
    if let Some(machine) = &arguments.machine {
        if !machine.starts_with(serial::PREFIX) {
            bail!(
                "`--machine {machine}`: only a serial line is named so, as serial:/dev/ttyUSB0; else --target KERNEL@{machine}"
            );
        }
        targets.push(Target {
            kernel: serial::ANY.to_owned(),
            machine: machine.clone(),
            image: None,
        });
    }
    if let Some(place) = place {
        let board = format!("{}{}", boards::PREFIX, place.name);
        let mut named: Vec<&mut Target> =
            targets.iter_mut().filter(|target| target.machine == PLACE).collect();
        named.iter_mut().for_each(|target| target.machine.clone_from(&board));
        if named.is_empty() {
            targets.push(Target { kernel: serial::ANY.to_owned(), machine: board, image: None });
        }
    }
    let mut names: Vec<String> = targets.iter().map(Target::to_string).collect();
    names.sort();
    let twice = names.windows(2).find(|names| names[0] == names[1]);
    if let Some([name, _]) = twice
        && targets.iter().any(|target| target.image.is_some() && target.to_string() == *name)
    {
        bail!(
            "two targets are called `{name}`: give the image another name, as mine=IMAGE@MACHINE"
        );
    }
    Ok(targets)
}

/// The images of `--image`, by the names of the study's variables.
///
/// # Errors
/// A value is not `NAME=FILE`, or a name is given twice.
fn images(given: &[String]) -> Result<BTreeMap<String, PathBuf>> {
    let mut images = BTreeMap::new();
    for text in given {
        let Some((name, file)) =
            text.split_once('=').filter(|(name, file)| !name.is_empty() && !file.is_empty())
        else {
            bail!(
                "`--image {text}`: write the study's variable and the file, as app=build/app.elf"
            );
        };
        if images.insert(name.to_owned(), PathBuf::from(file)).is_some() {
            bail!("`--image {name}=…` is given twice");
        }
    }
    Ok(images)
}

/// The values of other flags, then of `--set`.
///
/// # Errors
/// A setting is not `NAME=VALUE`, or a parameter is set twice.
pub(super) fn set(given: Vec<(&str, Vec<String>)>, arguments: &[String]) -> Result<Settings> {
    let named = arguments.iter().map(|setting| {
        let named = setting.split_once('=').filter(|(name, _)| !name.is_empty());
        let (name, values) =
            named.with_context(|| format!("`--set {setting}`: write NAME=VALUE"))?;
        Ok((name, values.split(',').map(str::to_owned).collect()))
    });
    let mut settings = Settings::new();
    for (name, values) in given.into_iter().map(Ok).chain(named).collect::<Result<Vec<_>>>()? {
        if settings.insert(name.to_owned(), values).is_some() {
            bail!(
                "`{name}` is set twice: give all its values at once, as --set {name}=VALUE,VALUE"
            );
        }
    }
    Ok(settings)
}

/// The value of the parameter `chip`: the name, with the rate of the clock if one is given.
pub(super) fn chip(name: &str, clock: Option<&str>) -> String {
    clock.map_or_else(|| name.to_owned(), |clock| format!("{name}:{clock}"))
}

fn settings(arguments: &cli::Run) -> Result<Settings> {
    let number = |value: Option<u64>| value.map(|value| value.to_string());
    let chip = arguments.chip.as_ref().map(|name| chip(name, arguments.clock.as_deref()));
    let flags = [
        ("priority", number(arguments.priority)),
        ("interval_us", number(arguments.interval)),
        ("cpu", arguments.affinity.clone()),
        ("tasks", number(arguments.tasks)),
        ("mlock", arguments.mlock.then(|| "yes".to_owned())),
        ("load", arguments.load.clone().filter(|load| host::LOADS.contains(&&**load))),
        ("chip", chip.filter(|_| !flashes(arguments))),
        (COMPILED, arguments.builds.then(|| EVERY_BUILD.to_owned())),
    ];
    let given = flags.into_iter().filter_map(|(name, value)| Some((name, vec![value?])));
    set(given.collect(), &arguments.set)
}

/// The start states of `--vary`.
pub(super) fn vary(text: Option<&str>) -> Result<Option<Vary>> {
    text.map(str::parse).transpose().context("`--vary`")
}

/// Parses a duration as cyclictest takes it: `90`, `90s`, `5m`, `1h`, `2d`.
pub(super) fn duration(flag: &str, text: &str) -> Result<Duration> {
    let (number, scale) = match text.as_bytes().last() {
        Some(b's') => (&text[..text.len() - 1], 1),
        Some(b'm') => (&text[..text.len() - 1], 60),
        Some(b'h') => (&text[..text.len() - 1], 3600),
        Some(b'd') => (&text[..text.len() - 1], 86400),
        _ => (text, 1),
    };
    match number.parse::<u64>() {
        Ok(number) if (1..=365 * 86400 / scale).contains(&number) => {
            Ok(Duration::from_secs(number * scale))
        }
        _ => bail!("`{flag} {text}`: write a number and s, m, h or d, up to a year"),
    }
}
