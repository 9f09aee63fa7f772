//! Comments in Rust sources avoid the words that a reader stumbles on (CONTRIBUTING.md, "Rules for
//! comments"), functions have names that say what they make, and libraries document what they
//! publish.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Words that no comment has, in lower case.
const PHRASES: [&str; 7] =
    ["that of", "those of", "is told", "are told", "was told", "were told", "so many"];

/// Words that no documentation begins with: it names its subject, or a verb with an object.
const BEGINNINGS: [&str; 13] = [
    "it", "they", "this", "that", "these", "those", "what", "who", "where", "whether", "which",
    "as", "of",
];

/// A name that says nothing: `new`, `from_x`, `for_x` or a noun names the result.
const NAME: &str = concat!("fn ", "of(");

/// Comments that may have such words: the end of the file's path, and a part of the comment.
const EXCEPTIONS: [(&str, &str); 0] = [];

/// The attribute of a library by which the compiler warns of a public item without documentation.
/// Clippy, as the quick test runs it, refuses the warning.
const DOCUMENTED: &str = "#![warn(missing_docs)]";

/// A comment of consecutive lines, joined by blanks.
#[derive(Debug, PartialEq)]
struct Comment {
    /// The number of its first line, from 1.
    line: usize,
    is_documentation: bool,
    text: String,
}

/// The comments of a source. A comment behind code is one of its own.
fn comments(source: &str) -> Vec<Comment> {
    let mut comments: Vec<Comment> = Vec::new();
    let mut marker = "";
    for (index, line) in source.lines().enumerate() {
        let found = ["///", "//!", "//"]
            .into_iter()
            .find_map(|marker| Some((marker, line.trim_start().strip_prefix(marker)?.trim())));
        let behind = || Some(("", line.split_once(" // ")?.1.trim()));
        let Some((new, text)) = found.or_else(behind) else {
            marker = "";
            continue;
        };
        match comments.last_mut() {
            Some(last) if marker == new && !new.is_empty() => last.text += &format!(" {text}"),
            _ => comments.push(Comment {
                line: index + 1,
                is_documentation: new.len() == 3,
                text: text.to_owned(),
            }),
        }
        marker = new;
    }
    comments
}

/// The faults of a comment: each phrase as often as the comment has it, and the beginning.
fn faults(comment: &Comment) -> Vec<&'static str> {
    let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_';
    let words: Vec<String> = comment
        .text
        .split(|letter| !is_letter(letter))
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let mut faults = Vec::new();
    for phrase in PHRASES {
        let parts: Vec<&str> = phrase.split(' ').collect();
        let found = words.windows(parts.len()).filter(|window| *window == parts);
        faults.extend(found.map(|_| phrase));
    }
    let begins = |beginning: &&&str| words.first().is_some_and(|word| word == **beginning);
    if comment.is_documentation {
        faults.extend(BEGINNINGS.iter().find(begins));
    }
    faults
}

/// The Rust files below a folder, except those in build folders.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        match path.is_dir() {
            true if name != "target" && !name.starts_with('.') => sources(&path, found),
            false if name.ends_with(".rs") => found.push(path),
            _ => {}
        }
    }
}

#[test]
fn comments_name_their_subjects_and_functions_what_they_make() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    sources(root, &mut files);
    files.sort();
    let mut failures = Vec::new();
    for path in &files {
        let file = path.strip_prefix(root).unwrap();
        let source = fs::read_to_string(path).unwrap();
        let names = source.lines().enumerate().filter(|(_, line)| line.contains(NAME));
        failures
            .extend(names.map(|(index, line)| format!("{}:{}: {line}", file.display(), index + 1)));
        for comment in comments(&source) {
            let is_exception =
                |(end, part): &(&str, &str)| file.ends_with(end) && comment.text.contains(part);
            if EXCEPTIONS.iter().any(is_exception) {
                continue;
            }
            let place = format!("{}:{}", file.display(), comment.line);
            let found = faults(&comment).into_iter();
            failures.extend(found.map(|fault| format!("{place}: `{fault}`: {}", comment.text)));
        }
    }
    assert!(files.len() > 500, "{} files", files.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn every_library_documents_what_it_publishes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let manifest: toml::Table = manifest.parse().unwrap();
    let members = manifest["workspace"]["members"].as_array().unwrap().iter();
    let members: Vec<&str> = members.map(|member| member.as_str().unwrap()).collect();
    let lacks = |member: &&&str| {
        let library = fs::read_to_string(root.join(member).join("src/lib.rs"));
        library.is_ok_and(|text| !text.lines().any(|line| line == DOCUMENTED))
    };
    let lacking: Vec<&str> = members.iter().filter(lacks).copied().collect();
    assert!(lacking.is_empty(), "src/lib.rs needs {DOCUMENTED}: {lacking:?}");
    assert!(members.contains(&"tandem"), "{members:?}");
}

#[test]
fn comments_are_found_where_they_are() {
    let source =
        "//! Head\n//! of a module.\n\n/// One.\nfn f() { // behind\n// Two\n    // three.\n}";
    let comment = |line, is_documentation, text: &str| Comment {
        line,
        is_documentation,
        text: text.to_owned(),
    };
    let expected = [
        comment(1, true, "Head of a module."),
        comment(4, true, "One."),
        comment(5, false, "behind"),
        comment(6, false, "Two three."),
    ];
    assert_eq!(comments(source), expected);
}

#[test]
fn each_fault_is_found() {
    let faults_of = |source: &str| faults(&comments(source)[0]);
    assert_eq!(
        faults_of("// The size is that\n// of the file, so many bytes."),
        ["that of", "so many"]
    );
    assert_eq!(faults_of("/// What it prints."), ["what"]);
    assert_eq!(faults_of("// What it prints."), [""; 0]);
    assert_eq!(faults_of("/// Item. That offer is whatever."), [""; 0]);
}
