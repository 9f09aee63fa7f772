//! The floors inside the crates of the lab and of the targets: each room (a module of the crate's
//! root, a file or a folder) imports only rooms on floors below its own. An import of the own floor is
//! refused too, so that no circle of rooms can arise. A small crate needs no table of floors: its
//! rooms have no circle.
//!
//! The test reads the sources: `use` declarations, and paths that begin with `crate::` or with enough
//! `super::` to leave the room. A name that the crate's root takes from a room counts as an import of
//! that room. Test modules count.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// A crate, and its rooms from the top floor to the ground. A new room needs a row there. A room may
/// be a part of another, such as `paths/tasks`.
struct House {
    /// The folder of the sources, relative to the lab's.
    folder: &'static str,
    floors: &'static [&'static [&'static str]],
}

/// The crates of the lab with floors of their own; the compiler holds the order of the crates.
const LAB: [&House; 9] =
    [&PROGRAM, &REPORT, &ENGINE, &MACHINE, &STORE, &RUN, &BASE, &CAPTURE, &STATISTICS];

/// The crates of the targets with floors of their own.
const TARGETS: [&House; 7] = [&SUITE, &LINUX, &C, &PLUGIN, &TANDEM, &PROCESSES, &BENCH];

const PROGRAM: House = House {
    folder: "src",
    floors: &[&["main"], &["command"], &["cli"], &["closed", "progress", "revision"]],
};
const REPORT: House = House {
    folder: "report/src",
    floors: &[
        &["tests"],
        &["format"],
        &["comparison_text", "github", "google_benchmark_console", "html", "junit"],
        &["google_benchmark", "outcomes", "schedule", "why"],
        &["answer"],
        &["table"],
        &[
            "baseline",
            "capture",
            "capture_files",
            "cause",
            "csv_long",
            "cyclictest",
            "history",
            "json",
            "oslat",
            "perfetto",
            "plan",
            "screen",
            "timerlat",
            "vcd",
        ],
        &["comparison", "csv", "file", "paint", "text_table", "timeline", "tool"],
        &["error"],
        &["lib"],
    ],
};
const ENGINE: House = House {
    folder: "engine/src",
    floors: &[
        &["fleet", "import", "runner", "variant"],
        &["doctor", "journal", "observation", "study"],
        &["case", "peer", "schedule", "stream"],
    ],
};
const MACHINE: House = House {
    folder: "machine/src",
    floors: &[
        &["watch"],
        &["observe"],
        &["machines"],
        &["qemu", "rtl", "serial", "vm"],
        &["firmware", "host"],
        &["family"],
        &["images"],
        &["arrivals", "builder", "given", "marks", "processes", "scratch"],
        &["lib"],
        &["description", "determinism", "stream"],
        &["lock", "permission", "profile", "request", "setup"],
    ],
};
const STORE: House = House {
    folder: "store/src",
    floors: &[
        &["tests"],
        &["sqlite"],
        &["error", "insert", "postgres", "rows"],
        &["reference"],
        &["lib"],
        &["patience", "place", "schema", "session"],
    ],
};
const BASE: House = House {
    folder: "base/src",
    floors: &[&["cache"], &["console", "digest", "folders", "private", "signals", "toml_text"]],
};
const CAPTURE: House = House {
    folder: "capture/src",
    floors: &[
        &["tests"],
        &["measure", "open"],
        &["capture", "meter"],
        &["resample", "saleae", "sigrok", "vcd"],
        &["flow"],
        &["names", "request", "tally", "tick", "words"],
        &["error"],
    ],
};
const STATISTICS: House = House {
    folder: "statistics/src",
    floors: &[
        &["tests"],
        &["compare", "notable"],
        &["between", "change", "decide", "needed", "sequential", "summary"],
        &["order", "schedule", "significance", "slope", "tail"],
        &["bursts"],
        &["gamma", "resample"],
        &["beta", "predict"],
    ],
};
const RUN: House = House { folder: "run/src", floors: &RUN_FLOORS };

/// The floors of the run form. `lib` is the crate's root.
const RUN_FLOORS: [&[&str]; 11] = [
    &["tests"],
    &["upgrade"],
    &["interval", "judge", "lookup", "next", "precision"],
    &["sample", "schema"],
    &["compared", "history"],
    &["lib"],
    &["case", "peer"],
    &["limit"],
    &["statistic"],
    &["published", "series"],
    &["answer", "context", "cycles", "label", "names", "target", "verdict", "words"],
];

const SUITE: House = House {
    folder: "../suite/src",
    floors: &[
        &["offers"],
        &["experiments", "vary"],
        &["task", "trial"],
        &["kernel", "mark", "work"],
        &["clock"],
        &["arena", "order", "spec", "wire"],
        &["random", "refusal", "signal"],
    ],
};
const LINUX: House = House {
    folder: "../ports/linux/src",
    floors: &[
        &["main"],
        &["offers"],
        &["chain"],
        &["gaps", "latency", "mutex", "periodic", "plain", "processor_time", "queue", "transport"],
        &["contract", "coroutine", "fault", "noise", "process"],
        &["conditions", "interrupts", "placement", "thread", "vary"],
        &["doctor", "guest", "kernel"],
        &["pasts", "semaphore", "settings"],
        &["deadline", "executor", "hwlat", "requirements", "sleeping"],
        &[
            "class",
            "clock",
            "load",
            "log",
            "output",
            "perf",
            "preemption",
            "processors",
            "stop",
            "trace",
        ],
    ],
};
const C: House = House {
    folder: "../ports/c/src",
    floors: &[
        &["evidence", "interrupts", "offers"],
        &["kernel"],
        &["port"],
        &["slot"],
        &["halves", "memory", "target", "text"],
    ],
};
const PLUGIN: House = House {
    folder: "../ports/qemu-plugin/src",
    floors: &[
        &["arrivals"],
        &["cycles"],
        &["observe"],
        &["exceptions"],
        &["clock", "devices", "settings", "vcd"],
        &["pins", "state"],
        &["emulator"],
        &["api"],
        &["lib"],
    ],
};
/// From the ground: data (`records`), a processor (`arch`, `context`), the kernel, the frequent paths
/// with the choice of their versions, objects, processes.
const TANDEM: House = House {
    folder: "../tandem/src",
    floors: &[
        &["raw", "tests"],
        &["tasks"],
        &["control", "signal"],
        &["async_mutex", "group", "layout", "process"],
        &["process/entry"],
        &["process/call"],
        &["process/life", "process/line"],
        &["process/coroutines"],
        &["process/object"],
        &["process/records"],
        &["process/space"],
        &["process/abi"],
        &["process/fast", "process/handle", "process/table"],
        &["callback", "condvar", "list", "semaphore", "stream"],
        &["delays", "embassy_clock", "event", "mutex", "queue"],
        &["block_on", "ceiling", "coroutine", "embassy_time", "time", "waking"],
        &["thread"],
        &["paths/locks", "paths/waits"],
        &["lock", "me", "wait", "waker"],
        &["paths/tasks"],
        &["kernel"],
        &["context"],
        &["idle"],
        &["polls", "systemview", "task"],
        &["paths", "trace"],
        &["processor_time", "slice"],
        &["clock", "info", "ready"],
        &["arch"],
        &["records"],
        &["guide", "lib", "shared"],
    ],
};
/// The program of tandem's processes.
const PROCESSES: House = House {
    folder: "../ports/firmware/kernels/tandem/program/src",
    floors: &[
        &["main"],
        &["bench", "check", "offers"],
        &["coroutines", "tasks", "transport"],
        &["fuzz", "kernel", "limits", "lines", "marks", "races"],
        &["machine", "output", "scene"],
    ],
};
/// The program of the bench board.
const BENCH: House = House {
    folder: "../bench/src",
    floors: &[
        &["main"],
        &["run"],
        &["image", "options", "retirement", "semihosting", "waveform"],
        &["arrivals", "probe"],
        &["model"],
    ],
};

impl House {
    /// The floor of a room, from 0 at the top.
    fn floor(&self, room: &str) -> Option<usize> {
        self.floors.iter().position(|rooms| rooms.contains(&room))
    }

