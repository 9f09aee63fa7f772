//! Android's binder and hwbinder in guests: the transactions, the drivers' own counts, injected
//! faults, and compatibility with the commands and names of Android's programs.

use std::fs;

use crate::common::{Answer, Folder, chronoscope, program, run};
use serde_json::Value;

/// Runs `transaction` in a guest, with few calls.
fn transaction(settings: &[&str], more: &[&str]) -> Answer {
    let call =
        ["run", "transaction", "-q", "--no-store", "--repeat", "1", "--target", "linux-full@vm"];
    let settings: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
    chronoscope(&[&call[..], &settings, more].concat())
}

fn cases(answer: &Answer) -> Vec<Value> {
    answer.exits(0).json()["cases"].as_array().expect("a run has cases").clone()
}

/// Standard error, without the messages about preparing a guest for the first time.
fn said(answer: &Answer) -> Vec<&str> {
    answer.stderr.lines().filter(|line| !line.starts_with("chronoscope: ")).collect()
}

/// Checks that all evidence of a case holds, and that worker, service and driver counted the calls.
#[track_caller]
fn is_counted(case: &Value, calls: f64) {
    assert_eq!(case["verdict"]["status"], "pass", "{case:#}");
    let evidence = case["evidence"].as_array().expect("a case has evidence");
    for name in [
        "answers that held what was sent",
        "calls counted by the services",
        "transactions counted by the driver",
    ] {
        let fact = evidence
            .iter()
            .find(|fact| fact["name"] == name)
            .unwrap_or_else(|| panic!("no {name}: {case:#}"));
        assert_eq!(
            (&fact["value"], &fact["holds"]),
            (&Value::from(calls), &Value::from(true)),
            "{name}: {case:#}"
        );
    }
}

#[test]
fn answers_of_all_sizes_hold_what_was_sent() {
    let settings = ["transport=binder,hwbinder", "size=1,8,4096,65536", "loops=20"];
    let cases = cases(&transaction(&settings, &["--format", "json"]));
    assert_eq!(cases.len(), 8);
    cases.iter().for_each(|case| is_counted(case, 20.0));
    let mean = |case: &Value| case["series"][1]["p50"].as_f64().expect("a figure");
    assert!(
        mean(&cases[3]) > 1.5 * mean(&cases[0]),
        "64 KiB take longer than a byte: {:#}",
        cases[3]
    );
}

#[test]
fn workers_share_services() {
    let settings = ["transport=binder,hwbinder", "workers=3", "services=2", "loops=30"];
    cases(&transaction(&settings, &["--format", "json"]))
        .iter()
        .for_each(|case| is_counted(case, 90.0));
}

#[test]
fn two_runs_give_the_same_bytes() {
    let settings = ["transport=binder,hwbinder", "size=64", "loops=30", "workers=1,2"];
    let csv = || transaction(&settings, &["--format", "csv"]).exits(0).stdout.clone();
    let first = csv();
    assert!(first.lines().count() > 8, "{first}");
    assert_eq!(first, csv());
    let latency =
        || chronoscope(&["hwbinder-latency", "-i", "20", "-pair", "3", "--detail"]).stdout;
    assert_eq!(latency(), latency());
}

/// Each fault is reported in a line of its own.
#[test]
fn what_goes_wrong_is_told_in_a_line() {
    for (settings, text) in [
        (["fault=dead", "size=64"], "the server died while it was called"),
        (["fault=mute", "size=64"], "the server did not answer a call in time"),
        // The call is larger than the memory mapped for messages.
        (["fault=none", "size=1048576"], "the transport refused a call"),
        // Replies that nobody frees fill the memory, so the service's reply fails.
        (["fault=hoard", "size=65536"], "the transport refused a call"),
        (
            ["fault=descriptors", "size=64"],
            "could not connect to the services (Too many open files",
        ),
        (["fault=memory", "size=64"], "could not connect to the services (Cannot allocate memory"),
    ] {
        let answer =
            transaction(&[&["transport=binder,hwbinder", "loops=40"], &settings[..]].concat(), &[]);
        let reasons: Vec<&str> = answer
            .exits(4)
            .stdout
            .lines()
            .filter(|line| line.starts_with("inconclusive: "))
            .collect();
        assert!(reasons.len() == 1 && reasons[0].contains(text), "{settings:?}: {answer:#?}");
        assert_eq!(said(&answer), [""; 0], "{settings:?}");
    }
}

#[test]
fn faults_of_binder_s_workers_are_not_offered_elsewhere() {
    let call = [
        "run",
        "transaction",
        "-q",
        "--no-store",
        "--repeat",
        "1",
        "--set",
        "transport=unix",
        "--set",
    ];
    chronoscope(&[&call[..], &["fault=hoard"]].concat()).shows("not offered: this transport");
}

