//! The changelog: fragments in the folder `changelog`, one file a change and one line a file, and
//! the release that moves them into `CHANGELOG.md`.

use std::{fs, path::Path};

use anyhow::{Context, Result, bail, ensure};

use crate::{repository::root, say};

pub const USAGE: &str = "changelog check|release VERSION DATE  \
    checks the entries of the changelog; or moves them below the heading of a version";

/// The folder of fragments, and the file with its rules, which is no fragment.
const FOLDER: &str = "changelog";
const RULES: &str = "README.md";

const CHANGELOG: &str = "CHANGELOG.md";

/// The heading of the section of the next version, and the line below it.
const UNRELEASED: &str = "## Unreleased";
const NOTE: &str = "Further entries are files of [changelog](changelog/README.md).";

/// The beginnings of fragments' names and their headings, in the order of the headings.
const KINDS: [(&str, &str); 4] = [
    ("added", "### Added"),
    ("changed", "### Changed"),
    ("fixed", "### Fixed"),
    ("removed", "### Removed"),
];

/// The most characters of an entry: with its bullet, the line has 100 columns.
const LONGEST: usize = 98;

pub fn run(arguments: &[&str]) -> Result<()> {
    match *arguments {
        ["check"] => check(root()),
        ["release", version, date] => {
            let count = release(root(), version, date)?;
            say(&format!("{CHANGELOG} has {version}; files moved from {FOLDER}: {count}"));
            Ok(())
        }
        _ => bail!("usage: cargo xtask {USAGE}"),
    }
}

/// Checks the fragments, and the entries that [`CHANGELOG`] has for the next version.
///
/// # Errors
/// An entry breaks a rule, or a file cannot be read. The message names each such entry.
fn check(root: &Path) -> Result<()> {
    let mut faults = Vec::new();
    if let Err(error) = fragments(root) {
        faults.push(format!("{error:#}"));
    }
    let text = read(&root.join(CHANGELOG))?;
    for line in Sections::parse(&text)?.unreleased.lines() {
        let fault = match line.strip_prefix("- ") {
            Some(entry) => check_entry(entry),
            None if line.is_empty() || line.starts_with('#') || line == NOTE => Ok(()),
            None => Err(anyhow::anyhow!("it is neither a heading nor an entry of one line")),
        };
        if let Err(error) = fault {
            faults.push(format!("{CHANGELOG}: `{line}`: {error}"));
        }
    }
    ensure!(faults.is_empty(), "{}", faults.join("\n"));
    Ok(())
}

/// A file of the folder.
struct Fragment {
    name: String,
    /// The index of the kind in [`KINDS`].
    kind: usize,
    /// The entry, without a bullet and without the end of the line.
    entry: String,
}

/// Reads the fragments, in the order of their kinds and names.
///
/// # Errors
/// The folder cannot be read, or files break a rule. The message has a line for each such file.
fn fragments(root: &Path) -> Result<Vec<Fragment>> {
    let folder = root.join(FOLDER);
    let (mut found, mut faults) = (Vec::new(), Vec::new());
    let entries = fs::read_dir(&folder).with_context(|| format!("{}", folder.display()))?;
    for file in entries {
        let file = file?;
        let name = file.file_name().to_string_lossy().into_owned();
        if name == RULES {
            continue;
        }
        match read(&file.path()).and_then(|text| Fragment::parse(&name, &text)) {
            Ok(fragment) => found.push(fragment),
            Err(error) => faults.push(format!("{FOLDER}/{name}: {error:#}")),
        }
    }
    faults.sort();
    ensure!(faults.is_empty(), "{}", faults.join("\n"));
    found.sort_by(|one, other| (one.kind, &one.name).cmp(&(other.kind, &other.name)));
    Ok(found)
}

impl Fragment {
    fn parse(name: &str, text: &str) -> Result<Self> {
        let kinds = KINDS.map(|(kind, _)| kind).join(", ");
        let words = name.strip_suffix(".md").and_then(|stem| stem.split_once('-'));
        let kind = words.and_then(|(word, _)| KINDS.iter().position(|(kind, _)| *kind == word));
        let (Some(kind), Some((_, words))) = (kind, words) else {
            bail!("a name is KIND-WORDS.md, and KIND one of {kinds}");
        };
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        ensure!(
            words.split('-').all(|word| !word.is_empty() && word.bytes().all(is_plain)),
            "the words of a name are lower-case letters and digits, with hyphens between them"
        );
        let entry = text.strip_suffix('\n').context("its line has no end")?;
        check_entry(entry)?;
        Ok(Self { name: name.to_owned(), kind, entry: entry.to_owned() })
    }
}

