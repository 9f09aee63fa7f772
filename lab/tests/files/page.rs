//! The HTML page of a run and of a comparison: its path, and when it is written and deleted. Its
//! content is tested in `lab/report/src/html/tests/mod.rs`.

use std::{fs, path::Path};

use crate::common::{self, Answer, Folder, SHORT, chronoscope};

fn run(store: &str, more: &[&str]) -> Answer {
    chronoscope(&[&SHORT[..], &["--store", store], more].concat())
}

fn page(path: &str) -> String {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    assert!(text.starts_with("<!DOCTYPE html>") && text.ends_with("</html>\n"), "{path} is whole");
    text
}

#[test]
fn a_stored_run_has_a_page_until_it_is_forgotten() {
    let folder = Folder::new("stored-page");
    let store = folder.path("runs.sqlite");
    let first = run(&store, &[]);
    let file = folder.path("runs.pages/1.html");
    assert!(first.stderr.ends_with(&format!("chronoscope: page: {file}\n")), "{first:#?}");
    assert!(page(&file).contains("<figure class=\"chart\""));
    assert!(!run(&store, &["-q"]).stderr.contains("page"));
    page(&folder.path("runs.pages/2.html"));
    chronoscope(&["history", "--keep", "1", "--store", &store]).exits(0);
    assert!(!Path::new(&file).exists() && Path::new(&folder.path("runs.pages/2.html")).exists());
    chronoscope(&["history", "--forget", "2", "--store", &store]).exits(0);
    assert_eq!(fs::read_dir(folder.path("runs.pages")).unwrap().count(), 0);
}

#[test]
fn a_run_that_is_not_stored_has_no_page() {
    let folder = Folder::new("no-page");
    let answer = common::run(
        common::program().args(SHORT).arg("--no-store").env("XDG_DATA_HOME", &folder.0),
    );
    assert!(!answer.stderr.contains("page"), "{answer:#?}");
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 0);
}

#[test]
fn the_name_or_the_format_asks_for_a_page() {
    let folder = Folder::new("asked");
    let json = folder.path("run.json");
    chronoscope(&[&SHORT[..], &["--no-store", "--format", "json", "-o", &json]].concat());
    let [named, plain, other] = ["a.html", "b", "c.html"].map(|name| folder.path(name));
    chronoscope(&["report", &json, "-o", &named]).exits(0);
    chronoscope(&["report", &json, "--format", "html", "-o", &plain]).exits(0);
    assert_eq!(page(&named), page(&plain));
    chronoscope(&["report", &json, "--format", "csv", "-o", &other]).exits(0);
    assert!(fs::read_to_string(&other).unwrap().starts_with("experiment,"));
    chronoscope(&["report", &json, &json, "-o", &named]).exits(0);
    page(&named);
    chronoscope(&["report", &json, &json]).complains("in a page only");
}

#[test]
fn runs_are_compared_in_a_page() {
    let folder = Folder::new("compared-page");
    let json = folder.path("run.json");
    let words = ["--repeat=5", "--no-store", "--format", "json", "-o", &json];
    chronoscope(&[&SHORT[..8], &words].concat());
    let file = folder.path("c.html");
    let table = chronoscope(&["compare", &json, &json]);
    let two = chronoscope(&["compare", &json, &json, "-o", &file]);
    assert_eq!((two.status, two.stdout.as_str()), (table.status, ""));
    assert!(page(&file).contains("data-kind=\"ratio\""));
    let three = chronoscope(&["compare", &json, &json, &json, "-o", &file]);
    assert_eq!(three.status, table.status);
    assert_eq!(page(&file).matches("class=\"comparison\"").count(), 2);
    chronoscope(&["compare", &json, &json, &json]).complains("in a page only");
}

#[test]
fn a_page_of_two_runs_shows_the_others_of_the_store() {
    let folder = Folder::new("course-page");
    let store = folder.path("runs.sqlite");
    let file = folder.path("c.html");
    for known in 1..=4 {
        run(&store, &["-q"]);
        let call = ["compare", "1", "last", "--store", &store, "-o", &file];
        assert!(matches!(chronoscope(&call).status, Some(0 | 3 | 4)));
        assert_eq!(
            page(&file).contains(&format!("run 1 to run {known}, {known} of the store")),
            known > 2,
            "{known}"
        );
    }
}

#[test]
fn a_wrong_run_gives_one_line_and_no_page() {
    let folder = Folder::new("wrong-page");
    let file = folder.path("page.html");
    let run_file = folder.path("run.json");
    chronoscope(&[&SHORT[..], &["--no-store", "--format", "json", "-o", &run_file]].concat());
    let text = fs::read_to_string(&run_file).unwrap();
    let newer = folder.file("newer.json", text.replacen("\"schema\": 2", "\"schema\": 7", 1));
    chronoscope(&["report", &newer, "-o", &file]).complains("7");
    let cut = folder.file("cut.json", &text[..text.len() / 2]);
    chronoscope(&["report", &cut, "-o", &file]).complains("cut.json");
    let store = folder.path("runs.sqlite");
    run(&store, &["-q"]);
    let bytes = fs::read(&store).unwrap();
    fs::write(&store, &bytes[..bytes.len() / 3]).unwrap();
    chronoscope(&["report", "last", "--store", &store, "-o", &file]).complains("runs.sqlite");
    assert!(!Path::new(&file).exists());
}
