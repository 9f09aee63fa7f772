//! The first screen of runs without a study: it names the figure that answers the experiment's
//! question. Figures come from the run's JSON, so that no build's number is written here.

use serde_json::Value;

use crate::common::{Folder, chronoscope, series};

const BOTH: &str = "tandem@cortex-m4,freertos@cortex-m4";

/// The first screen of a run in plain spaces, and the run's cases.
fn answer(name: &str, arguments: &[&str]) -> (String, Vec<Value>) {
    let folder = Folder::new(name);
    let file = folder.path("run.json");
    let run = ["run", "-q", "--no-store", "--repeat", "1", "--format", "json", "-o", &file];
    chronoscope(&[&run[..], arguments].concat()).exits(0);
    let answer = chronoscope(&["report", &file]);
    let screen = answer.exits(0).stdout.replace(['\u{a0}', '\u{202f}'], " ");
    let run: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    // A title may take two lines.
    (screen.replace('\n', " "), run["cases"].as_array().unwrap().clone())
}

/// The value of a figure of a case.
fn figure(case: &Value, name: &str) -> u64 {
    let figures = case["figures"].as_array().unwrap();
    let found = figures.iter().find(|figure| figure["name"] == name).unwrap();
    found["value"].as_f64().unwrap() as u64
}

/// Experiments that run on both kernels, each with the place and the statistic of its finding.
const LIVE: [(&str, Place, &str); 10] = [
    ("switch", Place::First, "p50"),
    ("wakeup", Place::First, "max"),
    ("message", Place::First, "p50"),
    ("interrupt", Place::First, "max"),
    ("period", Place::First, "max"),
    ("delay", Place::First, "max"),
    ("masked", Place::Figure("masked"), ""),
    ("pipeline", Place::First, "p50"),
    ("inversion", Place::Last, "p50"),
    ("image", Place::First, "max"),
];

/// The place of a finding in a case.
enum Place {
    First,
    Last,
    Figure(&'static str),
}

/// Digits with a space between thousands.
fn spaced(digits: &str) -> String {
    let first = digits.len() % 3;
    let (head, rest) = digits.split_at(first);
    let thousands = (0..rest.len()).step_by(3).map(|at| &rest[at..at + 3]);
    [head]
        .into_iter()
        .filter(|head| !head.is_empty())
        .chain(thousands)
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn the_finding_of_both_kernels_is_in_the_title() {
    for (experiment, place, statistic) in LIVE {
        let name = format!("answer-live-{experiment}");
        let (screen, cases) = answer(&name, &[experiment, "--target", BOTH]);
        let found = cases.iter().map(|case| {
            let all = case["series"].as_array().unwrap();
            let measured: Vec<&Value> =
                all.iter().filter(|series| series["role"] == "measured").collect();
            match place {
                Place::First => measured[0][statistic].as_f64(),
                Place::Last => measured[measured.len() - 1][statistic].as_f64(),
                Place::Figure(name) => Some(figure(case, name) as f64),
            }
        });
        let found: Vec<f64> = found.map(|value| value.unwrap()).collect();
        let [least, most] = [found[0].min(found[1]), found[0].max(found[1])];
        // A tie of one in a hundred has one figure.
        let shown = if most <= least * 1.01 { vec![least] } else { vec![least, most] };
        for value in shown {
            let text = spaced(&value.to_string());
            assert!(screen.contains(&text), "{experiment}: {text}\n{screen}");
        }
    }
}

#[test]
fn interrupts_off_are_compared_by_the_longest_stretch() {
    let arguments = ["masked", "image", "--target", BOTH];
    let (screen, cases) = answer("answer-masked", &arguments);
    let of = |target: &str| {
        let is_it = |case: &&Value| case["experiment"] == "masked" && case["target"] == target;
        figure(cases.iter().find(is_it).unwrap(), "masked")
    };
    let (tandem, freertos) = (of("tandem@cortex-m4"), of("freertos@cortex-m4"));
    assert!(tandem * 2 < freertos, "{tandem} {freertos}");
    let title = format!(
        "Interrupts stay off at most {tandem} instructions in tandem, {freertos} in FreeRTOS"
    );
    assert!(screen.contains(&title), "{title}\n{screen}");
    assert!(screen.contains("image, memory"), "the RAM has a row of its own\n{screen}");
}

#[test]
fn an_inversion_is_the_wait_beside_the_hog() {
    let arguments = ["inversion", "--target", "freertos@cortex-m4"];
    let set = ["--set", "protocol=none,inheritance", "--set", "loops=3"];
    let (screen, cases) = answer("answer-inversion", &[&arguments[..], &set].concat());
    let wait = |case: &Value| {
        let hogged = case["series"].as_array().unwrap().iter().rev();
        let mut hogged = hogged.filter(|series| series["role"] == "measured");
        hogged.next().unwrap()["p50"].as_f64().unwrap()
    };
    let (none, inheritance) = (wait(&cases[0]), wait(&cases[1]));
    assert!(none > 3.0 * inheritance, "the lock without a protocol waits for the hog");
    assert!(
        screen.contains(" with inheritance, ") && screen.contains(" with protocol=none ("),
        "{screen}"
    );
    assert!(none > series(&cases[0], "measured")["p50"].as_f64().unwrap() * 3.0);
}

#[test]
fn a_comparison_names_its_sides_and_answers_the_question_first() {
    let compared = |experiment: &str| {
        let words = ["compare", "tandem@cortex-m4", "freertos@cortex-m4", experiment];
        let options = ["-q", "--no-store", "--repeat", "1"];
        let answer = chronoscope(&[&words[..], &options[..]].concat());
        assert_eq!(answer.status, Some(3), "{answer:?}");
        answer.stdout.replace('\u{a0}', " ")
    };
    let masked = compared("masked");
    assert!(masked.starts_with("FreeRTOS lengthens the tail: "), "{masked}");
    assert!(masked.contains(" × at worst") && masked.contains("→ a deadline to meet: tandem"));
    // Bytes are counted, and not slower.
    let image = compared("image");
    assert!(image.starts_with("image text: FreeRTOS is ") && image.contains(" larger"), "{image}");
    assert!(!image.contains("threshold"), "any growth of an exact figure counts: {image}");
    let inversion = compared("inversion");
    assert!(inversion.starts_with("inversion hog 1000 us: FreeRTOS is "), "{inversion}");
}