    fn root(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join(self.folder)
    }

    /// The rooms that have files in the folder, or elsewhere by an attribute `path` of the root.
    fn rooms(&self) -> BTreeSet<String> {
        let entries = fs::read_dir(self.root()).unwrap();
        let name = |path: PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
        let mut rooms: BTreeSet<String> =
            entries.map(|entry| name(entry.unwrap().path())).collect();
        for root in ["lib.rs", "main.rs"] {
            let text = fs::read_to_string(self.root().join(root)).unwrap_or_default();
            let elsewhere = text.lines().zip(text.lines().skip(1));
            rooms.extend(
                elsewhere
                    .filter(|(attribute, _)| attribute.starts_with("#[path"))
                    .filter_map(|(_, line)| line.strip_prefix("mod ")?.strip_suffix(';'))
                    .map(str::to_owned),
            );
        }
        rooms
    }

    /// The room that a path from the root leads to: the longest one of its beginnings, or the room
    /// from which the root takes a name that is no room; `lib` if it takes that from none.
    fn room<'a>(&self, path: &'a str, taken: &'a BTreeMap<String, String>) -> Cow<'a, str> {
        let names: Vec<&str> = path.split("::").collect();
        let room = self.longest_room(&names).map(Cow::Owned);
        room.unwrap_or_else(|| taken.get(names[0]).map_or("lib", String::as_str).into())
    }

