//! Stores on a real PostgreSQL server, which a test starts in a temporary folder. The server refuses
//! to run as root, so that root starts it as the user `postgres` of Debian's package.

use std::{
    fs, io,
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use chronoscope_run::{Run, sample};
use chronoscope_store::{Place, RunFilter, Store};

use crate::{
    common::{Answer, Folder, SHORT, effort, program, run},
    victim::{Random, rounds},
};

/// The password of the store's owner.
const PASSWORD: &str = "s3cret-of-ann";

/// A server of this test, with the database `lab`. Its owner is `ann`; `bob` may only read, after
/// [`grant`](Self::grant).
struct Server {
    folder: Folder,
    port: u16,
}

impl Server {
    /// Makes a server and starts it. `settings` are added to its configuration.
    fn start(name: &str) -> Self {
        let folder = Folder::new(name);
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let server = Self { folder, port };
        let owner = if is_root() { "postgres" } else { "" };
        let place = server.folder.path("server");
        fs::create_dir(&place).unwrap();
        let password = server.folder.file("server/password", PASSWORD);
        let key =
            ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=lab"];
        let names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
        let kind = ["-addext", "basicConstraints=critical,CA:FALSE"];
        let files = ["key", "crt"].map(|kind| format!("{place}/server.{kind}"));
        let files = ["-keyout", &files[0], "-out", &files[1]];
        let mut openssl = Command::new("openssl");
        run(openssl.args(key).args(names).args(kind).args(files)).exits(0);
        fs::copy(format!("{place}/server.crt"), server.folder.path("trusted.pem")).unwrap();
        if !owner.is_empty() {
            run(Command::new("chown").args(["-R", owner, &place])).exits(0);
        }
        let data = server.data();
        let make = ["-D", &data, "-U", "ann", "--no-sync", "--no-instructions", "-E", "UTF8"];
        let mut initdb = as_user("initdb");
        initdb.args(make).args(["--locale=C", "--auth=scram-sha-256"]);
        run(initdb.arg(format!("--pwfile={password}")).current_dir("/")).exits(0);
        let settings = format!(
            "port = {port}\nlisten_addresses = '127.0.0.1,127.0.0.2'\nunix_socket_directories = '{place}'\n\
             fsync = off\nssl = on\nssl_cert_file = '{place}/server.crt'\nssl_key_file = '{place}/server.key'\n"
        );
        let file = format!("{data}/postgresql.conf");
        fs::write(&file, fs::read_to_string(&file).unwrap() + &settings).unwrap();
        server.up();
        server.ask("postgres", "CREATE DATABASE lab");
        server
    }

    fn data(&self) -> String {
        self.folder.path("server/data")
    }

    /// Starts the server, also after it was killed, and waits until it answers.
    fn up(&self) {
        let mut server = as_user("postgres");
        let log = fs::OpenOptions::new().create(true).append(true).open(self.folder.path("log"));
        let log = log.unwrap();
        server.args(["-D", &self.data()]).stdin(Stdio::null()).current_dir("/");
        server.stdout(log.try_clone().unwrap()).stderr(log);
        let mut child = server.spawn().unwrap();
        let start = Instant::now();
        while !self.is_up() {
            assert!(start.elapsed() < Duration::from_secs(60), "{}", self.log());
            thread::sleep(Duration::from_millis(50));
            // Processes of a killed server may still hold its memory.
            if child.try_wait().unwrap().is_some() {
                child = server.spawn().unwrap();
            }
        }
        // The server is ended by its own number; this only collects it.
        thread::spawn(move || child.wait());
    }

    fn is_up(&self) -> bool {
        let port = self.port.to_string();
        let mut ready = Command::new(programs().join("pg_isready"));
        run(ready.args(["-q", "-h", "127.0.0.1", "-p", &port])).status == Some(0)
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path("log")).unwrap_or_default()
    }

    /// Kills the server as a loss of power would, except that the system still writes its buffers.
    fn kill(&self) {
        let file =
            fs::read_to_string(format!("{}/postmaster.pid", self.data())).unwrap_or_default();
        if let Some(pid) = file.lines().next() {
            let _ = run(Command::new("kill").args(["-KILL", pid]));
        }
        while self.is_up() {
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Stops the server and all its processes, or lets them go on: while they are stopped, the system
    /// takes connections for them, and nothing answers.
    fn signal(&self, signal: &str) {
        let file = fs::read_to_string(format!("{}/postmaster.pid", self.data())).unwrap();
        let pid = file.lines().next().unwrap();
        run(Command::new("pkill").args([signal, "-P", pid]));
        run(Command::new("kill").args([signal, pid])).exits(0);
    }

    /// A lab that has opened the store, and measures for some seconds.
    fn measuring(&self) -> Child {
        let words = [&SHORT[..3], &["policy=other", "--set", "mlock=no", "--repeat=400"]].concat();
        let words = [&words[..], &["--format=json", "--set", "loops=1000"]].concat();
        let mut lab = self.lab(&words);
        lab.args(["--store", &self.url()]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let lab = lab.spawn().unwrap();
        let started = Instant::now();
        let has_journal = || {
            let servers = fs::read_dir(self.folder.path("data/chronoscope/servers"));
            let journals = servers.into_iter().flatten().flatten().map(|entry| entry.path());
            journals.into_iter().any(|path| path.extension().is_some_and(|name| name == "journals"))
        };
        while !has_journal() {
            assert!(started.elapsed() < Duration::from_secs(60), "no journal");
            thread::sleep(Duration::from_millis(2));
        }
        lab
    }

    /// The output of a statement, executed by the owner.
    fn ask(&self, database: &str, sql: &str) -> String {
        let port = self.port.to_string();
        let mut psql = Command::new(programs().join("psql"));
        psql.args(["-h", "127.0.0.1", "-p", &port, "-U", "ann", "-d", database, "-qAtc", sql]);
        let answer = run(psql.env("PGPASSWORD", PASSWORD));
        answer.exits(0).stdout.trim().to_owned()
    }

    /// The store's URL for its owner, with the password.
    fn url(&self) -> String {
        format!("postgres://ann:{PASSWORD}@127.0.0.1:{}/lab", self.port)
    }

    fn place(&self) -> Place {
        Place::read(Path::new(&self.url())).unwrap()
    }

    /// The lab, whose pages and journals are in the server's folder.
    fn lab(&self, words: &[&str]) -> Command {
        let mut lab = program();
        lab.env("XDG_DATA_HOME", self.folder.path("data")).args(words);
        lab
    }

    /// The answer of the lab, without the password in it.
    fn answer(&self, words: &[&str], store: &str) -> Answer {
        let answer = run(self.lab(words).args(["--store", store]));
        assert!(!format!("{}{}", answer.stdout, answer.stderr).contains(PASSWORD), "{answer:#?}");
        answer
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        // Its processes end when they see that the first one is gone, and write no more.
        thread::sleep(Duration::from_millis(100));
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The folder of Debian's newest server.
fn programs() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let paths = versions.flatten().map(|entry| entry.path().join("bin"));
    let newest = paths.filter(|path| path.join("initdb").is_file()).max();
    newest.expect("PostgreSQL is installed: `cargo xtask packages test` does it")
}

/// A program of the server, as a user that may run it.
fn as_user(name: &str) -> Command {
    let path = programs().join(name);
    if !is_root() {
        return Command::new(path);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(path);
    command
}

/// A run like any other of `machine`, with a UUID of its own.
fn run_of(machine: &str, number: usize) -> Run {
    let mut run = sample::full();
    run.context.machine = machine.into();
    run.context.uuid = format!("{machine}-{number}").into();
    run.context.labels = [("commit".into(), format!("{number}").into())].into();
    run
}

/// The numbers of runs and of rows in the tables.
fn counts(server: &Server) -> [usize; 3] {
    let query = "SELECT (SELECT count(*) FROM chronoscope.runs), \
                 (SELECT count(*) FROM chronoscope.cases), (SELECT count(*) FROM chronoscope.labels)";
    let answer = server.ask("lab", query);
    let numbers: Vec<usize> = answer.split('|').map(|word| word.parse().unwrap()).collect();
    numbers.try_into().unwrap()
}

#[test]
fn a_server_keeps_runs_as_a_file_does() {
    let server = Server::start("postgres");
    let url = server.url();
    let here = server.folder.path("here.sqlite");
    // The same runs, by way of a file.
    let more = ["--as", "desk", "--label", "commit=1", "--store"];
    let first = run(server.lab(&SHORT).args(more).arg(&url).args(["--format", "json"]));
    assert!(first.stderr.contains("stored as run 1\n"), "{first:#?}");
    assert!(!first.stdout.contains(PASSWORD) && first.stdout.contains("ann:***@"), "{first:#?}");
    let second = ["--as", "bench-3", "--label", "commit=2", "-q", "--store", &here];
    run(server.lab(&SHORT).args(second));
    let lines = run(&mut server.lab(&["export", "--store", &here]));
    let file = server.folder.file("runs.jsonl", &lines.exits(0).stdout);
    let import = || server.answer(&["import", &file], &url).exits(0).stderr.clone();
    assert_eq!(import(), "chronoscope: imported 1 run, and the store had 0 runs\n");
    assert_eq!(import(), "chronoscope: imported 0 runs, and the store had 1 run\n");

    // Each command prints the same as for a file with the same runs.
    run(&mut server.lab(&["export", "--store", &url, "-o", &file])).exits(0);
    let there = server.folder.path("there.sqlite");
    run(&mut server.lab(&["import", &file, "--store", &there])).exits(0);
    let uuid = first.json()["context"]["uuid"].as_str().unwrap().to_owned();
    for words in [
        &["history"][..],
        &["history", "--machine", "desk"],
        &["history", "switch", "--label", "commit=2"],
        &["history", "switch", "--machine", "desk", "--format", "json"],
        &["report", "last-1", "--full"],
        &["report", &uuid, "--format", "json"],
        &["compare", "1", "2"],
        &["report", "7"],
        &["history", "--machine", "nobody"],
        &["export", "--label", "commit=2"],
    ] {
        let [ours, theirs] = [&url, &there].map(|store| server.answer(words, store));
        assert_eq!((&ours.stdout, ours.status), (&theirs.stdout, theirs.status), "{ours:#?}");
        assert!(!ours.stdout.is_empty() || ours.status == Some(1), "{ours:#?}");
    }
    let page = "data/chronoscope/servers";
    assert!(fs::read_dir(server.folder.path(page)).unwrap().count() >= 1, "pages are kept here");
    // The pages of runs that are left are kept: each is looked up.
    server.answer(&["history", "--forget", "2"], &url).exits(0);
    server.answer(&["history"], &url).exits(0).shows("Linux");

    // The least rights, as the documentation grants them.
    let text = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/many-machines.md"));
    let text = text.unwrap();
    let (_, sql) = text.split_once("```sql\n").expect("the page has the statements");
    server.ask("lab", sql.split("```").next().unwrap());
    server.ask(
        "lab",
        "CREATE ROLE bob LOGIN PASSWORD 'b' IN ROLE chronoscope_reader;
                       CREATE ROLE eve LOGIN PASSWORD 'e';
                       CREATE ROLE lab LOGIN PASSWORD 'l' IN ROLE chronoscope_writer",
    );
    let of = |user: &str, password: &str| {
        format!("postgres://{user}:{password}@127.0.0.1:{}/lab", server.port)
    };
    server.answer(&["history"], &of("bob", "b")).exits(0).shows("Linux");
    let words = [&SHORT[..], &["-q"]].concat();
    server.answer(&words, &of("bob", "b")).complains("may not be written by the user bob");
    server.answer(&["history", "--forget", "1"], &of("bob", "b")).complains("may not be written");
    server.answer(&["history", "--forget", "1"], &of("lab", "l")).complains("permission denied");
    let written = server.answer(&words, &of("lab", "l"));
    assert!(matches!(written.status, Some(0 | 4)), "{written:#?}");
    server.answer(&["history"], &of("eve", "e")).complains("refuses this (permission denied");

    // A store that cannot be used is reported before anything is measured.
    server.answer(&words, &of("ann", "wrong")).complains("refuses its user");
    let other = url.replace("/lab", "/other");
    server.answer(&words, &other).complains("database \"other\" does not exist");
    server.answer(&["history"], &url.replace("/lab", "/postgres")).complains("there is no store");
    server.ask("lab", "UPDATE chronoscope.version SET number = 7");
    server.answer(&words, &url).complains("has version 7 and this program knows 2");
}

#[test]
fn a_connection_is_encrypted_and_its_certificate_checked() {
    let server = Server::start("postgres-tls");
    let trusted = server.folder.path("trusted.pem");
    let url = |host: &str, rest: &str| {
        format!("postgres://ann:{PASSWORD}@{host}:{}/lab?sslmode=require{rest}", server.port)
    };
    let words = [&SHORT[..], &["-q"]].concat();
    // Without the certificate of this server, none that the system trusts fits.
    server.answer(&words, &url("localhost", "")).complains("cannot be reached");
    let good = url("localhost", &format!("&sslrootcert={trusted}"));
    let stored = server.answer(&words, &good);
    assert!(matches!(stored.status, Some(0 | 4)), "{stored:#?}");
    server.ask("lab", "ALTER SYSTEM SET ssl = off; ");
    server.ask("lab", "SELECT pg_reload_conf()");
    thread::sleep(Duration::from_millis(300));
    server.answer(&["history"], &good).complains("server does not support TLS");
    // A far server without TLS is used only where the URL asks for that; nothing is sent before.
    let far = format!("postgres://ann:{PASSWORD}@127.0.0.2:{}/lab", server.port);
    for words in [&words[..], &["history"], &["import", "-"]] {
        server.answer(words, &far).complains("server does not support TLS");
    }
    server.answer(&["history"], &format!("{far}?sslmode=disable")).exits(0);
}

/// Starts labs at once on a server with this number of connections. All store their runs.
fn labs_share_connections(server: &Server, labs: usize, connections: usize) {
    server.ask("lab", &format!("ALTER SYSTEM SET max_connections = {connections}"));
    server.kill();
    server.up();
    let start = Instant::now();
    let url = server.url();
    let words = [&SHORT[..], &["--store", &url]].concat();
    let spawn = |number: usize| {
        let machine = format!("lab-{number}");
        let mut lab = server.lab(&[&words[..], &["-q", "--as", &machine]].concat());
        lab.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let running: Vec<Child> = (0..labs).map(spawn).collect();
    let mut least = 0;
    for lab in running {
        let answer = Answer::new(lab.wait_with_output().unwrap(), "a lab".to_owned());
        assert!(matches!(answer.status, Some(0 | 4)), "{answer:#?}");
        least += 1;
    }
    println!("{labs} labs on {connections} connections: {:.1} s", start.elapsed().as_secs_f64());
    let query = "SELECT count(DISTINCT machine) FROM chronoscope.runs WHERE machine LIKE 'lab-%'";
    assert_eq!(server.ask("lab", query), least.to_string());
}

/// A server to which many programs connect at once lets some wait until they time out. They try again.
#[test]
fn a_connection_that_times_out_is_tried_again() {
    let server = Server::start("postgres-late");
    Store::create(&server.place()).unwrap().add(&[&run_of("late", 0)]).unwrap();
    // There is room for one connection that nobody has taken yet: the lab's has none.
    let front = TcpListener::bind("127.0.0.1:0").unwrap();
    rustix::net::listen(&front, 0).unwrap();
    let place = front.local_addr().unwrap();
    let _first = TcpStream::connect(place).unwrap();
    let url = server.url().replace(&format!(":{}/", server.port), &format!(":{}/", place.port()));
    let start = Instant::now();
    let mut lab = server.lab(&["history", "--store", &url]);
    let lab = lab.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    thread::sleep(Duration::from_secs(6));
    let port = server.port;
    thread::spawn(move || {
        for client in front.incoming().flatten() {
            let Ok(behind) = TcpStream::connect(("127.0.0.1", port)) else { continue };
            let ways = [(client.try_clone(), behind.try_clone()), (Ok(behind), Ok(client))];
            for (from, to) in ways {
                let (mut from, mut to) = (from.unwrap(), to.unwrap());
                thread::spawn(move || io::copy(&mut from, &mut to));
            }
        }
    });
    let answer = Answer::new(lab.wait_with_output().unwrap(), "history".to_owned());
    assert!(start.elapsed() > Duration::from_secs(5), "the server was not late");
    assert!(answer.exits(0).stderr.contains("has not answered for 5 s"), "{answer:#?}");
}

/// A lab has no connection while it measures, and waits for a free one.
#[test]
fn labs_store_their_runs_over_few_connections() {
    let server = Server::start("postgres-few");
    let mut lab = server.measuring();
    let open = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'chronoscope'";
    // The server ends the connection a moment after the lab has.
    let start = Instant::now();
    while server.ask("lab", open) != "0" {
        assert!(start.elapsed() < Duration::from_secs(20), "the lab holds its connection");
        thread::sleep(Duration::from_millis(20));
    }
    assert!(lab.try_wait().unwrap().is_none(), "the lab has ended: the test saw nothing");
    lab.kill().unwrap();
    lab.wait().unwrap();
    labs_share_connections(&server, 20, 5);
}

#[test]
#[ignore = "a thousand labs at once: ./chronoscope test long"]
fn a_thousand_labs_store_their_runs_over_a_hundred_connections() {
    labs_share_connections(&Server::start("postgres-thousand"), 1000, 100);
}

/// An import takes a transaction for 200 runs, and names the run that is refused.
#[test]
fn runs_are_imported_in_batches() {
    const RUNS: usize = 450;
    let server = Server::start("postgres-import");
    let url = server.url();
    let line = |number| serde_json::to_string(&run_of("many", number)).unwrap() + "\n";
    let file = server.folder.file("many.jsonl", (0..RUNS).map(line).collect::<String>());
    let here = server.folder.path("here.sqlite");
    for store in [&here, &url] {
        let start = Instant::now();
        let answer = server.answer(&["import", &file], store);
        let seconds = start.elapsed().as_secs_f64();
        let told = &answer.exits(0).stderr;
        assert!(told.contains("imported 450 runs, and the store had 0"), "{told}");
        let length = fs::metadata(&file).unwrap().len() / RUNS as u64;
        let place = if store.starts_with("postgres") { "PostgreSQL" } else { "SQLite" };
        let rate = RUNS as f64 / seconds;
        println!("import: {rate:.0} runs of {length} bytes a second into {place}");
    }
    let query = "SELECT count(DISTINCT xmin::text) FROM chronoscope.runs";
    assert_eq!(server.ask("lab", query), "3");
    // One of a batch is refused, and the others are stored.
    let mut changed = run_of("many", 7);
    changed.title = "another question".into();
    let changed = serde_json::to_string(&changed).unwrap() + "\n";
    let lines = [line(6), changed, line(RUNS), line(RUNS)].concat();
    let file = server.folder.file("mixed.jsonl", lines);
    for store in [&here, &url] {
        let answer = server.answer(&["import", &file], store);
        let told = &answer.exits(1).stderr;
        assert!(told.contains("run 2: ") && told.contains("has other results under the UUID"));
        assert!(told.contains("imported 1 run, and the store had 2 runs"), "{told}");
    }
}

/// Eight programs at once store 200 runs each (`./chronoscope test long`; otherwise fewer), and a
/// server that is killed meanwhile has each run whole or not at all.
#[test]
fn many_writers_and_a_server_that_dies() {
    const WRITERS: usize = 8;
    let server = Server::start("postgres-writers");
    let each = effort(10).min(200) as usize;
    let start = Instant::now();
    let write = |writer: usize| {
        let mut store = Store::create(&server.place()).unwrap();
        for number in 0..each {
            store.add(&[&run_of(&format!("m{writer}"), number)]).unwrap();
        }
    };
    thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS).map(|one| scope.spawn(move || write(one))).collect();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
    });
    println!("{WRITERS} writers, {each} runs each: {:.1} s", start.elapsed().as_secs_f64());
    let [runs, rows, labels] = counts(&server);
    assert_eq!((runs, labels), (WRITERS * each, WRITERS * each));
    let width = rows / runs;
    assert!(width > 4 && rows == width * runs, "{rows} rows of {runs} runs");

    // All at once store the same run, which is there once.
    let one = thread::scope(|scope| {
        let same = || Store::create(&server.place()).unwrap().add(&[&run_of("same", 0)]).unwrap();
        let writers: Vec<_> = (0..WRITERS).map(|_| scope.spawn(same)).collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(one.iter().all(|numbers| *numbers == one[0]), "{one:?}");
    let [runs, rows, labels] = [runs + 1, rows + width, labels + 1];
    assert_eq!(counts(&server), [runs, rows, labels]);

    // Killed while four write: each run that was reported is there, and no part of another.
    let told = AtomicUsize::new(0);
    thread::scope(|scope| {
        // All are connected before the first writes: the server is killed soon.
        let stores: Vec<Store> = (0..4).map(|_| Store::create(&server.place()).unwrap()).collect();
        let writers: Vec<_> = stores
            .into_iter()
            .enumerate()
            .map(|(writer, mut store)| {
                let told = &told;
                scope.spawn(move || {
                    let name = format!("k{writer}");
                    for number in 0.. {
                        match store.add(&[&run_of(&name, number)]) {
                            Ok(_) => told.fetch_add(1, Ordering::Relaxed),
                            Err(error) => return (store, number, error.to_string()),
                        };
                    }
                    unreachable!()
                })
            })
            .collect();
        while told.load(Ordering::Relaxed) < 20 {
            thread::sleep(Duration::from_millis(2));
        }
        server.kill();
        let ended: Vec<_> = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
        server.up();
        let [now, rows, labels] = counts(&server);
        let stored = now - runs;
        let told = told.load(Ordering::Relaxed);
        assert!((told..=told + 4).contains(&stored), "{stored} of {told} runs are stored");
        assert_eq!((rows, labels), (width * now, now), "nothing is half written");
        // Each writer goes on with its run, on the connection that it lost; no run is there twice.
        for (writer, (mut store, number, error)) in ended.into_iter().enumerate() {
            assert!(error.contains("the store postgres://ann:***@127.0.0.1"), "{error}");
            assert!(!error.contains(PASSWORD) && !error.contains('\n'), "{error}");
            let machine = format!("k{writer}");
            store.add(&[&run_of(&machine, number)]).unwrap();
            let filter = RunFilter { machine: Some(&machine), ..RunFilter::default() };
            assert_eq!(store.numbers_of(&filter).unwrap().len(), number + 1);
        }
    });
}

/// A server that is killed again and again while runs are imported: each run that was reported is there,
/// each is whole, and in the end each is there once.
#[test]
fn an_import_goes_on_after_each_kill_of_its_server() {
    const RUNS: usize = 10;
    let server = Server::start("postgres-kills");
    let url = server.url();
    let line = |number| serde_json::to_string(&run_of("kills", number)).unwrap() + "\n";
    let import = |round: usize| {
        let lines = (0..RUNS).map(|number| line(round * RUNS + number)).collect::<String>();
        let file = server.folder.file("runs.jsonl", lines);
        server.lab(&["import", &file, "--store", &url])
    };
    let told = |answer: &Answer| -> usize {
        let stored =
            answer.stderr.split_once("imported ").and_then(|(_, rest)| rest.split_once(' '));
        stored.map_or(0, |(number, _)| number.parse().unwrap())
    };
    run(&mut import(0)).exits(0);
    let start = Instant::now();
    run(&mut import(1)).exits(0);
    let whole = start.elapsed();
    let (mut random, mut interrupted) = (Random(7), 0);
    let kills = rounds() as usize;
    for round in 2..2 + kills {
        let mut importing = import(round);
        let importing = importing.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        thread::sleep(random.below(whole));
        server.kill();
        let answer = Answer::new(importing.wait_with_output().unwrap(), "import".to_owned());
        server.up();
        interrupted += u32::from(answer.status != Some(0));
        let before = round * RUNS;
        let [runs, rows, labels] = counts(&server);
        assert!(runs >= before + told(&answer), "{runs} of {before} and {answer:#?}");
        assert_eq!((rows / runs * runs, labels), (rows, runs), "a run is half written");
        run(&mut import(round)).exits(0);
        assert_eq!(counts(&server)[0], before + RUNS);
    }
    println!(
        "{kills} kills of a server, {interrupted} of them amid an import: no run is lost or twice"
    );
    assert!(interrupted > 0, "no import was interrupted");
}

/// A server that takes connections and is silent holds no command for ever: a signal ends the wait, the
/// answer is printed, and the run is in the journal.
#[test]
fn a_silent_server_is_left_at_a_signal() {
    let server = Server::start("postgres-silent");
    let url = server.url();
    let lab = server.measuring();
    server.signal("-STOP");
    let interrupt = |pid: u32| {
        // A shell's background job ignores SIGINT, and so would the lab.
        run(Command::new("kill").args(["-TERM", &pid.to_string()])).exits(0);
        Instant::now()
    };
    // The lab measures on, and ends at the signal with the complete repetitions.
    thread::sleep(Duration::from_millis(500));
    let at = interrupt(lab.id());
    let answer = Answer::new(lab.wait_with_output().unwrap(), "run".to_owned());
    assert!(at.elapsed() < Duration::from_secs(30), "{:?}: {answer:#?}", at.elapsed());
    let error = &answer.exits(1).stderr;
    assert!(error.contains("does not answer: look at the server"), "{error}");
    assert!(error.contains("`chronoscope recover --store postgres://ann:***@"), "{error}");
    let measured = answer.json();
    let mut history = server.lab(&["history", "--store", &url]);
    let history = history.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    thread::sleep(Duration::from_secs(1));
    let at = interrupt(history.id());
    let ended = history.wait_with_output().unwrap();
    assert!(at.elapsed() < Duration::from_secs(30) && !ended.status.success(), "{ended:#?}");

    server.signal("-CONT");
    let told = server.answer(&["recover"], &url);
    assert!(told.exits(0).stderr.contains("stored as run "), "{told:#?}");
    let stored = server.answer(&["report", "last", "--format", "json"], &url);
    assert_eq!(stored.exits(0).json()["cases"], measured["cases"]);
}

/// The program measures on when its server is killed; the run stays in the journal, and `recover`
/// stores it when the server is back.
#[test]
fn a_run_is_kept_here_while_its_server_is_away() {
    let server = Server::start("postgres-away");
    let url = server.url();
    let lab = server.measuring();
    server.kill();
    // No child of the lab has the password in its title; the lab's own is the user's to keep short.
    let children = run(Command::new("ps").args(["-o", "args=", "--ppid", &lab.id().to_string()]));
    assert!(!children.stdout.contains(PASSWORD), "{children:#?}");
    let answer = Answer::new(lab.wait_with_output().unwrap(), "run".to_owned());
    let error = &answer.exits(1).stderr;
    let named = format!("--store postgres://ann:***@127.0.0.1:{}/lab", server.port);
    assert!(error.contains(&format!("`chronoscope recover {named}` stores what was")), "{error}");
    assert!(!error.contains(PASSWORD), "{error}");
    let measured = answer.json();
    let away = server.answer(&["history", "-q"], &url);
    away.complains("cannot be reached");

    server.up();
    let told = server.answer(&["recover"], &url);
    assert!(told.exits(0).stderr.contains("stored as run "), "{told:#?}");
    let stored = server.answer(&["report", "last", "--format", "json"], &url);
    let stored = stored.exits(0).json();
    assert_eq!(stored["cases"], measured["cases"]);
    assert_eq!(stored["context"]["uuid"], measured["context"]["uuid"]);
    // An open store that only reads goes on when the server is back.
    let open = Store::open(&server.place()).unwrap();
    let newest = open.newest(0).unwrap();
    server.kill();
    assert!(open.newest(0).is_err());
    server.up();
    assert_eq!(open.newest(0).unwrap(), newest);
    let again = server.answer(&["recover"], &url);
    assert!(again.exits(0).stderr.contains("there is no unfinished run"), "{again:#?}");
}

#[test]
fn a_url_that_leads_nowhere_is_told_in_one_line() {
    let folder = Folder::new("postgres-wrong");
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let ask = |words: &[&str], url: &str| {
        let mut lab = program();
        run(lab.env("XDG_DATA_HOME", &folder.0).args(words).args(["--store", url]))
    };
    let run = [&SHORT[..], &["-q"]].concat();
    for (url, text) in [
        (
            format!("postgres://ann:pw77@127.0.0.1:{nobody}/lab"),
            "cannot be reached (Connection refused",
        ),
        (
            "postgres://ann:pw77@127.0.0.1:99999/lab".to_owned(),
            "write postgres://USER@HOST/DATABASE",
        ),
        ("postgres://ann:pw77@/".to_owned(), "names no database"),
        ("postgres://ann:pw77@127.0.0.1/lab?sslmode=off".to_owned(), "write require or disable"),
        ("postgres://ann:pw77@%2Fno%2Ffolder/lab".to_owned(), "cannot be reached"),
    ] {
        for words in [&run[..], &["history"], &["report"], &["recover"], &["import", "-"]] {
            let answer = ask(words, &url);
            if words[0] == "recover" && answer.status == Some(0) {
                assert!(answer.stderr.contains("there is no unfinished run"), "{answer:#?}");
            } else {
                answer.complains(text);
            }
            assert!(!format!("{answer:?}").replace(&url, "").contains("pw77"), "{answer:#?}");
        }
    }
    // Also where the URL is in a wrong place.
    let answer = ask(&["history", "postgres://ann:pw77@h/lab"], "x");
    assert!(!answer.exits(1).stderr.contains("pw77"), "{answer:#?}");
}
