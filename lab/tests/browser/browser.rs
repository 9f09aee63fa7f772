//! The report's page in a browser: pages of real runs, opened from files in headless Chromium.
//!
//! Screenshots and the browser's log are kept in `browser/` under Cargo's folder for tests.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::common::chronoscope;
use crate::devtools::{
    Page,
    picture::{CHARTS, Picture},
};
use crate::pins;
use serde_json::json;

/// The widths in pixels of a phone, a small window and a large one.
const WIDTHS: [u32; 3] = [390, 900, 1400];

const HEIGHT: u32 = 900;

/// The longest unnoticeable delay. Shared machines are slow at times, so it is printed, not
/// asserted.
const FIRST_PAINT_MS: f64 = 500.0;

/// Pages by name, and the commands that make them: short runs that need no permission.
const PAGES: [(&str, &[&str]); 4] = [
    (
        "switch",
        &[
            "run",
            "switch",
            "--set",
            "tasks=2,3,5",
            "--set",
            "pair=thread-thread,coroutine-coroutine",
            "-l",
            "600",
        ],
    ),
    ("samples", &["run", "period", "wakeup", "-l", "60", "-i", "500", "--samples"]),
    (
        "comparison",
        &["compare", "linux@host", "linux@host,pad=20000", "switch", "--set", "loops=200"],
    ),
    // Experiments that Linux does not offer have no figures to draw.
    ("nothing", &["run", "masked", "image"]),
];

/// `true` if the whole tooltip of a mark is inside the window.
const TIP_IN_WINDOW: &str = "(() => {
    const {left, top, right, bottom} = document.getElementById('tip').getBoundingClientRect();
    return left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight;
})()";

/// The texts of the marks in the window whose middle is covered by something that is no mark.
const COVERED: &str = "(async () => {
    const covered = [];
    for (const chart of document.querySelectorAll('figure.chart svg')) {
        chart.scrollIntoView({block: 'center', behavior: 'instant'});
        for (const _ of [1, 2]) await new Promise(requestAnimationFrame);
        for (const mark of chart.querySelectorAll('[data-t]')) {
            const {x, y, width, height} = mark.getBoundingClientRect();
            const seen = document.elementFromPoint(x + width / 2, y + height / 2);
            if (seen && !seen.closest('[data-t]')) covered.push(mark.dataset.t);
        }
    }
    return covered;
})()";

#[test]
fn pages_of_runs() {
    let folder = artefacts();
    let mut browser = Page::open(&folder, "pages");
    for (name, command) in PAGES {
        let file = page(&folder, name, command);
        look(&mut browser, &folder, name, &file);
    }
}

/// The page with waveforms and the cycle profile.
#[test]
fn pages_of_captures() {
    let folder = artefacts();
    let mut browser = Page::open(&folder, "captures");
    let [run, file] =
        ["json", "html"].map(|form| folder.join(format!("pins.{form}")).display().to_string());
    fs::write(&run, pins::run().to_string()).expect("the folder can be written to");
    chronoscope(&["report", &run, "-o", &file]).exits(0);
    look(&mut browser, &folder, "pins", &file);
    let kinds = browser
        .value("[...document.querySelectorAll('figure.chart')].map(figure => figure.dataset.kind)");
    let count =
        |kind: &str| kinds.as_array().expect("a list").iter().filter(|one| *one == kind).count();
    assert_eq!((count("waveform"), count("cycles")), (3, 1), "{kinds}");
}

/// A run compared with itself: all ratios are 1, where a line marks equality.
#[test]
fn marks_on_the_line_of_equality() {
    let folder = artefacts();
    let mut browser = Page::open(&folder, "equal");
    let [run, file] =
        ["json", "html"].map(|form| folder.join(format!("equal.{form}")).display().to_string());
    fs::write(&run, pins::run().to_string()).expect("the folder can be written to");
    let answer = chronoscope(&["compare", &run, &run, "-o", &file]);
    assert!(answer.status.is_some_and(|status| status != 1), "{answer:#?}");
    look(&mut browser, &folder, "equal", &file);
}

