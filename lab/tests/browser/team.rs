//! The page of a store.

use std::{collections::BTreeSet, fs};

use chronoscope_run::{Run, sample};
use chronoscope_store::{Place, Store};
use serde_json::json;

use crate::{
    browser::artefacts,
    common::{Folder, chronoscope},
    devtools::Page,
};

/// A store of thirty runs of each of two machines; from its sixteenth on, `desk` is slower by a half.
fn filled(folder: &Folder) -> String {
    let path = folder.path("runs.sqlite");
    let mut store = Store::create(&Place::File(path.clone().into())).unwrap();
    let runs: Vec<Run> = (0..60)
        .map(|number| {
            let mut run = sample::run();
            let is_desk = number % 2 == 0;
            run.context.uuid = format!("{number}").into();
            run.context.machine = if is_desk { "desk" } else { "<i>bench" }.into();
            let level = if is_desk && number >= 30 { 1.5 } else { 1.0 };
            for series in run.cases.iter_mut().flat_map(|case| &mut case.series) {
                let noise = 1.0 + 0.001 * (number * 7 % 11) as f64;
                series.summary.p50 = series.summary.p50.map(|p50| p50 * level * noise);
            }
            run
        })
        .collect();
    store.add(&runs.iter().collect::<Vec<_>>()).unwrap();
    path
}

/// Looks at the page at its usual widths, and follows its first link.
fn look(browser: &mut Page, name: &str, url: &str) {
    browser.load_url(url);
    let words = browser.value("document.body.innerText");
    let words = words.as_str().unwrap();
    assert!(words.contains("60 runs") && words.contains("<i>bench"), "{words}");
    assert!(words.contains("7 changes of level in 60 runs") && words.contains("run 31"), "{words}");
    assert_eq!(browser.value("document.querySelectorAll('i').length"), 0);
    assert!(browser.value("document.querySelectorAll('.team svg').length").as_u64() > Some(8));
    for width in [390, 1400] {
        browser.set_size(width, 900);
        let room = browser.value("document.documentElement.scrollWidth <= innerWidth");
        assert_eq!(room, json!(true), "{name} at {width}: the page itself does not scroll aside");
        let shown = "[...document.querySelectorAll('.team svg')].every(one => {
            const box = one.getBoundingClientRect();
            return box.left >= 0 && box.right <= innerWidth && box.width > 150; })";
        assert_eq!(
            browser.value(shown),
            json!(true),
            "{name} at {width}: the pictures are in view"
        );
        let height = browser.value("document.documentElement.scrollHeight").as_u64().unwrap();
        let picture = browser.screenshot(width, height.min(3000) as u32);
        fs::write(artefacts().join(format!("{name}-{width}.png")), picture).unwrap();
    }
    // A picture explains its marks.
    let mark = "document.querySelector('.team svg .bad')";
    // Scrolling hides the box at the pointer, a frame later.
    browser.value(&format!(
        "window.settled = false;
        {mark}.scrollIntoView({{block: 'center', behavior: 'instant'}});
        requestAnimationFrame(() => requestAnimationFrame(() => {{ window.settled = true; }})); 0"
    ));
    assert!(browser.becomes_true("window.settled"));
    let mark =
        "(() => { const box = document.querySelector('.team svg .bad').getBoundingClientRect();
        return [box.x + box.width / 2, box.y + box.height / 2]; })()";
    let place = browser.value(mark);
    browser.point_at(place[0].as_f64().unwrap(), place[1].as_f64().unwrap());
    let shown = "!tip.hidden && tip.textContent.includes('a new level (×1.5')";
    assert!(browser.becomes_true(shown), "{}", browser.value("tip.textContent"));
    assert!(browser.complaints().is_empty(), "{:#?}", browser.complaints());
    let link = browser.value("document.querySelector('a[href^=\"runs/\"]').href");
    browser.load_url(link.as_str().unwrap());
    let title = browser.value("document.querySelector('h1').textContent");
    assert!(!title.as_str().unwrap().is_empty() && browser.complaints().is_empty(), "{title}");
}

#[test]
fn a_store_over_time() {
    let folder = Folder::new("team");
    let store = filled(&folder);
    let mut browser = Page::open(&artefacts(), "team");
    let place = folder.path("site");
    chronoscope(&["report", "--history", "-o", &place, "--store", &store]).exits(0);
    look(&mut browser, "team", &format!("file://{place}/index.html"));
    // Each run has a page, and the page of the store links to it.
    let pages: BTreeSet<String> = fs::read_dir(format!("{place}/runs"))
        .unwrap()
        .map(|entry| format!("runs/{}", entry.unwrap().file_name().to_str().unwrap()))
        .collect();
    assert_eq!(pages.len(), 60);
    let text = fs::read_to_string(format!("{place}/index.html")).unwrap();
    let links = text.split("<a href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    let links: BTreeSet<String> = links.map(str::to_owned).collect();
    assert_eq!(links, pages);
}

#[test]
fn a_history_that_cannot_be_written_is_one_line() {
    let folder = Folder::new("team-wrong");
    let store = filled(&folder);
    let report = |words: &[&str]| chronoscope(&[&["report"], words, &["--store", &store]].concat());
    report(&["--history", "-o", "x.html"]).complains("name a folder with -o");
    report(&["--history", "-o", &store]).complains("name a folder with -o");
    report(&["--history", "--machine", "nobody"])
        .complains("there is no run in the store of the machine `nobody`");
    report(&["--machine", "desk"]).complains("choose runs for --history");
    report(&["--limit", "3"]).complains("--history");
    report(&["3", "--history"]).complains("cannot be used with");
}