    /// The longest beginning of a path that is a room.
    fn longest_room(&self, names: &[&str]) -> Option<String> {
        let beginnings = (1..=names.len()).rev().map(|length| names[..length].join("/"));
        beginnings.into_iter().find(|room| self.floor(room).is_some())
    }

    /// See [`taken`].
    fn taken(&self) -> BTreeMap<String, String> {
        taken(&self.root())
    }

    /// The imports of a file that do not go down. `taken` is the result of [`taken`](Self::taken).
    fn upward(&self, taken: &BTreeMap<String, String>, file: &str, text: &str) -> Vec<String> {
        let root = self.root();
        let module = module(file);
        let Some(first) = module.first() else { return Vec::new() };
        let room = self.longest_room(&module).unwrap_or_else(|| (*first).to_owned());
        let own = self.floor(&room);
        let mut found = Vec::new();
        for path in paths(text, &module) {
            let other = self.room(&path, taken);
            let goes_down = own.zip(self.floor(&other)).is_some_and(|(own, other)| other > own);
            if other != room && !goes_down {
                let target = file_of(&root, &path);
                let target = target.strip_prefix(&root).unwrap_or(&target).display().to_string();
                let folder = self.folder;
                found.push(format!(
                    "{folder}/{file} imports `{path}` of {folder}/{target}, which is not below it"
                ));
            }
        }
        found
    }
}

/// The names that a crate's root takes from rooms by `use`, with the room of each.
fn taken(root: &Path) -> BTreeMap<String, String> {
    // A program's root passes on no names.
    let text = fs::read_to_string(root.join("lib.rs")).unwrap_or_default();
    let tokens = tokens(&text);
    let mut found = BTreeSet::new();
    for (at, _) in tokens.iter().enumerate().filter(|(_, token)| **token == "use") {
        tree(&tokens, at + 1, &[], &mut found);
    }
    let split = |path: &String| {
        let path = path.strip_prefix("self::").unwrap_or(path);
        let path = path.strip_suffix("::self").unwrap_or(path);
        let (room, rest) = path.split_once("::")?;
        Some((rest.rsplit("::").next()?.to_owned(), room.to_owned()))
    };
    found.iter().filter_map(split).collect()
}

/// The names of the module that a file holds; none for the crate's root. `file` is relative to the root.
fn module(file: &str) -> Vec<&str> {
    let path = file.strip_suffix(".rs").unwrap_or(file);
    path.split('/').filter(|name| !["mod", "lib"].contains(name)).collect()
}

/// The rooms of a crate that import each other in circles, and the rooms between two circles.
/// `files` has the text of each, by its path relative to the root; `taken` is the result of [`taken`].
fn circle<'a>(
    taken: &BTreeMap<String, String>,
    files: &'a BTreeMap<String, String>,
) -> BTreeSet<&'a str> {
    let rooms: BTreeSet<&str> =
        files.keys().filter_map(|file| Some(*module(file).first()?)).collect();
    let mut imports: BTreeMap<&str, BTreeSet<&str>> =
        rooms.iter().map(|room| (*room, BTreeSet::new())).collect();
    for (file, text) in files {
        let module = module(file);
        let Some(own) = module.first() else { continue };
        for path in paths(text, &module) {
            let first = path.split("::").next().unwrap_or_default();
            let room = rooms.get(first).or_else(|| rooms.get(&**taken.get(first)?));
            if let Some(other) = room.filter(|other| *other != own) {
                imports.entry(own).or_default().insert(other);
            }
        }
    }
    // A room that imports none of the rest, or that none of the rest imports, is in no circle.
    let is_outside = |imports: &BTreeMap<&str, BTreeSet<&str>>, room: &str| {
        imports[room].is_empty() || !imports.values().any(|others| others.contains(room))
    };
    while let Some(room) = imports.keys().copied().find(|room| is_outside(&imports, room)) {
        imports.remove(room);
        for others in imports.values_mut() {
            others.remove(room);
        }
    }
    imports.into_keys().collect()
}

