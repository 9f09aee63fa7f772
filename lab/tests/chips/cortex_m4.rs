//! The machine `cortex-m4`: kernels' images in QEMU. The figures are exact, so tests compare
//! numbers.

use crate::{
    common::{
        cases, chronoscope, gives_the_same_bytes_twice, median, medians_by_repetition,
        program_path, series, targets,
    },
    delays_are_late_by_less_than_1000,
};
use serde_json::Value;

const ALL: [&str; 8] =
    ["switch", "message", "wakeup", "interrupt", "period", "spawn", "log", "pipeline"];

#[test]
fn two_runs_give_the_same_bytes() {
    let targets = targets("cortex-m4");
    // Other tests run the cases in all their length.
    let few = ["run", "-q", "--repeat", "1", "--set", "loops=300", "--target", &targets];
    gives_the_same_bytes_twice(&[&few, &ALL[..4]].concat(), 28);
}

#[test]
fn start_states_repeat_and_show_only_in_what_depends_on_them() {
    let varied = ["switch", "period", "--target", "tandem@cortex-m4,lilos@cortex-m4"];
    let states = |states| [&varied[..], &["--vary", states]].concat();
    gives_the_same_bytes_twice(&[&["run", "-q", "--no-store"], &states("3")[..]].concat(), 13);
    let cases = cases(&states("6"));
    assert!(cases.iter().all(|case| case["repetitions"] == 6 && case["parameters"]["vary"] == "6"));
    let medians: Vec<Vec<f64>> = cases.iter().map(medians_by_repetition).collect();
    let [switch, of_lilos, period, period_of_lilos] = &medians[..] else { panic!("{medians:?}") };
    assert_eq!((switch.len(), period.len()), (1, 1), "{medians:?}");
    // lilos visits its tasks in the order in which they were created.
    assert_eq!(of_lilos.len(), 2, "{medians:?}");
    // Its tick has another phase in each state, but due times are ticks.
    assert_eq!(period_of_lilos.len(), 1, "{medians:?}");
    assert!(period_of_lilos[0] < 1000.0, "{medians:?}");
}

#[test]
fn every_figure_has_evidence() {
    let tandem = [
        "--repeat",
        "1",
        "--target",
        "tandem@cortex-m4",
        "inversion",
        "--set",
        "protocol=inheritance,ceiling",
    ];
    let delays = [
        "delay",
        "--set",
        "kind=thread,coroutine",
        "--repeat",
        "1",
        "--target",
        "tandem@cortex-m4",
    ];
    let kinds = ["--set", "kind=coroutine", "--repeat", "1", "--target", "tandem@cortex-m4"];
    let pairs = "pair=thread-thread,coroutine-coroutine,thread-coroutine,coroutine-thread";
    let pairs = [
        "switch",
        "--set",
        pairs,
        "--set",
        "primitive=yield,semaphore",
        "--repeat",
        "1",
        "--target",
    ];
    let runs = [
        [
            &["--repeat", "1", "--target", "embassy@cortex-m4,lilos@cortex-m4,rtic@cortex-m4"],
            &ALL[..],
        ]
        .concat(),
        vec!["delay", "--set", "idle=halt,spin", "--repeat", "1", "--target", "lilos@cortex-m4"],
        ["delay", "--set", "tasks=1,9,32", "--repeat", "1", "--target", "rtic@cortex-m4"].to_vec(),
        [&["delay", "pipeline", "--repeat", "1", "--target", "freertos@cortex-m4"], &ALL[..5]]
            .concat(),
        [&["--repeat", "1", "--target", "tandem@cortex-m4"], &ALL[..]].concat(),
        [&kinds, &ALL[1..]].concat(),
        [&pairs, &["tandem@cortex-m4"][..]].concat(),
        delays.to_vec(),
        tandem.to_vec(),
    ];
    for case in runs.iter().flat_map(|arguments| cases(arguments)) {
        assert_eq!(case["verdict"]["status"], "pass", "{case:#}");
        assert_eq!(case["clock"]["domain"], "instructions", "{case:#}");
        // How the kernel was compiled is part of its figures.
        let build = case["identity"]["build"].as_str().unwrap_or_default();
        let options = if case["target"] == "freertos@cortex-m4" { "-O2" } else { "-O3" };
        assert!(build.contains(options), "{build} in {case:#}");
        let evidence = case["evidence"].as_array().unwrap();
        assert!(
            !evidence.is_empty() && evidence.iter().all(|fact| fact["holds"] == true),
            "{case:#}"
        );
    }
}

