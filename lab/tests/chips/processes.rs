//! Processes of tandem on the machine `rv64`: the kernel's promises, hostile processes, the costs
//! of its paths, and the suite's experiments.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
};

use serde_json::Value;

use crate::{
    common::{
        Answer, builder, cases, chronoscope, effort, gives_the_same_bytes_twice, median, run,
    },
    plugin::target,
};

/// The image, built once.
pub fn image() -> &'static Path {
    static IMAGE: OnceLock<PathBuf> = OnceLock::new();
    IMAGE.get_or_init(|| {
        run(builder().args(["images", "build", "tandem@rv64", "processes"])).exits(0);
        target().join("firmware/riscv64imac-unknown-none-elf/release/chronoscope-tandem-processes")
    })
}

/// Runs the program in user mode with a request of its own.
fn program(words: &[&str]) -> Answer {
    let arguments: String = words.iter().map(|word| format!(",arg={word}")).collect();
    let mut qemu = Command::new("qemu-system-riscv64");
    qemu.args(["-machine", "virt", "-bios", "none"]);
    qemu.args(["-cpu", "rv64,f=off,d=off,h=off,sstc=off"]);
    qemu.args(["-rtc", "base=1970-01-01T00:00:00,clock=vm"]);
    qemu.args(["-icount", "shift=0,sleep=off,align=off", "-display", "none", "-monitor", "none"]);
    qemu.args(["-serial", "null", "-parallel", "null", "-semihosting-config"]);
    qemu.arg(format!("enable=on,target=native{arguments}"));
    qemu.arg("-kernel").arg(image()).stdin(Stdio::null());
    run(&mut qemu)
}

/// The scenes of `check all`, in their order.
pub const SCENES: [&str; 31] = [
    "faults",
    "registers",
    "memory",
    "handles",
    "pointers",
    "loops",
    "limits",
    "servers",
    "waits",
    "families",
    "channels",
    "last",
    "late",
    "inheritance",
    "forgotten",
    "mutexes",
    "latency",
    "storm",
    "records",
    "coroutines",
    "spaces",
    "published",
    "unawaited",
    "pages",
    "unreaped",
    "successor",
    "lowered",
    "lines",
    "rights",
    "waiting",
    "quota",
];

#[test]
fn the_kernel_keeps_its_promises() {
    let told = program(&["check", "all"]);
    told.exits(0);
    let shown: Vec<&str> = told.stdout.lines().collect();
    assert_eq!(shown, SCENES.map(|scene| format!("ok {scene}")));
    // Each process that ends so is reported with its name and the reason.
    for report in [
        "process load-kernel: load from a page without the permission at 0x4",
        "process store-text: store to a page without the permission at 0x4",
        "process float: illegal instruction at 0x4",
        "process vector: illegal instruction at 0x4",
        "process execute-stack: execution of a page without the permission at 0x4f",
        "process overflow: store to a page without the permission at 0x4",
        "process endless was killed",
    ] {
        assert!(told.stderr.contains(report), "no {report}: {}", told.stderr);
    }
}

/// 2²⁰ processes, one after the other: in the long test alone.
#[test]
fn a_handle_that_comes_round_names_no_parent() {
    if effort(1) > 1 {
        program(&["check", "generations"]).exits(0).shows("ok generations");
    }
}

#[test]
fn hostile_calls_harm_nobody() {
    // 100,000 calls; `./chronoscope test long` makes them 5,000,000 with each of two seeds.
    for seed in if effort(1) > 1 { &["1", "2"][..] } else { &["1"] } {
        let calls = effort(100_000).to_string();
        let told = program(&["fuzz", seed, &calls]);
        told.exits(0);
        assert!(told.stdout.contains(&format!("seed {seed}, {calls} calls")), "{}", told.stdout);
        let (_, sums) = told.stdout.split_once("checksum ").expect("the witness's checksum");
        let (found, expected) = sums.trim().split_once(", expected ").expect("two sums");
        assert_eq!(found, expected);
    }
}

/// The most instructions that each path may take, as `docs/processes.md` has them.
const PATHS: [(&str, u64); 13] = [
    ("null call", 16),
    ("yield alone", 28),
    ("give without a waiter", 49),
    ("take of a unit", 48),
    ("yield to another process", 82),
    ("give to a higher process", 100),
    ("call and answer", 186),
    ("spawn, run, end and reap", 1405),
    ("turn of a coroutine", 30),
    ("batched turn of 100", 19),
    ("batched writes of satp", 520),
    ("alternate turn of 100", 111),
    ("alternate writes of satp", 25_610),
];

#[test]
fn paths_take_no_more_than_documented() {
    let told = program(&["bench"]);
    told.exits(0);
    for (name, limit) in PATHS {
        let line = told.stdout.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
        let (range, _) = line.expect(name).split_once(", first").expect("a range");
        let worst: u64 = range.split(" to ").last().unwrap().parse().unwrap();
        assert!(worst <= limit, "{name}: {worst} instructions, more than {limit}");
    }
}

