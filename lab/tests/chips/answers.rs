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
    assert!(screen.contains(" in inheritance, ") && screen.contains(" in none ("), "{screen}");
    assert!(none > series(&cases[0], "measured")["p50"].as_f64().unwrap() * 3.0);
}
