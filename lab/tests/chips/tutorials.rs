//! The commands of the tutorials, run as they are shown, in the order of the page.

use std::fs;

use crate::ci::image_of_tandem;
use crate::common::{
    chronoscope,
    documented::{Desk, commands, is_done, root},
};

/// Runs all commands of a tutorial that need no more than this machine.
fn follow(tutorial: &str) {
    follow_at(&Desk::new(tutorial), tutorial);
}

fn follow_at(desk: &Desk, tutorial: &str) {
    let shown = commands(&root().join(format!("docs/tutorials/{tutorial}.md")));
    assert!(shown.len() > 3, "{tutorial}: {shown:#?}");
    for command in shown.iter().filter(|command| !command.is_skipped) {
        let answer = desk.shell(&command.text);
        assert!(is_done(&answer), "{tutorial}: {}: {answer:#?}", command.text);
        assert!(!answer.stdout.is_empty() || command.text.contains(" -o "), "{}", command.text);
    }
}

#[test]
fn choosing_a_kernel() {
    follow("choose-a-kernel");
}

#[test]
fn guarding_a_kernel() {
    let desk = Desk::new("guard-a-kernel");
    fs::copy(image_of_tandem(), desk.0.path("build/app.elf")).unwrap();
    follow_at(&desk, "guard-a-kernel");
    let check = desk.shell("chronoscope baseline check baseline.toml --strict");
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
    follow("see-who-runs");
    // The pictures of the page are what the commands print, to the character; of Linux, whose version
    // is the archive's, to the headings.
    let page = fs::read_to_string(root().join("docs/tutorials/see-who-runs.md")).unwrap();
    let mut shown = page.split("```text\n").skip(1).map(|part| part.split("```").next().unwrap());
    for name in ["wakeup", "preemption", "inversion", "miss"] {
        let picture = shown.next().unwrap();
        let screen = chronoscope(&["show", name, "-q", "--no-store"]).exits(0).stdout.clone();
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
