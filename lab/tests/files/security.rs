//! Tests of the boundaries of trust: a test for each row of docs/security.md.

use std::{
    collections::BTreeSet,
    env, fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use crate::common::{
    Answer, Folder, chronoscope, copy_program, frames, program, program_path, run,
};
use chronoscope_engine::{
    journal::Header, journal::Journal, journal::MadeForm, journal::Pair, journal::PairOutcome,
    journal::Recorded,
};
use chronoscope_report::capture_files;
use chronoscope_run::{Run, names::CAPTURE};
use chronoscope_suite::wire::{self, Domain, Evidence, Record, Sample, Samples, Series, Unit};
use rusqlite::Connection;
use serde_json::{Value, json};

/// The row's number and the test's name, of each row of the table.
fn rows(page: &str) -> Vec<(usize, String)> {
    let cells = |line: &str| -> Option<(usize, String)> {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let number = cells.get(1)?.parse().ok()?;
        Some((number, cells.get(cells.len() - 2)?.trim_matches('`').to_owned()))
    };
    page.lines().filter_map(cells).collect()
}

#[test]
fn every_sentence_has_a_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("../docs/security.md")).unwrap();
    let tests = fs::read_to_string(root.join("tests/files/security.rs")).unwrap();
    let rows = rows(&page);
    assert!(rows.len() >= 12, "{rows:?}");
    for (index, (number, name)) in rows.iter().enumerate() {
        assert_eq!(*number, index + 1, "the rows are numbered");
        assert!(
            tests.contains(&format!("#[test]\nfn {name}() {{")),
            "row {number} of docs/security.md has no test `{name}` in lab/tests/files/security.rs"
        );
    }
}

/// The files and folders below a folder.
fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.append(&mut files(&path));
        }
        found.insert(path);
    }
    found
}

/// The program in that folder, with its store, cache and home there.
fn program_in(folder: &Folder) -> Command {
    let mut program = program();
    for home in ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"] {
        program.env(home, folder.path("home"));
    }
    program.current_dir(&folder.0);
    program
}

/// A study of one peer with these lines.
fn study(peer: &str) -> String {
    format!(
        r#"
        name = "theirs"
        title = "From elsewhere."
        [[peer]]
        name = "peer"
        {peer}
        experiment = "switch"
        set = {{ policy = "other", mlock = "no", loops = 100 }}
        pairs = 1
        beside = [{{ ours = "mean", theirs = "operation" }}]
        "#
    )
}

/// Lines of a peer that leaves `mark` behind when it is run.
fn marking(mark: &str) -> String {
    format!(
        "command = [\"sh\", \"-c\", \"touch {mark}; echo 1 usecs/op\"]\n\
         package = \"p\"\nreads = \"perf-bench-pipe\""
    )
}

#[test]
fn a_study_runs_known_tools_only() {
    let folder = Folder::new("known-tools");
    let mark = folder.path("mark");
    for (peer, why) in [
        (marking(&mark), "`peer` runs the program `sh -c touch"),
        (
            marking(&mark) + "\ntool = \"cyclictest\"",
            "known tools only (cyclictest, cyclictest --smp, cyclicdeadline, oslat",
        ),
        (format!("tool = \"touch {mark}\""), "there is no tool `touch"),
        ("tool = \"/bin/sh\"".to_owned(), "there is no tool `/bin/sh`"),
        (
            format!("tool = \"hackbench\"\nsettings = {{ groups = \"1; touch {mark}\" }}"),
            "a whole number from 1 to 1000",
        ),
        ("tool = \"hackbench\"\nsettings = { argv = 1 }".to_owned(), "no setting `argv`"),
        ("tool = \"hackbench\"\npackage = \"evil\"".to_owned(), "leave out `package`"),
    ] {
        let file = folder.file("study.toml", study(&peer));
        let answer = run(program_in(&folder).args(["run", "--study", &file]));
        answer.complains("peer 1 of `theirs`").complains(why);
        assert!(!Path::new(&mark).exists(), "{answer:#?}");
    }
}

