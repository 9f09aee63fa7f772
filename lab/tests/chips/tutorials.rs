//! The commands of the tutorials, run as they are shown, in the order of the page.

use std::{fs, process::Command};

use crate::accounts::{cache, stranger_shell};
use crate::ci::image_of_tandem;
use crate::common::{
    Answer, chronoscope, documented::Desk, documented::commands, documented::is_done,
    documented::root, run,
};

/// Types all commands of a tutorial that need no more than this machine, as this account, which builds
/// and fetches what is not there, and then as another one. Returns what this account saw.
fn follow(tutorial: &str) -> Vec<Answer> {
    let shown = commands(&root().join(format!("docs/tutorials/{tutorial}.md")));
    assert!(shown.len() > 3, "{tutorial}: {shown:#?}");
    let shown: Vec<_> = shown.iter().filter(|command| !command.is_skipped).collect();
    let answers = |desk: &Desk, ask: &dyn Fn(&str) -> Answer| -> Vec<Answer> {
        fs::copy(image_of_tandem(), desk.0.path("build/app.elf")).unwrap();
        run(Command::new("chmod").args(["-R", "a+rwX"]).arg(&desk.0.0)).exits(0);
        let answers = shown.iter().map(|command| {
            let answer = ask(&command.text);
            assert!(is_done(&answer), "{tutorial}: {}: {answer:#?}", command.text);
            assert!(!answer.stdout.is_empty() || command.text.contains(" -o "), "{}", command.text);
            answer
        });
        answers.collect()
    };
    let [own, other] = ["own", "other"].map(|who| Desk::new(&format!("{tutorial}-{who}")));
    let seen = answers(&own, &|line| run(own.command(line).env("XDG_CACHE_HOME", cache())));
    answers(&other, &|line| run(&mut stranger_shell(&other, line)));
    seen
}

#[test]
fn choosing_a_kernel() {
    follow("choose-a-kernel");
}

#[test]
fn guarding_a_kernel() {
    let seen = follow("guard-a-kernel");
    // The kernel is the same, so that the check passes.
    let check = seen.iter().find(|answer| answer.command.contains("baseline check")).unwrap();
    check.exits(0);
}

#[test]
fn measuring_own_code() {
    follow("measure-your-own-code");
}

#[test]
fn measuring_a_board() {
    follow("measure-a-board");
}

#[test]
fn seeing_who_runs() {
    let seen = follow("see-who-runs");
    // The pictures of the page are what the commands print, to the character; of Linux, whose version
    // is the archive's, to the headings.
    let page = fs::read_to_string(root().join("docs/tutorials/see-who-runs.md")).unwrap();
    let mut shown = page.split("```text\n").skip(1).map(|part| part.split("```").next().unwrap());
    for name in ["wakeup", "preemption", "inversion", "miss"] {
        let picture = shown.next().unwrap();
        let command = format!("show {name}");
        let screen = &seen.iter().find(|answer| answer.command.contains(&command)).unwrap().stdout;
        let is_there = match name {
            "miss" => {
                picture.lines().filter(|line| line.contains(": ")).all(|line| screen.contains(line))
            }
            _ => screen.contains(picture),
        };
        assert!(is_there, "{name}:\n{screen}");
    }
}

#[test]
fn a_picture_is_named() {
    chronoscope(&["show"]).complains("name a picture: inversion, miss, preemption, wakeup");
    chronoscope(&["show", "inversoin"]).complains("did you mean `inversion`?");
    chronoscope(&["show", "switch"]).complains("the pictures are inversion");
    chronoscope(&["show", "wakeup", "miss"]).complains("one picture at a time");
    chronoscope(&["show", "wakeup", "--study", "quick"]).complains("no --study");
}

/// Two studies on this machine, in all their length.
#[test]
#[ignore = "takes a minute and the machine's processors: ./chronoscope test long"]
fn accepting_a_machine() {
    follow("accept-a-machine");
}
