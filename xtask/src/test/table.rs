//! The table of steps.

use std::{fs, path::Path};

use anyhow::Result;
use chronoscope_chips::{Core, Table};

use super::{
    Stage::{self, Full, Long, Quick},
    chip::Chip,
    step::{ALL, Step},
};
use crate::{
    images,
    repository::{root, target},
    rust::Features,
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

/// The options with which clippy refuses a warning.
const DENY: &str = "-- -D warnings";

/// Returns all steps; `filters` go to every `cargo test`.
///
/// # Errors
/// The table of images cannot be read, or the build folder cannot be created.
pub fn steps(filters: &[&str]) -> Result<Vec<Step>> {
    let mut steps = quick(filters);
    steps.extend(preparations());
    steps.extend(bench(filters));
    steps.extend(firmware()?);
    steps.extend(tandem());
    steps.extend(tests(filters)?);
    steps.extend(studies()?);
    // Nobody waits for the rest where the quick checks fail.
    let is_early = |step: &Step| EARLY.iter().any(|name| step.name.starts_with(name));
    let rest = steps.iter_mut().filter(|step| step.stage > Quick && !is_early(step));
    rest.for_each(|step| step.after.push("quick".to_owned()));
    Ok(steps)
}

/// The beginnings of the names of the full test's steps that begin with the quick ones: most others
/// wait for them, and simulated cores are built in one process each, beside cargo's own.
const EARLY: [&str; 5] = ["packages", "program", "SciPy's figures", "labgrid", "bench board"];

/// `cargo test` of the whole workspace, which no selection of packages makes compile anew.
fn cargo_test(arguments: &str) -> String {
    format!("cargo test --workspace --locked --no-fail-fast {arguments}")
}

/// The workspaces and packages that `cargo fmt` reads one by one.
const FORMATTED: [(&str, &str); 5] = [
    ("quick: format", "."),
    ("quick: format of firmware", "ports/firmware"),
    ("quick: format of the bench board", "bench"),
    ("quick: format of the decoder of logs", "tandem/examples/decode"),
    ("quick: format of the firmware of tests", "lab/tests/firmware/crates"),
];

/// The test programs of the quick test.
const QUICK: &str = "--lib --bins --test quick --test usage --test packages --test misuse \
                     --test additions --test comments";

/// Files of a workspace that others include, so that `cargo fmt` does not find them.
fn included(workspace: &Path) -> Vec<String> {
    let kernels = fs::read_dir(workspace.join("kernels")).into_iter().flatten().flatten();
    let files = kernels.map(|kernel| kernel.path().join("smallest/src/image.rs"));
    files.filter(|file| file.is_file()).map(|file| file.display().to_string()).collect()
}

fn quick(filters: &[&str]) -> Vec<Step> {
    let format = |(name, folder): (&str, &str)| {
        let files = included(&root().join(folder));
        let step = Step::new(Quick, name, "cargo fmt --check --").within(folder).seconds(3);
        step.arguments(&files.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let clippy = format!("cargo clippy --workspace --all-targets --locked {DENY}");
    let documentation =
        Step::new(Quick, "quick: documentation", "cargo doc --workspace --no-deps --locked");
    let tests = Step::new(Quick, "quick: tests", &cargo_test(QUICK)).arguments(filters);
    // While the tests run, cargo's build folder is free: the others wait for that by cargo's own lock.
    let beside = |step: Step| step.after(&["quick: index"]).cores(0);
    let rest = [
        Step::new(Quick, "quick: index of images", "xtask images"),
        tests.after(&["quick: index"]).lock("dev").seconds(150),
        beside(Step::new(Quick, "quick: clippy", &clippy).seconds(45)),
        beside(documentation.variable("RUSTDOCFLAGS", "-D warnings").seconds(15)),
    ];
    FORMATTED.map(format).into_iter().chain(rest).collect()
}

/// The packages, SciPy's figures, and the program that users have.
fn preparations() -> [Step; 4] {
    [
        Step::new(Full, "packages", "xtask step packages").cores(0).seconds(60),
        Step::new(Full, "program", "./chronoscope --help").lock("dev").seconds(200),
        Step::new(Full, "SciPy's figures", "xtask step scipy")
            .after(&["packages"])
            .cores(0)
            .seconds(15),
        Step::new(Full, "labgrid", "xtask step labgrid").after(&["packages"]).cores(0),
    ]
}

/// The steps of the bench board, one for each core. A core of 64 bits is only built: the tests of the
/// chips have its images.
fn bench(filters: &[&str]) -> Vec<Step> {
    let board = |core: &Core| {
        let Core { name, chip, .. } = core;
        let (command, filters, seconds) = match &**chip {
            "rv32" => ("test --no-fail-fast", filters, 30),
            _ => ("build", &[][..], 70),
        };
        let command = format!("xtask bench {name} {command}");
        let (stage, what) =
            if core.is_large { (Long, "large board") } else { (Full, "bench board") };
        let step = Step::new(stage, format!("{what}, {name}"), &command);
        let step = step.arguments(filters).after(&["packages"]);
        step.lock(format!("bench {name}")).seconds(seconds)
    };
    let clippy = format!("xtask bench ibex clippy --all-targets {DENY}");
    let clippy = Step::new(Full, "clippy of the bench board", &clippy);
    let clippy = clippy.after(&["packages"]).lock("bench ibex");
    Table::read().cores.iter().map(board).chain([clippy]).collect()
}

/// `xtask firmware` for a package of the workspace `ports/firmware`, with further arguments.
fn cargo_for(triple: &str, command: &str, package: &str, arguments: &str) -> String {
    format!("xtask firmware {triple} {command} --locked --package {package} {arguments}")
}

/// Cargo's options for features, each after a blank.
fn with(features: &Features) -> String {
    features.arguments().iter().map(|option| format!(" {option}")).collect()
}

fn firmware() -> Result<Vec<Step>> {
    let mut steps = Vec::new();
    for chip in Chip::all().iter().filter(|chip| chip.tandem.is_main) {
        let triple = &*chip.row.triple;
        let step = |name: &str, command: &str| {
            let step = Step::new(Full, format!("firmware: {name} for {triple}"), command);
            step.after(&["packages"]).lock("firmware").seconds(10)
        };
        let build = |package: &str| cargo_for(triple, "build", package, "--release");
        let clippy = |package: &str, options: &str| {
            cargo_for(triple, "clippy", package, &format!("{options} {DENY}"))
        };
        steps.push(step("suite", &build("chronoscope-suite")));
        for (variant, features) in [("uart", "board/uart"), ("pins", "pins")] {
            let options = format!("--release --features {features}");
            steps.push(step(
                &format!("clippy with {variant}"),
                &clippy("chronoscope-bare", &options),
            ));
        }
        // One package at a time, as the lab builds them: features that one port leaves out of the
        // chip's crate must not come in by another.
        for (package, features) in images::packages(triple)? {
            let options = with(&features);
            let lint = step(
                &format!("{package}{options}"),
                &clippy(&package, &format!("--release{options}")),
            );
            let is_usual = features == Features::default();
            steps.push(if is_usual { lint.then(&build(&package)) } else { lint });
        }
    }
    steps.extend(other_machines()?);
    let clippy = cargo_for("thumbv7em-none-eabihf", "clippy", "chronoscope-c-library", "--release");
    let kit = Step::new(Full, "kernels in C: kit", &format!("{clippy} {DENY}"))
        .then("xtask step kit")
        .then("xtask step bring-up")
        .variable("CHRONOSCOPE_TEST_LABGRID", target()?.join("labgrid/bin").display().to_string())
        .after(&["packages", "program", "labgrid", "test programs"]);
    let plugin = format!("xtask plugin clippy --release --locked {DENY}");
    let plugin = Step::new(Full, "firmware: QEMU's plugin", &plugin);
    let plugin = plugin.then("xtask plugin build --release --locked").lock("plugin");
    steps.extend([kit.lock("firmware").seconds(120), plugin]);
    Ok(steps)
}

/// Some experiments on the machines of chips that are no main ones, without the targets.
const OTHER_MACHINES: &str = "./chronoscope run switch wakeup interrupt message delay period \
                              --repeat 2 --no-store -q --target";

/// The machines of chips that are no main ones: clippy of their ports, and [`OTHER_MACHINES`].
fn other_machines() -> Result<Vec<Step>> {
    let chips = Chip::all();
    let is_main = |other: &Chip| {
        chips.iter().any(|chip| chip.tandem.is_main && chip.row.triple == other.row.triple)
    };
    let others = chips.iter().filter(|chip| chip.row.sources.is_some() && !chip.tandem.is_main);
    let others = others.filter(|chip| !chip.is_variant);
    let others: Vec<String> = others.map(|chip| format!("tandem@{}", chip.name)).collect();
    let run = Step::new(Long, "machines of other chips", OTHER_MACHINES);
    let run = run.arguments(&[&others.join(",")]);
    let mut steps = vec![run.after(&["program", "packages"]).lock("firmware")];
    for chip in chips.iter().filter(|chip| !is_main(chip)) {
        let triple = &*chip.row.triple;
        for (package, features) in images::packages(triple)? {
            let options = with(&features);
            let clippy = format!("--release{options} {DENY}");
            let clippy = cargo_for(triple, "clippy", &package, &clippy);
            let name = format!("clippy of {package}{options} for {triple}");
            let step = Step::new(Long, name, &clippy);
            steps.push(step.after(&["packages"]).lock("firmware"));
        }
    }
    Ok(steps)
}

/// tandem's own images, by profile and name, and the message with which an image must fail.
const IMAGES: [(&str, &str); 22] = [
    ("checked/hello", ""),
    ("checked/crowded", ""),
    ("checked/filing", ""),
    ("checked/faults", ""),
    ("checked/unborn", ""),
    ("checked/registers", ""),
    ("checked/inheritance", ""),
    ("checked/windows", ""),
    ("checked/traced", ""),
    ("checked/slices", ""),
    ("checked/services", ""),
    ("checked/control", ""),
    ("checked/usage", ""),
    ("checked/coarse_clock", ""),
    ("checked/least_stack", ""),
    ("checked/embassy_users", ""),
    ("checked/sleep", ""),
    ("checked/tasks", ""),
    ("checked/checks", "stack overflow in task deep"),
    ("checked/handler_overflow", "stack overflow of a handler in task interrupted"),
    ("checked/stray", "has no handler: it interrupted task interrupted"),
    ("checked/masked_poll", "task masking: a poll has returned with interrupts"),
];

/// The images that check the switch, the guards and the rules of every chip in the full test.
const HARD: [&str; 10] = [
    "checked/filing",
    "checked/least_stack",
    "checked/faults",
    "checked/unborn",
    "checked/registers",
    "checked/inheritance",
    "checked/checks",
    "checked/handler_overflow",
    "checked/stray",
    "checked/masked_poll",
];

/// The features of each build, and cargo's options: an image has the features it asks for, and no
/// build renews another's. The emulated RV32 has supervisor mode, and so may know the PMP by heart:
/// `fence`.
const BUILDS: [(&str, &str); 8] = [
    ("fence,count", ""),
    ("fence,count,trace", "--bin traced"),
    ("fence,time-slice", "--bin slices"),
    ("fence,processor-time", "--bin usage"),
    ("fence,processor-time,own-clock", "--bin coarse_clock"),
    ("fence,count,embassy", "--bin embassy_users"),
    ("fence,count,tasks", "--bin tasks"),
    // The idle task sleeps.
    ("fence,sections,sleep-hooks", "--no-default-features --bin sleep"),
];

/// The sets of features that clippy reads.
const LINTED: [&str; 6] = [
    "none",
    "count,fence,embassy",
    "processor-time,own-clock,tasks",
    "time-slice",
    "sleep-hooks",
    "unguarded",
];

/// A package of tandem's examples.
struct Examples {
    package: &'static str,
    triple: &'static str,
    /// The options of each run of clippy.
    lints: &'static [&'static str],
    names: &'static [&'static str],
}

const EXAMPLES: [Examples; 3] = [
    Examples {
        package: "tandem-stm32f4",
        triple: "thumbv7em-none-eabihf",
        lints: &[
            "--features qemu",
            "--features qemu,embassy,defmt --bin embassy --bin log",
            "--features qemu,usage --bin usage",
            "--features qemu,embassy-clock --bin hal_clock",
        ],
        names: &[
            "blinky",
            "readme",
            "guide",
            "rs485",
            "sensor",
            "embassy",
            "hal_clock",
            "log",
            "usage",
        ],
    },
    Examples {
        package: "tandem-nrf52",
        triple: "thumbv6m-none-eabi",
        lints: &[""],
        names: &["nrf52", "microbit"],
    },
    Examples {
        package: "tandem-rp2040",
        triple: "thumbv6m-none-eabi",
        lints: &[""],
        names: &["rp2040"],
    },
];

fn tandem() -> Vec<Step> {
    let mut steps = vec![
        Step::new(
            Full,
            "tandem: tests",
            "cargo test --locked --package tandem --features embassy-time,embedded-hal",
        )
        .lock("dev")
        .seconds(50),
        Step::new(Full, "tandem: Miri", "xtask step miri").lock("miri").seconds(300),
        // Packs tandem as for the registry, and builds the package. (The long test packs all
        // crates.)
        Step::new(
            Full,
            "tandem: publishable",
            "cargo publish --package tandem --dry-run --locked --allow-dirty",
        )
        .lock("dev")
        .seconds(2),
    ];
    Chip::all().iter().for_each(|chip| steps.extend(tandem_on(chip)));
    steps.extend([exempt_interrupts(), large_frames(), guards_of_cortex_m(), supervision()]);
    let c = Step::new(Full, "tandem: examples in C", "xtask step c");
    steps.push(c.after(&["packages"]).lock("firmware"));
    steps.push(Step::new(Full, "tandem: models", "xtask step models").after(&["packages"]));
    steps.push(Step::new(Full, "tandem: peers", "xtask step peers").after(&["packages"]));
    steps.extend(["embassy", "lilos"].map(|kernel| {
        let package = format!("tandem-peer-{kernel}");
        let cargo =
            |command, options| cargo_for("thumbv7em-none-eabihf", command, &package, options);
        let commands = [
            cargo("clippy", &format!("--release {DENY}")),
            cargo("build", "--release"),
            format!("xtask step peers {kernel}"),
        ];
        let step = several(Full, format!("tandem: peers, {kernel}"), commands);
        step.after(&["packages"]).lock("firmware")
    }));
    steps.extend(EXAMPLES.map(|Examples { package, triple, lints, names }| {
        let clippy = |options: &&str| {
            cargo_for(triple, "clippy", package, &format!("--release {options} {DENY}"))
        };
        let run = |name: &&str| format!("xtask example tandem {name}");
        let commands = lints.iter().map(clippy).chain(names.iter().map(run));
        let step = several(Full, format!("tandem: examples, {package}"), commands);
        step.after(&["packages"]).lock("firmware").seconds(10 * names.len() as u32)
    }));
    steps
}

/// A step of several commands.
fn several(stage: Stage, name: String, commands: impl IntoIterator<Item = String>) -> Step {
    let mut commands = commands.into_iter();
    let first = commands.next().expect("a step has a command");
    Step::new(stage, name, &first).then_all(commands)
}

/// Cargo's command for tandem's images on a chip.
fn build_on(chip: &str, command: &str, features: &str, options: &str) -> String {
    format!("xtask step chip {chip} {command} {features} {options}")
}

fn emulate(chip: &str, image: &str, failure: &str) -> String {
    let fails = if failure.is_empty() { "" } else { " fails with " };
    format!("xtask step emulate {chip} {image}{fails}{failure}")
}

/// With the feature `basepri`, urgent interrupts are never delayed. (The long test runs the other
/// images with that feature, too, in a build folder of their own.)
fn exempt_interrupts() -> Step {
    let name = "cortex-m4";
    let refused = "task director: a handler more urgent than the kernel masks has called it";
    let commands = [
        build_on(name, "build", "fence,count,basepri", "--profile checked --bin exempt"),
        emulate(name, "checked/exempt", refused),
    ];
    let built = format!("tandem: {name}'s images");
    let name = format!("tandem: interrupts that BASEPRI does not mask on {name}");
    several(Full, name, commands).after(&[&built]).lock("firmware")
}

/// With the feature `guard-256`, a frame of 200 bytes does not pass over a guard.
fn large_frames() -> Step {
    let commands = ["cortex-m4", "rv32"].map(|chip| {
        let build =
            build_on(chip, "build", "fence,guard-256", "--profile checked --bin large_frame");
        [build, emulate(chip, "checked/large_frame", "stack overflow in task deep")]
    });
    let step = several(Full, "tandem: frames larger than 32 bytes".to_owned(), commands.concat());
    step.after(&["packages"]).lock("firmware")
}

/// Supervision by the watchdog of the boards whose watchdog QEMU emulates.
fn supervision() -> Step {
    let commands = ["cortex-m33", "cortex-m7"].map(|chip| {
        let build =
            build_on(chip, "build", "fence,count,watchdog", "--profile checked --bin watchdog");
        [build, emulate(chip, "checked/watchdog", "")]
    });
    let clippy = build_on("cortex-m33", "clippy", "watchdog", &format!("--bin watchdog {DENY}"));
    let commands = commands.into_iter().flatten().chain([clippy]);
    let step = several(Full, "tandem: supervision by a watchdog".to_owned(), commands);
    step.after(&["packages"]).lock("firmware")
}

/// The edges of the guards on each Cortex-M that has them. An M33 limits the stack pointer alone, so
/// that a heap overlaps nothing there.
fn guards_of_cortex_m() -> Step {
    let images = [
        ("fpu_frame", "stack overflow in task deep"),
        ("pended_overflow", "stack overflow in task small"),
        ("heap", ""),
        ("start_in_handler", "start: called in a handler"),
        ("heap_overlaps", "is in the handlers' guard"),
    ];
    let commands = ["cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33"].map(|chip| {
        let images = &images[..if chip == "cortex-m33" { 4 } else { 5 }];
        let bins: String = images.iter().map(|(image, _)| format!(" --bin {image}")).collect();
        let build =
            build_on(chip, "build", "fence,count,guards", &format!("--profile checked{bins}"));
        let run =
            |(image, failure): &(&str, &str)| emulate(chip, &format!("checked/{image}"), failure);
        let open = "--profile checked --no-default-features --bin open_section";
        let open = [
            build_on(chip, "build", "open-sections,spin", open),
            emulate(chip, "checked/open_section", "a critical section leaves interrupts open"),
        ];
        [vec![build], images.iter().map(run).collect(), open.to_vec()].concat()
    });
    let step = several(Full, "tandem: edges of the guards".to_owned(), commands.concat());
    step.after(&["packages"]).lock("firmware").seconds(10)
}

/// tandem's own images on a chip. Of a chip that is not a main one, the full test runs the images
/// of [`HARD`]; the rest takes the time that it saves.
fn tandem_on(chip: &Chip) -> Vec<Step> {
    let Chip { name, built, row, tandem, .. } = chip;
    let is_main = tandem.is_main;
    let rest = if is_main { Full } else { Long };
    let first_stage = if chip.is_variant { Long } else { Full };
    let build = |features: &str, bins: &str| {
        build_on(name, "build", features, &format!("--profile checked {bins}"))
    };
    let builds = BUILDS.map(|(features, bins)| build(features, bins));
    let applies = |image: &&(&str, &str)| !tandem.without.iter().any(|without| without == image.0);
    let (hard, others): (Vec<_>, Vec<_>) =
        IMAGES.iter().filter(applies).partition(|(image, _)| HARD.contains(image));
    let run = |(image, failure): &(&str, &str)| emulate(name, image, failure);
    // Where the full test builds only some images, the long one builds the others later.
    let bins = HARD.map(|image| image.replace("checked/", "--bin ")).join(" ");
    let first = if is_main { builds.to_vec() } else { vec![build(BUILDS[0].0, &bins)] };
    let later = |commands: &[String]| if is_main { Vec::new() } else { commands.to_vec() };
    let lock = if is_main { "" } else { "firmware" };
    let on = |stage, text: &str, commands: Vec<String>, lock| {
        several(stage, format!("tandem: {text} {name}"), commands).after(&[&**built]).lock(lock)
    };
    let others = [later(&builds), others.into_iter().map(run).collect()].concat();
    let soak = build(BUILDS[0].0, "--bin soak");
    let soak = [later(&[soak]), vec![emulate(name, "checked/soak", "")]].concat();
    let mut steps = vec![
        several(first_stage, built.clone(), first)
            .after(&["packages"])
            .lock("firmware")
            .seconds(if is_main { 30 } else { 10 }),
        on(first_stage, "hard tests on", hard.into_iter().map(run).collect(), ""),
        on(rest, "other images on", others, lock).seconds(20),
        on(rest, "soak on", soak, lock).seconds(20),
    ];
    let prepared = |stage, text: &str, commands: Vec<String>| {
        let step = several(stage, format!("tandem: {text} {name}"), commands);
        step.after(&["packages"]).lock("firmware")
    };
    if is_main {
        let long = build(&format!("{},long-soak", BUILDS[0].0), "--bin soak");
        let twice = on(
            Long,
            "two long soaks on",
            vec![long, format!("xtask step soak-twice {name}")],
            "firmware",
        );
        steps.push(twice.after(&[&format!("tandem: soak on {name}")]));
        let cargo =
            |command, end| cargo_for(&row.triple, command, "tandem-c", &format!("--release {end}"));
        steps.push(prepared(
            Full,
            "library for C on",
            vec![cargo("clippy", DENY), cargo("build", "")],
        ));
    }
    let lints = LINTED.map(|features| build_on(name, "clippy", features, DENY));
    steps.push(prepared(rest, "clippy for", lints.to_vec()).seconds(30));
    let costs = COSTS.iter().filter(|row| row.0.is_empty() || row.0 == *name);
    let costs = costs.map(|(_, command)| command.replace("CHIP", name)).collect();
    steps.push(prepared(rest, "costs on", costs).seconds(20));
    steps
}

/// The commands that measure tandem's costs on a chip, whose name replaces `CHIP`. A row with a
/// chip belongs to that chip alone.
const COSTS: [(&str, &str); 10] = [
    ("cortex-m4", "xtask step chip CHIP clippy layout --release --bin by_hand -- -D warnings"),
    ("cortex-m4", "xtask step chip CHIP build layout --release --bin by_hand"),
    ("cortex-m4", "xtask step chip CHIP build time-slice --release --bin benchmark"),
    ("cortex-m4", "xtask step costs CHIP"),
    ("cortex-m4", "xtask step chip CHIP build unguarded --release --bin benchmark"),
    ("cortex-m4", "xtask step costs CHIP"),
    ("", "xtask step chip CHIP build none --release"),
    ("", "xtask step costs CHIP"),
    ("cortex-m4", "xtask step emulate CHIP release/crowded"),
    ("", "xtask step sizes CHIP"),
];

/// A row of the table of tests.
struct Test {
    stage: Stage,
    name: &'static str,
    /// Cargo's arguments that select tests, and behind ` -- ` the options of the test program.
    arguments: &'static str,
    /// The steps that must have passed before, in addition to the one that builds the tests.
    after: &'static [&'static str],
    cores: usize,
    seconds: u32,
    variable: Option<(&'static str, &'static str)>,
}