/// The program's children carry its environment; none may be left when a case has failed.
#[test]
fn nobody_is_left_behind() {
    const MARK: &str = "CHRONOSCOPE_TEST_NOBODY_IS_LEFT";
    let call = [
        "run",
        "transaction",
        "-q",
        "--no-store",
        "--repeat",
        "1",
        "--set",
        "transport=unix,futex",
        "--set",
    ];
    run(program().args(call).arg("fault=mute").env(MARK, "1")).exits(4);
    let is_marked = |place: &fs::DirEntry| {
        let environment = fs::read(place.path().join("environ")).unwrap_or_default();
        environment.split(|&byte| byte == 0).any(|word| word.starts_with(MARK.as_bytes()))
    };
    // Killed processes take a moment to end.
    for _ in 0..100 {
        if !fs::read_dir("/proc").unwrap().filter_map(Result::ok).any(|place| is_marked(&place)) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    panic!("processes of a failed case live on");
}

/// The positions of these texts, all of which must be present.
#[track_caller]
fn in_order(text: &str, keys: &[&str]) {
    let mut rest = text;
    for key in keys {
        let at = rest.find(key).unwrap_or_else(|| panic!("no {key}, in this order, in {text}"));
        rest = &rest[at + key.len()..];
    }
}

#[test]
fn hwbinder_latency_prints_what_the_original_prints() {
    let answer =
        chronoscope(&["hwbinder-latency", "-i", "10", "-pair", "2", "-deadline_us", "900"]);
    // A mainline driver passes on no real-time priority.
    let json = answer.exits(2).json();
    assert_eq!(json["inheritance"], "FAIL");
    assert_eq!(json["cfg"], serde_json::json!({ "pair": 2, "iterations": 10, "deadline_us": 900 }));
    assert_eq!((&json["P0"]["SYNC"], &json["P1"]["I"]), (&Value::from("GOOD"), &Value::from(20)));
    assert!(
        json["P1"]["fifo_ms"]["bst"].as_f64() <= json["P1"]["fifo_ms"]["wst"].as_f64(),
        "{json:#}"
    );
    let caller = ["\"avg\":", "\"wst\":", "\"bst\":", "\"miss\":", "\"meetR\":"];
    let head = ["\"SYNC\":", "\"S\":", "\"I\":", "\"R\":", "\"other_ms\":"];
    let pair = |name| [&[name], &head[..], &caller, &["\"fifo_ms\":"], &caller].concat();
    let config = ["{", "\"cfg\":", "\"pair\":", "\"iterations\":", "\"deadline_us\":"];
    in_order(
        &answer.stdout,
        &[&config[..], &pair("\"P0\":"), &pair("\"P1\":"), &["\"inheritance\": \"FAIL\""]].concat(),
    );
}

/// The newer versions of Android's program print all pairs together, percentiles and the mode.
#[test]
fn the_newer_original_s_form() {
    let answer = chronoscope(&["hwbinder-latency", "-i", "10", "-w", "2", "-raw_data"]);
    let json = answer.exits(2).json();
    assert_eq!(
        json["cfg"],
        serde_json::json!({ "pair": 2, "iterations": 10, "deadline_us": 2500, "passthrough": 0 })
    );
    assert_eq!(json["ALL"]["I"], 40);
    let worst = |name: &str| json[name]["fifo_ms"]["wst"].as_f64().unwrap();
    assert!((worst("ALL") - worst("P0").max(worst("P1"))).abs() < f64::EPSILON, "{json:#}");
    for pair in ["ALL", "P0", "P1"] {
        for caller in ["otherdis", "fifodis"] {
            let value = |key: &str| json[pair][caller][key].as_f64().unwrap();
            assert!(value("p50") > 0.0 && value("p50") <= value("p99"), "{json:#}");
        }
    }
    let calls = json["fifo_1_data"].as_array().unwrap();
    let worst_ns = calls.iter().filter_map(Value::as_f64).fold(0.0, f64::max);
    assert_eq!(calls.len(), 10);
    assert!((worst_ns / 1e6 / worst("P1") - 1.0).abs() < 0.06, "{json:#}");
    in_order(
        &answer.stdout,
        &["\"cfg\":", "\"clock\":", "\"fifo_0_data\":", "\"fifo_1_data\":", "\"ALL\":", "\"P0\":"],
    );
}

/// A guest's clock counts instructions: what looks like milliseconds says of which clock they are.
#[test]
fn figures_that_are_no_wall_time_say_so() {
    let answer = chronoscope(&["hwbinder-latency", "-i", "2"]);
    let json = answer.exits(2).json();
    let unit = "ms of the guest's clock, on which an instruction takes 2 ns";
    assert_eq!(
        json["clock"],
        serde_json::json!({ "target": "linux-full@vm", "domain": "instructions", "unit": unit })
    );
    assert!(
        answer
            .stderr
            .contains(&format!("linux-full@vm: the figures are {unit}, no time on the wall"))
    );
}

#[test]
fn a_kernel_of_ones_own_carries_the_calls() {
    chronoscope(&["hwbinder-latency", "-i", "2"]).exits(2);
    let folder = crate::cached_kernel("6.1").expect("the guest has fetched its kernel");
    let modules = Folder::new("binder-own-modules");
    let module = fs::read(folder.join("binder_linux.ko")).unwrap();
    modules.file("binder_linux.ko", module);
    let image = folder.join("vmlinuz").to_str().unwrap().to_owned();
    let own = ["--kernel-image", &image, "--kernel-modules", modules.0.to_str().unwrap()];
    let command = [&["hwbinder-latency", "-i", "2"], &own[..]].concat();
    let json = chronoscope(&command).exits(2).json();
    assert_eq!(json["clock"]["target"], "linux@vm");
    chronoscope(&[&command[..], &["--target", "linux-full@vm"]].concat())
        .complains("`--kernel-image` is the kernel of linux@vm");
}

#[test]
fn a_boost_is_told_as_an_emulation() {
    let answer = chronoscope(&["hwbinder-latency", "-i", "10", "--boost"]);
    assert_eq!(answer.exits(0).json()["inheritance"], "EMULATED");
    assert!(answer.stderr.contains("no inheritance of the driver's"), "{answer:#?}");
}

#[test]
fn verbose_lines_are_in_the_original_s_order() {
    let answer = chronoscope(&["hwbinder-latency", "-i", "2", "-v"]);
    answer.exits(2).json();
    let blocks: Vec<Vec<&str>> =
        answer.stderr.split(&"-".repeat(50)).skip(1).map(|b| b.trim().lines().collect()).collect();
    let told = blocks.iter().map(|lines| {
        assert!(
            lines[0].contains(" pid: ")
                && lines[0].contains(" tid: ")
                && lines[0].contains(" cpu: "),
            "{lines:?}"
        );
        (lines[0].split(' ').next().unwrap(), lines[1])
    });
    let (other, fifo) = ("SCHED_OTHER 0", "SCHED_FIFO  99");
    let round =
        [("fifo-caller", fifo), ("hwbinder", other), ("other-caller", other), ("hwbinder", other)];
    let head = [("service", other), ("main", other), ("client", other)];
    assert_eq!(told.collect::<Vec<_>>(), [&head[..], &round, &round].concat());
}

#[test]
fn a_missed_deadline_stops_the_trace_and_keeps_it() {
    let folder = Folder::new("binder-trace");
    let arguments = ["hwbinder-latency", "-i", "5", "-deadline_us", "1", "-trace"];
    let answer = run(program().args(arguments).current_dir(&folder.0));
    // The measurement ends at the miss.
    assert_eq!(answer.exits(2).json()["P0"]["I"], 2);
    assert_eq!(
        said(&answer),
        ["deadline triggered: halt & stop trace", "log:hwbinder-latency.trace"]
    );
    let trace =
        fs::read_to_string(folder.path("hwbinder-latency.trace")).expect("the trace is there");
    in_order(
        &trace,
        &[
            "# tracer: nop\n",
            "# entries-in-buffer/entries-written: ",
            "sched_switch: ",
            "binder_transaction: ",
        ],
    );
    assert!(trace.starts_with("# tracer: "), "{trace}");
}

#[test]
fn benchmarks_have_android_s_names() {
    let sizes = "4,8,16,32,64,128,256,512,1024,2048,4096,8192,16384,32768,65536";
    let settings = [&format!("size={sizes}"), "transport=hwbinder", "loops=10"];
    let answer = transaction(&settings, &["--format", "google-benchmark"]);
    let json = answer.exits(0).json();
    let benchmarks = json["benchmarks"].as_array().expect("there are benchmarks");
    let names: Vec<&str> = benchmarks.iter().filter_map(|one| one["name"].as_str()).collect();
    let sizes = [
        "4", "8", "16", "32", "64", "128", "256", "512", "1024", "2k", "4k", "8k", "16k", "32k",
        "64k",
    ];
    assert_eq!(names, sizes.map(|size| format!("BM_sendVec_binderize/{size}")));
    for one in benchmarks {
        assert!(one["cpu_time"].as_f64() < one["real_time"].as_f64(), "{one:#}");
        assert_eq!(one["label"], "1 s stands for 1 of the unit: instructions");
    }
}

#[test]
fn the_console_table_is_google_benchmark_s() {
    let answer = transaction(
        &["transport=binder", "size=4096", "loops=10"],
        &["--benchmark_format=console"],
    );
    let lines: Vec<Vec<&str>> =
        answer.exits(0).stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[1], ["Benchmark", "Time", "CPU", "Iterations"]);
    assert_eq!(
        (lines[3][0], lines[3][2], lines[3][4], lines[3][5]),
        ("BM_sendVec_binder/4k", "s", "s", "10")
    );
}
