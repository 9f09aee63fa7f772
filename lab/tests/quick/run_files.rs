//! A run file names studies and kernels; whoever renders it opens none of them.

use std::process::Command;

use crate::common::{Folder, program, run};

/// A FIFO holds whoever opens it, until a writer comes: no command would end.
#[test]
fn a_run_file_makes_the_lab_open_no_other_file() {
    let folder = Folder::new("run-files");
    let trap = folder.path("trap.toml");
    run(Command::new("mkfifo").arg(&trap)).exits(0);
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/report/src/answer/fixtures/quick.json");
    let text = std::fs::read_to_string(fixture).unwrap();
    let target = format!("linux={trap}@vm");
    for (name, from, to) in [
        ("absolute", r#""study":"quick""#.to_owned(), format!(r#""study":"{trap}""#)),
        ("relative", r#""study":"quick""#.to_owned(), r#""study":"trap.toml""#.to_owned()),
        ("target", r#""target":"linux@host""#.to_owned(), format!(r#""target":"{target}""#)),
    ] {
        let hostile = text.replace(&from, &to);
        assert_ne!(text, hostile, "{name}");
        let file = folder.file(&format!("{name}.json"), hostile);
        for command in [
            &["report", &file][..],
            &["report", &file, "--format", "html"],
            &["report", &file, "--full"],
            &["report", &file, "--published"],
            &["compare", &file, &file],
        ] {
            let mut lab = program();
            lab.args(command).current_dir(&folder.0);
            let answer = run(&mut lab);
            assert!(answer.status.is_some_and(|status| status <= 4), "{name}: {answer:?}");
        }
    }
}
