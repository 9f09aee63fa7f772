//! The table of steps.

use std::{collections::BTreeMap, env, fs, path::PathBuf};

use anyhow::Result;

use super::{
    Stage,
    chip::{CHIPS, Chip},
};
use crate::{
    images,
    repository::{root, target},
};

/// The occasions of `tools/packages.txt` that the tests need at once. The rest comes when a step
/// needs it.
pub const PACKAGES: [&str; 11] = [
    "test",
    "vm",
    "vm-arm64",
    "aarch64-linux-gnu-gcc",
    "qemu-system-arm",
    "qemu-system-riscv32",
    "qemu-system-riscv64",
    "arm-none-eabi-gcc",
    "riscv64-unknown-elf-gcc",
    "bench",
    "pip",
];

/// A check: commands that run one after the other, in a process group of their own.
pub struct Step {
    pub name: String,
    pub stage: Stage,
    /// The step begins when all steps whose names begin with one of these have passed.
    pub after: Vec<&'static str>,
    /// The build folder that cargo locks meanwhile; steps with the same folder run one at a time.
    pub lock: &'static str,
    /// The number of cores the step keeps busy.
    pub cores: usize,
    pub folder: PathBuf,
    pub commands: Vec<Vec<String>>,
    pub environment: BTreeMap<&'static str, String>,
}

impl Step {
    fn new(stage: Stage, name: impl Into<String>, command: &[&str]) -> Self {
        Self {
            name: name.into(),
            stage,
            after: Vec::new(),
            lock: "",
            cores: 1,
            folder: root().to_owned(),
            commands: vec![words(command)],
            environment: BTreeMap::new(),
        }
    }

    fn then(mut self, command: &[&str]) -> Self {
        self.commands.push(words(command));
        self
    }

    fn after(mut self, names: &[&'static str]) -> Self {
        self.after.extend(names);
        self
    }

    fn lock(mut self, folder: &'static str) -> Self {
        self.lock = folder;
        self
    }

    fn cores(mut self, cores: usize) -> Self {
        self.cores = cores;
        self
    }

    fn within(mut self, folder: &str) -> Self {
        self.folder = root().join(folder);
        self
    }
}

fn words(command: &[&str]) -> Vec<String> {
    command.iter().map(|word| (*word).to_owned()).collect()
}

/// Returns all steps; `filters` go to every `cargo test`. Of steps that are ready, the earlier row
/// runs first.
///
/// # Errors
/// The table of images cannot be read, or the build folder cannot be created.
pub fn steps(filters: &[String]) -> Result<Vec<Step>> {
    let xtask = env::current_exe()?.display().to_string();
    let mut steps = quick(&xtask, filters);
    steps.extend(preparations(&xtask));
    steps.extend(bench(&xtask, filters));
    steps.extend(firmware(&xtask)?);
    steps.extend(tandem(&xtask));
    steps.extend(tests(filters)?);
    steps.extend(studies(&xtask)?);
    // Nobody waits for the rest where the quick checks fail; packages are fetched meanwhile.
    let rest = steps.iter_mut().filter(|step| step.stage > Stage::Quick && step.name != "packages");
    rest.for_each(|step| step.after.push("quick"));
    Ok(steps)
}

/// `cargo test` of the whole workspace, which no selection of packages makes compile anew.
fn cargo_test<'a>(targets: &[&'a str], filters: &'a [String]) -> Vec<&'a str> {
    let head = ["cargo", "test", "--workspace", "--locked", "--no-fail-fast"];
    let filters = filters.iter().map(String::as_str);
    head.into_iter().chain(targets.iter().copied()).chain(filters).collect()
}

fn quick(xtask: &str, filters: &[String]) -> Vec<Step> {
    let clippy = ["cargo", "clippy", "--workspace", "--all-targets", "--locked"];
    let clippy = [&clippy[..], &["--", "-D", "warnings"]].concat();
    let programs = ["quick", "usage", "packages", "misuse", "additions"];
    let programs = programs.iter().flat_map(|name| ["--test", name]);
    let targets: Vec<&str> = ["--lib", "--bins"].into_iter().chain(programs).collect();
    let tests = cargo_test(&targets, filters);
    let format =
        |name, folder| Step::new(Stage::Quick, name, &["cargo", "fmt", "--check"]).within(folder);
    vec![
        format("quick: format", "."),
        format("quick: format of firmware", "ports/firmware"),
        format("quick: format of the bench board", "bench"),
        format("quick: format of the decoder of logs", "tandem/examples/decode"),
        Step::new(Stage::Quick, "quick: clippy", &clippy).lock("dev").cores(2),
        Step::new(Stage::Quick, "quick: index of images", &[xtask, "images"]),
        Step::new(Stage::Quick, "quick: tests", &tests)
            .after(&["quick: index"])
            .lock("dev")
            .cores(2),
    ]
}