#[test]
fn a_mark_takes_a_few_instructions() {
    for target in targets("cortex-m4").split(',') {
        let case = &cases(&["interrupt", "--repeat", "1", "--target", target])[0];
        let control = case["series"]
            .as_array()
            .unwrap()
            .iter()
            .find(|series| series["role"] == "control")
            .unwrap();
        // The control is a clock read and a store, and in some rounds the instructions of the loop.
        assert_eq!(control["p50"], 2.0, "{control:#}");
        assert!(control["max"].as_f64().unwrap() < 10.0, "{control:#}");
    }
}

#[test]
fn nothing_is_faster_than_no_kernel() {
    for experiment in ["switch", "message", "interrupt"] {
        let targets = "embassy@cortex-m4,lilos@cortex-m4,bare@cortex-m4";
        let cases = cases(&[experiment, "--repeat", "1", "--target", targets]);
        let medians: Vec<f64> = cases.iter().map(median).collect();
        let [embassy, lilos, bare] = medians[..] else { panic!("{cases:#?}") };
        assert!(bare <= embassy && bare <= lilos, "{experiment}: {medians:?}");
    }
}

#[test]
fn a_switch_of_tandem_costs_the_same_among_many() {
    for pair in ["pair=thread-thread", "pair=coroutine-coroutine", "pair=thread-coroutine"] {
        let set = ["--set", pair, "--set", "primitive=yield", "--set", "tasks=2,10,32"];
        let cases = cases(
            &[&["switch", "--repeat", "1", "--target", "tandem@cortex-m4"], &set[..]].concat(),
        );
        let switches: Vec<f64> = cases.iter().map(median).collect();
        assert!(
            switches.len() == 3 && switches.iter().all(|switch| *switch == switches[0]),
            "{pair}: {switches:?}"
        );
    }
}

/// The figure `masked` with 2, 10 and 30 tasks.
fn masked(target: &str) -> Vec<f64> {
    let set = ["--set", "tasks=2,10,30", "--set", "loops=500", "--repeat", "1"];
    let cases = cases(&[&["masked", "--target", target], &set[..]].concat());
    let masked = cases.iter().map(|case| {
        assert_eq!(case["verdict"]["status"], "pass", "{case:#}");
        let figures = case["figures"].as_array().unwrap();
        let masked = figures.iter().find(|figure| figure["name"] == "masked").unwrap();
        assert_eq!(masked["unit"], "instructions");
        masked["value"].as_f64().unwrap()
    });
    masked.collect()
}

#[test]
fn interrupts_are_off_for_a_constant_time_in_tandem() {
    let tandem = masked("tandem@cortex-m4");
    assert!(tandem.iter().all(|masked| (30.0..=140.0).contains(masked)), "{tandem:?}");
    // Embassy walks its queue of timers with interrupts off, so the experiment must show growth
    // here.
    let embassy = masked("embassy@cortex-m4");
    assert!(embassy.is_sorted() && embassy[2] > 5.0 * embassy[0], "{embassy:?}");
    let rtic = masked("rtic@cortex-m4");
    assert!(rtic.is_sorted() && rtic[2] > 3.0 * rtic[0], "{rtic:?}");
    // lilos masks only the handlers of its tick's priority.
    let lilos = masked("lilos@cortex-m4");
    assert!(lilos.iter().all(|masked| *masked < 20.0), "{lilos:?}");
    // A line that no handler may call the kernel from is no figure.
    let bare = cases(&["masked", "--target", "bare@cortex-m4", "--repeat", "1"]);
    assert_eq!(bare[0]["verdict"]["status"], "not-offered", "{bare:#?}");
}

