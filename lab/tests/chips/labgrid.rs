//! Places of labgrid: a real coordinator and exporter, with boards that the test plays.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    ffi::OsString,
    fs::{self, File},
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::{
    board::Board,
    common::{Answer, Folder, median, program, run},
    serial::{hello, whole},
    victim::{Random, rounds},
};

/// labgrid's programs, which `./chronoscope test` installs.
fn programs() -> PathBuf {
    let folder = env::var_os("CHRONOSCOPE_TEST_LABGRID");
    folder.expect("`./chronoscope test` installs labgrid, and names its folder").into()
}

/// `PATH` with labgrid's programs first.
fn path() -> OsString {
    let usual = env::var_os("PATH").unwrap_or_default();
    env::join_paths([programs()].into_iter().chain(env::split_paths(&usual))).unwrap()
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A daemon of labgrid's in a process group of its own, ended on drop with its children.
struct Daemon(Child);

impl Daemon {
    fn start(name: &str, arguments: &[&str], folder: &Folder) -> Self {
        use std::os::unix::process::CommandExt;
        let log = File::create(folder.0.join(format!("{name}.log"))).unwrap();
        let mut command = Command::new(programs().join(name));
        command.args(arguments).current_dir(&folder.0).env("PATH", path()).process_group(0);
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        Self(command.spawn().unwrap())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
        let _ = self.0.wait();
    }
}

/// A switch for the power of boards, which counts the orders that it gets over HTTP.
struct Switch {
    port: u16,
    orders: Arc<AtomicUsize>,
}

impl Switch {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let orders = Arc::<AtomicUsize>::default();
        let count = Arc::clone(&orders);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut lines = BufReader::new(&stream).lines();
                while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
                count.fetch_add(1, Ordering::Relaxed);
                let _ = (&stream).write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1");
            }
        });
        Self { port, orders }
    }
}

/// A coordinator, an exporter, and a place `m4-1` with the tag `board=m4` on `device`.
struct Lab {
    exporter: Option<Daemon>,
    _coordinator: Daemon,
    address: String,
    switch: Switch,
    folder: Folder,
}

impl Lab {
    fn new(name: &str, device: &str) -> Self {
        Self::with_boards(name, &[device])
    }

    /// A laboratory with a place for each device: `m4-1`, `m4-2`, …
    fn with_boards(name: &str, devices: &[&str]) -> Self {
        let folder = Folder::new(&format!("labgrid-{name}"));
        let address = format!("127.0.0.1:{}", free_port());
        let coordinator = Daemon::start("labgrid-coordinator", &["-l", &address], &folder);
        let switch = Switch::new();
        let export = |(number, device): (usize, &&str)| {
            format!(
                "g{number}:\n  RawSerialPort:\n    port: {device}\n    speed: 115200\n  NetworkPowerPort:\n    \
                 model: simplerest\n    host: 'http://127.0.0.1:{}/{{index}}/{{value}}'\n    index: {number}\n",
                switch.port
            )
        };
        let exports: String = (1..).zip(devices).map(export).collect();
        fs::write(folder.0.join("exports.yaml"), exports).unwrap();
        let mut lab = Self { exporter: None, _coordinator: coordinator, address, switch, folder };
        for number in 1..=devices.len() {
            let place = format!("m4-{number}");
            lab.until("labgrid-client", &["-p", &place, "create"], "");
            lab.client(&["-p", &place, "add-match", &format!("lab1/g{number}/*")]).exits(0);
            lab.client(&["-p", &place, "set-tags", "board=m4"]).exits(0);
        }
        lab.restart_exporter();
        lab
    }

    fn restart_exporter(&mut self) {
        self.exporter = None;
        let arguments =
            ["-c", &self.address, "-n", "lab1", "--hostname", "127.0.0.1", "exports.yaml"];
        self.exporter = Some(Daemon::start("labgrid-exporter", &arguments, &self.folder));
        self.until("labgrid-client", &["-v", "resources"], "NetworkSerialPort");
    }

    /// Repeats a command until it succeeds and prints `text`: daemons take a moment to start.
    fn until(&self, name: &str, arguments: &[&str], text: &str) {
        let begin = Instant::now();
        loop {
            let answer = run(&mut self.command(name, arguments));
            if answer.status == Some(0) && answer.stdout.contains(text) {
                return;
            }
            assert!(begin.elapsed() < Duration::from_secs(60), "{answer:#?}");
            thread::sleep(Duration::from_millis(200));
        }
    }