/// The packages, SciPy's figures, and the program that users have.
fn preparations(xtask: &str) -> Vec<Step> {
    vec![
        Step::new(Stage::Full, "packages", &[xtask, "step", "packages"]),
        Step::new(Stage::Full, "program", &["./chronoscope", "--help"]).lock("release"),
        Step::new(Stage::Full, "SciPy's figures", &[xtask, "step", "scipy"]).after(&["packages"]),
        Step::new(Stage::Full, "labgrid", &[xtask, "step", "labgrid"]).after(&["packages"]),
    ]
}

fn bench(xtask: &str, filters: &[String]) -> Vec<Step> {
    let filters: Vec<&str> = filters.iter().map(String::as_str).collect();
    let clippy = [xtask, "bench", "ibex", "clippy", "--all-targets", "--", "-D", "warnings"];
    let boards =
        [("ibex", "bench ibex"), ("ibex-wb", "bench ibex-wb"), ("cv32e40p", "bench cv32e40p")];
    let board = |(core, lock)| {
        let test = [&[xtask, "bench", core, "test", "--no-fail-fast"], &filters[..]].concat();
        Step::new(Stage::Full, format!("bench board, {core}"), &test)
            .after(&["packages"])
            .lock(lock)
    };
    let lint = Step::new(Stage::Full, "clippy of the bench board", &clippy);
    // CVA6 runs images of 64 bits alone, which the tests of the chips have.
    let cva6 = Step::new(Stage::Full, "bench board, cva6", &[xtask, "bench", "cva6", "build"]);
    let rest = [
        lint.after(&["packages"]).lock("bench ibex"),
        cva6.after(&["packages"]).lock("bench cva6"),
    ];
    boards.map(board).into_iter().chain(rest).collect()
}

fn firmware(xtask: &str) -> Result<Vec<Step>> {
    let mut steps = Vec::new();
    let mut add = |name: String, commands: [&[&str]; 2]| {
        let mut step =
            Step::new(Stage::Full, name, commands[0]).after(&["packages"]).lock("firmware");
        if !commands[1].is_empty() {
            step = step.then(commands[1]);
        }
        steps.push(step);
    };
    for &Chip { triple: chip, .. } in CHIPS.iter().filter(|chip| chip.is_main) {
        let cargo = |command| [xtask, "firmware", chip, command, "--locked", "--package"];
        let deny = ["--", "-D", "warnings"];
        let suite = [&cargo("build")[..], &["chronoscope-suite", "--release"]].concat();
        add(format!("firmware: suite for {chip}"), [&suite, &[]]);
        for (variant, features) in [("uart", "board/uart"), ("pins", "pins")] {
            let bare = ["chronoscope-bare", "--profile", variant, "--features", features];
            let lint = [&cargo("clippy")[..], &bare, &deny].concat();
            add(format!("firmware: clippy with {variant} for {chip}"), [&lint, &[]]);
        }
        // One package at a time, as the lab builds them: features that one port leaves out of the
        // chip's crate must not come in by another.
        for package in images::packages(chip)? {
            let release = [package.as_str(), "--release"];
            let lint = [&cargo("clippy")[..], &release, &deny].concat();
            let build = [&cargo("build")[..], &release].concat();
            add(format!("firmware: {package} for {chip}"), [&lint, &build]);
        }
    }
    steps.extend(other_machines(xtask)?);
    let library = [xtask, "firmware", "thumbv7em-none-eabihf", "clippy", "--locked", "--release"];
    let lint = ["--package", "chronoscope-c-library", "--", "-D", "warnings"];
    let kit = Step::new(Stage::Full, "kernels in C: kit", &[&library[..], &lint].concat());
    let mut kit = kit.then(&[xtask, "step", "kit"]).then(&[xtask, "step", "bring-up"]);
    let labgrid = target()?.join("labgrid/bin").display().to_string();
    kit.environment.insert("CHRONOSCOPE_TEST_LABGRID", labgrid);
    steps.push(kit.after(&["packages", "program", "labgrid", "test programs"]).lock("firmware"));
    let plugin = ["plugin", "clippy", "--release", "--locked", "--", "-D", "warnings"];
    let plugin =
        Step::new(Stage::Full, "firmware: QEMU's plugin", &[&[xtask], &plugin[..]].concat())
            .then(&[xtask, "plugin", "build", "--release", "--locked"]);
    steps.push(plugin.lock("plugin"));
    Ok(steps)
}