#[test]
fn only_the_command_line_permits_programs() {
    let folder = Folder::new("allowed");
    let mark = folder.path("mark");
    for place in [
        "allow-programs = true\n[[peer]]",
        "allow_programs = true\n[[peer]]",
        "[[peer]]\nallow-programs = true",
    ] {
        let text = study(&marking(&mark)).replace("[[peer]]", place);
        let file = folder.file("study.toml", text);
        chronoscope(&["run", "--study", &file]).complains("unknown field");
    }
    let file = folder.file("study.toml", study(&marking(&mark)));
    let allow = |more: &[&str]| {
        let flags = ["run", "--study", &file, "--no-store", "--allow-programs"];
        run(program_in(&folder).args(flags).args(more).env("CHRONOSCOPE_ALLOW_PROGRAMS", "0"))
    };
    let mut without = program_in(&folder);
    without.env("CHRONOSCOPE_ALLOW_PROGRAMS", "1").args(["run", "--study", &file]);
    run(&mut without).complains("--allow-programs");
    assert!(!Path::new(&mark).exists());
    for more in [&[][..], &["-q"]] {
        let answer = allow(more);
        answer.exits(0);
        let command = format!("the study runs the program `sh -c touch {mark}; echo 1 usecs/op`");
        assert!(answer.stderr.contains(&command), "{answer:#?}");
        fs::remove_file(&mark).expect("the program ran");
    }
}

#[test]
fn a_study_opens_no_device() {
    let folder = Folder::new("device");
    // A pseudoterminal would do as a device; a file that must stay as it is shows more.
    let device = folder.file("device", "untouched");
    let target = format!("board@serial:{device}");
    let text = format!(
        "name = \"theirs\"\ntitle = \"\"\n[[case]]\nexperiment = \"switch\"\ntarget = \"{target}\""
    );
    let file = folder.file("study.toml", text);
    chronoscope(&["run", "--study", &file]).complains(&format!(
        "which a study may not open: name it on the command line, as --target {target}"
    ));
    // Named on the command line, the device is opened, which this one refuses.
    let named = chronoscope(&["run", "--study", &file, "--no-store", "-q", "--target", &target]);
    named.exits(4).shows("is no serial line");
    assert_eq!(fs::read_to_string(device).unwrap(), "untouched");
}

#[test]
fn a_study_starts_no_image() {
    let folder = Folder::new("no-image");
    let mark = folder.path("mark");
    let program = folder.file("program", format!("#!/bin/sh\ntouch {mark}\n"));
    run(std::process::Command::new("chmod").args(["755", &program])).exits(0);
    let target = format!("mine={program}@host");
    let peer = "[[peer]]\nname = \"p\"\ntool = \"pi_stress\"\n\
                beside = [{ ours = \"mean\", theirs = \"mean\" }]\n";
    for entry in ["[[case]]\n", peer] {
        let text = format!(
            "name = \"theirs\"\ntitle = \"\"\n{entry}experiment = \"switch\"\ntarget = \"{target}\""
        );
        let file = folder.file("study.toml", text);
        for more in [&[][..], &["--target", "linux@host"], &["--list"]] {
            chronoscope(&[&["run", "--study", &file], more].concat()).complains(&format!(
                "which a study may not start: write mine=$image@host in the study, and give it on the \
                 command line, as --image image={program}"
            ));
        }
    }
    assert!(!std::path::Path::new(&mark).exists());
}

#[test]
fn an_image_of_a_study_is_given_on_the_command_line() {
    let folder = Folder::new("given-image");
    let text = "name = \"mine\"\ntitle = \"\"\n[[case]]\nexperiment = \"switch\"\n\
                target = [\"mine=$app@cortex-m4\", \"tandem@cortex-m4\"]\nset = { loops = 20 }\n";
    let file = folder.file("mine.toml", text);
    let with = |more: &[&str]| chronoscope(&[&["run", "--study", &file, "--list"], more].concat());
    with(&[]).complains(
        "case 1 of `mine`: `mine=$app@cortex-m4` has no image yet: give it as --image app=FILE",
    );
    with(&["--image", "ap=a.elf"])
        .complains("no target of the study has an image `$ap`; did you mean `app`?");
    with(&["--image", "app=a.elf", "--image", "app=b.elf"]).complains("given twice");
    with(&["--image", "app"]).complains("write the study's variable and the file");
    with(&["--image", "app=none.elf"]).complains("none.elf");
    // Other targets on the command line need no image.
    with(&["--target", "tandem@cortex-m4"]).exits(0).shows("tandem@cortex-m4");
}