/// Checks a page against all requirements, at each width.
fn look(browser: &mut Page, folder: &Path, name: &str, file: &str) {
    for width in WIDTHS {
        let place = format!("{name}-{width}");
        browser.set_size(width, HEIGHT);
        browser.load(file);
        paints_soon(browser, &place);
        fits(browser, &place, width);
        browser.value(crate::first_screen::OPEN);
        fits(browser, &place, width);
        charts_are_drawn(browser, folder, &place, width);
        assert_eq!(browser.value(COVERED), json!([]), "{place}: marks are covered");
        pointing_tells_a_value(browser, &place);
        the_theme_can_be_changed(browser, folder, &place, width);
        // Neither loading nor use may have requested anything else.
        assert_eq!(browser.requests(), [format!("file://{file}")], "{place}");
        assert!(browser.complaints().is_empty(), "{place}: {:#?}", browser.complaints());
    }
}

/// A page with faults, which proves that the checks above detect them.
#[test]
fn faults_are_seen() {
    let folder = artefacts();
    let mut browser = Page::open(&folder, "faults");
    let file = folder.join("faults.html");
    let text = "<!doctype html><figure class=chart><svg width=300 height=200></svg></figure>\
                <img src=picture.png><p style='width: 500px'>wide</p><script>console.warn('a word')</script>";
    fs::write(&file, text).expect("the folder can be written to");
    browser.set_size(WIDTHS[0], HEIGHT);
    browser.load(file.to_str().expect("the folder's name is text"));
    assert!(browser.requests()[1].ends_with("/picture.png"), "{:?}", browser.requests());
    let complaints = format!("{:?}", browser.complaints());
    assert!(complaints.contains("a word") && complaints.contains("picture.png"), "{complaints}");
    assert!(
        browser.value("document.documentElement.scrollWidth").as_u64() > Some(u64::from(WIDTHS[0]))
    );
    let picture = Picture::read(&browser.screenshot(WIDTHS[0], HEIGHT));
    assert_eq!(picture.drawn(&browser.value(CHARTS)[0]), 0.0, "an empty chart");
    assert_eq!(browser.value(&first_mark(0)).get("told"), None, "no mark");
}

/// The folder of screenshots, pages and logs.
pub fn artefacts() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser");
    fs::create_dir_all(&folder).expect("cargo's folder for tests can be written to");
    folder
}

/// Makes a page and returns its path.
fn page(folder: &Path, name: &str, command: &[&str]) -> String {
    let file = folder.join(format!("{name}.html")).display().to_string();
    let small = ["--set", "policy=other", "--set", "mlock=no", "--repeat", "3", "--no-store", "-q"];
    let answer = chronoscope(&[command, &small, &["--format", "html", "-o", &file]].concat());
    // The verdict is not tested here.
    assert!(matches!(answer.status, Some(0 | 3 | 4)), "{answer:#?}");
    file
}

fn paints_soon(browser: &mut Page, place: &str) {
    let paint = "performance.getEntriesByName('first-contentful-paint')";
    assert!(browser.becomes_true(&format!("{paint}.length > 0")), "{place}: nothing is painted");
    let ms = browser.value(&format!("{paint}[0].startTime")).as_f64().expect("a time is a number");
    let judged = if ms < FIRST_PAINT_MS { "within" } else { "MORE THAN" };
    println!("{place}: first paint after {ms:.0} ms, {judged} {FIRST_PAINT_MS} ms");
}

/// Checks that the page scrolls vertically only.
fn fits(browser: &mut Page, place: &str, width: u32) {
    let wide = browser.value("document.documentElement.scrollWidth");
    assert!(
        wide.as_u64().is_some_and(|wide| wide <= u64::from(width)),
        "{place}: the page is {wide} wide"
    );
}

