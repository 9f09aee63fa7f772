//! The first screen of the page of each study: the answer. The pages are made from the stored runs
//! that the answers on the terminal are tested with, so that nothing is measured.
//!
//! Screenshots are kept in `answers/` under Cargo's folder for tests.

use std::{fs, path::Path};

use crate::common::{chronoscope, fixtures, runs_in};
use crate::devtools::Page;
use serde_json::{Value, json};

/// Opens all folds of a page.
pub const OPEN: &str =
    "[...document.querySelectorAll('details.fold')].map(fold => fold.open = true).length";

/// The widths in pixels of phones, tablets, both sides of the layouts' border, and desktops.
const WIDTHS: [u32; 7] = [360, 390, 768, 1024, 1160, 1280, 1400];

/// The largest page of a run without samples, in bytes and in elements.
const LARGEST: u64 = 300_000;
const ELEMENTS: u64 = 5_000;

/// The height of the longest page as it opens, in screens of 900 px at 1400 px.
const SCREENS: f64 = 6.0;

/// The height of a page in pixels.
const HIGH: &str = "document.documentElement.scrollHeight";

/// The faults of the first screen: texts that overlap or reach the edge, parts that start below the
/// first screen, and axes with more than 40 % empty.
const FAULTS: &str = "(() => {
    const faults = [];
    const answer = document.querySelector('section.answer');
    if (!answer) return ['no answer'];
    const boxes = [];
    const walk = document.createTreeWalker(answer, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
        const text = walk.currentNode.textContent.trim();
        const folded = walk.currentNode.parentElement.closest('details:not([open]) > :not(summary)');
        if (!text || folded) continue;
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
    for (const part of ['h1', '.trust', '.rows, .ranking, .limits, .list, .bars, .stack, .pl']) {
        const found = answer.querySelector(part);
        if (found && found.getBoundingClientRect().top > first) faults.push(`${part} starts late`);
    }
    // The share of an axis between its outermost marks, in percent of each axis' length.
    const used = (marks, name) => {
        const all = [...marks].map((mark) => parseFloat(mark.style[name])).filter((at) => at === at);
        return all.length < 2 ? 100 : Math.max(...all) - Math.min(...all);
    };
    for (const [axis, marks, name] of [
        ['latencies', '.rows .k > i', 'left'], ['ratios', '.pr .k > i', 'left'],
        ['sweep across', '.pl.s > i.pt', 'left'], ['sweep upwards', '.pl.s > i.pt', 'top'],
    ]) {
        const share = used(answer.querySelectorAll(marks), name);
        if (share < 60) faults.push(`${axis}: ${100 - share} % of the axis is empty`);
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
    let runs = runs_in(&fixtures());
    assert_eq!(runs.len(), 17);
    // The exhaustive worst has a picture of its own.
    for run in runs.iter().chain([&fixtures().join("readme/worst.json")]) {
        let name = run.file_stem().and_then(|name| name.to_str()).expect("a name").to_owned();
        let file = folder.join(format!("{name}.html")).display().to_string();
        let run = run.to_str().expect("a path");
        chronoscope(&["report", run, "-o", &file]).exits(0);
        let size = fs::metadata(&file).expect("the page is there").len();
        assert!(name != "quick" || size <= LARGEST, "{name}: {size} bytes");
        look(&mut browser, &folder, &name, &file);
        let elements = browser.value("document.querySelectorAll('*').length");
        assert!(elements.as_u64() <= Some(ELEMENTS), "{name}: {elements} elements");
        browser.set_size(1400, 900);
        let screens = browser.value(HIGH).as_f64().expect("a height") / 900.0;
        println!("{name}: {screens:.1} screens, {} kB, {elements} elements", size / 1000);
        assert!(screens <= SCREENS, "{name}: {screens} screens");
    }
}

/// The page of a comparison: of one series whose tail is open and of one that did not change, which
/// are drawn rank by rank, and of many, which are drawn as bars. The pages name the runs' files,
/// whose path is longer than a phone is wide.
#[test]
fn a_comparison_answers_on_its_first_screen() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("answers").join("long-path".repeat(6));
    fs::create_dir_all(&folder).expect("cargo's folder for tests can be written to");
    let mut browser = Page::open(&folder, "comparisons");
    let text = fs::read_to_string(fixtures().join("quick.json")).expect("the run is there");
    let quick: Value = serde_json::from_str(&text).expect("it is JSON");
    let write = |name: &str, run: &Value| {
        let file = folder.join(name).display().to_string();
        fs::write(&file, run.to_string()).expect("the folder can be written to");
        file
    };
    let all = write("all.json", &quick);
    let slower = write("slower.json", &scaled(quick.clone(), 3.0));
    let one = |name: &str, body: f64, tail: f64| write(name, &drawn(quick.clone(), body, tail));
    let (base, tail) = (one("base.json", 1.0, 1.0), one("tail.json", 1.15, 0.02));
    for (name, sides, title) in [
        ("compare-many", [&all, &slower], "B is slower in"),
        ("compare-equal", [&base, &base], "No slowdown is shown"),
        // Two stored runs without a history do not judge the tail.
        ("compare-tail", [&base, &tail], "No slowdown is shown"),
    ] {
        let file = folder.join(format!("{name}.html")).display().to_string();
        let answer = chronoscope(&["compare", sides[0], sides[1], "-o", &file]);
        assert!(matches!(answer.status, Some(0 | 3 | 4)), "{answer:#?}");
        look(&mut browser, &folder, name, &file);
        // Each figure shows the direction of its change, at the last width too.
        let told = "[...document.querySelectorAll('b.more, b.less')].filter((one) => \
                    !one.closest('details:not([open])') && one.offsetWidth < 8).length";
        assert_eq!(browser.value(told), json!(0), "{name}: a change is not told");
        let found = browser.value("document.title");
        assert!(found.as_str().is_some_and(|text| text.starts_with(title)), "{name}: {found}");
    }
}

