//! Headless Chromium, driven through the DevTools protocol over two pipes: JSON messages, each
//! ended by a zero byte (<https://chromedevtools.github.io/devtools-protocol/>).

// Each test program uses its own part of this module.
#![allow(dead_code)]

pub mod picture;

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::common::Folder;

/// The longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// A page in a browser of its own.
pub struct Page {
    browser: Child,
    input: ChildStdin,
    output: Receiver<Value>,
    /// Messages that answer no command, in the order of their arrival.
    pub events: Vec<Value>,
    session: Option<String>,
    last: u64,
    _profile: Folder,
}

impl Page {
    /// Starts a browser called `name`. Its log goes to a file in `folder`.
    pub fn open(folder: &Path, name: &str) -> Self {
        let log = folder.join(format!("{name}.log"));
        let profile = Folder::new(&format!("chromium-{name}"));
        let user_data = format!("--user-data-dir={}", profile.0.display());
        // The browser reads from descriptor 3 and writes to 4.
        let mut command = Command::new("sh");
        command.args([
            "-c",
            "exec \"$@\" 3<&0 4>&1 0</dev/null 1>&2",
            "sh",
            "chromium",
            "--headless",
        ]);
        command.args([
            "--remote-debugging-pipe",
            "--no-first-run",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            &user_data,
        ]);
        // Hidden scrollbars take no room, as on a phone; otherwise a screenshot of the whole page,
        // which needs none, would shift everything.
        command.arg("--hide-scrollbars");
        // The browser itself must send no requests.
        command.args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ]);
        // The browser cannot create its sandbox as root, and would end.
        command.args(rustix::process::geteuid().is_root().then_some("--no-sandbox"));
        let log = fs::File::create(log).expect("the log can be written");
        let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log).spawn();
        let mut browser = started.expect("there is a shell");
        let input = browser.stdin.take().expect("it is a pipe");
        let messages = BufReader::new(browser.stdout.take().expect("it is a pipe")).split(0);
        let (sender, output) = channel();
        // The thread ends with the browser.
        thread::spawn(move || {
            for message in messages.map_while(Result::ok) {
                let message = serde_json::from_slice(&message).expect("the browser writes JSON");
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let mut page = Self {
            browser,
            input,
            output,
            events: Vec::new(),
            session: None,
            last: 0,
            _profile: profile,
        };
        let target = page.call("Target.createTarget", json!({ "url": "about:blank" }));
        let to = json!({ "targetId": target["targetId"], "flatten": true });
        page.session =
            page.call("Target.attachToTarget", to)["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            page.call(&format!("{domain}.enable"), json!({}));
        }
        page
    }

    /// Sends a command and returns its answer.
    #[track_caller]
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let mut message = json!({ "id": self.last, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let sent = self.input.write_all(format!("{message}\0").as_bytes());
        sent.unwrap_or_else(|error| {
            panic!("the browser is gone ({error}): is Debian's `chromium` installed?")
        });
        loop {
            let message = self.receive(method);
            if message["id"] != self.last {
                self.events.push(message);
            } else if message["error"].is_null() {
                return message["result"].clone();
            } else {
                panic!("{method}: {}", message["error"]);
            }
        }
    }

    /// The next message.
    #[track_caller]
    fn receive(&self, waiting_for: &str) -> Value {
        let message = self.output.recv_timeout(PATIENCE);
        message.unwrap_or_else(|error| {
            panic!("{waiting_for}: {error}: is Debian's `chromium` installed?")
        })
    }

    /// Loads a file, and waits until all of it is loaded.
    pub fn load(&mut self, file: &str) {
        self.load_url(&format!("file://{file}"));
    }

    /// Loads a page by its address, and waits until all of it is loaded.
    pub fn load_url(&mut self, url: &str) {
        self.events.clear();
        self.call("Page.navigate", json!({ "url": url }));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.receive("the page's load");
            self.events.push(event);
        }
    }

    /// The value of an expression; a promise is awaited.
    #[track_caller]
    pub fn value(&mut self, expression: &str) -> Value {
        let asked =
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.call("Runtime.evaluate", asked);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer:#}");
        answer["result"]["value"].clone()
    }

    /// Waits until an expression is true; `false` when that takes too long.
    pub fn becomes_true(&mut self, expression: &str) -> bool {
        let until = Instant::now() + Duration::from_secs(3);
        while Instant::now() < until {
            if self.value(expression) == true {
                return true;
            }
            thread::sleep(Duration::from_millis(20));
        }
        false
    }

    pub fn set_size(&mut self, width: u32, height: u32) {
        let size =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    pub fn point_at(&mut self, x: f64, y: f64) {
        self.call("Input.dispatchMouseEvent", json!({ "type": "mouseMoved", "x": x, "y": y }));
    }

    pub fn click(&mut self, x: f64, y: f64) {
        self.point_at(x, y);
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({ "type": kind, "x": x, "y": y, "button": "left", "clickCount": 1 });
            self.call("Input.dispatchMouseEvent", event);
        }
    }

    pub fn press(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            self.call("Input.dispatchKeyEvent", json!({ "type": kind, "key": key }));
        }
    }

    /// A PNG of the whole page, also above and below the window.
    pub fn screenshot(&mut self, width: u32, height: u32) -> Vec<u8> {
        let clip = json!({ "x": 0, "y": 0, "width": width, "height": height, "scale": 1 });
        let asked = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
        let answer = self.call("Page.captureScreenshot", asked);
        base64(answer["data"].as_str().expect("a picture comes as text"))
    }

    /// The addresses that the page requested.
    pub fn requests(&self) -> Vec<&str> {
        let requests =
            self.events.iter().filter(|event| event["method"] == "Network.requestWillBeSent");
        requests.filter_map(|event| event["params"]["request"]["url"].as_str()).collect()
    }

    /// The messages on the console: exceptions, and the output of scripts and the browser.
    pub fn complaints(&self) -> Vec<&Value> {
        let kinds = ["Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"];
        self.events
            .iter()
            .filter(|event| kinds.iter().any(|kind| event["method"] == *kind))
            .collect()
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // On request the browser ends all of its processes; it may also have ended by itself.
        let _ = self.input.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        let until = Instant::now() + Duration::from_secs(5);
        while matches!(self.browser.try_wait(), Ok(None)) && Instant::now() < until {
            thread::sleep(Duration::from_millis(20));
        }
        let _ = self.browser.kill();
        let _ = self.browser.wait();
    }
}

/// Decodes base64 (RFC 4648).
fn base64(text: &str) -> Vec<u8> {
    let sextet = |letter: u8| match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => panic!("{letter} is no letter of base 64"),
    };
    let letters: Vec<u8> = text.trim_end_matches('=').bytes().map(sextet).collect();
    let (mut bytes, mut bits, mut held) = (Vec::with_capacity(letters.len()), 0_u32, 0);
    for sextet in letters {
        bits = bits << 6 | u32::from(sextet);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    bytes
}
