//! Comparing runs and variants: verdicts and exit statuses.

use crate::common::{Answer, Folder, SHORT, chronoscope};
use serde_json::{Value, json};

/// A run of a case whose figures are replaced: the verdicts must not depend on this machine's load.
struct Bench {
    folder: Folder,
    run: Value,
}

impl Bench {
    fn new(name: &str) -> Self {
        let json = ["--no-store", "--format", "json"];
        let mut run = chronoscope(&[&SHORT[..], &json].concat()).json();
        run["cases"][0]["verdict"] = json!({ "status": "pass", "reasons": [] });
        Self { folder: Folder::new(name), run }
    }

    /// Writes a file of the run with other medians: ten repetitions that scatter by a percent about
    /// `p50`, and reference loops of length `reference`.
    fn file(&self, name: &str, p50: f64, reference: f64) -> String {
        self.changed(name, p50, reference, |_| {})
    }

    fn changed(&self, name: &str, p50: f64, reference: f64, change: impl Fn(&mut Value)) -> String {
        let mut run = self.run.clone();
        let case = &mut run["cases"][0];
        let repetition = case["series"][0]["by_repetition"][0].clone();
        let scatter = [0.0, 0.01, -0.01, 0.005, -0.004, 0.002, -0.006, 0.008, 0.001, -0.002];
        let repetitions = scatter.iter().enumerate().map(|(index, scatter)| {
            let mut repetition = repetition.clone();
            // The order differs between the sides.
            repetition["p50"] = json!(p50 * (1.0 + scatter) + 1e-6 * index as f64);
            repetition
        });
        let mut repetitions: Vec<Value> = repetitions.collect();
        repetitions.rotate_left(name.len() % 7);
        case["series"][0]["by_repetition"] = repetitions.into();
        for figure in case["figures"].as_array_mut().unwrap() {
            if figure["name"].as_str().unwrap().starts_with("reference loop") {
                figure["value"] = reference.into();
            }
        }
        change(&mut run);
        self.folder.file(&format!("{name}.json"), run.to_string())
    }
}

fn compare(arguments: &[&str]) -> Answer {
    chronoscope(&[&["compare"], arguments].concat())
}

#[test]
fn stored_runs_are_held_together() {
    let bench = Bench::new("stored");
    let a = bench.file("a", 3000.0, 100.0);
    compare(&[&a, &bench.file("same", 3010.0, 100.2)]).exits(0).shows("pass: 1 pass");
    let slower = bench.file("slower", 3300.0, 100.0);
    compare(&[&a, &slower]).exits(3).shows("× 1.100").shows("regression: 1 regression");
    compare(&[&slower, &a]).exits(0).shows("1 improvement");
    compare(&[&a, &slower, "--threshold", "20"]).exits(0);
    let json = compare(&[&a, &slower, "switch", "--format", "json"]).exits(3).json();
    assert_eq!(
        (&json["verdict"], &json["lines"][0]["finding"]),
        (&"regression".into(), &"regression".into())
    );
    assert_eq!(json["interleaved"], json!(false));
    compare(&[&a, &slower, "--format", "github"])
        .exits(3)
        .shows("::error title=switch loops=100 policy=other")
        .shows("× 1.100");
    compare(&[&a, &slower, "--format", "junit"])
        .exits(3)
        .shows("<failure message=")
        .shows("type=\"regression\"");
    assert!(json["lines"][0]["figures"]["interval"]["low"].as_f64().unwrap() > 1.05);
}

#[test]
fn a_machine_at_another_speed_proves_nothing() {
    let bench = Bench::new("drift");
    let a = bench.file("a", 3000.0, 100.0);
    // All figures are 20 % slower, which the machine's speed may explain.
    compare(&[&a, &bench.file("all", 3600.0, 120.0)])
        .exits(4)
        .shows("the reference loop took 20.0 % longer");
    // The case has slowed much more than the machine.
    compare(&[&a, &bench.file("much", 6000.0, 120.0)]).exits(3);
    // The case is as fast as before, on a faster machine.
    compare(&[&a, &bench.file("hidden", 3000.0, 80.0)]).exits(4).shows("20.0 % shorter beside B");
    // The case is faster in step with the machine, which is no regression.
    compare(&[&a, &bench.file("faster", 2400.0, 80.0)]).exits(0);
    // The scatter of the loop itself is below a percent.
    compare(&[&a, &bench.file("steady", 3300.0, 100.9)]).exits(3);
    let without = |run: &mut Value| run["cases"][0]["figures"] = json!([]);
    compare(&[&a, &bench.changed("none", 3300.0, 0.0, without)])
        .exits(3)
        .shows("no reference loops");
}

