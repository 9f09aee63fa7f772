//! `chronoscope baseline`: the written file, and the verdicts of runs checked against it.

use std::fs;

use crate::common::{Folder, chronoscope};
use serde_json::{Value, json};

/// A run of the program with the first case's figures replaced, in instructions or in ns.
struct Bench {
    folder: Folder,
    run: Value,
}

impl Bench {
    fn new(name: &str) -> Self {
        let short = [
            "run",
            "switch",
            "--set",
            "policy=other",
            "--set",
            "mlock=no",
            "--set",
            "loops=100,200",
            "--repeat=5",
        ];
        let mut run =
            chronoscope(&[&short[..], &["--no-store", "-q", "--format", "json"]].concat()).json();
        for case in run["cases"].as_array_mut().unwrap() {
            case["verdict"] = json!({ "status": "pass", "reasons": [] });
        }
        Self { folder: Folder::new(name), run }
    }

    fn run(&self, name: &str, change: impl Fn(&mut Value)) -> String {
        let mut run = self.run.clone();
        change(&mut run["cases"]);
        self.folder.file(&format!("{name}.json"), run.to_string())
    }

    /// Gives every case this number of instructions.
    fn exact(&self, name: &str, p50: f64) -> String {
        self.run(name, |cases| {
            cases.as_array_mut().unwrap().iter_mut().for_each(|case| make_exact(case, p50))
        })
    }
}

fn make_exact(case: &mut Value, p50: f64) {
    case["clock"]["domain"] = json!("instructions");
    for series in case["series"].as_array_mut().unwrap() {
        series["unit"] = json!("instructions");
        series["by_repetition"]
            .as_array_mut()
            .unwrap()
            .iter_mut()
            .for_each(|one| one["p50"] = json!(p50));
    }
}

#[test]
fn a_run_passes_against_its_own_baseline() {
    let bench = Bench::new("baseline-own");
    let (file, again) = (bench.folder.path("a.toml"), bench.folder.path("b.toml"));
    let run = bench.run("run", |_| {});
    assert_eq!(chronoscope(&["baseline", "write", &run, "-o", &file]).exits(0).stdout, "");
    chronoscope(&["baseline", "check", &file, &run])
        .exits(0)
        .shows("no regression shown: 2 no regression shown")
        .shows("reference loops alike");
    chronoscope(&["baseline", "check", &file, &run, "--strict"]).exits(4);
    chronoscope(&["baseline", "check", &file, &run, "--threshold", "0"]).exits(0);
    chronoscope(&["baseline", "write", &run, "-o", &again]).exits(0);
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text, fs::read_to_string(&again).unwrap());
    assert_eq!(
        text.lines().filter(|line| line.contains("case = \"switch linux@host ")).count(),
        2,
        "{text}"
    );
    assert!(
        text.contains("domain = \"wall\"") && text.contains("host = ") && text.len() < 2000,
        "{text}"
    );
    assert_eq!(chronoscope(&["baseline", "write", &run]).exits(0).stdout, text);
}

#[test]
fn an_exact_figure_fails_by_one_and_tells_when_it_shrank() {
    let bench = Bench::new("baseline-exact");
    let file = bench.folder.path("exact.toml");
    chronoscope(&["baseline", "write", &bench.exact("run", 5690.0), "-o", &file]).exits(0);
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        text.contains("p50 = [5690], p99 = [")
            && text.contains("max = [")
            && !text.contains("host = ")
            && !text.contains("reference"),
        "{text}"
    );
    let more = bench.exact("more", 5691.0);
    chronoscope(&["baseline", "check", &file, &more, "--threshold", "50"])
        .exits(3)
        .shows("regression: 2 regression");
    let github = chronoscope(&["baseline", "check", &file, &more, "--format", "github"]);
    github
        .exits(3)
        .shows("::error title=switch loops=100")
        .shows("::regression%0Ap50 5690 instructions → 5691 instructions");
    // Only the tail has grown.
    let tail = bench.run("tail", |cases| {
        for case in cases.as_array_mut().unwrap() {
            make_exact(case, 5690.0);
            let repetitions = case["series"][0]["by_repetition"].as_array_mut().unwrap();
            repetitions.iter_mut().for_each(|one| one["p99"] = json!(1e9));
        }
    });
    chronoscope(&["baseline", "check", &file, &tail]).exits(3).shows("× longer at p99");
    chronoscope(&["baseline", "check", &file, &tail, "--judge", "p50"]).exits(0);
    let fewer = bench.exact("fewer", 5600.0);
    let tighten = format!(
        "exact figures that shrank: 2; to hold them: chronoscope baseline write {fewer} -o {file}"
    );
    chronoscope(&["baseline", "check", &file, &fewer]).exits(0).shows(&tighten);
    // With several targets, a case's name includes its target.
    let targets = bench.run("targets", |cases| {
        cases.as_array_mut().unwrap().iter_mut().for_each(|case| make_exact(case, 41.0));
        cases[1]["target"] = json!("tandem@cortex-m4");
    });
    chronoscope(&["compare", &targets, &targets])
        .exits(0)
        .shows("linux@host loops=")
        .shows("tandem@cortex-m4 loops=");
    let junit = chronoscope(&["baseline", "check", &file, &more, "--format", "junit"])
        .exits(3)
        .stdout
        .clone();
    assert_eq!(
        roxmltree::Document::parse(&junit).unwrap().root_element().attribute("failures"),
        Some("2")
    );
}

