//! Every word of a first screen, in the terminal and on a page, is plain English or has its explanation;
//! so has every word that heads a column, and every name of an experiment, a study or a parameter.

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

/// Words of first screens that need no explanation: everyday English, and names of other people's work.
const PLAIN: &str = include_str!("plain-words.txt");

/// The words of a text, in small letters. Names in code, parameters and numbers are none.
fn words_of(text: &str) -> BTreeSet<String> {
    let is_inside = |letter: char| letter.is_alphanumeric() || "-_@=/.:#'’".contains(letter);
    let words = text.split(|letter: char| !is_inside(letter));
    let words = words.map(|word| word.trim_matches(['.', ':', '-', '/', '’', '\'']));
    let is_word = |word: &&str| {
        let mut letters = word.chars();
        letters.next().is_some_and(char::is_alphabetic)
            && letters.all(|letter| letter.is_lowercase() || "-'’".contains(letter))
    };
    let bare = |word: &str| {
        let word = word.to_lowercase().replace('’', "'");
        word.strip_suffix("'s").unwrap_or(&word).to_owned()
    };
    words.filter(is_word).map(bare).filter(|word| word.len() > 2).collect()
}

/// The text of the first screen of a page, without its tags.
fn first_screen(page: &str) -> String {
    let (_, answer) = page.split_once("<section class=\"answer\">").unwrap();
    let (answer, _) = answer.split_once("</section>").unwrap();
    answer
        .split('<')
        .map(|part| part.split_once('>').map_or(part, |(_, text)| text))
        .fold(String::new(), |all, text| all + " " + text)
}

#[test]
fn every_word_of_a_first_screen_is_plain_or_explained() {
    let folder = Folder::new("first-words");
    let mut words = BTreeSet::new();
    let places = ["", "experiments", "readme"].map(|place| runs_in(&fixtures().join(place)));
    for path in places.concat() {
        let file = path.to_str().unwrap();
        words.extend(words_of(&run(program().args(["report", file])).exits(0).stdout));
        let page = folder.path("page.html");
        chronoscope(&["report", file, "-o", &page]).exits(0);
        words.extend(words_of(&first_screen(&fs::read_to_string(&page).unwrap())));
    }
    let plain: BTreeSet<&str> = PLAIN.split_whitespace().collect();
    let unused: Vec<&&str> = plain.iter().filter(|word| !words.contains(**word)).collect();
    assert!(unused.is_empty(), "plain-words.txt has words that no screen shows: {unused:?}");
    let rest: Vec<&String> = words.iter().filter(|word| !plain.contains(word.as_str())).collect();
    if run(program().arg("explain").args(&rest)).status != Some(0) {
        let unknown: Vec<&&String> = rest.iter().filter(|word| !is_explained(word)).collect();
        panic!("explain these, or use plain words: {unknown:?}");
    }
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