#[test]
fn the_smallest_images_are_measured_and_run() {
    // The further configurations of FreeRTOS, embassy and tandem have none.
    let targets = targets("cortex-m4");
    let further = ["freertos-", "embassy-", "tandem-"];
    let targets: Vec<&str> = targets
        .split(',')
        .filter(|target| !further.iter().any(|name| target.starts_with(name)))
        .collect();
    let targets = targets.join(",");
    let cases = cases(&["image", "--repeat", "1", "--target", &targets]);
    let bytes = |case: &Value, name: &str| {
        let series = case["series"]
            .as_array()
            .unwrap()
            .iter()
            .find(|series| series["name"] == name)
            .unwrap();
        series["max"].as_f64().unwrap()
    };
    let of = |kernel: &str| {
        let target = format!("{kernel}@cortex-m4");
        cases.iter().find(|case| case["target"] == target.as_str()).unwrap()
    };
    let [tandem, freertos, lilos, rtic, bare] =
        ["tandem", "freertos", "lilos", "rtic", "bare"].map(of);
    for case in &cases {
        assert_eq!(case["verdict"]["status"], "pass", "{case:#}");
        assert_eq!(case["evidence"].as_array().unwrap().len(), 2, "{case:#}");
    }
    for kernel in cases.iter().filter(|case| case["target"] != bare["target"]) {
        assert!(bytes(bare, "text") < bytes(kernel, "text"), "{kernel:#}");
    }
    // The size that tandem's documentation gives: 256 bytes, of which 128 are the guard.
    assert_eq!(bytes(tandem, "a task"), 256.0);
    // The size of FreeRTOS's `StaticTask_t` in this configuration.
    assert_eq!(bytes(freertos, "a task"), 56.0);
    // The state of a future, and its running flag.
    assert_eq!(bytes(rtic, "a task"), 4.0);
    // A size that is not counted must not appear as 0.
    assert!(
        lilos["series"].as_array().unwrap().iter().all(|series| series["name"] != "a task"),
        "{lilos:#}"
    );
    assert!(lilos["log"][0].as_str().unwrap().contains("stack"), "{lilos:#}");
}

#[test]
fn a_kernel_s_own_benchmark_has_a_series_for_each_operation() {
    let targets = "tandem@cortex-m4,freertos@cortex-m4";
    let set = ["operations", "--repeat", "2", "--target", targets, "--set", "slices=no,yes"];
    let cases = cases(&set);
    let of = |target: &str, slices: &str| {
        let is_it =
            |case: &&Value| case["target"] == target && case["parameters"]["slices"] == slices;
        cases.iter().find(is_it).unwrap()
    };
    let plain = of("tandem@cortex-m4", "no");
    assert_eq!(plain["verdict"]["status"], "pass", "{plain:#}");
    let series = plain["series"].as_array().unwrap();
    let one = |name: &str| series.iter().find(|series| series["name"] == name).unwrap();
    assert_eq!(one("control: two marks")["role"], "control");
    let p50 = |name: &str| one(name)["p50"].as_f64().unwrap();
    assert_eq!(p50("yield, 2 threads"), p50("yield, 32 threads"));
    assert!(p50("semaphore given -> higher thread") < p50("semaphore full shuffle"));
    // Two starts of 400 rounds each.
    assert_eq!(one("yield, 2 threads")["count"], 800);
    assert_eq!(plain["figures"][0]["name"], "RAM of a thread beside its stack");
    assert_eq!(plain["figures"][0]["value"], 256.0);
    let slices = of("tandem@cortex-m4", "yes");
    assert_eq!(slices["verdict"]["status"], "pass", "{slices:#}");
    assert_eq!(slices["evidence"][0]["value"], 3.0, "{slices:#}");
    let freertos = of("freertos@cortex-m4", "no");
    assert_eq!(freertos["verdict"]["status"], "not-offered", "{freertos:#}");
}

