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

/// The step after a regression is a command that works, and is left out where the run has nothing to
/// show.
#[test]
fn the_step_to_b_s_longest_samples_is_a_command_that_works() {
    let bench = Bench::new("trace-of-b");
    let (a, mute) = (bench.file("a", 3000.0, 100.0), bench.file("mute", 6000.0, 100.0));
    let longest = "longest and their causes";
    assert!(!compare(&[&a, &mute]).exits(3).stdout.contains(longest));
    let with_samples = |run: &mut Value| {
        run["cases"][0]["series"][0]["samples"] = json!([[17.0, 6000.0], [30.0, 6100.0]]);
    };
    let b = bench.changed("b with samples", 6000.0, 100.0, with_samples);
    let screen = compare(&[&a, &b]);
    screen.exits(3).shows(&format!("{longest}: chronoscope trace '{b}'"));
    let output = bench.folder.path("b.pftrace");
    chronoscope(&["trace", &b, "-o", &output]).exits(0);
}

#[test]
fn stored_runs_are_held_together() {
    let bench = Bench::new("stored");
    let a = bench.file("a", 3000.0, 100.0);
    // Files are in no store, so nothing is known of the scatter between runs.
    let same = bench.file("same", 3010.0, 100.2);
    compare(&[&a, &same])
        .exits(0)
        .shows("no regression shown: 1 no regression shown")
        .shows("cannot be excluded")
        .shows(
            "a scatter of 15 % between runs is assumed in 1 intervals, and the tail is not judged",
        );
    compare(&[&a, &same, "--strict"]).exits(4).shows("inconclusive: 1 no regression shown");
    compare(&[&a, &bench.file("slower", 3300.0, 100.0)]).exits(0).shows("no regression shown");
    let twice = bench.file("twice", 6000.0, 100.0);
    compare(&[&a, &twice]).exits(3).shows("× 2.00").shows("regression: 1 regression");
    compare(&[&a, &twice, "--strict"]).exits(3);
    compare(&[&twice, &a, "--judge", "p50"]).exits(0).shows("1 improvement");
    // The tails of these files are equal, but other runs may scatter.
    compare(&[&twice, &a]).exits(0).shows("faster at the median").shows("1 no regression shown");
    compare(&[&a, &twice, "--threshold", "200"]).exits(0);
    let json = compare(&[&a, &twice, "switch", "--format", "json"]).exits(3).json();
    assert_eq!(
        (&json["verdict"], &json["lines"][0]["finding"]),
        (&"regression".into(), &"regression".into())
    );
    assert_eq!((&json["interleaved"], &json["schema"]), (&json!(false), &json!(3)));
    let statistics = &json["lines"][0]["statistics"];
    assert_eq!(
        (&statistics[0]["statistic"], &statistics[1]["statistic"]),
        (&json!("p50"), &json!("p99"))
    );
    assert!(json["lines"][0]["figures"]["interval"]["low"].as_f64().unwrap() > 1.05);
    compare(&[&a, &twice, "--format", "github"])
        .exits(3)
        .shows("::error title=switch loops=100 policy=other")
        .shows("× 2.000");
    compare(&[&a, &twice, "--format", "junit"])
        .exits(3)
        .shows("<failure message=")
        .shows("type=\"regression\"");
}

#[test]
fn the_store_teaches_the_scatter_between_runs() {
    let folder = Folder::new("learned");
    let store = folder.path("runs.sqlite");
    let words =
        [&["run", "switch"], &LIVE[1..7], &["--repeat=5", "-q", "--store", &store]].concat();
    for _ in 0..5 {
        chronoscope(&words).exits(0);
    }
    let found = compare(&["last-1", "last", "--store", &store]);
    assert!(
        found.stdout.contains("the scatter between runs is learned from earlier runs"),
        "{found:#?}"
    );
    let json = compare(&["last-1", "last", "--store", &store, "--format", "json"]).json();
    assert_eq!(json["lines"][0]["statistics"][0]["between_runs"]["runs"], 3);
}