    fn command(&self, name: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(programs().join(name));
        command.args(arguments).env("LG_COORDINATOR", &self.address).env("PATH", path());
        command
    }

    fn client(&self, arguments: &[&str]) -> Answer {
        run(&mut self.command("labgrid-client", arguments))
    }

    /// A command of the lab, for a user of that name.
    fn lab(&self, user: &str, arguments: &[&str]) -> Command {
        let mut lab = program();
        lab.args(arguments).env("PATH", path()).env("LG_COORDINATOR", &self.address);
        lab.env("LG_USERNAME", user).env("XDG_STATE_HOME", self.folder.0.join(user));
        lab
    }

    /// Checks that nobody holds or has reserved the place.
    #[track_caller]
    fn all_given_back(&self) {
        let places = self.client(&["-v", "places"]).stdout;
        assert!(is_free(&places) && !places.contains("reservation"), "{places}");
    }

    /// Checks that nobody holds the place, and that a reservation of it lapses: labgrid drops one that
    /// nobody has waited for or locked for a minute.
    #[track_caller]
    fn all_lapse(&self) {
        let start = Instant::now();
        loop {
            let places = self.client(&["-v", "places"]).stdout;
            assert!(is_free(&places) && start.elapsed() < Duration::from_secs(120), "{places}");
            if !places.contains("reservation") {
                return;
            }
            thread::sleep(Duration::from_secs(1));
        }
    }
}

/// Returns whether nobody holds any of these places.
fn is_free(places: &str) -> bool {
    let all = places.matches("Place '").count();
    all > 0 && places.matches("acquired: None").count() == all
}

const RUN: [&str; 6] = ["run", "switch", "--place", "board=m4", "--no-store", "--repeat"];

#[test]
fn a_place_is_measured_by_its_name() {
    let board = Board::new(|_, request| Some(whole(request)));
    let lab = Lab::new("named", &board.device);
    let target = ["--target", "bare@place", "--format", "json"];
    // An environment of labgrid's names places of its own: none of them is locked or released.
    let environment =
        lab.folder.file("env.yaml", "targets: {main: {resources: {RemotePlace: {name: other}}}}");
    let mut measuring = lab.lab("ann", &[&RUN[..], &["2"], &target].concat());
    let answer = run(measuring.env("LG_ENV", environment));
    let case = &answer.exits(0).json()["cases"][0];
    assert_eq!((&case["target"], median(case)), (&"bare@board:m4-1".into(), 300.0));
    assert!(lab.switch.orders.load(Ordering::Relaxed) >= 1, "the board's power was not cycled");
    lab.all_given_back();
}

/// Starts a run that waits at its second request, and waits until it is there. The board answers
/// further requests when the sender has sent.
fn held_up(lab: &Lab, asked: &mpsc::Receiver<usize>, user: &str) -> Child {
    let mut held = lab.lab(user, &[&RUN[..], &["3"]].concat());
    let held = held.stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::null());
    let held = held.spawn().unwrap();
    while asked.recv_timeout(Duration::from_secs(120)).expect("the board is asked") != 1 {}
    held
}

/// A board that reports each request through the receiver, and answers the second one when the
/// sender says so.
fn slow_board() -> (Board, mpsc::Receiver<usize>, mpsc::Sender<()>) {
    let (tell, asked) = mpsc::channel();
    let (go_on, wait) = mpsc::channel();
    let board = Board::new(move |number, request| {
        tell.send(number).ok()?;
        if number == 1 {
            wait.recv().ok()?;
        }
        Some(whole(request))
    });
    (board, asked, go_on)
}

#[test]
fn a_second_user_waits_and_a_restarted_exporter_is_found_again() {
    let (board, asked, go_on) = slow_board();
    let mut lab = Lab::new("queue", &board.device);
    let first = held_up(&lab, &asked, "ann");
    let mut second = lab.lab("ben", &[&RUN[..], &["1"]].concat());
    let second = second.stdout(Stdio::null()).stderr(Stdio::piped()).stdin(Stdio::null());
    let mut second = second.spawn().unwrap();
    let mut told = BufReader::new(second.stderr.take().unwrap()).lines();
    let waits = told.find(|line| line.as_ref().unwrap().contains("waiting for a place"));
    assert!(waits.is_some(), "the second user is not told");
    // The line moves to another port between two repetitions; one of them may see it go.
    lab.restart_exporter();
    go_on.send(()).unwrap();
    let first = first.wait_with_output().unwrap();
    let (status, text) = (first.status.code(), String::from_utf8_lossy(&first.stderr).into_owned());
    assert!([Some(0), Some(4)].contains(&status), "{status:?} {text}");
    assert_eq!(second.wait().unwrap().code(), Some(0));
    lab.all_given_back();
}