/// Checks the text of an entry: one plain line, short, and without figures that belong in a document
/// or a commit.
fn check_entry(entry: &str) -> Result<()> {
    ensure!(!entry.contains('\n'), "an entry is one line");
    let length = entry.chars().count();
    ensure!(length <= LONGEST, "an entry has at most {LONGEST} characters: it has {length}");
    ensure!(entry.ends_with('.') && entry.len() > 1, "an entry is a sentence");
    ensure!(!entry.contains(char::is_control), "an entry has no control character");
    ensure!(!entry.contains("  ") && entry.trim() == entry, "an entry has single blanks");
    let first = entry.chars().next().unwrap_or_default();
    ensure!(
        first == '`' || first.is_alphanumeric(),
        "an entry begins with a word: a release adds the bullet"
    );
    ensure!(entry.matches('`').count().is_multiple_of(2), "a backtick is missing");
    ensure!(
        !entry.contains("](") && !entry.contains("**"),
        "an entry is plain: no link, nothing bold"
    );
    let words: Vec<&str> = entry.split(|c: char| !c.is_alphanumeric()).collect();
    let is_count = |pair: &[&str]| {
        let is_number = pair[0].chars().any(|c| c.is_ascii_digit());
        is_number && ["instruction", "instructions", "cycle", "cycles"].contains(&pair[1])
    };
    ensure!(
        !words.windows(2).any(is_count),
        "a count of instructions or cycles belongs in a document, or in the commit"
    );
    Ok(())
}

/// The changelog around the section of the next version.
struct Sections<'a> {
    before: &'a str,
    /// The section without its heading.
    unreleased: &'a str,
    /// The versions, from the newest on.
    released: &'a str,
}

impl<'a> Sections<'a> {
    fn parse(text: &'a str) -> Result<Self> {
        let heading = format!("\n{UNRELEASED}\n");
        let (before, rest) =
            text.split_once(&heading).with_context(|| format!("no line `{UNRELEASED}`"))?;
        ensure!(!rest.contains(&heading), "two lines `{UNRELEASED}`");
        let end = rest.find("\n## ").map_or(rest.len(), |at| at + 1);
        let (unreleased, released) = rest.split_at(end);
        Ok(Self { before, unreleased, released })
    }
}

/// Moves all entries below a heading of the version, and removes the fragments. Returns the number
/// of fragments.
///
/// # Errors
/// An entry breaks a rule, there is none, the version has its heading already, or a file cannot be
/// written. Fragments are removed only after the changelog has been written.
fn release(root: &Path, version: &str, date: &str) -> Result<usize> {
    ensure!(has_form(version, '.', &[]), "`{version}`: a version is three numbers, as 1.2.3");
    ensure!(has_form(date, '-', &[4, 2, 2]), "`{date}`: a date is YEAR-MONTH-DAY, as 2026-11-22");
    check(root)?;
    let fragments = fragments(root)?;
    let path = root.join(CHANGELOG);
    let text = read(&path)?;
    let sections = Sections::parse(&text)?;
    ensure!(
        !sections.released.lines().any(|line| line.starts_with(&format!("## {version} "))),
        "{CHANGELOG} has {version} already"
    );
    let body = body(sections.unreleased, &fragments);
    ensure!(!body.is_empty(), "there is no entry to release");
    let Sections { before, released, .. } = sections;
    let text =
        format!("{before}\n{UNRELEASED}\n\n{NOTE}\n\n## {version} – {date}\n\n{body}\n{released}");
    fs::write(&path, text).with_context(|| format!("{}", path.display()))?;
    for fragment in &fragments {
        let path = root.join(FOLDER).join(&fragment.name);
        fs::remove_file(&path).with_context(|| format!("{}", path.display()))?;
    }
    Ok(fragments.len())
}