#[test]
fn a_machine_at_another_speed_proves_nothing() {
    let bench = Bench::new("drift");
    let a = bench.file("a", 3000.0, 100.0);
    // All figures are twice as slow, which the machine's speed may explain.
    compare(&[&a, &bench.file("all", 6000.0, 200.0)])
        .exits(4)
        .shows("in doubt: the reference loop took 100.0 % longer")
        .shows("in turn decides: chronoscope compare linux@host linux@host switch --set loops=100");
    // The case has slowed much more than the machine.
    compare(&[&a, &bench.file("much", 12_000.0, 200.0)]).exits(3);
    // The case is as fast as before, on a faster machine.
    compare(&[&a, &bench.file("hidden", 3000.0, 50.0)]).exits(4).shows("50.0 % shorter with B");
    // The case is faster in step with the machine, which is no regression.
    compare(&[&a, &bench.file("faster", 1500.0, 50.0)]).exits(0);
    // The scatter of the loop itself is below a percent.
    compare(&[&a, &bench.file("steady", 6000.0, 100.9)]).exits(3);
    let without = |run: &mut Value| run["cases"][0]["figures"] = json!([]);
    compare(&[&a, &bench.changed("none", 6000.0, 0.0, without)])
        .exits(3)
        .shows("no reference loops");
}

