//! Mistakes on the command line are answered by one line that lists the valid choices. (Since this
//! is an integration test, `cargo test` builds the program, which the lab's tests find next to the
//! lab.)

use std::process::Command;

fn complaint(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask")).args(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn an_unknown_subcommand_is_answered_with_those_there_are() {
    let message = complaint(&["frimware"]);
    assert!(message.starts_with("chronoscope: xtask has no `frimware`: there is "), "{message}");
    assert!(message.contains("firmware") && message.lines().count() == 1, "{message}");
}

#[test]
fn arguments_that_lack_are_named() {
    for (arguments, usage) in [
        (&["firmware"][..], "firmware TRIPLE COMMAND"),
        (&["guest"], "guest TRIPLE [COMMAND"),
        (&["plugin"], "plugin COMMAND"),
        (&["bench", "ibex"], "bench ibex|ibex-wb|cv32e40p|cva6|rocket|rocket-small COMMAND"),
        (&["tandem", "soak"], "tandem [benchmark|peers]"),
        (&["changelog"], "changelog check|release VERSION DATE"),
        (&["changelog", "release", "0.2.0"], "changelog check|release VERSION DATE"),
        (&["step", "dance"], "step NAME"),
    ] {
        let message = complaint(arguments);
        assert!(
            message.starts_with(&format!("chronoscope: usage: cargo xtask {usage}")),
            "{message}"
        );
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}
