//! `chronoscope import` of recordings that other programs make, or read beside us: each interval is
//! theirs.

use std::{collections::BTreeMap, env, fs, process::Command};

use serde_json::Value;

use crate::common::{Answer, Folder, chronoscope, run};

/// The folder with this test's programs.
const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/files/recordings");

/// The lengths of a case's series by their names.
fn lengths(case: &Value) -> BTreeMap<String, Vec<f64>> {
    let all = case["series"].as_array().unwrap().iter();
    let of = |series: &Value| {
        let samples = series["samples"].as_array().unwrap().iter();
        samples.map(|sample| sample[1].as_f64().unwrap() / 1e3).collect()
    };
    all.map(|series| (series["name"].as_str().unwrap().to_owned(), of(series))).collect()
}

/// The case that `import` makes of a recording.
fn imported(folder: &Folder, arguments: &[&str]) -> Value {
    let store = folder.path("runs.sqlite");
    let stored = ["--store", &store];
    chronoscope(&[&["import", "-q"], arguments, &stored].concat()).exits(0);
    let report = ["report", "last", "--format", "json"];
    chronoscope(&[&report[..], &stored].concat()).json()["cases"][0].clone()
}

/// The package tracex-parser reads the same file.
#[test]
fn recordings_of_tracex_have_the_intervals_of_tracex_parser() {
    let folder = Folder::new("import-tracex");
    let file = folder.path("system.trx");
    let python = env::var_os("CHRONOSCOPE_TEST_PYTHON").expect("set by the test command");
    let script = format!("{PROGRAMS}/tracex.py");
    let theirs = run(Command::new(python).args(["-B", &script, &file])).exits(0).json();
    let case = imported(&folder, &[&file, "--clock", "1MHz"]);
    assert_eq!(case["verdict"]["status"], "pass", "{:#}", case["verdict"]);
    assert_eq!(case["evidence"][0]["value"].as_f64(), theirs["events"].as_f64());
    let ours = lengths(&case);
    let mut count = 0;
    for (sort, ending) in
        [("runs", ", on the processor"), ("waits", ", ready to chosen"), ("handlers", " (handler)")]
    {
        for (name, lengths) in theirs[sort].as_object().unwrap() {
            let lengths: Vec<f64> =
                lengths.as_array().unwrap().iter().map(|one| one.as_f64().unwrap()).collect();
            assert!(lengths.len() > 5, "{name}: {lengths:?}");
            assert_eq!(ours[&format!("{name}{ending}")], lengths, "{name}{ending}");
            count += 1;
        }
    }
    assert_eq!((ours.len(), count), (9, 9), "{:?}", ours.keys());
    // With another rate, all is longer, in another run.
    let slower = lengths(&imported(&folder, &[&file, "--clock", "1kHz"]));
    let name = "control, on the processor";
    assert_eq!(slower[name][0], 1e3 * ours[name][0]);
    // Without the rate of its clock it is refused, and nothing is stored.
    let other = folder.path("other.sqlite");
    let told = chronoscope(&["import", &file, "--store", &other]).exits(1).stderr.clone();
    assert!(told.contains("--clock 168MHz") && told.lines().count() == 2, "{told}");
}

fn tool(name: &str, arguments: &[&str], folder: &Folder) -> Answer {
    run(Command::new(name).args(arguments).current_dir(folder.path("")))
}