const fn test(name: &'static str, arguments: &'static str, after: &'static [&'static str]) -> Test {
    Test { stage: Full, name, arguments, after, cores: 1, seconds: 30, variable: None }
}

/// The steps that prepare every target.
const TARGETS: &[&str] = &["program", "packages", "firmware", "bench board", "labgrid"];

/// Fifty times the usual number of random cases.
const EFFORT: Option<(&str, &str)> = Some(("CHRONOSCOPE_TEST_EFFORT", "50"));

const ROUNDS: Option<(&str, &str)> = Some(("CHRONOSCOPE_TEST_ROUNDS", "200"));

/// Kills that take seconds each.
const FEWER: Option<(&str, &str)> = Some(("CHRONOSCOPE_TEST_ROUNDS", "30"));

const TESTS: [Test; 30] = [
    Test { seconds: 15, ..test("tests: examples in comments", "--doc", &[]) },
    Test { seconds: 60, ..test("tests: long ones of libraries", "--lib -- --ignored", &[]) },
    test("tests: statistics", "--test scipy --test properties -- --include-ignored", &["SciPy"]),
    Test { seconds: 1000, ..test("tests: chips", "--test chips", TARGETS) },
    Test {
        seconds: 300,
        ..test("tests: guests", "--test guests", &["program", "packages", "SciPy", "firmware"])
    },
    Test {
        seconds: 200,
        ..test("tests: browser", "--test browser", &["program", "packages", "firmware"])
    },
    Test {
        seconds: 120,
        ..test("tests: files", "--test files", &["program", "packages", "SciPy"])
    },
    // Compares its figures with the figures of other tools: nothing else runs meanwhile.
    Test { cores: ALL, seconds: 100, ..test("tests: host", "--test host", &["program"]) },
    test("tests: faults", "--test faults", &["program"]),
    test("tests: small_port", "--test small_port", &["program"]),
    test("tests: timing", "--test timing", &["program"]),
    test("tests: supply", "--test supply", &["packages"]),
    Test {
        stage: Long,
        cores: ALL,
        variable: ROUNDS,
        ..test("tests: 200 interrupts, host", "--test host interrupts -- --nocapture", TARGETS)
    },
    Test {
        stage: Long,
        cores: ALL,
        variable: ROUNDS,
        ..test("tests: 200 interrupts, chips", "--test chips interrupts -- --nocapture", TARGETS)
    },
    Test {
        stage: Long,
        variable: EFFORT,
        ..test("tests: a process for each arrival", "--test chips one_process_an_arrival", TARGETS)
    },
    Test {
        stage: Long,
        seconds: 900,
        ..test(
            "tests: long ones of chips",
            "--test chips -- --ignored builds ordinary schedule worst",
            TARGETS,
        )
    },
    Test {
        stage: Long,
        seconds: 900,
        ..test("tests: long ones of guests", "--test guests -- --ignored", &["program", "packages"])
    },
    Test {
        stage: Long,
        ..test("tests: long ones of this machine", "--test host -- --ignored", TARGETS)
    },
    Test {
        stage: Long,
        ..test("tests: CVA6 twice", "--test chips with_an_mmu -- --ignored", TARGETS)
    },
    Test {
        stage: Long,
        ..test("tests: a tutorial", "--test chips tutorials -- --ignored", TARGETS)
    },
    Test {
        stage: Long,
        ..test("tests: bare system", "--test chips package -- --ignored", TARGETS)
    },
    Test {
        stage: Long,
        variable: ROUNDS,
        ..test(
            "tests: 200 kills of a server",
            "--test files an_import_goes_on -- --nocapture",
            &["packages"],
        )
    },
    Test {
        stage: Long,
        ..test(
            "tests: a thousand labs, one store",
            "--test files a_thousand_labs -- --ignored --nocapture",
            &["packages"],
        )
    },
    Test {
        stage: Long,
        seconds: 300,
        ..test(
            "tests: Rocket",
            "--test chips rocket -- --ignored --nocapture",
            &["tests: chips", "large board"],
        )
    },
    Test {
        stage: Long,
        variable: FEWER,
        ..test("tests: Slurm, 30 kills", "--test chips slurm -- --ignored --nocapture", TARGETS)
    },
    Test {
        stage: Long,
        variable: FEWER,
        ..test(
            "tests: labgrid, 30 kills",
            "--test chips killed_runs_leave -- --ignored --nocapture",
            TARGETS,
        )
    },
    Test {
        stage: Long,
        ..test("tests: criterion", "--test files results_of_criterion -- --ignored", &["packages"])
    },
    Test { stage: Long, variable: EFFORT, ..test("tests: long fuzzing", "--test files fuzz", &[]) },
    Test {
        stage: Long,
        variable: EFFORT,
        ..test(
            "tests: 8 writers, 200 runs each",
            "--test files many_writers -- --nocapture",
            &["packages"],
        )
    },
    Test {
        stage: Long,
        variable: EFFORT,
        ..test("tests: 10,000,000 system calls", "--test chips hostile", &[])
    },
];

