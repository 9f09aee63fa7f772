//! The examples of `docs/adding.md` compile where the page says that they stand: in a copy of the
//! repository, made of links, in which the files that the page names are real.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

/// The place of an example, from the line above it.
#[derive(Debug, PartialEq)]
enum Place<'a> {
    /// A file of its own.
    New,
    /// Above the first line that begins with this.
    Above(&'a str),
    /// Below the first line that begins with this.
    Below(&'a str),
    /// In place of the first line that begins with this.
    For(&'a str),
}

/// An example: its file relative to the repository, its place there, and its code.
#[derive(Debug, PartialEq)]
struct Example<'a> {
    file: &'a str,
    place: Place<'a>,
    code: String,
}

/// Reads a line such as `` `FILE`, below `LINE`: `` or `` `FILE`, above `LINE`, its end: ``; `None`
/// for other text.
fn place(line: &str) -> Option<(&str, Place<'_>)> {
    let (file, rest) = line.strip_prefix('`')?.strip_suffix(':')?.split_once("`, ")?;
    let Some((word, rest)) = rest.split_once(" `") else {
        return (rest == "new").then_some((file, Place::New));
    };
    let (line, remark) = rest.split_once('`')?;
    let place = match word {
        "above" => Place::Above(line),
        "below" => Place::Below(line),
        "in place of" => Place::For(line),
        _ => return None,
    };
    (remark.is_empty() || remark.starts_with(", ")).then_some((file, place))
}

/// The Rust blocks of a page.
///
/// # Panics
/// If a block has no line above it that says where it stands.
fn examples(page: &str) -> Vec<Example<'_>> {
    let mut found = Vec::new();
    let (mut above, mut lines) = ("", page.lines().enumerate());
    while let Some((number, line)) = lines.next() {
        if !line.starts_with("```") {
            above = if line.is_empty() { above } else { line };
            continue;
        }
        let block = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```");
        let code = block.flat_map(|line| [line, "\n"]).collect();
        if line == "```rust" {
            let (file, place) = place(above)
                .unwrap_or_else(|| panic!("line {}: `{above}` is no place", number + 1));
            found.push(Example { file, place, code });
        }
        above = "";
    }
    found
}

/// The texts of the files that the examples change, by their paths relative to the repository.
fn changed(root: &Path, examples: &[Example<'_>]) -> BTreeMap<PathBuf, String> {
    let mut texts = BTreeMap::<PathBuf, String>::new();
    for Example { file, place, code } in examples {
        let path = PathBuf::from(file);
        let read = || fs::read_to_string(root.join(&path)).unwrap_or_default();
        let text = texts.entry(path.clone()).or_insert_with(read);
        let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
        let find = |start: &str| {
            let found = lines.iter().position(|line| line.trim_start().starts_with(start));
            found.unwrap_or_else(|| panic!("{}: no line begins with `{start}`", path.display()))
        };
        match place {
            Place::New => {
                assert!(!root.join(&path).exists(), "{} exists already", path.display());
                lines.push(code);
            }
            Place::Above(start) => lines.insert(find(start), code),
            Place::Below(start) => lines.insert(find(start) + 1, code),
            Place::For(start) => {
                let at = find(start);
                lines[at] = code;
            }
        }
        *text = lines.concat();
    }
    texts
}

/// Makes `copy` a copy of the folder `root` whose `files` are real, with these texts, and in which
/// everything else is links. Files whose text is the same keep their time, so cargo compiles nothing
/// twice.
fn mirror(root: &Path, copy: &Path, files: &BTreeMap<PathBuf, String>) {
    fs::create_dir_all(copy).unwrap();
    let firsts = files.keys().filter_map(|path| path.iter().next().map(PathBuf::from));
    let entries = fs::read_dir(root).into_iter().flatten();
    let entries = entries.map(|entry| PathBuf::from(entry.unwrap().file_name()));
    let names: BTreeSet<PathBuf> = entries
        .chain(firsts)
        .filter(|name| !["target", ".git"].iter().any(|other| name == Path::new(other)))
        .collect();
    for entry in fs::read_dir(copy).unwrap().map(Result::unwrap) {
        if !names.contains(Path::new(&entry.file_name())) {
            remove(&entry.path());
        }
    }
    for name in names {
        let (from, to) = (root.join(&name), copy.join(&name));
        let inside: BTreeMap<PathBuf, String> = files
            .iter()
            .filter_map(|(path, text)| Some((path.strip_prefix(&name).ok()?.into(), text.clone())))
            .collect();
        match inside.get(Path::new("")) {
            Some(text) => {
                if to.is_symlink() || fs::read_to_string(&to).ok().as_ref() != Some(text) {
                    remove(&to);
                    fs::write(&to, text).unwrap();
                }
            }
            None if inside.is_empty() => {
                // A link of the repository leads to the same place of the copy.
                let leads = fs::read_link(&from).unwrap_or(from);
                if fs::read_link(&to).ok().as_ref() != Some(&leads) {
                    remove(&to);
                    symlink(leads, &to).unwrap();
                }
            }
            None => {
                if to.is_symlink() {
                    remove(&to);
                }
                mirror(&from, &to, &inside);
            }
        }
    }
}

/// Removes a file, a link or a folder, if it is there.
fn remove(path: &Path) {
    let _ = if path.is_dir() && !path.is_symlink() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    };
}

