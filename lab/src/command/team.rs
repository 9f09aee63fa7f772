//! The page of a store: `chronoscope report --history` writes it as files, `chronoscope serve` shows
//! it to a browser on this machine.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use anyhow::{Result, bail};

use super::history::Filter;
use crate::{cli, http::Answer, http::Server};
use chronoscope_base::{console, signals};
use chronoscope_report::{self as report, html::team};
use chronoscope_run::history::CaseRow;
use chronoscope_store::Store;
use chronoscope_units::printable;

/// The folder of the files, unless another is given.
const FOLDER: &str = "chronoscope-history";

/// The most pages of runs that are written beside the page.
const PAGES: usize = 50;

/// The rows of the page; an error if there are none.
fn rows(store: &Store, filter: &Filter<'_>, limit: u32) -> Result<Vec<CaseRow>> {
    let rows = store.all_cases_of(&filter.which(), limit)?;
    if rows.is_empty() {
        bail!("there is no run in the store{}: `chronoscope run` stores one", filter.words());
    }
    Ok(rows)
}

/// Writes the page and those of the runs that a reader of it may want to open.
pub(super) fn write(arguments: &cli::Report) -> Result<u8> {
    let folder = arguments.output.output.clone().unwrap_or_else(|| PathBuf::from(FOLDER));
    if folder.is_file() || folder.extension().is_some_and(|extension| extension == "html") {
        bail!(
            "--history: {}: is a file, and the page has several: name a folder with -o",
            folder.display()
        );
    }
    let filter = Filter::read(&arguments.filter)?;
    let store = Store::open(&arguments.store.place()?)?;
    let rows = rows(&store, &filter, arguments.limit)?;
    let mut linked = BTreeSet::new();
    for number in team::notable(&rows, PAGES) {
        // A damaged run has no page, and the figures of the others are no worse.
        let Ok(run) = store.run(number) else { continue };
        report::page(&run, &folder.join(format!("runs/{number}.html")))?;
        linked.insert(number);
    }
    let page = team::render(&rows, &filter.words(), &|run| linked.contains(&run));
    let index = folder.join("index.html");
    report::text(&page, &index)?;
    if !arguments.output.quiet {
        console::remark(&format!("page: {}", index.display()));
    }
    Ok(0)
}

/// Shows the page, and that of any run, until a signal.
pub(super) fn serve(arguments: &cli::Serve) -> Result<u8> {
    let stop = signals::watch()?;
    let filter = Filter::read(&arguments.filter)?;
    let store = Store::open(&arguments.store.place()?)?;
    // Faults of the store are told here rather than to the browser.
    rows(&store, &filter, 1)?;
    let server = Server::at(arguments.port)?;
    console::remark(&format!("the store is shown at {} (Ctrl-C ends)", server.url()));
    let store = Mutex::new(store);
    server.serve(stop, |path| {
        let store = store.lock().unwrap_or_else(PoisonError::into_inner);
        answer(&store, path, &filter, arguments.limit)
    })?;
    Ok(0)
}

/// The answer for a path; a path is a word, and never a file's.
fn answer(store: &Store, path: &str, filter: &Filter<'_>, limit: u32) -> Answer {
    let page = match path {
        "/" | "/index.html" => {
            rows(store, filter, limit).map(|rows| team::render(&rows, &filter.words(), &|_| true))
        }
        "/favicon.ico" => return Answer::Nothing,
        path => match number(path) {
            Some(number) if store.has(number).unwrap_or(true) => {
                store.run(number).map(|run| report::html::render(&[(String::new(), &run)]))
            }
            _ => return Answer::NotFound,
        },
    };
    page.map_or_else(|error| Answer::Failed(printable(&format!("{error:#}"))), Answer::Page)
}

/// The number in `/runs/12.html`.
fn number(path: &str) -> Option<i64> {
    let digits = path.strip_prefix("/runs/")?.strip_suffix(".html")?;
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
    digits.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_run_or_nothing() {
        assert_eq!(number("/runs/12.html"), Some(12));
        for wrong in [
            "/runs/.html",
            "/runs/0.html",
            "/runs/012.html",
            "/runs/-1.html",
            "/runs/+1.html",
            "/runs/1.html/",
            "/runs/../1.html",
            "/runs/1.html?x",
            "/runs/%31.html",
            "/runs/99999999999999999999.html",
            "runs/1.html",
            "/1.html",
            "//runs/1.html",
        ] {
            assert_eq!(number(wrong), None, "{wrong}");
        }
    }
}