/// barectf's generated functions record, and babeltrace2 reads. The recording program prints its
/// intervals.
#[test]
fn traces_of_barectf_have_the_intervals_of_the_program_that_recorded() {
    let folder = Folder::new("import-ctf");
    let [yaml, main] = ["barectf.yaml", "barectf.c"].map(|file| format!("{PROGRAMS}/{file}"));
    tool("barectf", &["generate", &yaml], &folder).exits(0);
    let program = ["-O1", "-I.", "-o", "record", &main, "barectf.c"];
    tool("gcc", &program, &folder).exits(0);
    for trace in ["whole", "lost", "cut"] {
        fs::create_dir(folder.path(trace)).unwrap();
        fs::copy(folder.path("metadata"), folder.path(&format!("{trace}/metadata"))).unwrap();
    }
    let record = folder.path("record");
    let printed = tool(&record, &["whole/stream"], &folder).exits(0).stdout.clone();
    let mut lines = printed
        .lines()
        .map(|line| line.split(' ').map(|word| word.parse().unwrap()).collect::<Vec<f64>>());
    let whole = folder.path("whole");
    let case = imported(&folder, &[&whole]);
    let ours = lengths(&case);
    for series in
        ["interrupt (handler)", "control, ready to running", "control, on the processor", "turn"]
    {
        assert_eq!(ours[series], lines.next().unwrap(), "{series}");
    }
    assert_eq!(case["verdict"]["status"], "pass", "{:#}", case["verdict"]);

    // The text of babeltrace2 gives the same.
    let text = tool("babeltrace2", &["--clock-seconds", &whole], &folder).exits(0).stdout.clone();
    let file = folder.file("whole.txt", text);
    assert_eq!(lengths(&imported(&folder, &[&file])), ours);

    // Lost events are counted, and no interval spans them.
    tool(&record, &["lost/stream", "lose"], &folder).exits(0);
    let case = imported(&folder, &[&folder.path("lost")]);
    assert_eq!(case["verdict"]["status"], "inconclusive");
    assert_eq!(case["evidence"][1]["name"], "events that were lost");
    assert!(case["evidence"][1]["value"].as_f64().unwrap() > 100.0);
    assert!(lengths(&case)["turn"].len() < 400);

    // A stream that is cut is refused in a line.
    let stream = fs::read(folder.path("whole/stream")).unwrap();
    fs::write(folder.path("cut/stream"), &stream[..stream.len() - 3000]).unwrap();
    let store = folder.path("runs.sqlite");
    let cut = folder.path("cut");
    let told = chronoscope(&["import", &cut, "--store", &store]).exits(1).stderr.clone();
    assert!(
        told.contains("cut: babeltrace2 cannot read it") && told.lines().count() == 2,
        "{told}"
    );
    // A folder without a trace is none.
    fs::create_dir(folder.path("empty")).unwrap();
    let empty = folder.path("empty");
    chronoscope(&["import", &empty, "--store", &store]).exits(1);
}

/// trace-cmd reports a file in its own format, whose events a script has written.
#[test]
fn reports_of_trace_cmd_have_the_intervals_that_were_recorded() {
    let folder = Folder::new("import-trace-cmd");
    let file = folder.path("system.dat");
    let script = format!("{PROGRAMS}/trace_dat.py");
    let written = run(Command::new("python3").args(["-B", &script, &file])).exits(0).json();
    let report = tool("trace-cmd", &["report", "-t", "-i", &file], &folder);
    let text = folder.file("report.txt", &report.exits(0).stdout);
    let case = imported(&folder, &[&text]);
    assert_eq!(case["verdict"]["status"], "pass", "{:#}", case["verdict"]);
    let ours = lengths(&case);
    let sorts = [
        ("runs", ", on the processor"),
        ("waits", ", wake-up to running"),
        ("handlers", " (handler)"),
        ("spans", ""),
    ];
    for (sort, ending) in sorts {
        for (name, lengths) in written[sort].as_object().unwrap() {
            let lengths: Vec<f64> =
                lengths.as_array().unwrap().iter().map(|one| one.as_f64().unwrap() / 1e3).collect();
            assert!(lengths.len() > 5, "{name}: {lengths:?}");
            assert_eq!(ours[&format!("{name}{ending}")], lengths, "{name}{ending}");
        }
    }
}

/// The numbers of a field of each value of a list.
fn numbers(list: &Value, field: &str) -> Vec<f64> {
    list.as_array().unwrap().iter().map(|one| one[field].as_f64().unwrap()).collect()
}

/// Nearly equal: a sample is a whole number of ns.
#[track_caller]
fn assert_near(ours: &[f64], theirs: &[f64]) {
    let near = |(ours, theirs): (&f64, &f64)| (ours - theirs).abs() <= 1e-3 * theirs;
    assert!(ours.len() == theirs.len() && ours.iter().zip(theirs).all(near), "{ours:?} {theirs:?}");
}

