//! The commands of the tutorials, run as they are shown, in the order of the page.

use crate::common::documented::{Desk, commands, is_done, root};

/// Runs all commands of a tutorial that need no more than this machine.
fn follow(tutorial: &str) {
    let desk = Desk::new(tutorial);
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
    follow("guard-a-kernel");
}

#[test]
fn measuring_own_code() {
    follow("measure-your-own-code");
}

#[test]
fn measuring_a_board() {
    follow("measure-a-board");
}

/// Two studies on this machine, in all their length.
#[test]
#[ignore = "takes a minute and the machine's processors: ./chronoscope test long"]
fn accepting_a_machine() {
    follow("accept-a-machine");
}
