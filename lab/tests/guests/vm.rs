//! The machine `vm`: Linux in QEMU. The figures are exact, so tests compare numbers.

use std::fs;

use crate::{
    cached_kernel,
    common::{Folder, chronoscope, medians_by_repetition, program, run},
};
use serde_json::Value;

/// The cases of a run, as JSON.
fn cases(arguments: &[&str]) -> Vec<Value> {
    let answer = chronoscope(
        &[&["run", "-q", "--no-store", "--repeat", "1", "--format", "json"], arguments].concat(),
    );
    answer.json()["cases"].as_array().unwrap_or_else(|| panic!("{answer:#?}")).clone()
}

/// A statistic of a case's first measured series.
fn statistic(case: &Value, name: &str) -> f64 {
    let series = case["series"].as_array().expect("a case has series");
    let measured = series.iter().find(|series| series["role"] == "measured");
    measured
        .and_then(|series| series[name].as_f64())
        .unwrap_or_else(|| panic!("no {name} in {case:#}"))
}

fn has_evidence(case: &Value, text: &str) -> bool {
    let evidence = case["evidence"].as_array().expect("a case has evidence");
    evidence.iter().any(|fact| {
        fact["holds"] == true && fact["name"].as_str().is_some_and(|name| name.contains(text))
    })
}

#[test]
fn two_runs_give_the_same_bytes() {
    let arguments =
        ["run", "-q", "--no-store", "--repeat", "2", "switch", "period", "--set", "loops=100"];
    let csv = || {
        chronoscope(&[&arguments[..], &["--target", "linux-full@vm", "--format", "csv"]].concat())
            .stdout
    };
    let first = csv();
    assert!(first.lines().count() > 4, "{first}");
    assert_eq!(first, csv());
}

#[test]
fn every_kind_of_task_is_measured() {
    let kinds = [
        "--set",
        "kind=thread,process,coroutine",
        "--set",
        "loops=20",
        "--target",
        "linux-full@vm",
    ];
    let pairs = [
        "switch",
        "--set",
        "pair=thread-thread,process-process,coroutine-coroutine",
        "--set",
        "loops=100",
    ];
    let runs = [
        [&["wakeup", "message", "period", "spawn"], &kinds[..]].concat(),
        [&pairs, &["--target", "linux-full@vm"][..]].concat(),
        [&["interrupt", "log", "--set", "loops=50"], &["--target", "linux-full@vm"][..]].concat(),
    ];
    for case in runs.iter().flat_map(|arguments| cases(arguments)) {
        assert_eq!(case["verdict"]["status"], "pass", "{case:#}");
        assert_eq!(case["clock"]["domain"], "instructions", "{case:#}");
        assert!(has_evidence(&case, "preemption model read back: full"), "{case:#}");
    }
}

#[test]
fn the_model_of_preemption_shows_beside_long_system_calls() {
    let set = [
        "--set",
        "load=mmap",
        "--set",
        "loops=300",
        "--target",
        "linux-none@vm,linux-full@vm,linux-rt@vm",
    ];
    let cases = cases(&[&["period"], &set[..]].concat());
    let maxima: Vec<f64> = cases.iter().map(|case| statistic(case, "max")).collect();
    for (case, model) in cases.iter().zip(["none", "full", "rt"]) {
        assert_eq!(case["verdict"]["status"], "pass", "{case:#}");
        assert!(
            has_evidence(case, "load mmap") && has_evidence(case, &format!("read back: {model}")),
            "{case:#}"
        );
    }
    let [none, full, real_time] = maxima[..] else { panic!("{cases:#?}") };
    assert!(none > 1.2 * full && full > 10.0 * real_time, "{maxima:?}");
}

/// P4: the ways to bring a short program back to the time that it takes alone.
#[test]
fn policy_and_not_the_model_of_preemption_keeps_a_short_program_from_waiting() {
    let set = ["--set", "class=ordinary,urgent", "--target", "linux-full@vm,linux-rt@vm"];
    let cases = cases(&[&["interference"], &set[..]].concat());
    let stretched = |case: &Value| {
        assert_eq!(case["verdict"]["status"], "pass", "{case:#}");
        let figures = case["figures"].as_array().expect("a case has figures");
        let figure = figures.iter().find(|figure| figure["name"] == "latency stretched");
        figure.and_then(|figure| figure["value"].as_f64()).unwrap_or_else(|| panic!("{case:#}"))
    };
    let stretched: Vec<f64> = cases.iter().map(stretched).collect();
    let [ordinary, urgent, ordinary_rt, urgent_rt] = stretched[..] else { panic!("{cases:#?}") };
    assert!(ordinary > 1.6 && urgent < 1.1, "{stretched:?}");
    // The phase of the 20 ms program within a 4 ms time slice differs between images.
    assert!(
        (ordinary - ordinary_rt).abs() < 0.2 && (urgent - urgent_rt).abs() < 0.05,
        "{stretched:?}"
    );
}