#[test]
fn what_cannot_be_compared_is_told() {
    let bench = Bench::new("told");
    let a = bench.file("a", 3000.0, 100.0);
    let with = |name: &str, change: &dyn Fn(&mut Value)| bench.changed(name, 3000.0, 100.0, change);
    let other = with("other", &|run| run["cases"][0]["parameters"]["tasks"] = json!("7"));
    compare(&[&a, &other])
        .exits(4)
        .shows("only in A: switch linux@host")
        .shows("only in B: switch linux@host");
    let both = with("both", &|run| {
        let mut case = run["cases"][0].clone();
        case["parameters"]["tasks"] = json!("7");
        run["cases"].as_array_mut().unwrap().push(case);
    });
    compare(&[&a, &both]).exits(0).shows("only in B");
    compare(&[&both, &a]).exits(4).shows("only in A").shows("1 not measured in B");
    let clock = with("clock", &|run| run["cases"][0]["clock"]["domain"] = json!("cycles"));
    compare(&[&a, &clock]).exits(4).shows("such clocks are not ranked");
    let doubt = json!({ "status": "inconclusive", "reasons": ["switches: 3, not at least 99"] });
    let unproved = with("unproved", &|run| run["cases"][0]["verdict"] = doubt.clone());
    compare(&[&a, &unproved]).exits(4).shows("B: switches: 3, not at least 99");
    let few = with("few", &|run| {
        run["cases"][0]["series"][0]["by_repetition"].as_array_mut().unwrap().truncate(2);
    });
    compare(&[&a, &few]).exits(4).shows("too few repetitions (10 and 2)");
    compare(&[&a, &a, "delayed"]).complains("unknown experiment `delayed`");
}

#[test]
fn exact_clocks_count_every_tick() {
    let bench = Bench::new("exact");
    let exact = |name: &str, value: f64| {
        bench.changed(name, value, 100.0, |run| {
            let case = &mut run["cases"][0];
            case["clock"]["domain"] = json!("instructions");
            case["series"][0]["unit"] = json!("instructions");
            let repetitions = case["series"][0]["by_repetition"].as_array_mut().unwrap();
            repetitions.truncate(1);
            repetitions[0]["p50"] = value.into();
        })
    };
    let a = exact("a", 5690.0);
    compare(&[&a, &exact("same", 5690.0)]).exits(0);
    compare(&[&a, &exact("more", 5691.0)]).exits(3);
    compare(&[&a, &exact("fewer", 5689.0)]).exits(0).shows("improvement");
}

#[test]
fn mistakes_are_told_in_a_line() {
    let bench = Bench::new("mistakes");
    let a = bench.file("a", 3000.0, 100.0);
    compare(&[&a, "linux@host"]).complains("is a run and `linux@host` a variant");
    compare(&["linux@host,pad=3", &a])
        .complains("`chronoscope run --target linux@host` stores one");
    compare(&[&a, &a, "--repeat", "3"]).complains("`--repeat` is for variants");
    compare(&[&a, "nowhere.json"]).complains("`nowhere.json` is no run");
    compare(&["linux@host", "linux@hots"]).complains("unknown target");
    compare(&["linux@host", "linux@host,pad"]).complains("settings are NAME=VALUE");
    compare(&["linux@host", "linux@host,pad=many", "switch"]).complains("it is a whole number");
    compare(&["linux@host", "linux@host,bad=1", "switch"])
        .complains("no experiment here has a parameter `bad`");
    compare(&["linux@host", "linux@host,bad=1"]).complains("nothing to run");
    compare(&[&a, &a, "--threshold=-1"]).complains("a percentage");
}

/// Cases that need no permission, with few repetitions; fine differences are not tested here.
const LIVE: [&str; 8] =
    ["switch", "--set", "policy=other", "--set", "mlock=no", "--set", "loops=500", "--repeat=6"];

#[test]
fn variants_take_turns() {
    let folder = Folder::new("variants");
    let store = folder.path("runs.sqlite");
    let run = |b: &str| compare(&[&["linux@host", b], &LIVE[..], &["--store", &store]].concat());
    let alike = run("linux@host");
    assert!(matches!(alike.status, Some(0 | 4)), "{alike:#?}");
    assert!(alike.stderr.contains("stored as run 1 and run 2"), "{alike:#?}");
    // B is at least twice as slow.
    run("linux@host,pad=50000").exits(3).shows("A and B took turns");
    // The stored sides have different settings, so as runs they share no case.
    chronoscope(&["compare", "3", "4", "--store", &store])
        .exits(4)
        .shows("only in A")
        .shows("pad=50000");
    chronoscope(&["history", "switch", "--store", &store]).exits(0).shows("pad=50000");
}