/// The folders with the sources of all crates below `folder`.
fn crates(folder: &Path, found: &mut Vec<PathBuf>) {
    let src = folder.join("src");
    if folder.join("Cargo.toml").is_file() && src.is_dir() {
        found.push(src);
    }
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("src") && !path.ends_with("target") {
            crates(&path, found);
        }
    }
}

/// Splits source text into identifiers and signs. Comments and literals are left out.
fn tokens(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text[at..];
        let length = match bytes[at] {
            b'/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            b'/' if rest.starts_with("/*") => comment(rest),
            b'r' | b'b' if raw_string(rest).is_some() => raw_string(rest).unwrap_or(1),
            b'"' => string(rest),
            b'\'' => character(rest),
            first if first.is_ascii_alphabetic() || first == b'_' => {
                let length = rest.find(|c| !word(c)).unwrap_or(rest.len());
                found.push(&rest[..length]);
                length
            }
            // A variable of a macro, or the crate in its expansion, which is its caller's.
            b'$' => {
                let length = 1 + rest[1..].find(|c| !word(c)).unwrap_or(rest.len() - 1);
                found.push(&rest[..length]);
                length
            }
            b':' if rest.starts_with("::") => {
                found.push("::");
                2
            }
            b'{' | b'}' | b',' | b';' | b'*' => {
                found.push(&rest[..1]);
                1
            }
            _ => rest.chars().next().map_or(1, char::len_utf8),
        };
        at += length;
    }
    found
}