/// The run with all figures of its repetitions `times` as long.
fn scaled(mut run: Value, times: f64) -> Value {
    for case in run["cases"].as_array_mut().expect("cases") {
        for series in case["series"].as_array_mut().expect("series") {
            for one in series["by_repetition"].as_array_mut().expect("repetitions") {
                for name in ["min", "p50", "p99", "p999", "max", "mean"] {
                    if let Some(value) = one[name].as_f64() {
                        one[name] = json!(value * times);
                    }
                }
            }
        }
    }
    run
}

/// The run with one case of one series, whose samples are drawn: a body of 950 of a thousand, and a
/// tail that grows with the square of the rank.
fn drawn(mut run: Value, body: f64, tail: f64) -> Value {
    let cases = run["cases"].as_array().expect("cases");
    let mut case = cases.iter().find(|case| case["experiment"] == "switch").expect("it").clone();
    let long =
        |rank: u32| if rank > 950 { 1.0 + tail * f64::from((rank - 950).pow(2)) } else { 1.0 };
    let value = |rank: u32| 3000.0 * body * (1.0 + f64::from(rank) / 2000.0) * long(rank) / long(1);
    let buckets: Vec<Value> = (1..=1000).map(|rank| json!([value(rank), 10])).collect();
    let series = &mut case["series"][0];
    series["histogram"] = buckets.into();
    let one = series["by_repetition"][0].clone();
    let repetitions = (0..10).map(|index| {
        let mut one = one.clone();
        let scatter = 1.0 + f64::from(index * 7 % 10) / 1000.0;
        for (name, rank) in [("min", 1), ("p50", 500), ("p99", 990), ("p999", 999), ("max", 1000)] {
            one[name] = json!(value(rank) * scatter);
        }
        one["count"] = json!(1000);
        one
    });
    series["by_repetition"] = repetitions.collect::<Vec<_>>().into();
    run["cases"] = json!([case]);
    run
}

/// Checks the first screen of a page at all widths, in both schemes, as it opens and with the rows
/// that a phone folds.
fn look(browser: &mut Page, folder: &Path, name: &str, file: &str) {
    browser.load(file);
    for scheme in ["light", "dark"] {
        let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
        browser.call("Emulation.setEmulatedMedia", json!({ "features": [feature] }));
        // Colours move nothing: the dark page is looked at in the widths of its pictures.
        let is_pictured = |width: &u32| [390, 1400].contains(width);
        for width in WIDTHS.into_iter().filter(|width| scheme == "light" || is_pictured(width)) {
            let place = format!("{name}-{width}-{scheme}");
            check(browser, &place, width, 900);
            if is_pictured(&width) {
                let png = browser.screenshot(width, 900);
                fs::write(folder.join(format!("{place}.png")), png).expect("room for a picture");
            }
        }
    }
    if browser.value("document.getElementById('more')?.click() === undefined && !!document.getElementById('more')") == true {
        check(browser, &format!("{name}, all rows"), WIDTHS[1], 900);
    }
}

/// A page with faults, which proves that the check detects them.
#[test]
fn faults_are_seen() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("answers");
    fs::create_dir_all(&folder).expect("cargo's folder for tests can be written to");
    let file = folder.join("faults.html");
    let text = "<!doctype html><body style='margin:0'><section class=answer>                <h1 style='margin-top:1000px'>late</h1><p style='margin-left:10px'>one</p>                <p style='margin-left:10px;margin-top:-2em'>two</p>                <div class='pr'><div class='k'><i style='left:10%'></i><i style='left:30%'></i></div></div></section>";
    fs::write(&file, text).expect("the folder can be written to");
    let mut browser = Page::open(&folder, "answer-faults");
    browser.set_size(1400, 900);
    browser.load(file.to_str().expect("the folder's name is text"));
    let faults = browser.value(FAULTS).to_string();
    for fault in
        ["late reaches the edge", "one touches two", "h1 starts late", "ratios: 80 % of the axis"]
    {
        assert!(faults.contains(fault), "{fault} in {faults}");
    }
}