/// A board that answers the second request of each run never.
fn stuck_board() -> (Board, mpsc::Receiver<usize>) {
    let (tell, asked) = mpsc::channel();
    let board = Board::new(move |number, request| {
        tell.send(number % 2).ok()?;
        Some(if number % 2 == 0 { whole(request) } else { Vec::new() })
    });
    (board, asked)
}

#[test]
fn a_place_is_given_back_on_every_exit() {
    let (board, asked) = stuck_board();
    let mut lab = Lab::new("exits", &board.device);
    let interrupted = held_up(&lab, &asked, "ann");
    kill_process(Pid::from_child(&interrupted), Signal::INT).unwrap();
    assert_eq!(interrupted.wait_with_output().unwrap().status.code(), Some(130));
    lab.all_given_back();

    let mut killed = held_up(&lab, &asked, "ann");
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(lab.client(&["who"]).stdout.contains("m4-1"));
    for words in ["1 place was given back", "no killed run holds a place"] {
        let answer = run(&mut lab.lab("ann", &["place", "--release"]));
        assert!(answer.exits(0).stderr.contains(words), "{answer:#?}");
    }
    lab.all_given_back();

    // The note of a run that was killed at a coordinator that is gone keeps no run from this one.
    let notes = lab.folder.0.join("ann/chronoscope/places");
    fs::write(notes.join("OTHER"), "127.0.0.1:1").unwrap();
    let kept = "the place of the reservation OTHER at 127.0.0.1:1 is not given back";
    run(&mut lab.lab("ann", &["place", "--release"])).complains(kept);
    // So does a note that is no text.
    fs::write(notes.join("BROKEN"), b"\xff\xfe").unwrap();

    let held = held_up(&lab, &asked, "ann");
    lab.exporter = None;
    let answer = held.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&answer.stdout);
    assert!(text.contains("went away"), "{text}");
    let told = String::from_utf8_lossy(&answer.stderr);
    assert!(told.contains(kept), "{told}");
    assert!([Some(1), Some(4)].contains(&answer.status.code()), "{answer:?}");
    lab.all_given_back();
}

/// The next command gives back the place of a run that was killed, at any moment.
#[test]
#[ignore = "kills many runs: ./chronoscope test long"]
fn killed_runs_leave_no_place_held() {
    let (board, _asked) = stuck_board();
    let lab = Lab::new("kills", &board.device);
    let mut random = Random(9);
    let mut held = 0;
    for _ in 0..rounds() {
        let mut killed = lab.lab("ann", &[&RUN[..], &["3"]].concat());
        killed.stdout(Stdio::null()).stderr(Stdio::null()).stdin(Stdio::null());
        let mut killed = killed.spawn().unwrap();
        thread::sleep(random.below(Duration::from_secs(3)));
        killed.kill().unwrap();
        killed.wait().unwrap();
        let answer = run(&mut lab.lab("ann", &["place", "--release"]));
        held += u32::from(answer.exits(0).stderr.contains("1 place was given back"));
        // A lab may be killed before it can note what it has reserved.
        lab.all_lapse();
    }
    lab.client(&["reserve", "board=m4"]).exits(0);
    lab.all_lapse();
    println!("{} kills of a run on labgrid: {held} held a place, all given back", rounds());
    assert!(held > 0, "no run held a place");
}