#[test]
fn a_study_names_no_file() {
    let folder = Folder::new("no-file");
    let image = folder.file("image", "an image");
    let before = files(&folder.0);
    let keys = [
        "image",
        "kernel-image",
        "kernel",
        "kernel-modules",
        "append",
        "flash",
        "chip",
        "command",
        "program",
        "run",
        "exec",
        "shell",
        "machine",
        "output",
        "format",
        "store",
        "page",
        "capture",
        "file",
        "path",
        "environment",
        "include",
    ];
    let text = |place: &str, key: &str| {
        let line = format!("{key} = \"{image}\"");
        let (top, case) =
            if place == "top" { (line, String::new()) } else { (String::new(), line) };
        format!("{top}\nname = \"s\"\ntitle = \"\"\n[[case]]\nexperiment = \"switch\"\n{case}\n")
    };
    for place in ["top", "case"] {
        for key in keys {
            let file = folder.file("study.toml", text(place, key));
            run(program_in(&folder).args(["run", "--study", &file]))
                .complains(&format!("unknown field `{key}`"));
        }
    }
    // Parameters are words and numbers of a table; none is a path.
    for key in keys {
        let set = format!("set = {{ {key} = \"{image}\" }}");
        let case = "name = \"s\"\ntitle = \"\"\n[[case]]\nexperiment = \"switch\"";
        let file = folder.file("study.toml", format!("{case}\n{set}\n"));
        run(program_in(&folder).args(["run", "--study", &file]))
            .complains(&format!("no parameter `{key}`"));
    }
    fs::remove_file(folder.path("study.toml")).unwrap();
    assert_eq!(files(&folder.0), before, "nothing is written");
}

/// A short run of this computer as JSON, whose names and attachments lead out of every folder.
fn hostile_run() -> Value {
    let flags = ["run", "switch", "-q", "--no-store", "--format", "json", "--repeat", "1"];
    let set = ["--set", "policy=other,other", "--set", "mlock=no", "--set", "loops=100"];
    let mut run = chronoscope(&[&flags[..], &set].concat()).exits(0).json();
    let dump =
        "$timescale 1 ns $end $var wire 1 ! D0 $end $enddefinitions $end #0 0! #5 1! #9 0!\n";
    for case in run["cases"].as_array_mut().unwrap() {
        for field in ["experiment", "target", "label", "release"] {
            case[field] = json!("../../../../tmp/evil/../x");
        }
        case["attachments"] = json!({ CAPTURE: dump, "../../evil": "text", "/tmp/evil": "text" });
    }
    run
}

#[test]
fn a_run_file_is_only_shown() {
    let folder = Folder::new("run-file");
    let file = folder.file("run.json", hostile_run().to_string());
    let before = files(&folder.0);
    for words in [
        &["report", &file][..],
        &["report", &file, "--format", "html"],
        &["report", &file, "--format", "junit"],
        &["report", &file, "--format", "csv"],
        &["report", &file, "--format", "google-benchmark"],
        &["compare", &file, &file],
        &["trace", &file, "--format", "vcd"],
        &["baseline", "write", &file, "-o", "/dev/null"],
        &["merge", &file, "-o", "/dev/null"],
    ] {
        let answer = run(program_in(&folder).args(words));
        assert!(answer.status.is_some_and(|status| status != 101), "{answer:#?}");
        assert_eq!(files(&folder.0), before, "{words:?} writes nothing");
    }
    let page = folder.path("page.html");
    run(program_in(&folder).args(["report", &file, "-o", &page])).exits(0);
    let written: Vec<_> = files(&folder.0).difference(&before).cloned().collect();
    assert_eq!(written, [PathBuf::from(page)]);
}

#[test]
fn a_run_file_opens_no_study() {
    let folder = Folder::new("run-study");
    let question = "Was this file opened?";
    let study = folder.file(
        "mine.toml",
        format!(
            "name = 'mine'\ntitle = 'Mine'\n[answer]\nquestion = '{question}'\n\
             [[case]]\nexperiment = 'switch'\n"
        ),
    );
    let mut hostile = hostile_run();
    for name in [study.as_str(), "mine.toml", "./mine.toml"] {
        hostile["study"] = json!(name);
        let file = folder.file("run.json", hostile.to_string());
        for format in ["table", "html"] {
            let answer = run(program_in(&folder).args(["report", &file, "--format", format]));
            assert!(!answer.exits(0).stdout.contains(question), "{name} as {format}");
        }
    }
}

