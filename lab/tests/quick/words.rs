//! Every word that heads a column of a screen or a page, and every name of an experiment, a study or
//! a parameter, has its explanation.

use std::{collections::BTreeSet, fs};

use crate::common::{Folder, chronoscope, fixtures, program, run, runs_in};

/// Columns that a run names itself: kernels, sizes, and the lab beside its peers.
const OF_RUNS: [&str; 3] = ["Chronoscope", "A", "B"];

/// The words that the first users looked for in vain.
const ASKED: [&str; 24] = [
    "ceiling",
    "inheritance",
    "coroutine",
    "misses",
    "slope",
    "mixed",
    "soak",
    "deadline",
    "cycles",
    "jitter",
    "latency",
    "thread",
    "process",
    "hog",
    "instructions",
    "batch",
    "threshold",
    "policy",
    "median",
    "p99",
    "worst",
    "tasks",
    "masked",
    "p5",
];

fn is_explained(word: &str) -> bool {
    run(program().args(["explain", word])).status == Some(0)
}

/// The heads of the tables in a text: the words above each rule, as far as two spaces part them.
fn heads(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let above = lines.windows(2).filter(|pair| pair[1].starts_with("──")).map(|pair| pair[0]);
    let words = above.flat_map(|line| line.split("  "));
    words.map(|word| word.trim().to_owned()).filter(|word| !word.is_empty()).collect()
}

/// The heads of the tables of a page, without their tags.
fn heads_of_page(page: &str) -> Vec<String> {
    let mut heads = Vec::new();
    for table in page.split("<thead>").skip(1) {
        let head = table.split("</thead>").next().unwrap();
        for cell in head.split("<th").skip(1) {
            let cell = cell.split_once('>').unwrap().1;
            let text = cell.split('<').next().unwrap().trim();
            heads.push(text.to_owned());
        }
    }
    heads.retain(|head| !head.is_empty());
    heads
}

#[test]
fn every_column_of_a_screen_and_a_page_is_explained() {
    let folder = Folder::new("words");
    let mut words: BTreeSet<String> = BTreeSet::new();
    let runs = [runs_in(&fixtures()), runs_in(&fixtures().join("experiments"))].concat();
    assert!(runs.len() >= 30, "{runs:?}");
    for path in &runs {
        let file = path.to_str().unwrap();
        for format in ["--full", "--evidence"] {
            let text = run(program().args(["report", file, format]).env("COLUMNS", "200"));
            words.extend(heads(&text.exits(0).stdout));
        }
        let page = folder.path("page.html");
        chronoscope(&["report", file, "-o", &page]).exits(0);
        words.extend(heads_of_page(&fs::read_to_string(&page).unwrap()));
    }
    let file = runs[0].to_str().unwrap();
    let page = folder.path("compare.html");
    let text = run(program().args(["compare", file, file]).env("COLUMNS", "200")).stdout;
    words.extend(heads(&text));
    chronoscope(&["compare", file, file, "-o", &page]);
    words.extend(heads_of_page(&fs::read_to_string(&page).unwrap()));
    assert!(words.contains("p50") && words.contains("control"), "{words:?}");
    // `p50, 93 %` is the interval of the p50; a column of a kernel or a size is the run's own.
    let named = |word: &str| {
        OF_RUNS.contains(&word) || !word.chars().any(char::is_alphabetic) || {
            let first = word.split([' ', ',']).next().unwrap();
            let of = word.rsplit(" of ").next().unwrap();
            [word, first, of].into_iter().any(is_explained)
        }
    };
    let unknown: Vec<&String> = words.iter().filter(|word| !named(word)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn names_and_asked_words_are_explained() {
    for word in ASKED {
        assert!(is_explained(word), "{word}");
    }
    chronoscope(&["explain", "tasks"]).exits(0).shows("switch:").shows("tasks in the ring");
    chronoscope(&["explain", "masked"]).exits(0).shows("the longest stretch with interrupts off");
    chronoscope(&["explain", "p4"]).exits(0).shows("chronoscope run p4-linux-rt");
}