/// Returns whether a text is three numbers with `sign` between them, of these lengths if given.
fn has_form(text: &str, sign: char, lengths: &[usize]) -> bool {
    let parts: Vec<&str> = text.split(sign).collect();
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    parts.len() == 3
        && parts.iter().all(is_number)
        && lengths.iter().zip(&parts).all(|(length, part)| part.len() == *length)
}

/// The section of a version: the text that the changelog had for it, with the fragments first below
/// the heading of their kind. Each heading has a blank line before and after it.
fn body(unreleased: &str, fragments: &[Fragment]) -> String {
    let mut lines = unreleased.lines().filter(|line| *line != NOTE).peekable();
    let mut text = |until: fn(&str) -> bool| {
        let mut text = Vec::new();
        while let Some(line) = lines.next_if(|line| !until(line)) {
            text.push(line.to_owned());
        }
        text.join("\n").trim().to_owned()
    };
    let is_heading = |line: &str| line.starts_with("### ");
    let mut parts = vec![(String::new(), text(is_heading))];
    loop {
        let heading = text(|line| !line.starts_with("### "));
        if heading.is_empty() {
            break;
        }
        parts.push((heading, text(is_heading)));
    }
    for (kind, (_, heading)) in KINDS.iter().enumerate() {
        let entries: Vec<String> = fragments
            .iter()
            .filter(|fragment| fragment.kind == kind)
            .map(|fragment| format!("- {}", fragment.entry))
            .collect();
        if entries.is_empty() {
            continue;
        }
        let entries = entries.join("\n");
        match parts.iter_mut().find(|(known, _)| known == heading) {
            Some((_, text)) if text.starts_with("- ") => *text = format!("{entries}\n{text}"),
            Some((_, text)) => *text = format!("{entries}\n\n{text}").trim_end().to_owned(),
            None => {
                let later = KINDS[kind + 1..].iter().map(|(_, heading)| *heading);
                let mut places = later
                    .filter_map(|later| parts.iter().position(|(heading, _)| heading == later));
                let place = places.next().unwrap_or(parts.len());
                parts.insert(place, ((*heading).to_owned(), entries));
            }
        }
    }
    let parts = parts.into_iter().flat_map(|(heading, text)| [heading, text]);
    let parts: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { String::new() } else { parts.join("\n\n") + "\n" }
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::{env, path::PathBuf, process};

    use super::*;

    /// A repository with nothing but a changelog and fragments; removed on drop.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str, changelog: &str, fragments: &[(&str, &str)]) -> Self {
            let folder =
                env::temp_dir().join(format!("chronoscope-changelog-{}-{name}", process::id()));
            fs::create_dir_all(folder.join(FOLDER)).unwrap();
            fs::write(folder.join(CHANGELOG), changelog).unwrap();
            fs::write(folder.join(FOLDER).join(RULES), "The rules.\n").unwrap();
            for (name, text) in fragments {
                fs::write(folder.join(FOLDER).join(name), text).unwrap();
            }
            Self(folder)
        }

        fn changelog(&self) -> String {
            fs::read_to_string(self.0.join(CHANGELOG)).unwrap()
        }

        fn files(&self) -> Vec<String> {
            let entries = fs::read_dir(self.0.join(FOLDER)).unwrap();
            let mut names: Vec<String> =
                entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const EMPTY: &str = "# Changelog\n\nNewest first.\n\n## Unreleased\n\n\
        Further entries are files of [changelog](changelog/README.md).\n\n\
        ## 0.1.0 – 2026-11-22\n\nThe first version.\n";

    #[test]
    fn the_entries_of_this_repository_keep_the_rules() {
        check(root()).unwrap();
    }

    #[test]
    fn names_and_texts_have_rules() {
        for name in ["added-a-flag.md", "changed-x.md", "fixed-2.md", "removed-serve.md"] {
            assert!(Fragment::parse(name, "`run` has `-j`.\n").is_ok(), "{name}");
        }
        for name in ["flag.md", "new-flag.md", "added.md", "added-.md", "added-A.md", "added-a.txt"]
        {
            assert!(Fragment::parse(name, "`run` has `-j`.\n").is_err(), "{name}");
        }
        let long = format!("A{}.\n", "a".repeat(LONGEST));
        for (text, why) in [
            ("`run` has `-j`.", "no end"),
            ("One.\nTwo.\n", "one line"),
            (&*long, "at most 98 characters: it has 100"),
            ("`run` has `-j`\n", "a sentence"),
            ("\n", "a sentence"),
            ("- `run` has `-j`.\n", "begins with a word"),
            ("`run` has `-j.\n", "backtick"),
            ("`run` has  `-j`.\n", "single blanks"),
            ("See [the page](docs/x.md).\n", "plain"),
            ("A yield takes 28 instructions, not 32.\n", "count of instructions"),
        ] {
            let error = Fragment::parse("added-x.md", text).err().unwrap().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn every_fault_is_named() {
        let changelog = EMPTY.replace("\n## 0.1.0", "\n- no sentence\ntext\n\n## 0.1.0");
        let bad = [("added-a.md", "no sentence\n"), ("b.md", "B.\n"), ("fixed-c.md", "C.\n")];
        let folder = Folder::new("faults", &changelog, &bad);
        let error = check(&folder.0).unwrap_err().to_string();
        let lines: Vec<&str> = error.lines().collect();
        assert_eq!(lines.len(), 4, "{error}");
        assert!(lines[0].starts_with("changelog/added-a.md: an entry is a sentence"), "{error}");
        assert!(lines[1].starts_with("changelog/b.md: a name is KIND-WORDS.md"), "{error}");
        assert!(lines[2].starts_with("CHANGELOG.md: `- no sentence`"), "{error}");
        assert!(lines[3].starts_with("CHANGELOG.md: `text`"), "{error}");
        assert!(release(&folder.0, "0.2.0", "2026-12-01").is_err(), "nothing faulty is released");
        assert_eq!((folder.changelog(), folder.files().len()), (changelog, 4));
    }

    #[test]
    fn a_release_assembles_the_fragments() {
        let fragments =
            [("fixed-b.md", "B.\n"), ("added-z.md", "Z.\n"), ("added-a.md", "`A` is new.\n")];
        let folder = Folder::new("release", EMPTY, &fragments);
        assert_eq!(release(&folder.0, "0.2.0", "2026-12-01").unwrap(), 3);
        let expected = EMPTY.replace(
            "\n## 0.1.0",
            "\n## 0.2.0 – 2026-12-01\n\n### Added\n\n- `A` is new.\n- Z.\n\n### Fixed\n\n- B.\n\n## 0.1.0",
        );
        assert_eq!(folder.changelog(), expected);
        assert_eq!(folder.files(), [RULES]);
        let again = release(&folder.0, "0.3.0", "2026-12-02").unwrap_err().to_string();
        assert_eq!(again, "there is no entry to release");
    }

    #[test]
    fn entries_of_the_changelog_are_released_with_them() {
        let changelog = EMPTY.replace(
            "\n## 0.1.0",
            "\n### Added\n\n#### Tandem\n\n- T.\n\n### Fixed\n\n- F.\n\n## 0.1.0",
        );
        let fragments = [("fixed-b.md", "B.\n"), ("added-a.md", "A.\n"), ("changed-c.md", "C.\n")];
        let folder = Folder::new("kept", &changelog, &fragments);
        release(&folder.0, "0.2.0", "2026-12-01").unwrap();
        let expected = EMPTY.replace(
            "\n## 0.1.0",
            "\n## 0.2.0 – 2026-12-01\n\n### Added\n\n- A.\n\n#### Tandem\n\n- T.\n\n\
             ### Changed\n\n- C.\n\n### Fixed\n\n- B.\n- F.\n\n## 0.1.0",
        );
        assert_eq!(folder.changelog(), expected);
    }

    #[test]
    fn a_version_is_released_once_and_by_its_form() {
        let folder = Folder::new("forms", EMPTY, &[("added-a.md", "A.\n")]);
        for (version, date, why) in [
            ("0.1.0", "2026-12-01", "has 0.1.0 already"),
            ("0.2", "2026-12-01", "three numbers"),
            ("v0.2.0", "2026-12-01", "three numbers"),
            ("0.2.0", "1.12.2026", "YEAR-MONTH-DAY"),
            ("0.2.0", "26-12-01", "YEAR-MONTH-DAY"),
        ] {
            let error = release(&folder.0, version, date).unwrap_err().to_string();
            assert!(error.contains(why), "{version} {date}: {error}");
        }
        assert_eq!(folder.files(), [RULES, "added-a.md"]);
    }
}