#[test]
fn names_in_a_run_stay_in_the_folder_of_its_page() {
    let folder = Folder::new("names");
    let run: Run = serde_json::from_value(hostile_run()).unwrap();
    let page = folder.0.join("pages/7.html");
    fs::create_dir(folder.0.join("pages")).unwrap();
    let written = capture_files::write(&run, &page).unwrap();
    assert_eq!(written.len(), run.cases.len());
    for file in &written {
        assert_eq!(file.parent(), page.parent(), "{file:?}");
        let name = file.file_name().unwrap().to_str().unwrap();
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        assert!(name.starts_with("7-") && name.chars().all(plain), "{name}");
    }
    let all: BTreeSet<_> = written.into_iter().chain([folder.0.join("pages")]).collect();
    assert_eq!(files(&folder.0), all, "no attachment's name is a file's");
}

#[test]
fn a_stream_is_only_data() {
    let folder = Folder::new("stream");
    let bin = folder.path("bin");
    fs::create_dir(&bin).unwrap();
    copy_program(program_path(), folder.path("bin/chronoscope"));
    let clock = wire::Clock { domain: Domain::Wall, hertz: 1_000_000_000, resolution: 1 };
    let evil = "../../evil$(touch evil)`touch evil`|touch evil";
    let attach = |name| Record::Attachment { name, bytes: b"text" };
    let bytes = frames(&[
        Record::Hello { version: wire::VERSION, kernel: evil, release: evil, request: evil },
        Record::Clock(clock),
        Record::Series(Series { name: evil, unit: Unit::Ticks, ..Series::measured(evil) }),
        Record::Samples(Samples { series: 0, block: [Sample { gap: 0, value: 1 }].into() }),
        attach(evil),
        attach("/tmp/chronoscope-evil"),
        attach("trace"),
        attach("calls"),
        Record::Log(evil),
        Record::Evidence(Evidence { name: evil, value: 1.0, low: 1.0, high: 1.0 }),
        Record::End { records: 10 },
    ]);
    folder.file("bin/stream", bytes);
    let port = folder.file("port", "#!/bin/sh\nexec cat \"${0%/*}/stream\"\n");
    copy_program(port, folder.path("bin/chronoscope-linux"));
    let before = files(&folder.0);
    let mut lab = Command::new(folder.path("bin/chronoscope"));
    lab.current_dir(&folder.0).env("HOME", folder.path("bin")).env_remove("XDG_DATA_HOME");
    let answer = run(lab.args(["run", "switch", "-q", "--repeat", "1", "--no-store"]));
    assert!(matches!(answer.status, Some(0 | 4)), "{answer:#?}");
    assert_eq!(files(&folder.0), before, "{answer:#?}");
}

#[test]
fn a_capture_is_only_measured() {
    let folder = Folder::new("capture");
    let name = "../../../evil$(touch${IFS}evil)";
    let dump = format!(
        "$timescale 1 ns $end $var wire 1 ! {name} $end $enddefinitions $end #0 0! #5 1! #9 0! #20\n"
    );
    let file = folder.file("evil.vcd", dump);
    let before = files(&folder.0);
    for words in [&["capture", &file][..], &["capture", &file, "--format", "json"]] {
        run(program_in(&folder).args(words)).exits(0);
        assert_eq!(files(&folder.0), before, "{words:?}");
    }
    let made = folder.path("made.sr");
    run(program_in(&folder).args(["capture", &file, "-o", &made])).exits(0);
    let written: Vec<_> = files(&folder.0).difference(&before).cloned().collect();
    assert_eq!(written, [PathBuf::from(made)]);
}