const EXPERIMENTS: [&str; 7] =
    ["ticks", "spawn", "message", "period", "delay", "pipeline", "inversion"];

#[test]
fn every_figure_has_evidence() {
    let target = ["--repeat", "1", "--target", "tandem@rv64"];
    let pairs = ["--set", "pair=process-process", "--set", "primitive=yield,semaphore"];
    let kinds = [&EXPERIMENTS[..], &["--set", "kind=process"]].concat();
    let calls = ["--set", "transport=ipc", "--set", "workers=1,3", "--set", "services=2"];
    let sizes = ["--set", "size=1,24,25,4096", "--set", "loops=100"];
    let transactions = [&["transaction"][..], &calls, &sizes].concat();
    let sources = ["wakeup", "--set", "kind=process", "--set", "source=software,timer"].to_vec();
    let masked = ["masked", "--set", "kind=process", "--set", "tasks=2,10"].to_vec();
    let ways = ["ticks", "--set", "kind=process", "--set", "order=alternate,batched"];
    let driver = ["interrupt", "--set", "handler=process", "--set", "source=software,timer"];
    let yields = [&ways[..], &["--set", "primitive=semaphore,yield", "--set", "footprint=0,32"]];
    let switch = [&["switch"][..], &pairs].concat();
    let runs = [switch, kinds, transactions, sources, masked, driver.to_vec(), yields.concat()];
    for case in runs.iter().flat_map(|arguments| cases(&[&target, &arguments[..]].concat())) {
        assert_eq!(case["verdict"]["status"], "pass", "{case:#}");
        let evidence = case["evidence"].as_array().unwrap();
        assert!(evidence.iter().all(|fact| fact["holds"] == true), "{case:#}");
    }
}

const SAME: [&str; 5] = ["ticks", "spawn", "message", "wakeup", "masked"];

#[test]
fn two_runs_give_the_same_bytes() {
    let set = ["--set", "kind=process", "--target", "tandem@rv64"];
    let arguments = [&["run", "-q", "--repeat", "2"], &SAME[..], &set[..]];
    gives_the_same_bytes_twice(&arguments.concat(), SAME.len());
}

/// Without a protocol an urgent process waits for all of the hog's time; with inheritance, for
/// none.
#[test]
fn a_mutex_between_address_spaces_inherits() {
    let set = ["--set", "kind=process", "--set", "protocol=none,inheritance"];
    let measured =
        cases(&[&["inversion", "--target", "tandem@rv64", "--repeat", "1"][..], &set].concat());
    let [none, inheritance] = &measured[..] else { panic!("two cases: {measured:#?}") };
    let waited = |case: &Value| {
        let series = case["series"].as_array().expect("a case has series");
        let longest = series.iter().find(|series| series["name"] == "hog 1000 us");
        longest.and_then(|series| series["max"].as_f64()).expect("it has this one")
    };
    // In instructions of a nanosecond: the hog's millisecond, and two thirds of low's 100 us.
    assert!(waited(none) > 1e6, "{none:#}");
    assert!(waited(inheritance) < 1e5, "{inheritance:#}");
}

fn satp_writes(case: &Value) -> f64 {
    let figures = case["figures"].as_array().expect("a case has figures");
    let writes = figures.iter().find(|figure| figure["name"] == "satp writes");
    writes.and_then(|figure| figure["value"].as_f64()).expect("it has this one")
}

#[test]
fn address_spaces_are_counted_with_and_without_identifiers() {
    let set = ["--set", "kind=process", "--set", "queue=constant", "--set", "asid=on,off"];
    let loops = ["--set", "tasks=100", "--set", "loops=10", "--repeat", "1"];
    let ticks = ["ticks", "--target", "tandem@rv64"];
    let measured = cases(&[&ticks[..], &set, &loops].concat());
    let [with, without] = &measured[..] else { panic!("two cases: {measured:#?}") };
    // Each of 100 hand-overs a run enters the other worker's address space.
    assert!(satp_writes(with) >= 1000.0, "{with:#}");
    assert_eq!(satp_writes(with), satp_writes(without));
    // A fence is one instruction.
    let fences = median(without) - median(with);
    assert!((90.0..=110.0).contains(&fences), "{fences} fences in a run of 100 hand-overs");
}

