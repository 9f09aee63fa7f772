//! The pages of the five studies of published reports: made from real, short runs, and looked at by a browser for what a reader would
//! stumble over. The figures of such a run are not the point; those that hold are drawn.
//!
//! Pictures of all of it stay in `studies/` under cargo's folder for tests.

mod common;
mod devtools;

use std::{fs, path::Path};

use chronoscope::study::{self, Overrides};
use common::chronoscope;
use devtools::{
    Page,
    picture::{CHARTS, Picture},
};
use serde_json::json;

/// A phone's width, a small window's and a large one's.
const VIEWS: [(u32, &str); 5] =
    [(390, "light"), (390, "dark"), (900, "light"), (1400, "light"), (1400, "dark")];

/// What is wrong with the charts: letters that leave their picture or touch others, and pictures without a mark in them.
const FAULTS: &str = "(() => {
    const faults = [];
    for (const figure of document.querySelectorAll('figure.chart')) {
        const title = figure.querySelector('h4').textContent;
        const frame = figure.querySelector('svg').getBoundingClientRect();
        const inside = ({left, top, right, bottom}) =>
            left >= frame.left - 0.5 && right <= frame.right + 0.5 && top >= frame.top - 0.5 && bottom <= frame.bottom + 0.5;
        // A line of letters is a little lower than its box.
        const slack = frame.width / 400 * 2;
        const texts = [...figure.querySelectorAll('svg text')].map((text) => [text.textContent, text.getBoundingClientRect()]);
        for (const [index, [text, box]] of texts.entries()) {
            if (!inside(box)) faults.push(`${title}: ${text} leaves the picture`);
            for (const [other, its] of texts.slice(index + 1)) {
                const wide = Math.min(box.right, its.right) - Math.max(box.left, its.left);
                const high = Math.min(box.bottom, its.bottom) - Math.max(box.top, its.top);
                if (wide > 0.5 && high > slack) faults.push(`${title}: ${text} touches ${other}`);
            }
        }
        const marks = [...figure.querySelectorAll('svg [data-t]')].map((mark) => mark.getBoundingClientRect());
        if (!marks.some((mark) => mark.width > 0 && mark.height > 0)) faults.push(`${title}: no mark`);
        if (!marks.every(inside)) faults.push(`${title}: a mark leaves the picture`);
    }
    return faults;
})()";

#[test]
fn p1() {
    looks_right("p1-embassy-preempt", &["delay", "masked"], &[]);
}

#[test]
fn p2() {
    looks_right("p2-tornado", &["ticks", "spawn"], &["--set", "tasks=50,100,200,300", "-l", "30"]);
}

#[test]
fn p3() {
    let few = ["--set", "size=4,1024,16384,65536", "-l", "30"];
    looks_right("p3-binder", &["transaction", "latency"], &few);
}

#[test]
fn p4() {
    looks_right("p4-linux-rt", &["interference"], &[]);
}

#[test]
fn p5() {
    looks_right("p5-four-kernels", &["switch", "period", "wakeup"], &[]);
}

/// Runs a study once, with its samples, and looks at its page; of these experiments, whatever the machine, there are charts.
fn looks_right(study: &str, drawn: &[&str], short: &[&str]) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("studies");
    fs::create_dir_all(&folder).expect("cargo's folder for tests can be written to");
    let file = folder.join(format!("{study}.html")).display().to_string();
    let source = format!("{}/../studies/{study}.toml", env!("CARGO_MANIFEST_DIR"));
    let run =
        ["run", "-q", "--study", &source, "--repeat", "1", "--samples", "--no-store", "-o", &file];
    // Who is not root may not ask for a real-time class.
    let ordinary = ["--set", "policy=other", "--set", "mlock=no"];
    let ordinary = if rustix::process::geteuid().is_root() { &[] } else { &ordinary[..] };
    let answer = chronoscope(&[&run, ordinary, short].concat());
    // The verdict is not the point here.
    assert!(matches!(answer.status, Some(0 | 2 | 4)), "{answer:#?}");
    let mut browser = Page::open(&folder, study);
    for (width, theme) in VIEWS {
        let place = format!("{study}-{width}-{theme}");
        let feature = json!({ "name": "prefers-color-scheme", "value": theme });
        browser.call("Emulation.setEmulatedMedia", json!({ "features": [feature] }));
        browser.set_size(width, 900);
        browser.load(&file);
        let height =
            browser.value("document.documentElement.scrollHeight").as_u64().expect("a number")
                as u32;
        let png = browser.screenshot(width, height);
        fs::write(folder.join(format!("{place}.png")), &png).expect("the folder can be written to");
        let wide = browser.value("document.documentElement.scrollWidth");
        assert_eq!(wide, width, "{place}: the page is read sideways");
        assert_eq!(browser.value(FAULTS), json!([]), "{place}");
        // To take so large a picture to pieces takes long: once is enough.
        let picture = (width == 900).then(|| Picture::read(&png));
        for chart in
            picture.iter().flat_map(|_| browser.value(CHARTS).as_array().cloned().expect("a list"))
        {
            // A hundredth: more than a frame of lines a pixel wide, less than any chart with its letters.
            let drawn = picture.as_ref().map(|picture| picture.drawn(&chart));
            assert!(drawn > Some(0.01), "{place}: nothing is drawn of {chart}");
        }
        assert!(browser.complaints().is_empty(), "{place}: {:#?}", browser.complaints());
    }
    for experiment in drawn {
        let charts = browser.value(&format!(
            "document.querySelectorAll('#experiment-{experiment} figure.chart').length"
        ));
        assert!(charts.as_u64() > Some(0), "{study}: nothing of {experiment} is drawn");
    }
}

/// A figure is published of what the study sets, and of nothing else.
#[test]
fn published_figures_leave_with_their_case() {
    let study =
        study::parse(include_str!("../../studies/p1-embassy-preempt.toml")).expect("it is a study");
    let published = |name: &str, value: &str| -> usize {
        let settings = [(name.to_owned(), vec![value.to_owned()])].into();
        let cases =
            study.cases(&Overrides { settings, ..Overrides::default() }).expect("it has cases");
        cases.iter().filter(|case| case.spec.name == "delay").map(|case| case.published.len()).sum()
    };
    let all = published("delay_us", "50000");
    assert!(all > 0);
    assert_eq!((published("loops", "20"), published("delay_us", "20000")), (all, 0));
}

/// What is never to be in a chart, to know that the checks would find it.
#[test]
fn faults_are_seen() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("studies");
    fs::create_dir_all(&folder).expect("cargo's folder for tests can be written to");
    let mut browser = Page::open(&folder, "faults");
    let file = folder.join("faults.html");
    let text = "<!doctype html><figure class=chart><h4>t</h4><svg width=400 height=200><text x=10 y=50>one</text>\
                <text x=15 y=52>two</text><text x=390 y=150>three</text></svg></figure>";
    fs::write(&file, text).expect("the folder can be written to");
    browser.set_size(900, 900);
    browser.load(file.to_str().expect("the folder's name is text"));
    assert_eq!(
        browser.value(FAULTS),
        json!(["t: one touches two", "t: three leaves the picture", "t: no mark"])
    );
}