/// Paths below the build folder that the tests read from their environment.
const VARIABLES: [(&str, &str); 4] = [
    ("CHRONOSCOPE_TEST_PROGRAM", "lab/chronoscope"),
    ("CHRONOSCOPE_TEST_PYTHON", "venv/bin/python"),
    ("CHRONOSCOPE_TEST_LABGRID", "labgrid/bin"),
    ("CHRONOSCOPE_SCIPY_FIGURES", "scipy_figures.json"),
];

fn tests(filters: &[&str]) -> Result<Vec<Step>> {
    let target = target()?;
    let file = |name: &str| target.join(name).display().to_string();
    let build = Step::new(Full, "test programs", &cargo_test("--tests --no-run"));
    let site = Step::new(Full, "documentation site", "xtask site").arguments(&[&file("site")]);
    // Cargo unpacks and compiles each package once for a folder and a version, and would find an earlier
    // run's: this step has a folder of its own.
    let unpacked = r#"rm -rf "$0" "${CARGO_HOME:-$HOME/.cargo}"/registry/src/-*"#;
    let published = Step::new(Long, "crates that can be published", "sh -c")
        .arguments(&[unpacked, &file("published")])
        .then("cargo publish --workspace --dry-run --allow-dirty --locked")
        .variable("CARGO_TARGET_DIR", file("published"));
    let mut steps =
        vec![build.lock("dev").seconds(80), site.after(&["packages"]).cores(0), published];
    steps.extend(TESTS.iter().map(|test| {
        let (selection, options) =
            test.arguments.split_once(" -- ").unwrap_or((test.arguments, ""));
        let mut step = Step::new(test.stage, test.name, &cargo_test(selection));
        if test.stage == Full {
            step = step.arguments(filters);
        }
        if !options.is_empty() {
            step = step.arguments(&["--"]).arguments(&options.split(' ').collect::<Vec<_>>());
        }
        for (name, path) in VARIABLES {
            step = step.variable(name, file(path));
        }
        step.environment.extend(test.variable.map(|(name, value)| (name, value.to_owned())));
        // Cargo compiles examples, and only runs the other tests.
        let lock = if selection == "--doc" { "dev" } else { "" };
        let step = step.after(&["test programs"]).after(test.after).lock(lock);
        step.cores(test.cores).seconds(test.seconds)
    }));
    Ok(steps)
}