/// The longest waits are the ones of tandem's documentation, and the study's limits judge them: a limit
/// one lower is missed.
#[test]
fn the_bounded_tick_is_judged_by_the_study() {
    let page = include_str!("../../../docs/tandem.md");
    let study = include_str!("../../../studies/microcontrollers.toml");
    let start = study.find("[[case]]\nexperiment = \"crowded\"").unwrap();
    let end = start + study[start..].find("]\n\n").unwrap();
    let head = "name = \"crowded\"\ntitle = \"the bounded tick\"\nrepeat = 1";
    let case = format!("{head}\n{}", &study[start..=end]);
    let path = concat!(env!("CARGO_TARGET_TMPDIR"), "/crowded.toml");
    std::fs::write(path, &case).unwrap();
    let judged = cases(&["--study", path]);
    assert_eq!(judged[0]["verdict"]["status"], "pass", "{:#}", judged[0]);
    let series = judged[0]["series"].as_array().unwrap();
    assert_eq!(series.len(), case.matches("at-most").count(), "a row without a limit");
    for one in series {
        let (name, most) = (one["name"].as_str().unwrap(), one["max"].as_f64().unwrap());
        assert!(case.contains(&format!("series = \"{name}\"")), "{name} has no limit");
        assert!(page.contains(&format!("| {name} | {most} |")), "docs/tandem.md: {name}, {most}");
    }
    std::fs::write(path, case.replacen("at-most = 175", "at-most = 171", 1)).unwrap();
    chronoscope(&["run", "-q", "--study", path]).exits(2).shows("above");
}

/// The kernel's own image, given as a file, gives the same figures under the user's name.
#[test]
fn an_image_of_the_user_s_is_a_target() {
    let few = ["switch", "--repeat", "1", "--set", "loops=200", "--target"];
    let listed = cases(&[&few[..], &["bare@cortex-m4"]].concat());
    let images = program_path().parent().unwrap().with_file_name("firmware");
    let image = |path: &str| images.join(path).display().to_string();
    let bare = image("thumbv7em-none-eabihf/release/chronoscope-bare");
    let given = cases(&[&few[..], &[&format!("mine={bare}@cortex-m4")]].concat());
    assert_eq!(given[0]["target"], "mine@cortex-m4", "{given:#?}");
    assert_eq!(given[0]["series"], listed[0]["series"]);
    assert_eq!(given[0]["identity"]["kernel"], "bare");
    assert!(given[0]["identity"]["given image"].as_str().unwrap().starts_with("sha256 "));
    // The same processor family at other addresses.
    for (machine, why) in [("cortex-m33", "for another chip"), ("rv32", "is an image for Arm")] {
        let target = format!("mine={bare}@{machine}");
        chronoscope(&["run", "switch", "-q", "--target", &target]).complains(why);
    }
}

/// embassy's executor of thread mode has a shorter step between equals, and a longer wake-up.
#[test]
fn embassy_s_two_executors_have_the_figures_of_their_pages() {
    let measured = |words: &[&str], target: &str| {
        let rest = ["--repeat", "1", "--set", "loops=200", "--target", target];
        median(&cases(&[words, &rest].concat())[0])
    };
    let native = ["--set", "primitive=native"];
    let wakeup = ["wakeup", "--set", "source=software"];
    let figures: [(&[&str], f64, f64); 3] = [
        (&["switch"], 182.0, 167.0),
        (&[&["switch"], &native[..]].concat(), 152.0, 136.0),
        (&[&wakeup[..], &native[..]].concat(), 109.0, 169.0),
    ];
    for (words, interrupts, thread) in figures {
        let found = ["embassy", "embassy-thread"]
            .map(|kernel| measured(words, &format!("{kernel}@cortex-m4")));
        assert_eq!(found, [interrupts, thread], "{words:?}");
    }
}

/// The latency of an interrupt that the kernel never masks does not depend on the tasks. The
/// latency of an interrupt whose handler may call the kernel does.
#[test]
fn an_exempt_interrupt_is_never_late() {
    let run = |handler: &str| {
        let handler = format!("handler={handler}");
        let words = ["interrupt", "--set", "source=timer", "--set", "tasks=0,2,30", "--set"];
        let target = [&handler, "--target", "tandem-basepri@cortex-m4", "--repeat", "1"];
        cases(&[&words[..], &target].concat())
    };
    let bounds = |case: &Value| {
        assert_eq!(case["verdict"]["status"], "pass", "{case:#}");
        let series = &case["series"][0];
        (series["min"].as_f64().unwrap(), series["max"].as_f64().unwrap())
    };
    let [alone, two, thirty] = &run("exempt")[..] else { panic!("three cases") };
    let (least, most) = bounds(alone);
    assert_eq!(least, most);
    assert_eq!([bounds(two), bounds(thirty)], [(least, least); 2]);
    let [alone, two, thirty] = &run("kernel")[..] else { panic!("three cases") };
    assert_eq!(bounds(alone), (least, least));
    assert!([two, thirty].iter().all(|case| bounds(case).1 > least + 40.0));
    let exempt = ["run", "interrupt", "--no-store", "--set", "handler=exempt", "--target"];
    chronoscope(&[&exempt[..], &["tandem@cortex-m4"]].concat())
        .exits(4)
        .shows("not offered by this port");
}