/// Three boards share six cases. The third one answers its health case, and then hangs: it is set aside,
/// and its cases run on the others.
#[test]
fn cases_are_spread_over_boards_and_a_bad_one_is_set_aside() {
    let asked = Arc::<Mutex<BTreeMap<(usize, String), usize>>>::default();
    let board = |number: usize| {
        let asked = Arc::clone(&asked);
        Board::new(move |earlier, request| {
            *asked.lock().unwrap().entry((number, request.to_owned())).or_default() += 1;
            match (number, earlier) {
                // The case hangs, and the board's reset finds it dead.
                (3, 1) => Some(Vec::new()),
                (3, 2..) => Some([hello(request), b"chronoscope: no clock\r\n".to_vec()].concat()),
                _ => Some(whole(request)),
            }
        })
    };
    let boards = [1, 2, 3].map(board);
    let devices: Vec<&str> = boards.iter().map(|board| board.device.as_str()).collect();
    let lab = Lab::with_boards("spread", &devices);
    let words = ["2", "--places", "8", "--set", "tasks=2,5,10,20,30,40", "--watchdog", "8s"];
    let answer = run(&mut lab.lab("ann", &[&RUN[..], &words, &["--format", "json"]].concat()));
    let told = &answer.exits(0).stderr;
    assert!(told.contains("the board m4-3 is set aside: "), "{told}");
    assert!(!told.contains("m4-1 is set") && !told.contains("m4-2 is set"), "{told}");
    let run = answer.json();
    let cases = run["cases"].as_array().unwrap();
    let labels: BTreeSet<&str> = cases.iter().map(|case| case["label"].as_str().unwrap()).collect();
    assert_eq!((cases.len(), labels.len()), (6, 6), "{labels:?}");
    let mut moved = 0;
    for case in cases {
        let target = case["target"].as_str().unwrap();
        assert!(["board@board:m4-1", "board@board:m4-2"].contains(&target), "{target}");
        assert_eq!((&case["verdict"]["status"], median(case)), (&"pass".into(), 300.0));
        moved +=
            usize::from(case["log"].to_string().contains("the board m4-3 failed at this case"));
    }
    assert_eq!(moved, 1);
    // Both repetitions of a case on one board: a health case is one request more.
    let asked = asked.lock().unwrap();
    let requests: BTreeSet<&String> = asked.keys().map(|(_, request)| request).collect();
    assert_eq!(requests.len(), 6);
    for request in requests {
        let counts = [1, 2].map(|board| asked.get(&(board, request.clone())).map_or(0, |n| *n));
        let whole = counts.iter().filter(|count| **count >= 2).count();
        assert!(whole == 1 && counts.iter().sum::<usize>() <= 4, "{request}: {counts:?}");
    }
    drop(asked);
    lab.all_given_back();
}

/// A board that is none of this test's: two users measure it, one after the other.
#[test]
#[ignore = "needs a board at CHRONOSCOPE_TEST_DEVICE: `cargo xtask step bring-up` gives it QEMU's"]
fn a_real_board_serves_two_users() {
    let device = env::var("CHRONOSCOPE_TEST_DEVICE").expect("CHRONOSCOPE_TEST_DEVICE is a line");
    let lab = Lab::new("real", &device);
    let target = ["2", "--target", "board@place", "--format", "json"];
    let measured = |user: &str| {
        let answer = run(&mut lab.lab(user, &[&RUN[..], &target].concat()));
        let case = &answer.exits(0).json()["cases"][0];
        assert_eq!(case["target"], "board@board:m4-1");
        median(case)
    };
    let both = thread::scope(|scope| {
        let users = ["ann", "bob"].map(|user| scope.spawn(move || measured(user)));
        users.map(|user| user.join().unwrap())
    });
    println!("medians at a place: {both:?}");
    assert!(both[0] > 0.0 && both[0] == both[1], "{both:?}");
    lab.all_given_back();
}

#[test]
fn bad_places_are_refused_in_a_line() {
    let (board, ..) = slow_board();
    let lab = Lab::new("bad", &board.device);
    for (tag, why) in [("m4", "write KEY=VALUE"), ("board=zzz", "no place has board=zzz")] {
        let answer = run(&mut lab.lab("ann", &["run", "switch", "--place", tag]));
        answer.complains(why);
    }
    let boards = lab.folder.file("boards.toml", "[m4-1]\nline = '/dev/a'\nbout = 3\n");
    let mut broken = lab.lab("ann", &RUN[..4]);
    run(broken.env("CHRONOSCOPE_BOARDS", boards)).complains("did you mean `baud`");
    let mut silent = lab.lab("ann", &RUN[..4]);
    run(silent.env("LG_COORDINATOR", "127.0.0.1:1")).complains("connect to coordinator");
    let mut without = lab.lab("ann", &RUN[..4]);
    run(without.env("PATH", "/usr/bin:/bin")).complains("labgrid-client is not there");
    lab.all_given_back();
}
