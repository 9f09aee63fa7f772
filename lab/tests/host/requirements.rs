//! Requirements of a study on this machine, and the scheduling classes of a request.

use crate::common::{Folder, chronoscope};

#[test]
fn a_requirement_that_is_not_met_is_not_offered_with_its_reason() {
    let folder = Folder::new("requirements");
    // A case whose processors the scheduler chooses is on isolated ones on no machine.
    let study = folder.file(
        "study.toml",
        r#"
        name = "test"
        title = "A requirement."
        [[case]]
        experiment = "period"
        set = { policy = "other", mlock = "no", cpu = "free", loops = 10 }
        requires = ["isolated cpus"]
        repeat = 1
        "#,
    );
    let answer = chronoscope(&["run", "--study", &study, "-q", "--format", "json"]);
    let case = &answer.json()["cases"][0];
    assert_eq!(case["verdict"]["status"], "not-offered", "{case:#}");
    let reasons = case["verdict"]["reasons"].to_string();
    assert!(reasons.contains("required: processors that are isolated"), "{reasons}");
}

#[test]
fn a_reservation_is_for_tasks_that_the_clock_wakes() {
    let switch = ["run", "switch", "--set", "policy=deadline:200/1000/1000", "-q", "--repeat", "1"];
    let answer = chronoscope(&[&switch[..], &["--no-store", "--format", "json"]].concat());
    let case = &answer.json()["cases"][0];
    assert_eq!(case["verdict"]["status"], "not-offered", "{case:#}");
    chronoscope(&["run", "period", "--set", "policy=deadline:3/2/1"])
        .exits(1)
        .complains("deadline:RUNTIME/DEADLINE/PERIOD");
}