/// An empty call shows no priority inversion. A busy service with competitors does, and the
/// client's boost removes it.
#[test]
fn a_real_time_caller_waits_for_who_competes_with_its_server_unless_it_lends_its_priority() {
    let settings = ["work_us=2000", "hogs=3", "loops=40", "boost=no,yes"]
        .map(|setting| ["--set", setting])
        .concat();
    let cases = cases(&[&["latency", "--target", "linux-full@vm"], &settings[..]].concat());
    let [without, with] = &cases[..] else { panic!("{cases:#?}") };
    for case in [without, with] {
        assert_eq!(case["verdict"]["status"], "pass", "{case:#}");
    }
    // How many calls wait depends on the phase of the hogs' time slices; that some wait does not.
    let [without, with] = [without, with].map(|case| statistic(case, "max"));
    assert!(without > 3.0 * with, "{without} ns without, {with} ns with a boost");
}

#[test]
fn a_peer_runs_in_the_guest_with_its_libraries() {
    let study = |arguments: &str| {
        format!(
            r#"
            name = "test"
            title = "A peer in a guest."
            repeat = 1
            [[peer]]
            name = "peer"
            package = "coreutils"
            command = ["printf"{arguments}]
            reads = "perf-bench-pipe"
            experiment = "switch"
            target = "linux-full@vm"
            set = {{ loops = 100, load = "messages" }}
            beside = [{{ ours = "mean", theirs = "operation" }}]
            "#
        )
    };
    let folder = Folder::new("vm-peer");
    let run = |arguments, format| {
        let file = folder.file("study.toml", study(arguments));
        let run = ["run", "-q", "--allow-programs", "--no-store", "--study", &file];
        chronoscope(&[&run[..], &["--format", format]].concat())
    };
    let answer = run(r#", "%s\\040usecs/op", "5""#, "json");
    let paired = &answer.exits(0).json()["peers"][0]["statistics"][0];
    assert_eq!(
        paired["theirs"],
        serde_json::json!([2500.0]),
        "5 µs of the guest's clock, {paired}"
    );
    assert_eq!(paired["unit"], "instructions");
    run("", "table")
        .exits(4)
        .shows("theirs: the guest failed")
        .shows("printf failed (exit status: 1)");
    run(r#", "two words""#, "table").exits(4).shows("holds a space");
}

#[test]
fn a_case_keeps_what_it_was_made_with() {
    let case = &cases(&["interrupt", "--set", "loops=10", "--target", "linux-full@vm"])[0];
    for name in ["emulator", "kernel", "kernel's origin", "initramfs", "machine", "boot arguments"]
    {
        assert!(
            case["identity"][name].as_str().is_some_and(|fact| !fact.is_empty()),
            "{name}: {case:#}"
        );
    }
    let log = case["log"].as_array().unwrap();
    assert!(
        log.iter().any(|line| line.as_str().is_some_and(|line| line.contains("one instruction"))),
        "{log:?}"
    );
}

/// Debian's kernel, given as the user's own.
fn debian_kernel() -> String {
    cases(&["interrupt", "--set", "loops=10", "--target", "linux-full@vm"]);
    let folder = cached_kernel("6.1").expect("the case has fetched it");
    folder.join("vmlinuz").to_str().unwrap().to_owned()
}

#[test]
fn a_kernel_of_ones_own_is_measured() {
    let own = ["--kernel-image", &debian_kernel(), "--append", "preempt=none"];
    let case =
        &cases(&[&["interrupt", "--set", "loops=10", "--target", "linux@vm"], &own[..]].concat())
            [0];
    assert_eq!(case["verdict"]["status"], "pass", "{case:#}");
    assert!(
        case["identity"]["boot arguments"]
            .as_str()
            .is_some_and(|text| text.contains("preempt=none")),
        "{case:#}"
    );
}

/// Two copies of one kernel: each side boots its own file.
#[test]
fn two_kernels_of_ones_own_take_turns() {
    let folder = Folder::new("vm-two-kernels");
    let store = folder.path("runs.sqlite");
    let target = |name: &str| {
        let copy = folder.path(name);
        fs::copy(debian_kernel(), &copy).unwrap();
        format!("linux={copy}@vm")
    };
    let (a, b) = (target("a"), target("b"));
    let store = ["--store", store.as_str()];
    let compare = ["compare", &a, &b, "interrupt", "--set", "loops=10", "--repeat", "2", "-q"];
    chronoscope(&[&compare[..], &store].concat()).exits(0);
    for (run, file) in [("1", "a"), ("2", "b")] {
        let run = chronoscope(&[&["report", run, "--format", "json"], &store[..]].concat()).json();
        let origin = &run["cases"][0]["identity"]["kernel's origin"];
        assert_eq!(origin.as_str(), Some(folder.path(file).as_str()));
    }
}

/// A name of the table selects its preemption model, and the port reads the model back.
#[test]
fn a_kernel_of_ones_own_has_a_free_name() {
    let kernel = debian_kernel();
    let targets = format!("mine={kernel}@vm,linux-voluntary={kernel}@vm");
    let cases = cases(&["interrupt", "--set", "loops=10", "--target", &targets]);
    let arguments = |case: &Value| case["identity"]["boot arguments"].as_str().unwrap().to_owned();
    assert_eq!(cases[0]["target"], "mine@vm");
    assert!(!arguments(&cases[0]).contains("preempt="), "{:#}", cases[0]);
    assert!(arguments(&cases[1]).contains("preempt=voluntary"), "{:#}", cases[1]);
    assert!(has_evidence(&cases[1], "preemption model read back: voluntary"), "{:#}", cases[1]);
}

#[test]
fn what_is_no_kernel_is_told() {
    let folder = Folder::new("vm-kernel");
    let file = folder.file("vmlinuz", "no kernel");
    let run = ["run", "interrupt", "-q", "--no-store", "--repeat", "1", "--target", "linux@vm"];
    chronoscope(&run).exits(1).shows("--kernel-image");
    chronoscope(&[&run[..], &["--kernel-image", &file]].concat())
        .exits(1)
        .shows("neither a bzImage");
    let panics = [
        "--kernel-image",
        &debian_kernel(),
        "--append",
        "rdinit=/nonexistent root=/dev/nonexistent",
    ];
    chronoscope(&[&run[..], &panics].concat()).exits(4).shows("in the guest: Kernel panic");
    chronoscope(&[&run[..], &["--append", "quiet"]].concat()).complains("--kernel-image");
    chronoscope(&["run", "switch", "--target", "linux-hurd@vm"])
        .complains("unknown target `linux-hurd@vm`");
}

/// A fair scheduler decides by the tasks' pasts, and a loop of calls stays on one of several paths.
/// Real-time tasks have one path.
#[test]
fn start_states_show_the_paths_of_a_call() {
    let call = ["transaction", "--target", "linux-rt@vm", "--set", "loops=100", "--set", "size=4"];
    let varied = ["--set", "transport=futex", "--set", "class=ordinary,urgent", "--vary", "8"];
    let arguments = [&["run", "-q", "--no-store"], &call[..], &varied[..]].concat();
    let json = || chronoscope(&[&arguments[..], &["--format", "json"]].concat()).json();
    let run = json();
    // On a busy host the emulator's clock of a sleeping guest is late now and then, as
    // docs/machines/qemu.md says: one of three repeats is the same.
    assert!((0..3).any(|_| json()["cases"] == run["cases"]), "{run:#}");
    let cases = run["cases"].as_array().unwrap();
    let [ordinary, urgent] = [0, 1].map(|place| medians_by_repetition(&cases[place]));
    let spread = |medians: &[f64]| medians.last().unwrap() / medians[0];
    assert!(spread(&ordinary) > 1.3, "{ordinary:?}");
    assert!(spread(&urgent) < 1.01, "{urgent:?}");
}

#[test]
fn the_cache_is_listed_and_cleared() {
    let folder = Folder::new("vm-cache");
    let cache = |argument: &[&str]| {
        run(program().env("XDG_CACHE_HOME", &folder.0).arg("cache").args(argument))
    };
    cache(&[]).exits(0).shows("0 MB of");
    let entry = folder.0.join("chronoscope/machines/linux-full-0123456789abcdef");
    std::fs::create_dir_all(&entry).unwrap();
    std::fs::write(entry.join("memory"), vec![0; 3_000_000]).unwrap();
    cache(&[]).exits(0).shows("3 MB  machines/linux-full-0123456789abcdef");
    cache(&["--clear"]).exits(0);
    assert!(!entry.exists());
}

/// Under load a task on PREEMPT_RT starts sooner at worst: the title says so by the worst
/// start, and the median would not.
#[test]
fn the_title_compares_kernels_by_the_worst_start() {
    let targets = "linux-none@vm,linux-rt@vm";
    let run =
        ["run", "period", "--target", targets, "--set", "load=none,mmap", "--set", "loops=100"];
    let answer = chronoscope(&[&run[..], &["-q", "--no-store", "--repeat", "1"]].concat());
    let screen = answer.exits(0).stdout.replace(['\u{a0}', '\u{202f}'], " ").replace('\n', " ");
    let title = screen.split_once("A periodic task starts late by at most ").unwrap().1;
    let (best, rest) = title.split_once(" instructions in linux-rt, ").unwrap();
    let number = |text: &str| text.replace(' ', "").parse::<f64>().unwrap();
    let (worst, _) = rest.split_once(" in linux-none").unwrap();
    assert!(number(worst) > 2.0 * number(best), "{screen}");
}
