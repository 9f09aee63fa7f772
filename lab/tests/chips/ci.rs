//! The files for CI of others, in `ci/`: what they measure, check, say and comment.

use std::{
    env, fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::PathBuf,
    process::Command,
    sync::{Arc, Mutex},
    thread,
};

use crate::common::{Answer, Folder, chronoscope, documented::root, program_path, run};
use serde_json::{Value, json};

const STUDY: &str = "name = \"mine\"\ntitle = \"Did my kernel get slower?\"\nrepeat = 1\n[[case]]\n\
    experiment = \"switch\"\ntarget = \"mine=$app@cortex-m4\"\nset = { loops = 20, tasks = 2 }\n";

/// The image of tandem@cortex-m4, which the first use builds.
pub fn image_of_tandem() -> PathBuf {
    let use_it = ["run", "switch", "-l", "20", "-q", "--no-store", "--target", "tandem@cortex-m4"];
    chronoscope(&use_it).exits(0);
    let firmware = program_path().parent().unwrap().parent().unwrap().join("firmware");
    firmware.join("thumbv7em-none-eabihf/release/chronoscope-tandem")
}

/// A job in a folder of its own, with the program in its PATH.
struct Job(Folder);

impl Job {
    fn new(name: &str) -> Self {
        let folder = Folder::new(name);
        folder.file("kernel.toml", STUDY);
        fs::copy(image_of_tandem(), folder.path("app.elf")).unwrap();
        Self(folder)
    }

    fn script(&self, words: &[&str], variables: &[(&str, &str)]) -> Answer {
        let mut script = Command::new(root().join("ci").join(words[0]));
        script.args(&words[1..]).current_dir(&self.0.0);
        let path = program_path().parent().unwrap().display().to_string();
        script.env("PATH", format!("{path}:{}", env::var("PATH").unwrap()));
        script.env("XDG_DATA_HOME", self.0.path("data")).env_remove("GITHUB_STEP_SUMMARY");
        run(script.envs(variables.iter().copied()))
    }

    fn measure(&self, more: &[(&str, &str)]) -> Answer {
        let run = ("CHRONOSCOPE_RUN", "kernel.toml --image app=app.elf -q --no-store");
        self.script(&["measure"], &[&[run], more].concat())
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.path(name)).unwrap()
    }
}

#[test]
fn a_job_guards_the_kernel_of_its_reader() {
    let job = Job::new("ci-job");
    job.measure(&[]).exits(0);
    assert!(job.read("answer.md").starts_with("<!-- chronoscope -->\n```text\n"));
    assert!(job.read("answer.md").contains("mine"), "{}", job.read("answer.md"));
    assert!(job.read("verdicts.xml").contains("<testsuite"));
    let write = ["baseline", "write", &job.0.path("run.json"), "-o", &job.0.path("baseline.toml")];
    chronoscope(&write).exits(0);

    let summary = job.0.path("summary.md");
    let guarded = [
        ("CHRONOSCOPE_BASELINE", "baseline.toml"),
        ("CHRONOSCOPE_STRICT", "yes"),
        ("GITHUB_STEP_SUMMARY", &summary),
    ];
    job.measure(&guarded).exits(0);
    assert_eq!(job.read("summary.md"), job.read("answer.md"));

    // The baseline of a kernel that took one instruction less.
    let baseline = job.read("baseline.toml");
    let lowered: String = baseline.lines().map(|line| lower(line) + "\n").collect();
    assert_ne!(lowered, baseline);
    job.0.file("baseline.toml", lowered);
    job.measure(&guarded).exits(3).shows("::error");
    assert!(job.read("answer.md").contains("slower"), "{}", job.read("answer.md"));

    // No name that a study gives ends the block of Markdown.
    job.0.file("kernel.toml", STUDY.replace("Did my", "``` @everyone did my"));
    job.measure(&[]).exits(0);
    assert_eq!(job.read("answer.md").matches("```").count(), 2, "{}", job.read("answer.md"));

    // A run that did not take place leaves nothing to say, and its status.
    fs::remove_file(job.0.path("run.json")).unwrap();
    job.measure(&[("CHRONOSCOPE_RUN", "kernel.toml -q --no-store")]).exits(1);
}

/// A line of a baseline with all its figures one lower.
fn lower(line: &str) -> String {
    let mut parts = line.split(" = [");
    let first = parts.next().unwrap().to_owned();
    parts.fold(first, |text, part| {
        let (figure, rest) = part.split_once(']').unwrap_or((part, ""));
        match figure.parse::<u64>() {
            Ok(figure) => format!("{text} = [{}]{rest}", figure - 1),
            Err(_) => format!("{text} = [{part}"),
        }
    })
}

/// The comments of a pull request, as GitHub's API gives them; none can be written where `is_closed`.
struct Forge {
    address: String,
    comments: Arc<Mutex<Vec<Value>>>,
}

impl Forge {
    fn new(comments: Vec<Value>, is_closed: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let comments = Arc::new(Mutex::new(comments));
        let shared = Arc::clone(&comments);
        thread::spawn(move || {
            for stream in listener.incoming() {
                answer(&mut stream.unwrap(), &shared, is_closed);
            }
        });
        Self { address, comments }
    }