#[test]
fn results_of_hyperfine_are_its_runs() {
    let folder = Folder::new("import-hyperfine");
    let export =
        ["-N", "--runs", "12", "--style", "none", "--export-json", "result.json", "sleep 0.01"];
    tool("hyperfine", &export, &folder).exits(0);
    let theirs: Value =
        serde_json::from_slice(&fs::read(folder.path("result.json")).unwrap()).unwrap();
    let times = theirs["results"][0]["times"].as_array().unwrap().iter();
    let times: Vec<f64> = times.map(|time| 1e6 * time.as_f64().unwrap()).collect();
    let case = imported(&folder, &[&folder.path("result.json")]);
    assert_eq!(case["verdict"]["status"], "pass", "{case:#}");
    let ours = lengths(&case);
    assert_near(ours.values().next().unwrap(), &times);
}

/// A benchmark of Google's library.
const BENCHMARK: &str = "
    #include <benchmark/benchmark.h>
    static void sum(benchmark::State &state) {
        for (auto _ : state) {
            int all = 0;
            for (int one = 0; one < 1000; one++) benchmark::DoNotOptimize(all += one);
        }
    }
    BENCHMARK(sum);
    BENCHMARK_MAIN();
";

#[test]
fn results_of_google_benchmark_are_its_repetitions() {
    let folder = Folder::new("import-google");
    let source = folder.file("sum.cpp", BENCHMARK);
    let build = ["-O1", &source, "-o", "sum", "-lbenchmark", "-lpthread"];
    tool("g++", &build, &folder).exits(0);
    let out = ["--benchmark_out_format=json", "--benchmark_out=result.json"];
    let few = ["--benchmark_repetitions=5", "--benchmark_min_time=0.02"];
    tool(&folder.path("sum"), &[&few[..], &out].concat(), &folder).exits(0);
    let theirs: Value =
        serde_json::from_slice(&fs::read(folder.path("result.json")).unwrap()).unwrap();
    let all = theirs["benchmarks"].as_array().unwrap().iter();
    let own: Value = all.filter(|one| one["run_type"] == "iteration").cloned().collect();
    let case = imported(&folder, &[&folder.path("result.json")]);
    assert_eq!(case["verdict"]["status"], "pass", "{case:#}");
    let repetitions = &case["series"][0]["by_repetition"];
    assert_near(&numbers(repetitions, "p50"), &numbers(&own, "real_time"));
}

/// Each sample is a time of several iterations, whose number criterion raises from one to the next; its own file,
/// and the message of cargo-criterion, have both.
#[test]
#[ignore = "builds criterion: ./chronoscope test long"]
fn results_of_criterion_are_its_samples() {
    let folder = Folder::new("import-criterion");
    let project = format!("{PROGRAMS}/criterion");
    let tools = folder.path("tools");
    let cargo = |words: &str, more: &[&str]| {
        let path = env::var("PATH").unwrap();
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(words.split(' ')).args(more).current_dir(&project);
        cargo.env("CARGO_TARGET_DIR", folder.path("target"));
        run(cargo.env("PATH", format!("{tools}/bin:{path}"))).exits(0).stdout.clone()
    };
    let check = |file: &str, theirs: &Value, [times, counts]: [&str; 2]| {
        let [times, counts] = [times, counts].map(|field| {
            let all = theirs[field].as_array().unwrap().iter();
            all.map(|one| one.as_f64().unwrap()).collect::<Vec<_>>()
        });
        let case = imported(&folder, &[file]);
        assert_eq!(case["verdict"]["status"], "pass", "{case:#}");
        assert!(times.len() == 20 && case["parameters"].to_string().contains("sum"), "{case:#}");
        let means = times.iter().zip(counts).map(|(time, count)| time / count / 1e3);
        assert_near(lengths(&case).values().next().unwrap(), &means.collect::<Vec<_>>());
    };
    cargo("run --quiet --release --locked -- --bench", &[]);
    let file = folder.path("target/criterion/sum/new/sample.json");
    let theirs: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    check(&file, &theirs, ["times", "iters"]);

    cargo("install --quiet cargo-criterion --version 1.1.0 --locked --root", &[&tools]);
    let messages = cargo("criterion --message-format=json", &[]);
    let first = messages.lines().next().unwrap();
    let file = folder.file("messages.json", &messages);
    check(&file, &serde_json::from_str(first).unwrap(), ["measured_values", "iteration_count"]);
}