/// The machines of chips that are no main ones: their ports' lints, and some experiments on each.
fn other_machines(xtask: &str) -> Result<Vec<Step>> {
    const RUN: [&str; 8] =
        ["./chronoscope", "run", "switch", "wakeup", "interrupt", "message", "delay", "period"];
    const TARGETS: [&str; 6] = [
        "--repeat",
        "2",
        "--no-store",
        "-q",
        "--target",
        "tandem@cortex-m0,tandem@cortex-m3,tandem@cortex-m33",
    ];
    let mut steps = Vec::new();
    let is_main = |triple| CHIPS.iter().any(|chip| chip.is_main && chip.triple == triple);
    for &Chip { triple, .. } in CHIPS.iter().filter(|chip| !is_main(chip.triple)) {
        for package in images::packages(triple)? {
            let clippy = [xtask, "firmware", triple, "clippy", "--locked", "--release"];
            let lint = [&clippy[..], &["--package", &package, "--", "-D", "warnings"]].concat();
            let name = format!("clippy of {package} for {triple}");
            steps.push(Step::new(Stage::Long, name, &lint).after(&["packages"]).lock("firmware"));
        }
    }
    let run = [&RUN[..], &TARGETS].concat();
    let run = Step::new(Stage::Long, "machines of other chips", &run);
    steps.push(run.after(&["program", "packages"]).lock("firmware"));
    Ok(steps)
}

/// tandem's own images, by profile and name, and the message with which an image must fail.
const IMAGES: [(&str, &[&str]); 16] = [
    ("checked/hello", &[]),
    ("checked/faults", &[]),
    ("checked/unborn", &[]),
    ("checked/registers", &[]),
    ("checked/inheritance", &[]),
    ("checked/windows", &[]),
    ("checked/traced", &[]),
    ("checked/slices", &[]),
    ("checked/services", &[]),
    ("checked/control", &[]),
    ("checked/usage", &[]),
    ("checked/embassy_users", &[]),
    ("checked/checks", &["fails with", "stack overflow in task deep"]),
    (
        "checked/handler_overflow",
        &["fails with", "stack overflow of a handler in task interrupted"],
    ),
    ("checked/stray", &["fails with", "has no handler: it interrupted task interrupted"]),
    ("checked/masked_poll", &["fails with", "task masking: a poll has returned with interrupts"]),
];

/// The images that check the switch, the guards and the rules of every chip in the full test.
const HARD: [&str; 8] = [
    "checked/faults",
    "checked/unborn",
    "checked/registers",
    "checked/inheritance",
    "checked/checks",
    "checked/handler_overflow",
    "checked/stray",
    "checked/masked_poll",
];

/// The features of each build: an image has those it asks for, and no build renews another's. The
/// emulated RV32 has supervisor mode, and so may know the PMP by heart: `fence`.
const BUILDS: [(&str, &[&str]); 5] = [
    ("fence,count", &[]),
    ("fence,count,trace", &["--bin", "traced"]),
    ("fence,time-slice", &["--bin", "slices"]),
    ("fence,processor-time", &["--bin", "usage"]),
    ("fence,count,embassy", &["--bin", "embassy_users"]),
];

/// The sets of features that clippy reads.
const LINTED: [&str; 4] = ["", "count,fence,embassy", "processor-time", "time-slice"];

/// The features of tandem that its tests on the host need.
const TESTED: &str = "embassy-time,embedded-hal";

/// Packs tandem as for the registry, and builds the package. (The long test packs all crates.)
const PUBLISH: [&str; 7] =
    ["cargo", "publish", "--package", "tandem", "--dry-run", "--locked", "--allow-dirty"];