#[test]
fn what_is_new_and_what_vanished_is_told() {
    let bench = Bench::new("baseline-new");
    let (both, one) = (
        bench.exact("both", 41.0),
        bench.run("one", |cases| {
            cases.as_array_mut().unwrap().truncate(1);
            make_exact(&mut cases[0], 41.0);
        }),
    );
    let (full, half) = (bench.folder.path("full.toml"), bench.folder.path("half.toml"));
    chronoscope(&["baseline", "write", &both, "-o", &full]).exits(0);
    chronoscope(&["baseline", "write", &one, "-o", &half]).exits(0);
    chronoscope(&["baseline", "check", &half, &both])
        .exits(0)
        .shows("only in B: switch linux@host");
    chronoscope(&["baseline", "check", &full, &one]).exits(4).shows("only in A: switch linux@host");
    let refused = bench.run("refused", |cases| {
        make_exact(&mut cases[0], 41.0);
        make_exact(&mut cases[1], 41.0);
        cases[1]["verdict"] = json!({ "status": "not-offered", "reasons": ["no such thing"] });
    });
    chronoscope(&["baseline", "check", &full, &refused])
        .exits(4)
        .shows("the baseline has figures of it");
    // A run without evidence makes no baseline.
    let left = chronoscope(&["baseline", "write", &refused, "-o", &half]);
    assert!(left.exits(0).stderr.contains("left out: switch loops=200"), "{left:#?}");
}

#[test]
fn mistakes_are_told_in_a_line_and_write_nothing() {
    let bench = Bench::new("baseline-mistakes");
    let good = bench.exact("good", 41.0);
    let file = bench.folder.path("good.toml");
    chronoscope(&["baseline", "write", &good, "-o", &file]).exits(0);
    let few = bench.run("few", |cases| {
        for case in cases.as_array_mut().unwrap() {
            case["series"][0]["by_repetition"].as_array_mut().unwrap().truncate(2);
        }
    });
    let new = bench.folder.path("new.toml");
    let write = |run: &str, file: &str| chronoscope(&["baseline", "write", run, "-o", file]);
    write(&few, &new).complains("no baseline is written: switch");
    write(&few, &file).complains("too few repetitions (2 and 2)");
    write("nowhere.json", &new).complains("no such file: nowhere.json");
    write(&good, &bench.folder.path("no/such")).complains("there is no folder");
    assert!(!fs::exists(&new).unwrap());
    let check = |file: &str| chronoscope(&["baseline", "check", file, &good]);
    check(&file).exits(0);
    check(&new).complains("cannot read the baseline");
    check(&good).complains("line 1");
    check("/dev/zero").complains("not a regular file");
    check(&bench.folder.file("binary", b"\x7fELF\xff")).complains("cannot read the baseline");
    chronoscope(&["baseline", "check", &file, &good, "--threshold=-1"]).complains("a percentage");
    chronoscope(&["baseline", "check", &file, "last-x"]).complains("no such file: last-x");
    chronoscope(&["baseline"]).complains("");
}
