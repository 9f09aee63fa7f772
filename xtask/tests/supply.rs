//! The table *What is fetched* of docs/security.md against the tree, and what cargo and pip do with a
//! file that has another hash than the pinned one.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{self, Command, Output},
};

const PAGE: &str = "docs/security.md";

/// The registry that every lock file names.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// pip's option for a list with hashes.
const CHECKED: &str = "--require-hashes";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The tree's files, relative to the root, without those that were built.
fn files() -> Vec<String> {
    fn walk(folder: &Path, root: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() && !path.is_symlink() {
                if !["target", ".git"].contains(&name) {
                    walk(&path, root, found);
                }
            } else {
                found.push(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    let mut found = Vec::new();
    walk(&root(), &root(), &mut found);
    found
}

/// Returns whether a file says what is to be fetched.
fn is_manifest(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap();
    ["Cargo.lock", "packages.txt", "cores.txt", "Containerfile", "rust-toolchain.toml"]
        .contains(&name)
        || is_list_of_wheels(path)
        || path.starts_with(".github/workflows/")
}

fn is_list_of_wheels(path: &str) -> bool {
    path.ends_with("requirements.txt") || path.ends_with("/cores.txt")
}

/// The rows of the table: the file of the first cell, and the line.
fn rows() -> Vec<(String, String)> {
    let page = read(PAGE);
    let part = page.split("## What is fetched").nth(1).unwrap().split("\n## ").next().unwrap();
    let row = |line: &str| {
        let file = line.strip_prefix("| `")?.split('`').next()?;
        Some((file.to_owned(), line.to_owned()))
    };
    part.lines().filter_map(row).collect()
}

#[test]
fn everything_that_is_fetched_has_a_row() {
    let (rows, files) = (rows(), files());
    for file in files.iter().filter(|file| is_manifest(file)) {
        assert!(rows.iter().any(|(row, _)| row == file), "{PAGE} has no row of {file}");
    }
    for (row, _) in &rows {
        assert!(files.contains(row), "{PAGE} has a row of {row}, which is not there");
    }
}

/// Signs that a program or a script fetches something.
const SIGNS: [&str; 7] = [
    "\"rustup\"",
    "(\"apt-get\")",
    "bin/pip\"",
    "\"-m\", \"pip\"",
    "curl --",
    "$become apt-get",
    "apt_get \"$@\"",
];

/// The files with such a sign, and the row of what each fetches.
const FETCHERS: [(&str, &str); 8] = [
    // Asks for an answer and fetches no file.
    ("ci/comment", "ci/install"),
    ("ci/install", "ci/install"),
    ("lab/machine/src/vm/apt.rs", "lab/machine/src/vm/kernel.rs"),
    ("lab/tests/guests/culprits.rs", "lab/tests/guests/culprits.rs"),
    ("tools/packages", "tools/packages.txt"),
    ("xtask/src/bench.rs", "bench/cores.txt"),
    ("xtask/src/python.rs", "tools/test-requirements.txt"),
    ("xtask/src/rust.rs", "rust-toolchain.toml"),
];

#[test]
fn everything_that_fetches_has_a_row() {
    let rows = rows();
    let is_code = |file: &&String| {
        let is_script = ["ci/", ".ci/", "tools/"].iter().any(|folder| file.starts_with(folder));
        (file.ends_with(".rs") || is_script) && !file.starts_with("xtask/tests/")
    };
    let mut known = Vec::new();
    for file in files().iter().filter(is_code) {
        let text = read(file);
        if SIGNS.iter().any(|sign| text.contains(sign)) {
            let listed = FETCHERS.iter().find(|(fetcher, _)| fetcher == file);
            let row = listed.map_or(file.as_str(), |(_, row)| row);
            assert!(rows.iter().any(|(one, _)| one == row), "{PAGE} has no row of {file}");
            known.push(file.clone());
        }
    }
    for (fetcher, _) in FETCHERS {
        assert!(known.iter().any(|file| file == fetcher), "{fetcher} fetches nothing");
    }
}

#[test]
fn every_test_that_a_row_names_exists() {
    let mut named = 0;
    for (row, line) in rows() {
        for test in line.split('`').filter(|word| word.contains("::")) {
            let (file, name) = test.rsplit_once("::").unwrap();
            let declared = format!("#[test]\n{}fn {name}() {{", indent(file));
            assert!(read(file).contains(&declared), "the row of {row} names {test}");
            named += 1;
        }
    }
    assert!(named >= 6, "{named}");
}

/// The indent of tests: those beside the code are in a module.
fn indent(file: &str) -> &str {
    if file.contains("/tests/") { "" } else { "    " }
}

/// The images and actions of a workflow or a container file, without their tags.
fn fetched_by(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let line = line.trim().trim_start_matches("- ");
        let name = ["uses: ", "image: ", "FROM docker.io/library/"]
            .iter()
            .find_map(|key| line.strip_prefix(key))?;
        Some(name.split('@').next().unwrap())
    })
}

#[test]
fn a_row_of_a_workflow_names_all_that_it_fetches() {
    let mut seen = 0;
    for (row, line) in rows() {
        if row.starts_with(".github/") || row.ends_with("Containerfile") {
            for name in fetched_by(&read(&row)) {
                assert!(line.contains(name), "the row of {row} does not name {name}");
                seen += 1;
            }
        }
    }
    assert!(seen >= 8, "{seen}");
}

#[test]
fn every_crate_and_every_wheel_has_a_hash() {
    let files = files();
    for lock in files.iter().filter(|file| file.ends_with("Cargo.lock")) {
        let text = read(lock);
        let packages: Vec<&str> = text.split("[[package]]\n").skip(1).collect();
        assert!(!packages.is_empty(), "{lock}");
        for package in packages.iter().filter(|package| package.contains("\nsource = ")) {
            assert!(
                package.contains(&format!("\nsource = \"{REGISTRY}\"\nchecksum = \"")),
                "{lock}: {package}"
            );
        }
    }
    for list in files.iter().filter(|file| is_list_of_wheels(file)) {
        // An entry goes on where its line ends with a backslash.
        let text = read(list).replace("\\\n", " ");
        let is_entry =
            |line: &&str| !line.starts_with('#') && !line.starts_with("--") && !line.is_empty();
        let entries: Vec<&str> = text.lines().filter(is_entry).collect();
        assert!(!entries.is_empty(), "{list}");
        for entry in entries {
            assert!(entry.contains("==") && entry.contains("--hash=sha256:"), "{list}: {entry}");
        }
    }
}

#[test]
fn advisories_are_read_each_week_for_every_list() {
    let workflow = read(".github/workflows/advisories.yml");
    assert!(workflow.contains("  schedule:\n") && workflow.contains("- cron: "));
    for words in ["git ls-files '*Cargo.lock'", "git ls-files '*requirements.txt' bench/cores.txt"]
    {
        assert!(workflow.contains(words), "{words}");
    }
}

/// A folder of the test; removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = env::temp_dir().join(format!("chronoscope-supply-{}-{name}", process::id()));
        fs::create_dir_all(folder.join("src")).unwrap();
        Self(folder)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A crate that this test was built with, in a lock file with its own hash and with another.
#[test]
fn a_crate_with_another_hash_is_refused() {
    let lock = read("Cargo.lock");
    let entry = lock.split("[[package]]\n").find(|entry| entry.starts_with("name = \"anyhow\"\n"));
    let field = |name: &str| {
        let line = entry.unwrap().lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim_start_matches(" = ").trim_matches('"')
    };
    let (version, checksum) = (field("version"), field("checksum"));
    let folder = Folder::new("crate");
    folder.write("src/lib.rs", "");
    let head = "name = \"user\"\nversion = \"0.0.0\"\n";
    folder.write(
        "Cargo.toml",
        &format!("[package]\n{head}[workspace]\n[dependencies]\nanyhow = \"={version}\"\n"),
    );
    let fetch = |checksum: &str| {
        let text = format!(
            "version = 4\n\n[[package]]\nname = \"anyhow\"\nversion = \"{version}\"\n\
             source = \"{REGISTRY}\"\nchecksum = \"{checksum}\"\n\n\
             [[package]]\n{head}dependencies = [\n \"anyhow\",\n]\n"
        );
        folder.write("Cargo.lock", &text);
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["fetch", "--locked", "--offline"]).current_dir(&folder.0).output().unwrap()
    };
    let output = fetch(checksum);
    assert!(output.status.success(), "{output:?}");
    let output = fetch(&"0".repeat(64));
    assert!(!output.status.success());
    let told = format!("checksum for `anyhow v{version}` changed between lock files");
    assert!(stderr(&output).contains(&told), "{output:?}");
}

