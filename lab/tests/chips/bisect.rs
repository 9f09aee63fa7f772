//! The commit that made a figure worse, in a repository of 64 commits whose build makes an image.

use std::{fs, process::Command};

use crate::common::{Folder, cases, chronoscope, program, run};

/// A repository: its build copies the image that a file names. The image is another one from the
/// commit `changed` on, and does not build at the commits in `broken`.
struct Repository(Folder);

impl Repository {
    fn new(name: &str, changed: usize, broken: &[usize]) -> Self {
        // The first use of each builds it.
        cases(&[
            "switch",
            "--target",
            "embassy@cortex-m4",
            "--set",
            "build=fat,size",
            "--set",
            "pair=coroutine-coroutine",
            "--repeat",
            "1",
        ]);
        let folder = Folder::new(name);
        let target = program_folder();
        let images = [
            "thumbv7em-none-eabihf/release/chronoscope-embassy",
            "build-size/firmware/thumbv7em-none-eabihf/release/chronoscope-embassy",
        ];
        for (index, image) in images.iter().enumerate() {
            fs::copy(target.join(image), folder.path(&format!("image-{index}"))).unwrap();
        }
        let repository = Self(folder);
        repository.git(&["init", "-q"]);
        fs::write(repository.0.path(".gitignore"), "image-*\napp.elf\n").unwrap();
        for commit in 1..=64 {
            let which = match commit {
                commit if broken.contains(&commit) => "none",
                commit if commit >= changed => "1",
                _ => "0",
            };
            fs::write(repository.0.path("which"), which).unwrap();
            fs::write(repository.0.path("count"), commit.to_string()).unwrap();
            repository.git(&["add", "-A"]);
            repository.git(&["commit", "-q", "-m", &format!("commit {commit}")]);
        }
        repository
    }

    fn git(&self, arguments: &[&str]) -> String {
        let mut git = Command::new("git");
        for who in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{who}_NAME"), "a")
                .env(format!("GIT_{who}_EMAIL"), "a@example.org");
        }
        let output = git.current_dir(&self.0.0).args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn bisect(&self, good: &str) -> crate::common::Answer {
        let words = ["bisect", "switch", "--target", "mine=app.elf@cortex-m4", "--good", good];
        let set = ["--set", "pair=coroutine-coroutine"];
        let build = ["--", "sh", "-c", "cp image-$(cat which) app.elf"];
        let mut command = program();
        command.current_dir(&self.0.0).args(words).args(set).args(build);
        run(&mut command)
    }
}

/// The folder of the images that the program under test builds.
fn program_folder() -> std::path::PathBuf {
    let program = std::path::PathBuf::from(program().get_program());
    program.parent().unwrap().parent().unwrap().join("firmware")
}

#[test]
fn the_commit_is_found_with_its_reason_and_the_checkout_is_where_it_was() {
    let repository = Repository::new("bisect", 41, &[47, 48]);
    let before = repository.git(&["rev-parse", "HEAD"]);
    let answer = repository.bisect("HEAD~60");
    let text = answer.exits(0).stdout.replace(['\u{a0}', '\u{202f}'], " ");
    let expected = "commit 41 made `switch` worse, one of 60 commits";
    assert!(text.lines().any(|line| line.ends_with(expected)), "{text}");
    // Two ends, and at most one build for each halving and each commit that cannot be built.
    let builds =
        text.lines().filter(|line| ["good ", "bad  "].contains(&&line[..line.len().min(5)]));
    assert!((6..=9).contains(&builds.count()), "{text}");
    assert!(text.contains("What makes one slower?") && text.contains("the parts add up"), "{text}");
    assert_eq!(repository.git(&["rev-parse", "HEAD"]), before);
    assert!(repository.git(&["status", "--porcelain"]).is_empty());
    assert!(repository.git(&["branch", "--show-current"]).trim().len() > 2, "on its branch again");
}

#[test]
fn what_cannot_be_bisected_is_told_and_nothing_is_changed() {
    let repository = Repository::new("bisect-bad", 64, &[2]);
    repository.bisect("HEAD~3").exits(0);
    repository.bisect("nothing").complains("`nothing` names no commit");
    let same = repository.bisect("HEAD");
    assert!(same.exits(1).stderr.contains("the bad commit is no worse"), "{same:?}");
    repository.bisect("HEAD~62").complains("the build failed");
    fs::write(repository.0.path("which"), "9").unwrap();
    repository.bisect("HEAD~3").complains("the checkout has changes");
    repository.git(&["checkout", "-q", "which"]);
    repository.git(&["bisect", "start"]);
    repository.bisect("HEAD~3").complains("git bisect reset");
}

/// Two builds of embassy: the one for size does more in a switch.
#[test]
fn a_comparison_in_turn_ends_with_the_reason_why_a_case_grew() {
    let repository = Repository::new("grown", 1, &[]);
    let side = |index: usize| {
        let image = repository.0.path(&format!("image-{index}"));
        format!("build-{index}={}@cortex-m4", image)
    };
    let compare = |a: usize, b: usize, more: &[&str]| {
        let (a, b) = (side(a), side(b));
        let words = ["compare", &a, &b, "switch", "--set", "pair=coroutine-coroutine"];
        let common = ["--repeat", "2", "--no-store", "-q"];
        chronoscope(&[&words[..], &common, more].concat())
    };
    let grown = compare(0, 1, &[]);
    grown.exits(3);
    let (answer, reason) = grown.stdout.split_once("regression: 1 regression").unwrap();
    assert!(answer.starts_with("build-1 is 6 % slower"), "{answer}");
    assert!(reason.contains("\none round  "), "{reason}");
    // The command has the functions.
    let command = reason.split_once("→ the functions of each role: chronoscope ").unwrap().1;
    let words: Vec<&str> = command.split_whitespace().collect();
    let functions = chronoscope(&words);
    functions.exits(0);
    assert!(functions.stdout.contains("  build-1: critical_section::with"), "{functions:#?}");
    // Nothing grew, or a program reads it.
    assert!(!compare(1, 0, &[]).stdout.contains("each role"));
    assert!(!compare(0, 1, &["--format", "json"]).stdout.contains("each role"));
}