#[test]
fn a_store_runs_none_of_its_triggers() {
    let folder = Folder::new("triggers");
    let store = folder.path("runs.sqlite");
    let set = ["--set", "policy=other", "--set", "mlock=no", "--set", "loops=100"];
    let short = ["run", "switch", "--repeat", "1", "-q", "--store", &store];
    chronoscope(&[&short[..], &set].concat()).exits(0);
    let theirs = Connection::open(&store).unwrap();
    theirs
        .execute_batch(
            "CREATE TRIGGER evil AFTER INSERT ON runs BEGIN UPDATE runs SET host = 'evil'; END;
             CREATE TABLE hidden AS SELECT * FROM cases; DROP TABLE cases;
             CREATE VIEW cases AS SELECT * FROM hidden;",
        )
        .unwrap();
    drop(theirs);
    // The view in the place of a table is refused, and no trigger has changed a row.
    chronoscope(&[&short[..], &set].concat()).exits(1);
    chronoscope(&["history", "switch", "--store", &store]).exits(1);
    let theirs = Connection::open(&store).unwrap();
    theirs.execute_batch("DROP VIEW cases; CREATE TABLE cases AS SELECT * FROM hidden;").unwrap();
    drop(theirs);
    chronoscope(&[&short[..], &set].concat()).exits(0);
    let ours = Connection::open(&store).unwrap();
    let evil: i64 = ours
        .query_row("SELECT count(*) FROM runs WHERE host = 'evil'", [], |row| row.get(0))
        .unwrap();
    assert_eq!(evil, 0);
}

#[test]
fn a_journal_runs_nothing() {
    let folder = Folder::new("journal");
    let (mark, device) = (folder.path("mark"), folder.file("device", "untouched"));
    let target = format!("board@serial:{device}");
    let result = json!({
        "name": "../../evil", "command": ["sh", "-c", format!("touch {mark}")],
        "experiment": "switch", "target": target, "parameters": {}, "label": "", "pairs": 0,
        "statistics": [], "note": "", "verdict": { "status": "pass", "reasons": [] },
    });
    let case = json!({
        "experiment": "switch", "target": target, "parameters": [["evil", mark]], "asked": [],
        "repeat": 9, "duration": null, "deadline": null, "analyser": null, "limits": [],
        "published": [],
    });
    let header: Header = serde_json::from_value(json!({
        "schema": chronoscope_run::SCHEMA, "context": hostile_run()["context"], "study": "../../evil",
        "titles": ["../../evil"], "notes": "", "keep_samples": false, "cases": [case],
        "peers": [{ "result": result, "repeat": 2, "duration": null, "is_given_up": false }],
    }))
    .unwrap();
    let store = folder.0.join("runs.sqlite");
    let mut journal = Journal::create(&store, &header).unwrap();
    journal.pair(Pair { peer: 0, spent: Duration::ZERO, outcome: PairOutcome::Values(vec![]) });
    journal.begin(0, Some(MadeForm::default()));
    journal.stream(b"../../evil");
    journal.end(&Recorded { failed: Some("../../evil".to_owned()), ..Recorded::default() });
    drop(journal);
    let store = store.to_str().unwrap();
    let answer = run(program_in(&folder).args(["recover", "--store", store]));
    assert!(answer.exits(0).stderr.contains("stored as run 1"), "{answer:#?}");
    assert!(!Path::new(&mark).exists(), "{answer:#?}");
    assert_eq!(fs::read_to_string(device).unwrap(), "untouched");
    let outside =
        files(&folder.0).into_iter().filter(|path| path.display().to_string().contains("evil"));
    assert_eq!(outside.count(), 0);
}

/// An index of one image, whose builder leaves `mark` behind.
fn index(folder: &Folder, at: &str, mark: &str) {
    fs::create_dir_all(folder.path(at)).unwrap();
    let builder = folder.file(&format!("{at}/builder"), format!("#!/bin/sh\ntouch {mark}\n"));
    fs::set_permissions(builder, fs::Permissions::from_mode(0o755)).unwrap();
    let index = json!({ "schema": 1, "builder": ["builder"], "images": [{
        "target": "mine@cortex-m4", "kernel": "mine", "kind": "thread", "variant": "plain",
        "path": "image", "sha256": null,
    }]});
    folder.file(&format!("{at}/index.json"), index.to_string());
}