/// The length of a block comment, which may hold others.
fn comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        if rest.as_bytes()[at..].starts_with(b"/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest.as_bytes()[at..].starts_with(b"*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// The length of a raw string literal, if one begins here.
fn raw_string(rest: &str) -> Option<usize> {
    let after = rest.strip_prefix("br").or_else(|| rest.strip_prefix('r'))?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    let text = after[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let length = text.find(&end).map_or(text.len(), |place| place + end.len());
    Some(rest.len() - text.len() + length)
}

/// The length of a string literal.
fn string(rest: &str) -> usize {
    let mut escaped = false;
    for (at, letter) in rest.char_indices().skip(1) {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// The length of a character literal; 1, the quote alone, of a lifetime.
fn character(rest: &str) -> usize {
    let mut letters = rest.char_indices().skip(1);
    match letters.next() {
        Some((_, '\\')) => {
            let after = letters.next().map_or(rest.len(), |(at, letter)| at + letter.len_utf8());
            rest[after..].find('\'').map_or(rest.len(), |end| after + end + 1)
        }
        Some(_) => match letters.next() {
            Some((at, '\'')) => at + 1,
            _ => 1,
        },
        None => 1,
    }
}

/// All paths from the root of the program that a file names, such as `report::html::render`.
/// `module` is the file's own path from the root.
fn paths(text: &str, module: &[&str]) -> BTreeSet<String> {
    let tokens = tokens(text);
    let mut inline: Vec<usize> = Vec::new();
    let mut depth = 0;
    let mut found = BTreeSet::new();
    let mut at = 0;
    while at < tokens.len() {
        let continues = at > 0 && tokens[at - 1] == "::";
        match tokens[at] {
            "{" => {
                depth += 1;
                if at >= 2 && tokens[at - 2] == "mod" {
                    inline.push(depth);
                }
            }
            "}" => {
                if inline.last() == Some(&depth) {
                    inline.pop();
                }
                depth -= 1;
            }
            "crate" if !continues && tokens.get(at + 1) == Some(&"::") => {
                at = tree(&tokens, at + 2, &[], &mut found);
                continue;
            }
            "super" if !continues && tokens.get(at + 1) == Some(&"::") => {
                let mut own: Vec<&str> = module.to_vec();
                own.extend(inline.iter().map(|_| "(inline)"));
                let mut next = at;
                while tokens.get(next) == Some(&"super") && tokens.get(next + 1) == Some(&"::") {
                    own.pop();
                    next += 2;
                }
                at = tree(&tokens, next, &own, &mut found).max(at + 1);
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// Adds the paths of a tree such as `a::{b, c::d}`, each behind `before`; the result is the place
/// behind the tree.
fn tree(tokens: &[&str], at: usize, before: &[&str], found: &mut BTreeSet<String>) -> usize {
    let mut path = before.to_vec();
    let mut at = at;
    loop {
        match tokens.get(at) {
            Some(&"{") => {
                at += 1;
                while let Some(token) = tokens.get(at) {
                    match *token {
                        "}" => return at + 1,
                        "super" if tokens.get(at + 1) == Some(&"::") => {
                            let mut own = path.clone();
                            while tokens.get(at) == Some(&"super") {
                                own.pop();
                                at += 2;
                            }
                            at = tree(tokens, at, &own, found);
                        }
                        "as" => at += 2,
                        "," => at += 1,
                        _ => at = tree(tokens, at, &path, found),
                    }
                }
                return at;
            }
            Some(name) if *name != "}" && *name != ";" && *name != "," => {
                path.push(name);
                at += 1;
                if tokens.get(at) != Some(&"::") {
                    found.insert(path.join("::"));
                    return at;
                }
                at += 1;
            }
            _ => return at + 1,
        }
    }
}

/// The file that holds the beginning of a path from the root, as far as there are files.
fn file_of(root: &Path, path: &str) -> PathBuf {
    let mut place = root.to_owned();
    let mut file = None;
    for name in path.split("::") {
        place.push(name);
        let candidates = [place.with_extension("rs"), place.join("mod.rs")];
        match candidates.into_iter().find(|candidate| candidate.is_file()) {
            Some(known) => file = Some(known),
            None => break,
        }
    }
    file.unwrap_or_else(|| root.join(path.split("::").next().unwrap_or_default()))
}

/// All source files, relative to the root.
fn sources(folder: &Path, root: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, root, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned());
        }
    }
}

#[test]
fn every_import_goes_down() {
    let mut all = 0;
    for house in LAB.into_iter().chain(TARGETS) {
        let (root, taken) = (house.root(), house.taken());
        let mut files = Vec::new();
        sources(&root, &root, &mut files);
        all += files.len();
        let text = |file: &String| fs::read_to_string(root.join(file)).unwrap();
        let found: Vec<String> =
            files.iter().flat_map(|file| house.upward(&taken, file, &text(file))).collect();
        assert!(found.is_empty(), "\n{}\n", found.join("\n"));
    }
    assert!(all > 300, "the sources were found");
}

/// The rooms of crates without a table of floors.
#[test]
fn no_small_crate_has_a_circle() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut all = Vec::new();
    for folder in ["bench", "chips", "cycles", "mark", "peripherals", "ports", "suite", "tandem"] {
        crates(&root.join(folder), &mut all);
    }
    let same = |house: &House, folder: &Path| {
        house.root().canonicalize().unwrap() == folder.canonicalize().unwrap()
    };
    all.retain(|folder| !TARGETS.iter().any(|house| same(house, folder)));
    let mut found = Vec::new();
    for crate_root in &all {
        let mut names = Vec::new();
        sources(crate_root, crate_root, &mut names);
        let read = |name: String| {
            let text = fs::read_to_string(crate_root.join(&name)).unwrap();
            (name, text)
        };
        let files = names.into_iter().map(read).collect();
        let circle = circle(&taken(crate_root), &files);
        found.extend((!circle.is_empty()).then(|| format!("{}: {circle:?}", crate_root.display())));
    }
    assert!(found.is_empty(), "\n{}", found.join("\n"));
    assert!(all.len() > 30, "the crates were found: {}", all.len());
}

#[test]
fn rooms_in_a_circle_are_named() {
    let files = |texts: &[(&str, &str)]| {
        texts.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    };
    let taken = [("Name".to_owned(), "c".to_owned())].into();
    let names = |texts: &[(&str, &str)]| {
        circle(&taken, &files(texts)).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let (a, b) = (("a.rs", "use crate::b::B;"), ("b/deep.rs", "use super::super::c::C;"));
    assert_eq!(names(&[a, b, ("c.rs", "use crate::Root;"), ("lib.rs", "use crate::a;")]), [""; 0]);
    assert_eq!(names(&[a, b, ("c.rs", "use crate::a::A;"), ("d.rs", "")]), ["a", "b", "c"]);
    // By a name that the root passes on.
    assert_eq!(names(&[("c.rs", "use crate::e;"), ("e.rs", "use crate::Name;")]), ["c", "e"]);
}

#[test]
fn every_room_has_a_floor() {
    for house in LAB.into_iter().chain(TARGETS) {
        let rooms = house.rooms();
        let named: Vec<&str> = house.floors.concat();
        let table: BTreeSet<String> = named.iter().map(|room| (*room).to_owned()).collect();
        assert_eq!(table.len(), named.len(), "a room is on two floors");
        let table: BTreeSet<String> =
            table.into_iter().filter(|room| !room.contains('/')).collect();
        let without = |mut rooms: BTreeSet<String>| {
            rooms.remove("lib");
            rooms
        };
        assert_eq!(without(rooms), without(table), "{}", house.folder);
    }
}

/// A module of the lab with files of its own is `NAME/mod.rs`.
#[test]
fn modules_have_one_style() {
    for house in LAB {
        let root = house.root();
        let mut files = Vec::new();
        sources(&root, &root, &mut files);
        let odd: Vec<&String> =
            files.iter().filter(|file| root.join(file).with_extension("").is_dir()).collect();
        assert!(odd.is_empty(), "{}: {odd:?} beside folders of their names", house.folder);
    }
}

/// Test code stands in modules called `tests`: in the file that it tests, or where it is long, in
/// `tests.rs` or `tests/` of the module's folder.
#[test]
fn tests_have_one_style() {
    let lab = Path::new(env!("CARGO_MANIFEST_DIR"));
    let others = ["child/src", "trust/src", "units/src", "../xtask/src"].map(|end| lab.join(end));
    let mut all = 0;
    for root in LAB.iter().map(|house| house.root()).chain(others) {
        let mut files = Vec::new();
        sources(&root, &root, &mut files);
        for file in files {
            let text = fs::read_to_string(root.join(&file)).unwrap();
            for (attribute, item) in text.lines().zip(text.lines().skip(1)) {
                let words: Vec<&str> = item.split([' ', ';']).collect();
                let name = words.iter().skip_while(|word| **word != "mod").nth(1);
                if let ("#[cfg(test)]", Some(name)) = (attribute.trim(), name) {
                    assert_eq!(*name, "tests", "{}", root.join(&file).display());
                    all += 1;
                }
            }
        }
    }
    assert!(all > 150, "the modules were found: {all}");
}

/// A name that the root passes on counts as its room's.
#[test]
fn a_name_of_the_root_is_of_its_room() {
    let taken = RUN.taken();
    let check = |file: &str, text: &str| RUN.upward(&taken, file, text);
    assert_eq!(check("limit.rs", "use crate::{CaseResult, Statistic, Unit};").len(), 1);
    assert_eq!(check("case.rs", "use crate::Run;").len(), 1);
    assert!(check("sample.rs", "use crate::{Run, CaseResult, names::CAPTURE};").is_empty());
}

#[test]
fn an_upward_import_is_named_with_both_files() {
    let taken = REPORT.taken();
    let check = |file: &str, text: &str| REPORT.upward(&taken, file, text);
    assert_eq!(
        check("table/mod.rs", "use crate::{csv, html::svg::{self, render}};"),
        [
            "report/src/table/mod.rs imports `html::svg::render` of report/src/html/svg.rs, which is not below it",
            "report/src/table/mod.rs imports `html::svg::self` of report/src/html/svg.rs, which is not below it",
        ]
    );
    // By `super`, in a path, and in a test module.
    assert_eq!(check("table/figures.rs", "use super::super::answer::Answer;").len(), 1);
    assert_eq!(check("csv.rs", "fn f() -> crate::table::Table {}").len(), 1);
    assert_eq!(check("csv.rs", "mod tests { use super::super::table; }").len(), 1);
    assert_eq!(check("csv.rs", "mod tests { use super::{super::table, Row}; }").len(), 1);
    // The own floor is not below.
    assert_eq!(check("junit.rs", "use crate::github::render;").len(), 1);
}

#[test]
fn imports_that_go_down_are_allowed() {
    let taken = REPORT.taken();
    for (file, text) in [
        ("format.rs", "use crate::{html, comparison::{self as c, Line}};"),
        ("html/svg.rs", "use super::super::text_table::wrap;"),
        (
            "csv.rs",
            "// use crate::html;\n/* crate::html::x /* */ crate::table */ const A: &str = \"crate::table\";",
        ),
        (
            "csv.rs",
            "const A: &str = r#\"\"crate::table\"#; const B: char = '\"'; fn f<'a>() -> &'a str {}",
        ),
        ("csv.rs", "mod tests { use super::*; } use chronoscope_suite::wire;"),
    ] {
        assert!(REPORT.upward(&taken, file, text).is_empty(), "{file}: {text}");
    }
}