#[test]
fn other_conditions_put_a_regression_in_doubt() {
    let bench = Bench::new("conditions");
    let of = |name: &str, p50: f64, load: f64| {
        bench.changed(name, p50, 100.0, |run| {
            run["context"]["load"] = json!([load, load, load]);
            run["context"]["processors"] = json!(2);
            run["context"]["doctor"] = json!([]);
        })
    };
    let a = of("a", 3000.0, 0.1);
    compare(&[&a, &of("alike", 9000.0, 0.3)]).exits(3);
    compare(&[&a, &of("loaded", 9000.0, 3.0)])
        .exits(4)
        .shows("in doubt: the load was 0.1 beside A and 3 beside B, on 2 processors");
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
fn cases_of_two_targets_are_paired() {
    let bench = Bench::new("pairing");
    let with = |name: &str, change: &dyn Fn(&mut Value)| bench.changed(name, 3000.0, 100.0, change);
    let a = bench.file("a", 3000.0, 100.0);
    let target = with("target", &|run| run["cases"][0]["target"] = json!("linux-rt@vm"));
    compare(&[&a, &target]).exits(0).shows("A is linux@host, B is linux-rt@vm");
    // With several targets in a run, the pairing is asked for.
    let two = with("two", &|run| {
        let mut case = run["cases"][0].clone();
        case["target"] = json!("tandem@host");
        run["cases"][0]["target"] = json!("linux-rt@vm");
        run["cases"].as_array_mut().unwrap().push(case);
    });
    compare(&[&a, &two]).exits(4).shows("only in A");
    compare(&[&a, &two, "--pair", "target"]).exits(0).shows("only in B: switch tandem@host");
    let tasks = with("tasks", &|run| run["cases"][0]["parameters"]["tasks"] = json!("7"));
    compare(&[&a, &tasks]).exits(4).shows("only in A");
    compare(&[&a, &tasks, "--pair", "tasks"]).exits(0).shows("A is tasks=2, B is tasks=7");
    compare(&[&a, &tasks, "--pair", "taks"]).complains("no case has such a parameter");
}

/// PREEMPT_RT against full preemption, as measured in a guest whose clock counts instructions.
#[test]
fn a_better_tail_and_a_worse_median_are_mixed() {
    let bench = Bench::new("mixed");
    let guest = |target: &str, p50: f64, p99: f64, max: f64| {
        bench.changed(target, p50, 100.0, |run| {
            let case = &mut run["cases"][0];
            case["target"] = json!(target);
            case["clock"]["domain"] = json!("instructions");
            let series = &mut case["series"][0];
            series["unit"] = json!("instructions");
            let repetitions = series["by_repetition"].as_array_mut().unwrap();
            repetitions.truncate(1);
            (repetitions[0]["p50"], repetitions[0]["p99"]) = (p50.into(), p99.into());
            repetitions[0]["max"] = max.into();
        })
    };
    let full = guest("linux-full@vm", 3843.0, 204_159.0, 242_545.0);
    let rt = guest("linux-rt@vm", 4419.0, 4_815.0, 4_850.0);
    let sentence = "slower at the median (× 1.15), 42 × shorter at p99, 50 × at worst: mixed";
    let found = compare(&[&full, &rt]);
    found.exits(3).shows(sentence).shows("mixed: 1 mixed");
    let title =
        "linux-rt removes the tail: 42 × less at p99, 50 × at worst, for 15 % more at the median";
    assert!(found.stdout.starts_with(title), "{found:#?}");
    assert!(!found.stdout.contains("regression:"), "{found:#?}");
    compare(&[&full, &rt, "--judge", "p99"])
        .exits(0)
        .shows("42 × shorter at p99: improvement")
        .shows("1 improvement");
    compare(&[&full, &rt, "--judge", "p50"]).exits(3).shows("regression: 1 regression");
    compare(&[&full, &rt, "--format", "junit"]).exits(3).shows("type=\"mixed\"");
    compare(&[&full, &rt, "--format", "github"]).exits(3).shows("::mixed%0Ap50 3843");
    let json = compare(&[&full, &rt, "--format", "json"]).exits(3).json();
    assert_eq!((&json["verdict"], &json["answer"]), (&json!("mixed"), &json!(sentence)));
    let page = bench.folder.path("mixed.html");
    compare(&[&full, &rt, "-o", &page]).exits(3);
    let page = std::fs::read_to_string(page).unwrap();
    let page = page.replace('\u{a0}', " ");
    assert!(page.contains(&format!("<h1>{title}</h1>")), "the page's title is the finding");
    assert!(page.contains("<h2>Verdict: better tail, worse median</h2>"), "{page}");
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
    compare(&[&a, "nowhere.json"]).complains("no such file: nowhere.json");
    compare(&["linux@host", "linux@hots"]).complains("unknown target");
    compare(&["linux@host", "linux@host,pad"]).complains("settings are NAME=VALUE");
    compare(&["linux@host", "linux@host,pad=many", "switch"]).complains("it is a whole number");
    compare(&["linux@host", "linux@host,bad=1", "switch"])
        .complains("no experiment here has a parameter `bad`");
    compare(&["linux@host", "linux@host,bad=1"]).complains("nothing to run");
    compare(&[&a, &a, "--threshold=-1"]).complains("a percentage");
    compare(&[&a, &a, "--judge", "p98"]).complains("no statistic `p98` can be judged");
    compare(&["linux@host", "linux@host", "--pair", "target"]).complains("is for stored runs");
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
    let paired = compare(&["3", "4", "--pair", "pad", "--store", &store]);
    assert!(paired.stdout.contains("A is pad=0, B is pad=50000"), "{paired:#?}");
    chronoscope(&["history", "switch", "--store", &store]).exits(0).shows("pad=50000");
}

#[test]
fn pairs_are_added_until_a_case_is_settled() {
    let folder = Folder::new("until-sure");
    let store = folder.path("runs.sqlite");
    let run = |b: &str, more: &[&str]| {
        compare(&[&["linux@host", b], &LIVE[..7], &["--store", &store], more].concat())
    };
    // B is far slower: the first look settles it, or on a busy machine a later one.
    run("linux@host,pad=50000", &["--judge", "p50", "--repeat=5", "--until-sure"])
        .exits(3)
        .shows("until sure: every case is settled, after ");
    // Nothing shows that two equal sides differ by less than 0 %: the time ends it.
    let equal = run("linux@host", &["--threshold=0", "--repeat=5", "--until-sure", "1s"]);
    assert!(matches!(equal.status, Some(0 | 3 | 4)), "{equal:#?}");
    assert!(equal.stdout.contains("until sure: "), "{equal:#?}");
    compare(&["linux@host", "linux@host", "--until-sure", "switch"])
        .complains("write a number and s, m, h or d");
}
