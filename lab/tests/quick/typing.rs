//! Small helps for people who type: completions, times with their units, remarks on settings, and the
//! remark on a baseline's content.

use std::fs;

use crate::common::{Folder, chronoscope, fixtures, program, run};

#[test]
fn completions_know_the_names_and_no_hidden_flag() {
    for shell in ["bash", "zsh", "fish"] {
        let text = chronoscope(&["completions", shell]).exits(0).stdout.clone();
        // For fish, the generator knows the values of flags alone.
        let of_flags = ["tandem@cortex-m4", "tasks=", "stm32f405"];
        let words = ["masked", "quick", "inheritance"].into_iter().filter(|_| shell != "fish");
        for name in of_flags.into_iter().chain(words) {
            assert!(text.contains(name), "{shell}: {name}");
        }
        for hidden in ["benchmark_format", "--part ", "supervise"] {
            assert!(!text.contains(hidden), "{shell}: {hidden}");
        }
    }
    for words in [&["manual"][..], &["run", "--help"], &["cyclictest", "--help"]] {
        let text = chronoscope(words).exits(0).stdout.clone();
        for hidden in ["benchmark_format", "spike-nodes", "dbg_cyclictest"] {
            assert!(!text.contains(hidden), "{words:?}: {hidden}");
        }
    }
}

#[test]
fn a_time_may_have_its_unit() {
    let period = ["run", "period", "--target", "tandem@cortex-m4", "--list", "--format", "json"];
    let plan = |interval: &str| {
        let answer = chronoscope(&[&period[..], &["-i", interval]].concat());
        answer.exits(0).json()["cases"][0]["label"].clone()
    };
    assert_eq!(plan("1ms"), plan("1000"));
    assert_ne!(plan("1ms"), plan("2000"));
}

#[test]
fn a_setting_of_some_experiments_is_said() {
    let words = ["run", "switch", "wakeup", "--set", "tasks=2", "--target", "tandem@cortex-m4"];
    let answer = chronoscope(&[&words[..], &["--list"]].concat());
    let remark = "`tasks` is set for switch; wakeup has no such parameter here";
    assert!(answer.exits(0).stderr.contains(remark), "{answer:?}");
}

#[test]
fn a_baseline_says_what_it_holds_and_how_it_is_checked() {
    let folder = Folder::new("typing-baseline");
    fs::copy(fixtures().join("experiments/image.json"), folder.path("run.json")).unwrap();
    let here = |words: &[&str]| run(program().current_dir(&folder.0).args(words));
    let written = here(&["baseline", "write", "run.json", "-o", "base.toml"]);
    let remark = "base.toml: 19 series of 5 cases of";
    assert!(written.exits(0).stderr.contains(remark), "{written:?}");
    assert!(written.stderr.contains("`chronoscope baseline check base.toml`"), "{written:?}");
    // The bytes of an image are a baseline, too.
    here(&["baseline", "check", "base.toml", "run.json"]).exits(0);
    let grown = fs::read_to_string(folder.path("run.json")).unwrap();
    let grown = grown.replacen("\"max\": 1160.0", "\"max\": 1161.0", 1);
    fs::write(folder.path("run.json"), grown).unwrap();
    let checked = here(&["baseline", "check", "base.toml", "run.json"]);
    checked
        .exits(3)
        .shows("B is larger in 1 of 19 series: by 0.1 % in image embassy@cortex-m4 text");
    assert!(checked.stdout.contains("✓ Exact for these builds: counted."), "{checked:?}");
}
