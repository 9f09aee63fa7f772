//! A run in shards, merged, is the run of one lab.

use std::fs;

use serde_json::Value;

use crate::common::{Folder, chronoscope};

/// Cases on three emulated kernels.
const WORDS: [&str; 12] = [
    "run",
    "switch",
    "period",
    "--target",
    "tandem@cortex-m4,lilos@cortex-m4,bare@cortex-m4",
    "--set",
    "loops=20",
    "--repeat",
    "2",
    "--no-store",
    "--format",
    "json",
];

/// Runs with more words, and writes the run to a file of the folder.
#[track_caller]
fn run(folder: &Folder, name: &str, more: &[&str]) -> String {
    let path = folder.path(name);
    let answer = chronoscope(&[&WORDS[..], &["-q", "-o", &path], more].concat());
    assert!(matches!(answer.status, Some(0 | 4)), "{answer:#?}");
    path
}

fn read(path: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Everything but the context, in the order of the file.
pub fn results(path: &str) -> String {
    let text = fs::read_to_string(path).unwrap();
    let context = text.find("\"context\": {").unwrap();
    let end = text[context..].find("\n  }").unwrap();
    format!("{}{}", &text[..context], &text[context + end..])
}

#[test]
fn merged_shards_are_the_whole_run() {
    let folder = Folder::new("shards");
    let whole = run(&folder, "whole.json", &["-j", "1"]);
    let parts = [1, 2, 3].map(|number| {
        let shard = format!("{number}/3");
        let machine = format!("node-{number}");
        let more = ["--shard", &shard, "--as", &machine, "--label", "commit=4898"];
        run(&folder, &format!("part-{number}.json"), &more)
    });
    let [first, second, third] = parts.each_ref().map(String::as_str);
    let merged = folder.path("merged.json");
    // In another order, and one part twice.
    let all = ["merge", third, first, second, first, "-o", &merged];
    let answer = chronoscope(&all);
    assert!(matches!(answer.status, Some(0 | 4)), "{answer:#?}");
    assert_eq!(results(&merged), results(&whole));
    let context = &read(&merged)["context"];
    assert_eq!(context["shard"], Value::Null);
    assert_eq!(context["machine"], "node-1 + node-2 + node-3");
    assert_eq!(context["labels"]["commit"], "4898");

    // The plan has the same cases, and says who runs which.
    let plan = chronoscope(&[&WORDS[..], &["--list", "--shard", "1/3"]].concat()).exits(0).json();
    let planned = plan["cases"].as_array().unwrap();
    assert_eq!(planned.len(), read(&whole)["cases"].as_array().unwrap().len());
    for (number, part) in (1..).zip([first, second, third]) {
        let ours = planned.iter().filter(|case| case["shard"] == number).count();
        assert_eq!(ours, read(part)["cases"].as_array().unwrap().len());
    }

    let refused = |parts: &[&str], words: &str| {
        let output = folder.path("refused.json");
        let store = folder.path("refused.sqlite");
        let ends = ["-o", &output, "--store", &store];
        chronoscope(&[&["merge"], parts, &ends].concat()).complains(words);
        assert!(!fs::exists(&output).unwrap() && !fs::exists(&store).unwrap());
    };
    refused(&[first, third], "of 3 shards, 2 are given, and not 2");
    let text = fs::read_to_string(third).unwrap();
    let damaged = folder.file("damaged.json", &text[..text.len() / 2]);
    refused(&[first, second, &damaged], "damaged.json");
    let mut cut = read(third);
    cut["context"]["interrupted"] = true.into();
    let cut = folder.file("cut.json", cut.to_string());
    refused(&[first, second, &cut], "cut.json was interrupted");
    let other = run(&folder, "other.json", &["--shard", "3/3", "--samples"]);
    refused(&[first, second, &other], "another plan");
    let unlike = folder.file("unlike.json", text.replacen("\"p50\": ", "\"p50\": 1", 1));
    refused(&[first, second, third, &unlike], "unlike results of");
}

#[test]
fn shards_that_cannot_be_are_refused() {
    for (more, words) in [
        (["--shard", "4/3"], "`--shard 4/3`: write I/N"),
        (["--shard", "x"], "`--shard x`: write I/N"),
        (["--label", "x"], "`--label x`: write NAME=VALUE"),
        (["--as", "a b"], "`--as a b`: write a name"),
    ] {
        chronoscope(&[&WORDS[..], &more].concat()).complains(words);
    }
    chronoscope(&["run", "--list", "--format", "csv"]).complains("`--list` is printed as a table");
    chronoscope(&["merge"]).complains("<FILE>");
    chronoscope(&["run", "--list"]).exits(0).shows("expected, one after the other");
}