/// A package of tandem's examples.
struct Examples {
    package: &'static str,
    triple: &'static str,
    /// The arguments of each run of clippy.
    lints: &'static [&'static [&'static str]],
    names: &'static [&'static str],
}

const EXAMPLES: [Examples; 3] = [
    Examples {
        package: "tandem-stm32f4",
        triple: "thumbv7em-none-eabihf",
        lints: &[
            &["--features", "qemu"],
            &["--features", "qemu,embassy,defmt", "--bin", "embassy", "--bin", "log"],
            &["--features", "qemu,usage", "--bin", "usage"],
        ],
        names: &["blinky", "readme", "guide", "rs485", "sensor", "embassy", "log", "usage"],
    },
    Examples {
        package: "tandem-nrf52",
        triple: "thumbv6m-none-eabi",
        lints: &[&[]],
        names: &["nrf52", "microbit"],
    },
    Examples {
        package: "tandem-rp2040",
        triple: "thumbv6m-none-eabi",
        lints: &[&[]],
        names: &["rp2040"],
    },
];

fn tandem(xtask: &str) -> Vec<Step> {
    let test = ["cargo", "test", "--locked", "--package", "tandem", "--features", TESTED];
    let mut steps = vec![
        Step::new(Stage::Full, "tandem: tests", &test).lock("dev"),
        Step::new(Stage::Full, "tandem: Miri", &[xtask, "step", "miri"]).lock("miri"),
        Step::new(Stage::Full, "tandem: publishable", &PUBLISH).lock("dev"),
    ];
    CHIPS.iter().for_each(|chip| steps.extend(tandem_on(chip, xtask)));
    steps.push(exempt_interrupts(xtask));
    steps.push(large_frames(xtask));
    let c = Step::new(Stage::Full, "tandem: examples in C", &[xtask, "step", "c"]);
    steps.push(c.after(&["packages"]).lock("firmware"));
    for Examples { package, triple, lints, names } in EXAMPLES {
        let clippy = [xtask, "firmware", triple, "clippy", "--locked", "--release", "--package"];
        let lint = |arguments: &&[&'static str]| {
            [&clippy[..], &[package], arguments, &["--", "-D", "warnings"]].concat()
        };
        let run = |name: &&'static str| vec!["./chronoscope", "example", "tandem", *name];
        let commands: Vec<_> = lints.iter().map(lint).chain(names.iter().map(run)).collect();
        let examples = all(Stage::Full, format!("tandem: examples, {package}"), &commands);
        steps.push(examples.after(&["packages"]).lock("firmware"));
    }
    steps
}

/// With the feature `basepri`, urgent interrupts are never delayed. (The long test runs the other
/// images with that feature, too, in a build folder of their own.)
fn exempt_interrupts(xtask: &str) -> Step {
    let chip = &CHIPS[0];
    let build = [xtask, "step", "chip", chip.name, "build", "fence,count,basepri"];
    let build = [&build[..], &["--profile", "checked", "--bin", "exempt"]].concat();
    let refused = "task director: a handler more urgent than the kernel masks has called it";
    let run = [xtask, "step", "emulate", chip.name, "checked/exempt", "fails with", refused];
    let name = format!("tandem: interrupts that BASEPRI does not mask on {}", chip.name);
    all(Stage::Full, name, &[build, run.to_vec()]).after(&[chip.built]).lock("firmware")
}

/// With the feature `guard-256`, a frame of 200 bytes does not pass over a guard.
fn large_frames(xtask: &str) -> Step {
    let of_chip = |name: &'static str| {
        let build = [xtask, "step", "chip", name, "build", "fence,guard-256"];
        let build = [&build[..], &["--profile", "checked", "--bin", "large_frame"]].concat();
        let run = [xtask, "step", "emulate", name, "checked/large_frame", "fails with"];
        [build, [&run[..], &["stack overflow in task deep"]].concat()]
    };
    let commands = ["cortex-m4", "rv32"].map(of_chip).concat();
    let step = all(Stage::Full, "tandem: frames larger than 32 bytes".to_owned(), &commands);
    step.after(&["packages"]).lock("firmware")
}

