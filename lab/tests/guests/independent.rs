//! A C program in a guest, whose clock counts instructions, finds what the lab finds.

use crate::common::{Folder, chronoscope};

/// The program's word, and the experiment with its settings.
const PAIRS: [(&str, &str, &str); 7] = [
    ("thread", "spawn", r#"kind = "thread", way = "plain", mlock = "no", loops = 20"#),
    ("fork", "spawn", r#"kind = "process", way = "plain", mlock = "no", loops = 20"#),
    ("fault", "fault", r#"mlock = "no""#),
    ("signal", "switch", r#"primitive = "signal", loops = 4000"#),
    ("mq", "transaction", r#"transport = "mq", class = "urgent", loops = 2000"#),
    ("tcp", "transaction", r#"transport = "tcp", class = "urgent", loops = 2000"#),
    ("seqpacket", "transaction", r#"transport = "seqpacket", class = "urgent", loops = 2000"#),
];

/// The mean of each differs from the program's by less than 5 %. A fork differs by less than 10 % (6 % when this
/// was written) from a program of as many areas, pages, forks and places of text. A small C program has less of
/// all, and its forks take an eighth less.
#[test]
fn a_c_program_measures_the_same() {
    let folder = Folder::new("independent");
    let program =
        folder.compiled(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/guests/independent.c"));
    let peer = |(word, experiment, set): &(&str, &str, &str)| {
        format!(
            r#"
            [[peer]]
            name = "{word}"
            package = "gcc"
            command = ["{program}", "{word}"]
            reads = "perf-bench-pipe"
            experiment = "{experiment}"
            target = "linux-full@vm"
            set = {{ {set} }}
            beside = [{{ ours = "mean", theirs = "operation" }}]
            "#
        )
    };
    let peers: String = PAIRS.iter().map(peer).collect();
    let study =
        format!("name = \"test\"\ntitle = \"A C program in a guest.\"\nrepeat = 1\n{peers}");
    let study = folder.file("study.toml", study);
    let run = ["run", "-q", "--allow-programs", "--no-store", "--study", &study];
    let answer = chronoscope(&[&run[..], &["--format", "json"]].concat());
    let json = answer.exits(0).json();
    let all: Vec<(&str, f64, f64)> = json["peers"]
        .as_array()
        .unwrap()
        .iter()
        .zip(PAIRS)
        .map(|(peer, (word, ..))| {
            let paired = &peer["statistics"][0];
            let of = |side: &str| paired[side][0].as_f64().unwrap();
            (word, of("ours"), of("theirs"))
        })
        .collect();
    let agrees = |(word, ours, theirs): &(&str, f64, f64)| {
        (ours / theirs - 1.0).abs() < if *word == "fork" { 0.1 } else { 0.05 }
    };
    assert!(all.len() == PAIRS.len() && all.iter().all(agrees), "{all:#?}");
}
