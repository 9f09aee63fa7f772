//! The pages on tandem list all faults that end a program: every message of a panic in the kernel's
//! sources is on one of them.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The Rust files of the kernel, except those that are for tests on the host.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        match path.is_dir() {
            true if name != "tests" => sources(&path, found),
            false if name.ends_with(".rs") && name != "host.rs" => found.push(path),
            _ => {}
        }
    }
}

/// The string literals that end the arguments of `panic!`, `assert!` and `expect`.
fn messages(source: &str) -> Vec<&str> {
    let mut messages = Vec::new();
    for start in ["panic!(", " assert!(", "(assert!(", ".expect("] {
        for (at, _) in source.match_indices(start) {
            let call = &source[at..];
            let call = &call[..call.find(";\n").unwrap_or(call.len())];
            let line = source[..at].rsplit('\n').next().unwrap_or_default();
            let is_internal = line.trim_start().starts_with("const _: ()");
            if is_internal
                || line.trim_start().starts_with("//")
                || call[start.len()..].starts_with("should")
            {
                continue;
            }
            if let Some(literal) = call.split('"').nth(1) {
                messages.push(literal);
            }
        }
    }
    messages
}

/// The parts of a message between its values.
fn parts(message: &str) -> impl Iterator<Item = &str> {
    message.split(['{', '}']).step_by(2).map(|part| part.trim_matches([' ', ',', ':']))
}

#[test]
fn every_report_of_the_kernel_is_on_a_page() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let pages =
        ["tandem.md", "tandem-c.md", "processes.md"].map(|name| root.join("docs").join(name));
    let page = pages.map(|page| fs::read_to_string(page).unwrap()).concat();
    let mut files = Vec::new();
    sources(&root.join("tandem/src"), &mut files);
    let (mut checked, mut missing) = (0, Vec::new());
    for file in files {
        let source = fs::read_to_string(&file).unwrap();
        let source = source.split("#[cfg(test)]\nmod ").next().unwrap();
        for message in messages(source) {
            checked += 1;
            if !parts(message).all(|part| page.contains(part)) {
                missing.push(format!("{}: {message}", file.display()));
            }
        }
    }
    assert!(checked > 20, "{checked}");
    assert!(missing.is_empty(), "the pages on tandem lack:\n{}", missing.join("\n"));
}