/// tandem's own images on a chip. Of a chip that is not a main one, the full test runs those of
/// [`HARD`]; the rest takes the time that it saves.
fn tandem_on(chip: &'static Chip, xtask: &str) -> Vec<Step> {
    let Chip { name, built, .. } = *chip;
    let rest = if chip.is_main { Stage::Full } else { Stage::Long };
    let first_stage = if chip.is_variant { Stage::Long } else { Stage::Full };
    let cargo = |command, features| vec![xtask, "step", "chip", name, command, features];
    let build = |(features, only): (&'static str, &[&'static str])| {
        [cargo("build", features), vec!["--profile", "checked"], only.to_vec()].concat()
    };
    let emulate = [xtask, "step", "emulate", name];
    let run = |(image, fails): &(&'static str, &[&'static str])| {
        [&emulate[..], &[*image], fails].concat()
    };
    let applies =
        |image: &&(&'static str, &'static [&'static str])| !chip.without.contains(&image.0);
    let is_hard = |(image, _): &(&str, &[&str])| HARD.contains(image);
    let (hard, others): (Vec<_>, Vec<_>) =
        IMAGES.iter().filter(applies).partition(|image| is_hard(image));
    let mut steps = Vec::new();
    let mut add =
        |step: Step, after: &'static str, lock| steps.push(step.after(&[after]).lock(lock));
    // Where only some images are built for the full test, the long one builds the others later.
    let bins: Vec<&str> =
        HARD.iter().flat_map(|image| ["--bin", image.trim_start_matches("checked/")]).collect();
    let first =
        if chip.is_main { BUILDS.map(build).to_vec() } else { vec![build((BUILDS[0].0, &bins))] };
    add(all(first_stage, built.to_owned(), &first), "packages", "firmware");
    let images: Vec<_> = hard.into_iter().map(run).collect();
    add(all(first_stage, format!("tandem: hard tests on {name}"), &images), built, "");
    let images: Vec<_> = others.into_iter().map(run).collect();
    let builds = if chip.is_main { Vec::new() } else { BUILDS.map(build).to_vec() };
    let images = [builds, images].concat();
    let lock = if chip.is_main { "" } else { "firmware" };
    add(all(rest, format!("tandem: other images on {name}"), &images), built, lock);
    let soak = if chip.is_main { vec![] } else { vec![build((BUILDS[0].0, &["--bin", "soak"]))] };
    let soak = [soak, vec![[&emulate[..], &["checked/soak"]].concat()]].concat();
    add(all(rest, format!("tandem: soak on {name}"), &soak), built, lock);
    if chip.is_main {
        let twice = [xtask, "step", "soak twice", name];
        add(Step::new(Stage::Long, format!("tandem: two soaks on {name}"), &twice), built, "");
        let cargo = |command| [xtask, "firmware", chip.triple, command, "--locked", "--package"];
        let c = [
            [&cargo("clippy")[..], &["tandem-c", "--release", "--", "-D", "warnings"]].concat(),
            [&cargo("build")[..], &["tandem-c", "--release"]].concat(),
        ];
        let c = all(Stage::Full, format!("tandem: library for C on {name}"), &c);
        add(c, "packages", "firmware");
    }
    let clippy =
        LINTED.map(|features| [cargo("clippy", features), vec!["--", "-D", "warnings"]].concat());
    add(all(rest, format!("tandem: clippy for {name}"), &clippy), "packages", "firmware");
    let release = |command, features, bin| {
        [cargo(command, features), vec!["--release", "--bin", bin]].concat()
    };
    let is_by_hand = name == "cortex-m4";
    let slices = [release("build", "time-slice", "benchmark"), vec![xtask, "step", "costs", name]];
    let by_hand = [
        [release("clippy", "layout", "by_hand"), vec!["--", "-D", "warnings"]].concat(),
        release("build", "layout", "by_hand"),
    ];
    let first = if is_by_hand { [by_hand, slices].concat() } else { Vec::new() };
    let costs = [
        [cargo("build", ""), vec!["--release"]].concat(),
        vec![xtask, "step", "costs", name],
        vec![xtask, "step", "sizes", name],
    ];
    let costs = [first, costs.to_vec()].concat();
    add(all(rest, format!("tandem: costs on {name}"), &costs), "packages", "firmware");
    steps
}

/// A step of several commands.
fn all(stage: Stage, name: String, commands: &[Vec<&str>]) -> Step {
    let commands = commands.iter().map(|command| words(command)).collect();
    Step { commands, ..Step::new(stage, name, &[]) }
}

/// Test programs: the name, the steps that must have passed before, and the cores it keeps busy.
const TESTS: [(&str, &[&str], usize); 8] = [
    ("chips", &["packages", "firmware", "bench board", "labgrid"], 2),
    ("guests", &["packages", "SciPy", "firmware"], 2),
    ("browser", &["packages", "firmware"], 2),
    ("files", &["packages", "SciPy"], 2),
    ("host", &[], 2),
    ("faults", &[], 2),
    ("small_port", &[], 1),
    ("timing", &[], 2),
];

fn tests(filters: &[String]) -> Result<Vec<Step>> {
    let target = target()?;
    let file = |name: &str| target.join(name).display().to_string();
    let build = cargo_test(&["--tests", "--no-run"], &[]);
    let build = Step::new(Stage::Full, "test programs", &build).lock("dev");
    let documents = cargo_test(&["--doc"], filters);
    let documents = Step::new(Stage::Full, "tests: examples in comments", &documents).lock("dev");
    let mut scipy = cargo_test(&["--test", "scipy", "--test", "properties"], filters);
    scipy.extend(["--", "--include-ignored"]);
    let scipy = Step::new(Stage::Full, "tests: statistics", &scipy).after(&["SciPy"]);
    let mut steps = vec![build, documents, scipy];
    steps.extend(TESTS.map(|(name, after, cores)| {
        let test = cargo_test(&["--test", name], filters);
        let step = Step::new(Stage::Full, format!("tests: {name}"), &test);
        step.after(&["program"]).after(after).cores(cores)
    }));
    let interrupts = ["host", "chips"].map(|name| {
        let test = [&cargo_test(&["--test", name], &[])[..], &["interrupts", "--", "--nocapture"]];
        let step = Step::new(Stage::Long, format!("tests: 200 interrupts, {name}"), &test.concat());
        let mut step = step.after(&["program", "firmware"]).cores(2);
        step.environment.insert("CHRONOSCOPE_TEST_ROUNDS", "200".to_owned());
        step
    });
    steps.extend(interrupts);
    let site = target.join("site").display().to_string();
    let xtask = env::current_exe()?.display().to_string();
    let site = Step::new(Stage::Full, "documentation site", &[&xtask, "site", &site]);
    steps.push(site.after(&["packages"]));
    for (name, filter) in [
        ("tests: a tutorial", "tutorials"),
        ("tests: bare system", "package"),
        ("tests: a study on Slurm", "slurm"),
    ] {
        let test = ["--test", "chips", filter, "--", "--ignored"];
        let step = Step::new(Stage::Long, name, &cargo_test(&test, &[]));
        steps.push(step.after(&["program", "packages", "firmware", "bench board"]).cores(2));
    }
    let publish = ["cargo", "publish", "--workspace", "--dry-run", "--allow-dirty", "--locked"];
    steps.push(Step::new(Stage::Long, "crates that can be published", &publish).lock("dev"));
    let fuzz = cargo_test(&["--test", "files", "fuzz"], &[]);
    let mut fuzz = Step::new(Stage::Long, "tests: long fuzzing", &fuzz);
    fuzz.environment.insert("CHRONOSCOPE_TEST_EFFORT", "50".to_owned());
    steps.push(fuzz);
    let writers = ["--test", "files", "many_writers", "--", "--nocapture"];
    let mut writers =
        Step::new(Stage::Long, "tests: 8 writers, 200 runs each", &cargo_test(&writers, &[]));
    writers.environment.insert("CHRONOSCOPE_TEST_EFFORT", "50".to_owned());
    steps.push(writers.after(&["packages"]));
    let calls = cargo_test(&["--test", "chips", "hostile"], &[]);
    let mut calls = Step::new(Stage::Long, "tests: 10,000,000 system calls", &calls);
    calls.environment.insert("CHRONOSCOPE_TEST_EFFORT", "50".to_owned());
    steps.push(calls);
    for step in steps.iter_mut().filter(|step| step.name.starts_with("tests: ")) {
        step.after.push("test programs");
        step.environment.extend([
            ("CHRONOSCOPE_TEST_PROGRAM", file("release/chronoscope")),
            ("CHRONOSCOPE_TEST_PYTHON", file("venv/bin/python")),
            ("CHRONOSCOPE_TEST_LABGRID", file("labgrid/bin")),
            ("CHRONOSCOPE_SCIPY_FIGURES", file("scipy_figures.json")),
        ]);
    }
    Ok(steps)
}

/// The studies whose runs end with few exit statuses when nothing is wrong. A run of another study may
/// also miss a limit (2) or lack evidence (4), where its figures depend on the machine's neighbours or
/// permissions.
const STEADY_STUDIES: [(&str, &[&str]); 8] = [
    ("microcontrollers", &["0"]),
    ("p1-embassy-preempt", &["0", "4"]),
    ("p2-tornado", &["0", "4"]),
    ("p4-linux-rt", &["0", "4"]),
    ("p5-four-kernels", &["0", "4"]),
    ("quick", &["0", "4"]),
    ("vm-load", &["0"]),
    ("vm-peers", &["0"]),
];

/// The names of the files in `studies/`, in the order of the alphabet.
fn study_names() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root().join("studies"))? {
        names.extend(entry?.path().file_stem().and_then(|name| name.to_str()).map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

fn studies(xtask: &str) -> Result<Vec<Step>> {
    let step = |name: String| {
        let steady = STEADY_STUDIES.iter().find(|(steady, _)| *steady == name);
        let statuses = steady.map_or(&["0", "2", "4"][..], |(_, statuses)| *statuses);
        let study = [&[xtask, "step", "study", &name], statuses].concat();
        let step = Step::new(Stage::Long, format!("study: {name}"), &study);
        step.after(&["program", "packages", "firmware", "bench board"]).cores(2)
    };
    Ok(study_names()?.into_iter().map(step).collect())
}

#[cfg(test)]
mod tests_of_the_table {
    use std::{collections::BTreeSet, path::Path};

    use super::*;

    /// The names of the test programs in the folder `tests` of a package.
    fn programs(package: &Path) -> Vec<String> {
        let entries = fs::read_dir(package.join("tests")).into_iter().flatten().flatten();
        let is_program = |path: &PathBuf| {
            path.extension().is_some_and(|end| end == "rs") || path.join("main.rs").is_file()
        };
        let paths = entries.map(|entry| entry.path()).filter(is_program);
        paths.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect()
    }

    #[test]
    fn every_test_program_has_a_step_of_the_full_test() {
        let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
        let manifest: toml::Table = manifest.parse().unwrap();
        let members = manifest["workspace"]["members"].as_array().unwrap();
        let packages = members.iter().map(|member| root().join(member.as_str().unwrap()));
        let programs: BTreeSet<String> = packages.flat_map(|package| programs(&package)).collect();
        assert!(programs.contains("quick") && programs.contains("small_port"), "{programs:?}");
        let steps = steps(&[]).unwrap();
        let steps = steps.iter().filter(|step| step.stage < Stage::Long);
        let run: BTreeSet<String> = steps
            .flat_map(|step| &step.commands)
            .flat_map(|command| command.windows(2))
            .filter(|words| words[0] == "--test")
            .map(|words| words[1].clone())
            .collect();
        assert_eq!(programs, run);
    }

    #[test]
    fn every_study_has_a_step() {
        let names = study_names().unwrap();
        let steps = studies("xtask").unwrap();
        let stepped: Vec<&str> =
            steps.iter().map(|step| step.name.strip_prefix("study: ").unwrap()).collect();
        assert!(stepped == names && names.len() > 10, "{names:?}");
        for (steady, _) in STEADY_STUDIES {
            assert!(names.iter().any(|name| name == steady), "{steady}");
        }
    }

    #[test]
    fn every_step_waits_for_steps_that_there_are() {
        let steps = steps(&[]).unwrap();
        for step in &steps {
            for name in &step.after {
                let before: Vec<&Step> =
                    steps.iter().filter(|other| other.name.starts_with(name)).collect();
                assert!(!before.is_empty(), "{}: there is no step {name}", step.name);
                let is_later = |other: &&Step| other.name == step.name || other.stage > step.stage;
                assert!(!before.iter().any(is_later), "{} waits for {name}", step.name);
            }
        }
        let names: BTreeSet<&str> = steps.iter().map(|step| step.name.as_str()).collect();
        assert_eq!(names.len(), steps.len(), "each step has a name of its own");
    }
}