    fn comment(&self, job: &Job) -> Answer {
        let variables = [
            ("GITHUB_API_URL", self.address.as_str()),
            ("GITHUB_REPOSITORY", "me/mine"),
            ("GITHUB_TOKEN", "secret"),
            ("CHRONOSCOPE_PULL", "7"),
        ];
        job.script(&["comment", "answer.md"], &variables)
    }

    fn bodies(&self) -> Vec<String> {
        let comments = self.comments.lock().unwrap();
        comments.iter().map(|comment| comment["body"].as_str().unwrap().to_owned()).collect()
    }
}

/// Answers one request, as the documentation of GitHub's REST API says.
fn answer(stream: &mut TcpStream, comments: &Mutex<Vec<Value>>, is_closed: bool) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut request, mut length, mut line) = (String::new(), 0, String::new());
    reader.read_line(&mut request).unwrap();
    while reader.read_line(&mut line).unwrap() > 2 {
        let lower = line.to_lowercase();
        if let Some(count) = lower.strip_prefix("content-length:") {
            length = count.trim().parse().unwrap();
        }
        assert!(!lower.starts_with("authorization") || line.contains("Bearer secret"), "{line}");
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let words: Vec<&str> = request.split(' ').collect();
    let mut comments = comments.lock().unwrap();
    let (status, text) = match words[0] {
        _ if is_closed => ("403 Forbidden", json!({ "message": "read-only" })),
        "GET" => {
            assert!(words[1].starts_with("/repos/me/mine/issues/7/comments?"), "{request}");
            let page: usize = words[1].rsplit_once("&page=").unwrap().1.parse().unwrap();
            let page: Vec<&Value> = comments.iter().skip((page - 1) * 100).take(100).collect();
            ("200 OK", json!(page))
        }
        method => {
            let mut comment: Value = serde_json::from_slice(&body).unwrap();
            let id = comments.len();
            let at = match words[1].strip_prefix("/repos/me/mine/issues/comments/") {
                Some(known) => known.parse().unwrap(),
                None => id,
            };
            assert_eq!(method, if at == id { "POST" } else { "PATCH" }, "{request}");
            comment["id"] = at.into();
            if at == id {
                comments.push(comment)
            } else {
                comments[at] = comment
            }
            ("201 Created", json!({}))
        }
    };
    let text = text.to_string();
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", text.len());
    stream.write_all((head + &text).as_bytes()).unwrap();
}

#[test]
fn a_comment_takes_the_place_of_the_one_before() {
    let job = Job(Folder::new("ci-comment"));
    let others = (0..130).map(|id| json!({ "id": id, "body": "what a \"change\"" })).collect();
    let forge = Forge::new(others, false);
    let texts =
        ["<!-- chronoscope -->\nA \"quoted\" figure\\n of 3 µs\n", "<!-- chronoscope -->\n4 µs\n"];
    for text in texts {
        job.0.file("answer.md", text);
        forge.comment(&job).exits(0);
        let bodies = forge.bodies();
        assert_eq!((bodies.len(), &*bodies[130]), (131, text));
    }
    // A page that is too long for GitHub is cut.
    job.0.file("answer.md", format!("<!-- chronoscope -->\n{}", "a".repeat(70_000)));
    forge.comment(&job).exits(0);
    assert_eq!(forge.bodies()[130].len(), 65_000);
}

#[test]
fn a_comment_that_cannot_be_written_fails_nothing() {
    let job = Job(Folder::new("ci-fork"));
    job.0.file("answer.md", "<!-- chronoscope -->\n4 µs\n");
    let closed = Forge::new(Vec::new(), true);
    closed.comment(&job).exits(0).shows("::notice::the answer could not be written");
    assert!(closed.bodies().is_empty());
    let silent = [("CHRONOSCOPE_PULL", "")];
    assert_eq!(job.script(&["comment", "answer.md"], &silent).exits(0).stdout, "");
}

#[test]
fn another_package_is_not_installed() {
    let job = Job(Folder::new("ci-package"));
    let package = job.0.file("chronoscope.deb", "no package");
    let wrong = "0".repeat(64);
    job.script(&["install", &package, &wrong], &[]).exits(1).shows("nothing is installed");
}

#[test]
fn the_files_follow_their_published_schemas() {
    let folder = Folder::new("ci-schemas");
    let python =
        PathBuf::from(env::var("CHRONOSCOPE_TEST_PYTHON").expect("set by the test command"));
    let check = |schema: &str, file: &str| {
        let mut check = Command::new(python.with_file_name("check-jsonschema"));
        run(check.args(["--builtin-schema", &format!("vendor.{schema}"), file]))
    };
    let action = root().join("ci/action.yml");
    check("github-actions", action.to_str().unwrap()).exits(0);
    let broken = fs::read_to_string(&action).unwrap().replace("using: composite", "using: hope");
    check("github-actions", &folder.file("action.yml", broken)).exits(1);

    let page = fs::read_to_string(root().join("docs/ci.md")).unwrap();
    let blocks: Vec<&str> =
        page.split("```yaml\n").skip(1).map(|part| part.split("```").next().unwrap()).collect();
    assert!(blocks.len() >= 3, "{blocks:#?}");
    for block in blocks {
        let schema = if block.contains("jobs:") { "github-workflows" } else { "gitlab-ci" };
        check(schema, &folder.file("block.yml", block)).exits(0);
    }
}
