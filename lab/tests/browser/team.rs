//! The page of a store, from files and from `chronoscope serve`.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Stdio},
    thread,
};

use chronoscope_run::{Run, sample};
use chronoscope_store::{Place, Store};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::{
    browser::artefacts,
    common::{Folder, chronoscope, program},
    devtools::Page,
};

/// A server of the store's page, ended when dropped.
struct Serving {
    child: Child,
    url: String,
}

impl Serving {
    fn start(store: &str) -> Self {
        let mut serve = program();
        serve.args(["serve", "--port", "0", "--store", store]).stderr(Stdio::piped());
        let mut child = serve.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let line = lines.next().unwrap().unwrap();
        let url = line.split(' ').find(|word| word.starts_with("http://127.0.0.1:"));
        let url = url.unwrap_or_else(|| panic!("no address in {line}")).to_owned();
        // Nothing that it says may fill the pipe.
        thread::spawn(move || lines.for_each(drop));
        Self { child, url }
    }

    fn host(&self) -> &str {
        self.url.trim_start_matches("http://").trim_end_matches('/')
    }

    /// The status and the text of the answer to these bytes.
    fn ask(&self, request: &str) -> (String, String) {
        let mut stream = TcpStream::connect(self.host()).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        (text.split(' ').nth(1).unwrap_or_default().to_owned(), text)
    }

    fn get(&self, path: &str) -> String {
        self.ask(&format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.host())).0
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.child), Signal::INT);
        assert_eq!(self.child.wait().unwrap().code(), Some(0), "a signal ends it well");
    }
}

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
        let height = browser.value("document.documentElement.scrollHeight").as_u64().unwrap();
        let picture = browser.screenshot(width, height.min(3000) as u32);
        std::fs::write(artefacts().join(format!("{name}-{width}.png")), picture).unwrap();
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
    let pages = std::fs::read_dir(format!("{place}/runs")).unwrap().count();
    assert!((3..=50).contains(&pages), "{pages} pages of runs");

    let serving = Serving::start(&store);
    look(&mut browser, "serve", &serving.url);

    // It only shows, and only to this machine.
    for path in ["/", "/index.html", "/runs/1.html", "/runs/60.html"] {
        assert_eq!(serving.get(path), "200", "{path}");
    }
    let secret = folder.file("secret.html", "<p>");
    let up = format!("/runs/../../../../../../../..{secret}");
    for path in [
        &up,
        "/../runs.sqlite",
        "//etc/passwd",
        "/runs/61.html",
        "/runs/%2e%2e/1.html",
        "/?q",
        "/runs/",
    ] {
        assert_eq!(serving.get(path), "404", "{path}");
    }
    let host = serving.host();
    for method in ["POST", "PUT", "DELETE", "HEAD", "OPTIONS"] {
        let (status, text) = serving.ask(&format!("{method} / HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        assert_eq!(status, "405", "{text}");
    }
    let (status, text) = serving.ask("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    assert!(status == "403" && !text.contains("desk"), "{text}");
    let (_, text) = serving.ask(&format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"));
    assert!(!text.to_lowercase().contains("access-control-allow"), "no other site may read it");
    assert!(text.contains("X-Frame-Options: DENY"), "{:.400}", text);
    // A client that says nothing, and one that says too much, hold up no other.
    let _silent = TcpStream::connect(host).unwrap();
    let mut endless = TcpStream::connect(host).unwrap();
    let _ = endless.write_all(&[b'x'; 40_000]);
    assert_eq!(serving.get("/runs/2.html"), "200");
}

#[test]
fn what_cannot_be_served_is_told() {
    let folder = Folder::new("team-wrong");
    let store = filled(&folder);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    chronoscope(&["serve", "--port", &port, "--store", &store])
        .complains("name another with --port");
    let nobody = ["serve", "--machine", "nobody", "--store", &store];
    chronoscope(&nobody).complains("there is no run in the store of the machine `nobody`");
    let report = |words: &[&str]| chronoscope(&[&["report"], words, &["--store", &store]].concat());
    report(&["--history", "-o", "x.html"]).complains("name a folder with -o");
    report(&["--history", "-o", &store]).complains("name a folder with -o");
    report(&["--history", "--machine", "nobody"]).complains("there is no run in the store");
    report(&["--machine", "desk"]).complains("choose runs for --history");
    report(&["--limit", "3"]).complains("--history");
    report(&["3", "--history"]).complains("cannot be used with");
}
