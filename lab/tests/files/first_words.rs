//! Every word of a first screen, in the terminal and on a page, is plain English or has its explanation.

use std::{collections::BTreeSet, fs};

use crate::common::{Folder, chronoscope, fixtures, program, run, runs_in};

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
        let unknown: Vec<&&String> = rest
            .iter()
            .filter(|word| run(program().args(["explain", word.as_str()])).status != Some(0))
            .collect();
        panic!("explain these, or use plain words: {unknown:?}");
    }
}