#[test]
fn every_example_compiles_in_its_place() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let page = fs::read_to_string(root.join("docs/adding.md")).unwrap();
    let examples = examples(&page);
    assert!(examples.len() > 12, "{} examples", examples.len());
    let mut files = changed(root, &examples);
    let packages: BTreeSet<String> = files
        .keys()
        .map(|file| {
            let manifest = file.ancestors().map(|folder| root.join(folder).join("Cargo.toml"));
            let manifest = manifest.into_iter().find(|path| path.is_file()).unwrap();
            let manifest: toml::Table = fs::read_to_string(manifest).unwrap().parse().unwrap();
            manifest["package"]["name"].as_str().unwrap().to_owned()
        })
        .collect();
    // By another version cargo tells the copy's packages from the repository's in one build folder.
    let version = concat!("\nversion = \"", env!("CARGO_PKG_VERSION"), "\"\n");
    let other = concat!("\nversion = \"", env!("CARGO_PKG_VERSION"), "+additions\"\n");
    let read = |name: &str| fs::read_to_string(root.join(name)).unwrap();
    let manifest = read("Cargo.toml");
    assert!(manifest.contains(version), "Cargo.toml has the version of all packages");
    files.insert("Cargo.toml".into(), manifest.replace(version, other));
    files.insert("Cargo.lock".into(), read("Cargo.lock"));
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let copy = target.join("additions");
    mirror(root, &copy, &files);

    let mut cargo = Command::new("cargo");
    cargo.args(["check", "--offline", "--quiet", "--target-dir"]).arg(target);
    for package in &packages {
        cargo.args(["--package", package]);
    }
    let output = cargo.current_dir(&copy).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let is_clean = output.status.success() && !said.contains("warning");
    assert!(is_clean, "cargo check of {packages:?} in {}:\n{said}", copy.display());
}

/// The files and folders that a page names in backticks, but for placeholders such as `KERNEL` and
/// the additions' own.
fn named<'a>(page: &'a str, own: &BTreeSet<&str>) -> Vec<&'a str> {
    let is_placeholder = |name: &str| {
        let word = name.split(['-', '.']).next().unwrap_or_default();
        let is_upper = word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_uppercase());
        is_upper && !["README", "CHANGELOG"].contains(&word) || own.contains(word)
    };
    let codes = page.lines().filter(|line| !line.starts_with("```"));
    let codes = codes.flat_map(|line| line.split('`').skip(1).step_by(2));
    let is_path = |code: &&str| {
        let folders = ["lab", "suite", "ports", "docs", "xtask", "tandem", "fuzz", "bench"];
        let more = ["studies", "tools", "changelog"];
        let first = code.split_once('/').map_or("", |(first, _)| first);
        !code.contains(' ') && (folders.contains(&first) || more.contains(&first))
    };
    codes.filter(is_path).filter(|path| !path.split('/').any(is_placeholder)).collect()
}

#[test]
fn every_file_that_the_pages_name_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let own = ["echo", "mine", "twin", "names", "levels", "seq"].into();
    let mut missing = Vec::new();
    for page in ["CONTRIBUTING.md", "docs/adding.md", "docs/architecture.md"] {
        let text = fs::read_to_string(root.join(page)).unwrap();
        let named = named(&text, &own);
        assert!(named.len() > 10, "{page}: {named:?}");
        let lost = named.into_iter().filter(|file| !root.join(file).exists());
        missing.extend(lost.map(|file| format!("{page}: {file}")));
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn an_example_says_where_it_stands() {
    let page = "Text.\n\n`a/b.rs`, new:\n\n```rust\nfn f() {}\n```\n\n\
        `c.rs`, below `mod a;`:\n\n```rust\nmod b;\n```\n\n```sh\nls\n```\n\n\
        `c.rs`, in place of `const N`:\n\n```rust\nconst N: u8 = 2;\n```\n\n\
        `c.rs`, above `}`, the end of `main`:\n\n```rust\n    f();\n```\n";
    let example = |file, place, code: &str| Example { file, place, code: code.to_owned() };
    let found = examples(page);
    let expected = [
        example("a/b.rs", Place::New, "fn f() {}\n"),
        example("c.rs", Place::Below("mod a;"), "mod b;\n"),
        example("c.rs", Place::For("const N"), "const N: u8 = 2;\n"),
        example("c.rs", Place::Above("}"), "    f();\n"),
    ];
    assert_eq!(found, expected);
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("additions-root");
    fs::create_dir_all(&root).unwrap();
    fs::write(root.join("c.rs"), "mod a;\nconst N: u8 = 1;\nfn main() {\n}\n").unwrap();
    let texts = changed(&root, &found);
    assert_eq!(texts[Path::new("a/b.rs")], "fn f() {}\n");
    let expected = "mod a;\nmod b;\nconst N: u8 = 2;\nfn main() {\n    f();\n}\n";
    assert_eq!(texts[Path::new("c.rs")], expected);
}

#[test]
#[should_panic(expected = "line 3: `Text.` is no place")]
fn an_example_without_a_place_is_refused() {
    examples("Text.\n\n```rust\nfn f() {}\n```\n");
}