/// pip, as a module of the system's Python or from the wheel that its environments start with.
fn pip() -> Command {
    let mut python = Command::new("/usr/bin/python3");
    let has_module = python.args(["-m", "pip", "--version"]).output();
    let mut pip = Command::new("/usr/bin/python3");
    if has_module.is_ok_and(|output| output.status.success()) {
        pip.args(["-m", "pip"]);
        return pip;
    }
    let mut wheels = fs::read_dir("/usr/share/python-wheels").expect("python3-venv is installed");
    let wheel = wheels.find_map(|entry| {
        let path = entry.unwrap().path();
        let name = path.file_name()?.to_str()?;
        (name.starts_with("pip-") && name.ends_with(".whl")).then_some(path)
    });
    pip.arg(wheel.expect("the wheel of pip").join("pip"));
    pip
}

/// A wheel of the test, in a list with its own hash and with another, for the option that every
/// call of pip in xtask has.
#[test]
fn a_wheel_with_another_hash_is_refused() {
    for source in ["xtask/src/python.rs", "xtask/src/bench.rs"] {
        assert!(read(source).contains(&format!("\"{CHECKED}\"")), "{source}");
    }
    let folder = Folder::new("wheel");
    let wheel = folder.0.join("tiny-1-py3-none-any.whl");
    let script = "import hashlib, sys, zipfile\n\
                  with zipfile.ZipFile(sys.argv[1], 'w') as wheel:\n \
                  wheel.writestr('tiny-1.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: tiny\\nVersion: 1\\n')\n \
                  wheel.writestr('tiny-1.dist-info/WHEEL', 'Wheel-Version: 1.0\\nTag: py3-none-any\\n')\n \
                  wheel.writestr('tiny-1.dist-info/RECORD', '')\n\
                  print(hashlib.sha256(open(sys.argv[1], 'rb').read()).hexdigest())\n";
    let made = Command::new("/usr/bin/python3").args(["-c", script]).arg(&wheel).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let hash = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    let fetch = |entry: &str| {
        let list = folder.write("list.txt", entry);
        let mut pip = pip();
        pip.args(["--disable-pip-version-check", "download", CHECKED, "--no-index", "--dest"]);
        pip.arg(folder.0.join("got")).arg("--find-links").arg(&folder.0);
        pip.arg("--requirement").arg(list).output().unwrap()
    };
    let output = fetch(&format!("tiny==1 --hash=sha256:{hash}\n"));
    assert!(output.status.success(), "{output:?}");
    let output = fetch(&format!("tiny==1 --hash=sha256:{}\n", "0".repeat(64)));
    assert!(!output.status.success() && stderr(&output).contains("DO NOT MATCH THE HASHES"));
    let output = fetch("tiny==1\n");
    assert!(!output.status.success(), "a wheel without a hash");
}

/// A crate that is published needs published crates alone: cargo finds the others on no registry.
#[test]
fn a_published_crate_needs_published_crates() {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--no-deps", "--locked", "--format-version", "1"]);
    let output = cargo.current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    // No registry at all: `publish = false`.
    let kept: Vec<&str> = packages
        .iter()
        .filter(|package| package["publish"].as_array().is_some_and(Vec::is_empty))
        .map(|package| package["name"].as_str().unwrap())
        .collect();
    assert!(kept.contains(&"xtask"), "{kept:?}");
    for package in packages {
        let name = package["name"].as_str().unwrap();
        for needed in package["dependencies"].as_array().unwrap() {
            // Cargo leaves out a dependency of tests that has no version.
            let (needed, is_for_tests) =
                (needed["name"].as_str().unwrap(), needed["kind"] == "dev");
            let is_found = kept.contains(&name) || is_for_tests || !kept.contains(&needed);
            assert!(is_found, "{name} is published, and needs {needed}, which is not");
        }
    }
}
