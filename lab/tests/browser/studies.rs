//! The pages of the five studies of published reports, made from real, short runs and checked in a
//! browser for faults of layout. The figures of such runs are not tested, except that valid ones
//! are drawn.
//!
//! Screenshots are kept in `studies/` under Cargo's folder for tests: of one width, and by the long test of
//! all.

use std::{fs, path::Path};

use crate::common::{chronoscope, effort};
use crate::devtools::{
    Page,
    picture::{CHARTS, Picture},
};
use chronoscope_engine::{study, study::Overrides};
use chronoscope_machine::Machines;
use serde_json::json;

/// The widths in pixels of a phone, a small window and a large one.
const VIEWS: [(u32, &str); 5] =
    [(390, "light"), (390, "dark"), (900, "light"), (1400, "light"), (1400, "dark")];

/// The faults of the charts: labels that leave their picture or overlap, and pictures without a
/// mark.
const FAULTS: &str = "(() => {
    const faults = [];
    for (const figure of document.querySelectorAll('figure.chart')) {
        const title = figure.querySelector('h4').textContent;
        const frame = figure.querySelector('svg').getBoundingClientRect();
        const inside = ({left, top, right, bottom}) =>
            left >= frame.left - 0.5 && right <= frame.right + 0.5 && top >= frame.top - 0.5 && bottom <= frame.bottom + 0.5;
        // A line of text is slightly lower than its box.
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

/// The study without its cases in cycles of `cva6` and `rocket`, which would take minutes with more
/// than the study's own few tasks and loops, and with one small core of several. The page has no bars
/// of the others then.
fn without_simulated_cores(study: &str) -> String {
    const CASE: &str = "\n[[case]]\n";
    let source = format!("{}/../studies/{study}.toml", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(source).expect("a study");
    let (head, cases) = text.split_once(CASE).expect("a study has cases");
    let cores = ["cva6", "rocket"].map(|core| format!("target = \"tandem@{core}\""));
    let is_quick = |case: &&str| !cores.iter().any(|target| case.contains(target.as_str()));
    let mut shorter = head.to_owned();
    for case in cases.split(CASE).filter(is_quick) {
        shorter += CASE;
        shorter += case;
    }
    for kernel in ["tandem", "embassy", "freertos"] {
        for core in ["ibex-wb", "cv32e40p"] {
            shorter = shorter.replace(&format!(", \"{kernel}@{core}\""), "");
        }
    }
    shorter
}

/// Runs a study once with its samples and checks its page; these experiments have charts on every
/// machine.
fn looks_right(study: &str, drawn: &[&str], short: &[&str]) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("studies");
    fs::create_dir_all(&folder).expect("cargo's folder for tests can be written to");
    let file = folder.join(format!("{study}.html")).display().to_string();
    let source = folder.join(format!("{study}.toml")).display().to_string();
    fs::write(&source, without_simulated_cores(study)).expect("a copy of the study");
    let run =
        ["run", "-q", "--study", &source, "--repeat", "1", "--samples", "--no-store", "-o", &file];
    // Only root may request a real-time class.
    let ordinary = ["--set", "policy=other", "--set", "mlock=no"];
    let ordinary = if rustix::process::geteuid().is_root() { &[] } else { &ordinary[..] };
    let answer = chronoscope(&[&run, ordinary, short].concat());
    // The verdict is not tested here.
    assert!(matches!(answer.status, Some(0 | 2 | 4)), "{answer:#?}");
    let mut browser = Page::open(&folder, study);
    for (width, theme) in VIEWS {
        let place = format!("{study}-{width}-{theme}");
        let feature = json!({ "name": "prefers-color-scheme", "value": theme });
        browser.call("Emulation.setEmulatedMedia", json!({ "features": [feature] }));
        browser.set_size(width, 900);
        browser.load(&file);
        crate::first_screen::check(&mut browser, &place, width, 900);
        browser.value(crate::first_screen::OPEN);
        // A picture of a whole page takes seconds, and decoding it as long: once is enough.
        let is_drawn = width == 900;
        let picture = (is_drawn || effort(1) > 1).then(|| {
            let height = browser.value("document.documentElement.scrollHeight").as_u64();
            let png = browser.screenshot(width, height.expect("a number") as u32);
            fs::write(folder.join(format!("{place}.png")), &png)
                .expect("the folder can be written to");
            png
        });
        let wide = browser.value("document.documentElement.scrollWidth");
        assert_eq!(wide, width, "{place}: the page is read sideways");
        assert_eq!(browser.value(FAULTS), json!([]), "{place}");
        let picture = picture.filter(|_| is_drawn).map(|png| Picture::read(&png));
        for chart in
            picture.iter().flat_map(|_| browser.value(CHARTS).as_array().cloned().expect("a list"))
        {
            // At least 1 % of the pixels: more than a frame of hairlines, less than any chart with
            // its labels.
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

/// A published figure belongs only to cases with the settings that it was published for.
#[test]
fn published_figures_leave_with_their_case() {
    let study = study::parse(include_str!("../../../studies/p1-embassy-preempt.toml"))
        .expect("it is a study");
    let published = |name: &str, value: &str| -> usize {
        let settings = [(name.to_owned(), vec![value.to_owned()])].into();
        let cases = study
            .cases(&Machines::default(), &Overrides { settings, ..Overrides::default() })
            .expect("it has cases");
        cases.iter().filter(|case| case.spec.name == "delay").map(|case| case.published.len()).sum()
    };
    let all = published("delay_us", "50000");
    assert!(all > 0);
    assert_eq!((published("loops", "20"), published("delay_us", "20000")), (all, 0));
}

/// A chart with faults, which proves that the checks detect them.
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