/// FreeRTOS V11.2.0 at `-O2`. Another release of the C compiler may move a figure by a few
/// instructions.
#[test]
fn freertos_has_the_figures_of_its_page() {
    let few = ["--set", "loops=200", "--target", "freertos@cortex-m4"];
    let checked = ["--set", "loops=200", "--target", "freertos-checked@cortex-m4"];
    let notify = ["--set", "loops=200", "--target", "freertos-notify@cortex-m4"];
    let yields = ["run", "-q", "switch", "--set", "primitive=yield"];
    gives_the_same_bytes_twice(&[&yields[..], &few, &["--repeat", "2"]].concat(), 1);
    let yields = ["switch", "--set", "primitive=yield"];
    let semaphore = ["switch", "--set", "primitive=semaphore"];
    let wakeup = ["wakeup", "--set", "source=software"];
    let interrupt = ["interrupt", "--set", "source=software"];
    let figures: [(&[&str], &[&str], f64); 9] = [
        (&yields, &few, 86.0),
        (&semaphore, &few, 566.0),
        (&["message"], &few, 351.0),
        (&wakeup, &few, 225.0),
        (&interrupt, &few, 25.0),
        (&semaphore, &checked, 696.0),
        (&wakeup, &checked, 285.0),
        (&semaphore, &notify, 376.0),
        (&wakeup, &notify, 198.0),
    ];
    for (arguments, target, expected) in figures {
        let cases = cases(&[arguments, target, &["--repeat", "1"]].concat());
        let [case] = &cases[..] else { panic!("{cases:#?}") };
        assert_eq!(case["verdict"]["status"], "pass", "{case:#}");
        let apart = (median(case) - expected).abs() / expected;
        assert!(apart <= 0.03, "{arguments:?}: {} for {expected}", median(case));
    }
}

/// The figures of the kernels' pages.
#[test]
fn native_primitives_have_the_figures_of_their_pages() {
    let run = |experiment: &str, kind: &str, kernel: &str| {
        let name = if experiment == "switch" { "pair" } else { "kind" };
        let kind = if experiment == "switch" { format!("{kind}-{kind}") } else { kind.to_owned() };
        let (kind, target) = (format!("{name}={kind}"), format!("{kernel}@cortex-m4"));
        let set = ["--set", "loops=200", "--set", "primitive=native", "--set", &kind];
        let cases =
            cases(&[&[experiment], &set[..], &["--repeat", "1", "--target", &target]].concat());
        let [case] = &cases[..] else { panic!("{cases:#?}") };
        assert_eq!(case["parameters"]["primitive"], "native", "{case:#}");
        case.clone()
    };
    for (kernel, kind, switch, wakeup) in [
        ("tandem", "thread", 105.0, 65.0),
        ("tandem", "coroutine", 125.0, 82.0),
        ("embassy", "coroutine", 152.0, 109.0),
        ("lilos", "coroutine", 160.0, 174.0),
        ("rtic", "coroutine", 163.0, 122.0),
    ] {
        for (experiment, expected) in [("switch", switch), ("wakeup", wakeup)] {
            let case = run(experiment, kind, kernel);
            assert_eq!(case["verdict"]["status"], "pass", "{case:#}");
            let apart = (median(&case) - expected).abs() / expected;
            assert!(apart <= 0.03, "{kernel} {experiment}: {} for {expected}", median(&case));
        }
    }
    for kernel in ["freertos", "bare"] {
        let case = run("switch", "thread", kernel);
        assert_eq!(case["verdict"]["status"], "not-offered", "{case:#}");
    }
    // The default has no such key, as before the experiment had the parameter.
    let named = ["wakeup", "--set", "primitive=semaphore", "--set", "kind=coroutine"];
    let named = cases(&[&named[..], &["--repeat", "1", "--target", "embassy@cortex-m4"]].concat());
    assert!(named[0]["parameters"].get("primitive").is_none(), "{named:#?}");
}