#[test]
fn images_are_named_by_the_installation_and_the_user() {
    let folder = Folder::new("images");
    let mark = folder.path("mark");
    index(&folder, "firmware", &mark);
    fs::create_dir(folder.path("empty")).unwrap();
    let target = ["run", "switch", "--target", "mine@cortex-m4", "-q", "--no-store"];
    folder.file("empty/index.json", r#"{ "schema": 1, "images": [] }"#);
    let program = || {
        let mut program = program_in(&folder);
        program.env("CHRONOSCOPE_IMAGES", folder.path("empty"));
        program
    };
    // Neither the current folder nor a study names an index.
    run(program().args(target)).complains("unknown target `mine@cortex-m4`");
    let text = "name = \"s\"\ntitle = \"\"\n[[case]]\nexperiment = \"switch\"\ntarget = \"mine@cortex-m4\"";
    let file = folder.file("study.toml", text);
    run(program().args(["run", "--study", &file])).complains("unknown target");
    assert!(!Path::new(&mark).exists());
    let mut by_user = program_in(&folder);
    run(by_user.args(target).env("CHRONOSCOPE_IMAGES", folder.path("firmware")));
    assert!(Path::new(&mark).exists(), "the user's variable names the builder");
}

#[test]
fn boards_are_named_by_the_user() {
    let folder = Folder::new("named-boards");
    let text =
        "name = 'theirs'\ntitle = ''\n[[case]]\nexperiment = 'switch'\ntarget = 'bare@board:one'";
    let study = folder.file("study.toml", text);
    let log = folder.path("log");
    let boards = format!("[one]\nline = '/dev/null'\nreset = ['touch', '{log}']");
    let boards = folder.file("boards.toml", boards);
    let lab = |words: &[&str], file: Option<&str>| {
        let mut lab = program_in(&folder);
        file.map(|file| lab.env("CHRONOSCOPE_BOARDS", file));
        run(lab.args(["run", "--no-store"]).args(words))
    };
    // A study may not name a board, and the current folder's file is not read.
    lab(&["--study", &study], Some(&boards)).complains("a study may not open");
    lab(&["switch", "--target", "bare@board:one"], None).complains("home/chronoscope/boards.toml");
    assert!(!fs::exists(&log).unwrap());
    // The user names both: the command runs.
    lab(&["switch", "--target", "bare@board:one"], Some(&boards));
    assert!(fs::exists(&log).unwrap());
}

#[test]
fn a_cluster_is_asked_only_when_named() {
    let folder = Folder::new("cluster");
    let log = folder.path("log");
    let bin = folder.path("bin");
    fs::create_dir(&bin).unwrap();
    // A Slurm that takes each job, prints control characters, and loses it.
    for name in ["sbatch", "squeue", "scancel", "sacct", "scontrol"] {
        let script = format!("#!/bin/sh\necho {name} >> {log}\nprintf '1 \\033[2JRUNNING\\n'\n");
        let script = folder.file(name, script);
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        copy_program(script, format!("{bin}/{name}"));
    }
    let lab = |words: &[&str]| {
        let path = format!("{bin}:{}", env::var("PATH").unwrap());
        let mut lab = program_in(&folder);
        run(lab.env("PATH", path).args(["run", "switch", "--no-store", "-l", "100"]).args(words))
    };
    lab(&["--repeat", "1", "-q"]);
    assert!(!fs::exists(&log).unwrap());
    // The host's cases run there only under a name of the user's. Every job is lost.
    lab(&["--on", "slurm"]).complains("measured in wall time");
    assert!(!fs::exists(&log).unwrap());
    let lost = lab(&["--on", "slurm", "--as", "node", "-q", "--shards", "1"]);
    lost.complains("shard 1 ended 3 times without its part: Slurm says 1 \u{fffd}[2JRUNNING");
    let asked = fs::read_to_string(&log).unwrap();
    assert_eq!(asked.lines().filter(|line| *line == "sbatch").count(), 3, "{asked}");
    assert!(asked.ends_with("scancel\n"), "{asked}");
}

/// With a server that answers, `postgres.rs` checks the same.
#[test]
fn a_password_is_shown_nowhere() {
    let folder = Folder::new("password");
    let url = "postgres://ann:s3cret@127.0.0.1:1/lab";
    let set = ["--set", "policy=other", "--set", "mlock=no", "--set", "loops=100"];
    let short = ["run", "switch", "--repeat", "1", "-q", "--format", "json"];
    let part = chronoscope(&[&short[..], &set, &["--no-store"]].concat());
    // A run file whose command line had the password.
    let mut run = part.json();
    run["context"]["command"] = json!(["chronoscope", "--store", url]);
    run["context"]["doctor"] = json!([format!("`{url}?password=s3cret` is odd")]);
    let file = folder.file("run.json", run.to_string());
    let page = folder.path("run.html");
    for words in [
        &["run", "switch", "-q", "--store", url][..],
        &["run", "switch", "--target", "bare@cortex-m4", "--on", "slurm", "--store", url],
        &["history", "--store", url],
        &["history", url],
        &["report", url],
        &["compare", url, url],
        &["merge", url],
        &["run", url],
        &["run", "--study", url],
        &["run", "switch", "--storee", url],
        &["recover", "--store", url],
        &["import", &file, "--store", url],
        &["report", &file, "--full"],
        &["report", &file, "--format", "json"],
        &["report", &file, "-o", &page],
    ] {
        let answer = run_in(&folder, words);
        let text = format!("{}{}", answer.stdout, answer.stderr);
        assert!(!text.contains("s3cret"), "{words:?}: {text}");
    }
    assert!(fs::read_to_string(page).unwrap().contains("ann:***@127.0.0.1:1/lab"));
    for path in [folder.0.join("chronoscope"), folder.0.clone()] {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            let text = fs::read_to_string(entry.path()).unwrap_or_default();
            assert!(entry.path().ends_with("run.json") || !text.contains("s3cret"), "{entry:?}");
        }
    }
}