fn charts_are_drawn(browser: &mut Page, folder: &Path, place: &str, width: u32) {
    let charts = browser.value(CHARTS);
    let charts = charts.as_array().expect("a list");
    assert_eq!(charts.is_empty(), place.starts_with("nothing"), "{place}: {charts:#?}");
    let height =
        browser.value("document.documentElement.scrollHeight").as_u64().expect("a number") as u32;
    let png = browser.screenshot(width, height);
    fs::write(folder.join(format!("{place}.png")), &png).expect("the folder can be written to");
    let picture = Picture::read(&png);
    for chart in charts {
        let share = picture.drawn(chart);
        // At least 1 % of the pixels: more than a frame of hairlines, less than any chart with its
        // labels.
        assert!(share > 0.01, "{place}: {:.2} % of {chart} is drawn", share * 100.0);
    }
}

/// Checks that on every chart the first reachable mark shows its value, by mouse and by keyboard.
fn pointing_tells_a_value(browser: &mut Page, place: &str) {
    let tip = "(() => { const tip = document.getElementById('tip'); return tip.checkVisibility() && tip.textContent; })()";
    let count = browser
        .value("document.querySelectorAll('figure.chart').length")
        .as_u64()
        .expect("a number");
    for index in 0..count {
        browser.point_at(0.0, 0.0);
        let mark = browser.value(&first_mark(index));
        let (Some(left), Some(top)) = (mark["left"].as_f64(), mark["top"].as_f64()) else {
            panic!("{place}: no mark of chart {index} can be pointed at: {mark}");
        };
        let told = &mark["told"];
        let has_value =
            told.as_str().is_some_and(|told| told.contains(|letter: char| letter.is_ascii_digit()));
        assert!(has_value, "{place}: no value in {mark}");
        assert_eq!(
            browser.value(tip),
            false,
            "{place}: chart {index} tells before it is pointed at"
        );
        browser.point_at(left, top);
        assert!(
            browser.becomes_true(&format!("{tip} === {told}")),
            "{place}: pointed at, {mark} is not told"
        );
        assert_eq!(browser.value(TIP_IN_WINDOW), true, "{place}: what {mark} tells is cut off");
        browser.point_at(0.0, 0.0);
        assert!(
            browser.becomes_true(&format!("{tip} === false")),
            "{place}: {mark} is told for ever"
        );
        browser.value(&format!(
            "document.querySelectorAll('figure.chart svg')[{index}].focus({{preventScroll: true}})"
        ));
        browser.press("ArrowRight");
        assert!(
            browser.becomes_true(&format!("{tip} !== false")),
            "{place}: walked to, {mark} is not told"
        );
        browser.press("Escape");
    }
}

/// The position in the window of the first visible mark of a chart, and its text.
fn first_mark(chart: u64) -> String {
    format!(
        "(async () => {{
            const figure = document.querySelectorAll('figure.chart')[{chart}];
            figure.querySelector('svg').scrollIntoView({{block: 'center', behavior: 'instant'}});
            // The browser reports scrolling with the next frame.
            for (const _ of [1, 2]) await new Promise(requestAnimationFrame);
            for (const mark of figure.querySelectorAll('[data-t]')) {{
                const {{x, y, width, height}} = mark.getBoundingClientRect();
                const [left, top] = [x + width / 2, y + height / 2];
                if (document.elementFromPoint(left, top) === mark)
                    return {{kind: figure.dataset.kind, left, top, told: mark.dataset.t}};
            }}
            return {{kind: figure.dataset.kind}};
        }})()"
    )
}

fn the_theme_can_be_changed(browser: &mut Page, folder: &Path, place: &str, width: u32) {
    let colours = "(() => { const {color, backgroundColor} = getComputedStyle(document.body); return color + backgroundColor; })()";
    let before = browser.value(colours);
    let button = browser.value(
        "(() => {
            const button = document.getElementById('theme');
            button.scrollIntoView({block: 'center', behavior: 'instant'});
            const {x, y, width, height} = button.getBoundingClientRect();
            return [x + width / 2, y + height / 2];
        })()",
    );
    let at = |index: usize| button[index].as_f64().expect("a place is a number");
    browser.click(at(0), at(1));
    assert!(
        browser.becomes_true(&format!("{colours} !== {before}")),
        "{place}: the theme stays {before}"
    );
    fs::write(folder.join(format!("{place}-other-theme.png")), browser.screenshot(width, HEIGHT))
        .expect("as before");
}