#[test]
fn lilos_visits_every_task_in_each_round() {
    let set = ["--set", "tasks=2,3,10,30", "--repeat", "1", "--target", "lilos@cortex-m4"];
    let switches: Vec<f64> = cases(&[&["switch"], &set[..]].concat()).iter().map(median).collect();
    let [two, three, ten, thirty] = switches[..] else { panic!("{switches:?}") };
    let each = three - two;
    assert!(each > 0.0 && ten - two == 8.0 * each && thirty - two == 28.0 * each, "{switches:?}");
}

#[test]
fn delays_of_kernels_with_ticks_end_with_a_tick_and_tell_the_phase_apart() {
    let targets = "lilos@cortex-m4,freertos@cortex-m4";
    let set = ["--set", "delay_us=50,1000,50000", "--set", "tasks=2", "--repeat", "1"];
    let starts = ["--set", "start=together,own"];
    let cases = cases(&[&["delay", "--target", targets], &set[..], &starts].concat());
    assert_eq!(cases.len(), 12);
    for case in &cases {
        let mean = |name: &str| {
            let all = case["series"].as_array().expect("a case has series");
            let found = all.iter().find(|series| series["name"] == name);
            found.unwrap_or_else(|| panic!("no {name} in {case:#}"))["mean"].as_f64().unwrap()
        };
        for task in ["task 1", "task 2"] {
            let [excess, phase, whole] =
                ["", ", phase", ", with the phase"].map(|end| mean(&format!("{task}{end}")));
            // The path to the task; the rest of the tick in which the delay would have ended.
            assert!(excess > 0.0 && excess < 1000.0, "{task}: {excess} in {case:#}");
            assert!(phase > 0.0 && phase < 1_000_000.0, "{task}: {phase} in {case:#}");
            assert!((whole - phase - excess).abs() < 0.01, "{task}: {whole} in {case:#}");
        }
    }
}

#[test]
fn due_times_that_are_no_ticks_have_a_phase_of_their_own() {
    let targets = "lilos@cortex-m4,freertos@cortex-m4";
    let set = ["--set", "interval_us=1000,1500", "--repeat", "1", "--target", targets];
    let cases = cases(&[&["period"], &set[..]].concat());
    assert_eq!(cases.len(), 4);
    for case in &cases {
        let all = case["series"].as_array().expect("a case has series");
        let phase = all.iter().find(|series| series["name"] == "task 1, phase");
        // Each second due time lies half a tick before one.
        let expected = (case["parameters"]["interval_us"] == "1500").then_some(250_000.0);
        assert_eq!(phase.map(|series| series["mean"].as_f64().unwrap()), expected, "{case:#}");
        assert!(series(case, "measured")["max"].as_f64().unwrap() < 1000.0, "{case:#}");
    }
}

#[test]
fn a_switch_of_rtic_to_the_next_task_costs_the_same_among_many() {
    let set = ["--set", "tasks=3,10,32", "--repeat", "1"];
    let cases = cases(&[&["switch", "--target", "rtic@cortex-m4"], &set[..]].concat());
    let switches: Vec<f64> = cases.iter().map(median).collect();
    // Each priority has a handler function of its own, which the compiler may arrange differently.
    assert!(
        switches.len() == 3 && switches.iter().all(|switch| (switch - switches[0]).abs() <= 2.0),
        "{switches:?}"
    );
}

#[test]
fn tandem_knows_a_cure_for_inversion() {
    let set = ["--set", "protocol=none,inheritance,ceiling", "--repeat", "1"];
    let cases = cases(&[&["inversion", "--target", "tandem@cortex-m4"], &set[..]].concat());
    let slopes: Vec<f64> =
        cases.iter().map(|case| case["slope"]["slope"].as_f64().unwrap()).collect();
    assert!(matches!(slopes[..], [none, 0.0, 0.0] if none > 0.99), "{slopes:?}");
}