/// A call and its answer change the address space twice; what registers carry costs less than what a
/// buffer does.
#[test]
fn calls_carry_bytes_between_address_spaces() {
    let set = ["--set", "transport=ipc", "--set", "size=1,4096", "--set", "loops=100"];
    let measured =
        cases(&[&["transaction", "--target", "tandem@rv64", "--repeat", "1"][..], &set].concat());
    let [short, long] = &measured[..] else { panic!("two cases: {measured:#?}") };
    for case in &measured {
        assert!((200.0..=240.0).contains(&satp_writes(case)), "{case:#}");
    }
    // The call itself takes 186.
    assert!((186.0..=300.0).contains(&median(short)), "{short:#}");
    assert!(median(long) > 2.0 * median(short), "{long:#}");
    let dead = ["run", "transaction", "-q", "--target", "tandem@rv64", "--set", "transport=ipc"];
    let faults = ["--set", "fault=dead,mute", "--repeat", "1"];
    chronoscope(&[&dead[..], &faults].concat()).exits(0).shows("without a limit");
    let other = ["run", "transaction", "-q", "--target", "tandem@rv64"];
    chronoscope(&other).exits(0).shows("`transport=ipc` alone");
}

/// Two workers in turn write `satp` for every task, and in batches twice a run; so do coroutines of
/// two processes in the kernel's own order.
#[test]
fn batches_cross_address_spaces_twice_a_run() {
    const TASKS: f64 = 100.0;
    const RUNS: f64 = 10.0;
    let set = ["--set", "kind=process", "--set", "queue=constant,kernel"];
    let order = ["--set", "order=alternate,batched"];
    let loops = ["--set", "tasks=100", "--set", "loops=10", "--repeat", "1"];
    let ticks = ["ticks", "--target", "tandem@rv64"];
    let measured = cases(&[&ticks[..], &set, &order, &loops].concat());
    for case in &measured {
        assert_eq!(case["verdict"]["status"], "pass", "{case:#}");
        let evidence = case["evidence"].as_array().expect("a case has evidence");
        assert!(evidence.iter().all(|fact| fact["holds"] == true), "{case:#}");
    }
    let [alternate, batched, own_alternate, own_batched] = &measured[..] else {
        panic!("four cases: {measured:#?}")
    };
    for (alternate, batched) in [(alternate, batched), (own_alternate, own_batched)] {
        assert!(satp_writes(alternate) >= TASKS * RUNS, "{alternate:#}");
        // Two a run, in the measurement and in its control, and some for the beginning and the end.
        assert!(satp_writes(batched) <= 2.0 * 2.0 * RUNS + 40.0, "{batched:#}");
        assert!(median(batched) < median(alternate) / 2.0, "{batched:#}");
    }
}

/// Two workers that yield make fewer calls than two that give and take; reading pages costs what
/// its instructions do.
#[test]
fn workers_yield_and_use_memory() {
    let set = ["--set", "kind=process", "--set", "queue=constant", "--set", "loops=10"];
    let ways = ["--set", "primitive=semaphore,yield", "--set", "footprint=0,16"];
    let ticks = ["ticks", "--target", "tandem@rv64", "--repeat", "1"];
    let measured = cases(&[&ticks[..], &set, &ways].concat());
    let [plain, touching, yielding, both] = &measured[..] else { panic!("four cases") };
    assert!(median(yielding) < 0.6 * median(plain), "{yielding:#}");
    for (with, without) in [(touching, plain), (both, yielding)] {
        // 100 tasks, 16 pages: 5 to 15 instructions a page.
        let more = (median(with) - median(without)) / 1600.0;
        assert!((3.0..15.0).contains(&more), "{more} instructions a page: {with:#}");
    }
}

#[test]
fn what_processes_cannot_do_is_said() {
    let pages = ["run", "ticks", "-q", "--set", "kind=thread", "--set", "footprint=4"];
    chronoscope(&[&pages[..], &["--target", "tandem@rv64"]].concat())
        .exits(0)
        .shows("no pages with translations");
    let driver = ["run", "interrupt", "-q", "--set", "handler=process"];
    chronoscope(&[&driver[..], &["--target", "tandem@cortex-m4"]].concat())
        .exits(0)
        .shows("handlers of interrupts are no processes here");
    let alone = ["run", "ticks", "-q", "--set", "kind=coroutine", "--set", "primitive=yield"];
    chronoscope(&[&alone[..], &["--target", "tandem@rv64"]].concat())
        .exits(4)
        .shows("one worker hands over to nobody");

    let target = ["--target", "tandem@rv64", "--set", "asid=off"];
    chronoscope(&[&["run", "switch"][..], &target].concat()).complains("for processes");
    let external = ["--set", "source=external", "--target", "tandem@rv64"];
    chronoscope(&[&["run", "wakeup", "-q", "--set", "kind=process"], &external[..]].concat())
        .exits(0)
        .shows("no line from outside");
    let own = ["run", "ticks", "-q", "--set", "queue=kernel", "--target", "tandem@rv64"];
    chronoscope(&own).exits(0).shows("no tasks of this kind have coroutines of their own");
    let m4 = ["run", "spawn", "-q", "--set", "kind=process", "--target", "tandem@cortex-m4"];
    chronoscope(&m4).exits(0).shows("tandem has threads and coroutines");
}