fn run_in(folder: &Folder, words: &[&str]) -> Answer {
    run(program().env("XDG_DATA_HOME", &folder.0).args(words))
}

#[test]
fn labgrid_is_asked_only_when_named() {
    let folder = Folder::new("labgrid");
    let (log, bin) = (folder.path("log"), folder.path("bin"));
    fs::create_dir(&bin).unwrap();
    // A client whose coordinator gives a reservation that names a file elsewhere.
    let client = format!(
        "#!/bin/sh\necho \"$@\" >> {log}\ncase $1 in\n-v) printf \"Place 'a':\\n  tags: b=c\\n\";;\n\
         reserve) printf 'export LG_TOKEN=../../\\033[2Jboards\\n';;\nesac\n"
    );
    let client = folder.file("client", client);
    fs::set_permissions(&client, fs::Permissions::from_mode(0o755)).unwrap();
    copy_program(client, format!("{bin}/labgrid-client"));
    let lab = |words: &[&str]| {
        let path = format!("{bin}:{}", env::var("PATH").unwrap());
        let mut lab = program_in(&folder);
        run(lab.env("PATH", path).args(["run", "switch", "--no-store", "-l", "100"]).args(words))
    };
    lab(&["--repeat", "1", "-q"]);
    assert!(!fs::exists(&log).unwrap());
    let before = files(&folder.0);
    lab(&["--place", "b=c"]).complains("no token in `export LG_TOKEN=../../");
    assert_eq!(fs::read_to_string(&log).unwrap(), "-v places\nreserve --shell b=c\n");
    let made: Vec<_> = files(&folder.0).difference(&before).cloned().collect();
    assert_eq!(made, [PathBuf::from(&log)]);
}

#[test]
fn the_current_folder_is_not_searched() {
    let folder = Folder::new("current");
    let mark = folder.path("mark");
    let script = format!("#!/bin/sh\ntouch {mark}\n");
    for tool in ["cyclictest", "perf", "chrt", "chronoscope-linux", "sh", "apt-get", "xtask"] {
        let file = folder.file(tool, &script);
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    for at in ["firmware", "share/chronoscope/firmware", "target/firmware"] {
        index(&folder, at, &mark);
    }
    for file in ["quick.toml", "studies/quick.toml", ".chronoscope.toml", "chronoscope.toml"] {
        fs::create_dir_all(folder.path("studies")).unwrap();
        folder.file(file, "not a study");
    }
    let short = ["run", "switch", "-q", "--no-store", "--repeat", "1"];
    let set = ["--set", "policy=other", "--set", "mlock=no", "--set", "loops=100"];
    run(program_in(&folder).args(short).args(set)).exits(0);
    let peer = folder.file("study", study("tool = \"perf bench sched pipe\""));
    let answer: Answer =
        run(program_in(&folder).args(["run", "-q", "--no-store", "--study", &peer]));
    assert!(matches!(answer.status, Some(0 | 2 | 4)), "{answer:#?}");
    run(program_in(&folder).arg("list")).exits(0);
    assert!(!Path::new(&mark).exists(), "a file of the current folder ran");
}