/// The studies whose runs end with few exit statuses when nothing is wrong. A run of another study
/// may also miss a limit (2) or lack evidence (4), where its figures depend on the machine's
/// neighbours or permissions.
const STEADY_STUDIES: [(&str, &str); 9] = [
    ("microcontrollers", "0"),
    ("p1-embassy-preempt", "0 4"),
    ("p2-tornado", "0 4"),
    ("p4-linux-rt", "0 4"),
    ("p5-four-kernels", "0 4"),
    ("quick", "0 4"),
    ("tandem", "0"),
    ("vm-load", "0"),
    ("vm-peers", "0"),
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

fn studies() -> Result<Vec<Step>> {
    let step = |name: String| {
        let steady = STEADY_STUDIES.iter().find(|(steady, _)| *steady == name);
        let statuses = steady.map_or("0 2 4", |(_, statuses)| *statuses);
        let command = format!("xtask step study {name} {statuses}");
        Step::new(Long, format!("study: {name}"), &command).after(TARGETS).cores(ALL)
    };
    Ok(study_names()?.into_iter().map(step).collect())
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, path::PathBuf};

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

    /// The tests of a folder that the long test runs, by their own word: the program of tests, and the
    /// path as libtest names it.
    fn ignored(folder: &Path) -> Vec<(String, String)> {
        let programs = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let files = programs.filter(|path| path.is_dir()).flat_map(|program| {
            let files: Vec<PathBuf> =
                fs::read_dir(&program).unwrap().map(|entry| entry.unwrap().path()).collect();
            files.into_iter().map(move |file| (program.clone(), file))
        });
        let stem = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
        let mut found = Vec::new();
        for (program, file) in
            files.filter(|(_, file)| file.extension().is_some_and(|end| end == "rs"))
        {
            let text = fs::read_to_string(&file).unwrap();
            for part in text.split("#[ignore = \"").skip(1) {
                let (reason, code) = part.split_once("\"]").unwrap();
                if reason.contains("./chronoscope test long") {
                    let name = code.split_once("fn ").unwrap().1.split('(').next().unwrap();
                    found.push((stem(&program), format!("{}::{name}", stem(&file))));
                }
            }
        }
        found
    }

    #[test]
    fn every_test_that_names_the_long_test_has_a_step_there() {
        let steps = steps(&[]).unwrap();
        let commands: Vec<&Vec<String>> = steps
            .iter()
            .filter(|step| step.stage == Long)
            .flat_map(|step| &step.commands)
            .collect();
        let all = ignored(&root().join("lab/tests"));
        assert!(all.len() > 15, "{all:?}");
        for (program, path) in all {
            let runs = |command: &&Vec<String>| {
                let place = command.windows(2).position(|two| two == ["--test", &program]);
                let Some(place) = place.filter(|_| command.contains(&"--ignored".to_owned()))
                else {
                    return false;
                };
                let mut filters = command[place + 2..].iter().filter(|word| !word.starts_with('-'));
                filters.clone().count() == 0 || filters.any(|filter| path.contains(&**filter))
            };
            assert!(commands.iter().any(runs), "{program}: {path} is in no step of the long test");
        }
    }

    #[test]
    fn every_study_has_a_step() {
        let names = study_names().unwrap();
        let steps = studies().unwrap();
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
