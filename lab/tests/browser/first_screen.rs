//! The first screen of the page of each study: the answer. The pages are made from the stored runs
//! that the answers on the terminal are tested with, so that nothing is measured.
//!
//! Screenshots are kept in `answers/` under Cargo's folder for tests.

use std::{env, fs, path::Path};

use crate::common::chronoscope;
use crate::devtools::Page;
use serde_json::json;

/// Opens all folds of a page.
pub const OPEN: &str =
    "[...document.querySelectorAll('details.fold')].map(fold => fold.open = true).length";

/// The widths in pixels of a phone, both sides of the layouts' border, and a desktop.
const WIDTHS: [u32; 4] = [390, 1024, 1160, 1400];

/// All widths, for the long check.
const ALL: [u32; 7] = [360, 390, 768, 1024, 1160, 1280, 1400];

/// The largest page of a run without samples, in bytes.
const LARGEST: u64 = 300_000;

/// The faults of the first screen: texts that overlap or reach the edge, and parts that start below
/// the first screen.
const FAULTS: &str = "(() => {
    const faults = [];
    const answer = document.querySelector('section.answer');
    if (!answer) return ['no answer'];
    const boxes = [];
    const walk = document.createTreeWalker(answer, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
        const text = walk.currentNode.textContent.trim();
        if (!text) continue;
        const range = document.createRange();
        range.selectNodeContents(walk.currentNode);
        for (const box of range.getClientRects()) {
            if (box.width > 0.5) boxes.push([text, box]);
        }
    }
    for (const [index, [text, box]] of boxes.entries()) {
        if (box.left < 2 || box.right > innerWidth - 2) faults.push(`${text} reaches the edge`);
        for (const [other, its] of boxes.slice(index + 1)) {
            const wide = Math.min(box.right, its.right) - Math.max(box.left, its.left);
            const high = Math.min(box.bottom, its.bottom) - Math.max(box.top, its.top);
            if (wide > 1 && high > 4) faults.push(`${text} touches ${other}`);
        }
    }
    const first = innerWidth < 1160 ? 844 : 900;
    for (const part of ['h1', '.trust', '.rows, .ranking, .list']) {
        const found = answer.querySelector(part);
        if (found && found.getBoundingClientRect().top > first) faults.push(`${part} starts late`);
    }
    const wide = document.documentElement.scrollWidth;
    if (wide > innerWidth) faults.push(`the page is ${wide} wide`);
    return faults;
})()";

/// Checks the first screen of the page that is open.
pub fn check(browser: &mut Page, place: &str, width: u32, height: u32) {
    browser.set_size(width, height);
    assert_eq!(browser.value(FAULTS), json!([]), "{place}");
}

#[test]
fn every_study_answers_on_its_first_screen() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("answers");
    fs::create_dir_all(&folder).expect("cargo's folder for tests can be written to");
    let mut browser = Page::open(&folder, "answers");
    let long = env::var_os("CHRONOSCOPE_TEST_EFFORT").is_some();
    let widths = if long { &ALL[..] } else { &WIDTHS[..] };
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/report/answer/fixtures");
    let mut runs = 0;
    for entry in fs::read_dir(fixtures).expect("there are stored runs") {
        let run = entry.expect("a file").path();
        if run.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        runs += 1;
        let name = run.file_stem().and_then(|name| name.to_str()).expect("a name").to_owned();
        let file = folder.join(format!("{name}.html")).display().to_string();
        let run = run.to_str().expect("a path");
        chronoscope(&["report", run, "-o", &file]).exits(0);
        let size = fs::metadata(&file).expect("the page is there").len();
        assert!(name != "quick" || size <= LARGEST, "{name}: {size} bytes");
        for width in widths {
            for scheme in ["light", "dark"] {
                let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
                browser.call("Emulation.setEmulatedMedia", json!({ "features": [feature] }));
                browser.set_size(*width, 900);
                browser.load(&file);
                let place = format!("{name}-{width}-{scheme}");
                check(&mut browser, &place, *width, 900);
                if scheme == "light" && [390, 1400].contains(width) {
                    let png = browser.screenshot(*width, 900);
                    fs::write(folder.join(format!("{place}.png")), png)
                        .expect("room for a picture");
                }
            }
        }
    }
    assert_eq!(runs, 11);
}

/// A page with faults, which proves that the check detects them.
#[test]
fn faults_are_seen() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("answers");
    fs::create_dir_all(&folder).expect("cargo's folder for tests can be written to");
    let file = folder.join("faults.html");
    let text = "<!doctype html><body style='margin:0'><section class=answer>                <h1 style='margin-top:1000px'>late</h1><p style='margin-left:10px'>one</p>                <p style='margin-left:10px;margin-top:-2em'>two</p></section>";
    fs::write(&file, text).expect("the folder can be written to");
    let mut browser = Page::open(&folder, "answer-faults");
    browser.set_size(1400, 900);
    browser.load(file.to_str().expect("the folder's name is text"));
    let faults = browser.value(FAULTS).to_string();
    for fault in ["late reaches the edge", "one touches two", "h1 starts late"] {
        assert!(faults.contains(fault), "{fault} in {faults}");
    }
}