#[test]
fn the_study_of_tandem_fails_when_it_is_slower() {
    let study = concat!(env!("CARGO_MANIFEST_DIR"), "/../studies/tandem.toml");
    // One repetition of each case of the emulator and of one simulated core; the long test runs the
    // study in all its length.
    let text = std::fs::read_to_string(study).unwrap();
    let (head, cases) = text.split_once("[[case]]").unwrap();
    let others = ["ibex-wb", "cv32e40p", "cva6", "rocket"].map(|core| format!("@{core}\""));
    let is_one = |case: &&str| others.iter().all(|other| !case.contains(other.as_str()));
    let cases: Vec<&str> = cases.split("[[case]]").filter(is_one).collect();
    assert!(cases.iter().any(|case| case.contains("@ibex\"")), "{cases:#?}");
    let shorter = concat!(env!("CARGO_TARGET_TMPDIR"), "/shorter.toml");
    std::fs::write(shorter, format!("{head}[[case]]{}", cases.join("[[case]]"))).unwrap();
    chronoscope(&["run", "-q", "--study", shorter, "--repeat", "1"]).exits(0);
    let second = text.match_indices("[[case]]").nth(1).unwrap().0;
    let text = text[..second].replacen("at-most = ", "at-most = 0.", 1);
    let stricter = concat!(env!("CARGO_TARGET_TMPDIR"), "/stricter.toml");
    std::fs::write(stricter, text).unwrap();
    let once = ["run", "-q", "--study", stricter, "--repeat", "1"];
    chronoscope(&once).exits(2).shows("above");
}

#[test]
fn a_delay_is_late_by_the_way_back_to_the_task_alone() {
    // The clock's 32 bits wrap within the last case.
    delays_are_late_by_less_than_1000("embassy@cortex-m4");
}

#[test]
fn a_delay_that_the_clock_cannot_tell_is_refused() {
    let long = ["run", "delay", "-q", "--set", "delay_us=2100000", "--target", "tandem@cortex-m4"];
    chronoscope(&long).exits(4).shows("for 32 bits at 1 GHz, at most 2 s");
}

#[test]
fn what_a_kernel_lacks_is_not_offered() {
    chronoscope(&["run", "inversion", "-q", "--target", "embassy@cortex-m4"])
        .exits(0)
        .shows("not offered");
    let threads =
        ["run", "switch", "-q", "--set", "pair=thread-thread", "--target", "embassy@cortex-m4"];
    chronoscope(&threads).exits(0).shows("embassy has coroutines only");
    chronoscope(&["run", "inversion", "-q", "--target", "rtic@cortex-m4"])
        .exits(0)
        .shows("the length of a closure");
    let threads =
        ["run", "switch", "-q", "--set", "pair=thread-thread", "--target", "rtic@cortex-m4"];
    chronoscope(&threads).exits(0).shows("RTIC has coroutines only");
    let processes =
        ["run", "switch", "-q", "--set", "pair=process-process", "--target", "tandem@cortex-m4"];
    chronoscope(&processes).exits(0).shows("tandem has threads and coroutines");
    chronoscope(&["run", "interference", "-q", "--target", "tandem@cortex-m4"])
        .exits(0)
        .shows("no account of processor");
    chronoscope(&["run", "inversion", "-q", "--target", "lilos@cortex-m4"])
        .exits(0)
        .shows("lilos has no priorities");
    chronoscope(&["run", "interference", "-q", "--target", "lilos@cortex-m4"])
        .exits(0)
        .shows("no account of processor");
    chronoscope(&["run", "delay", "-q", "--target", "bare@cortex-m4"])
        .exits(0)
        .shows("not offered");
}

#[test]
fn a_case_too_large_for_the_chip_says_so() {
    let large = ["run", "switch", "-q", "--set", "loops=1000000", "--target", "embassy@cortex-m4"];
    chronoscope(&large).exits(4).shows("more memory than this target has");
    let declared = ["run", "switch", "-q", "--set", "tasks=33", "--target", "rtic@cortex-m4"];
    chronoscope(&declared).exits(4).shows("ask for fewer loops or tasks");
}

#[test]
fn pairs_that_do_not_exist_are_told() {
    chronoscope(&["run", "switch", "--target", "linux@cortex-m4"])
        .complains("unknown target `linux@cortex-m4`");
    chronoscope(&["run", "switch", "--target", "embassy@host"])
        .complains("unknown target `embassy@host`");
}
