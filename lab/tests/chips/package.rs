//! The installed program: unpacked anywhere, without Cargo, sources or a home, it measures what the
//! checkout's program measures.

use std::{
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use chronoscope_base::digest::sha256;
use serde_json::Value;

use crate::common::{Folder, builder, chronoscope, run};

const TARGET: &str = "bare@cortex-m4";

/// A case whose figures are exact.
const EXACT: [&str; 8] =
    ["run", "switch", "--target", TARGET, "--no-store", "-q", "--format", "csv"];

/// A case of a few milliseconds that needs no permission.
const HERE: [&str; 11] = [
    "run",
    "switch",
    "--set",
    "policy=other",
    "--set",
    "mlock=no",
    "--set",
    "loops=100",
    "--repeat=3",
    "--no-store",
    "-q",
];

/// The packages of the bare system: a shell, Debian's package manager, and emulators.
const SYSTEM: [&str; 19] = [
    "base-files",
    "bash",
    "ca-certificates",
    "coreutils",
    "dash",
    "debian-archive-keyring",
    "diffutils",
    "dpkg",
    "apt",
    "findutils",
    "grep",
    "gzip",
    "libc-bin",
    "qemu-system-arm",
    "qemu-system-misc",
    "qemu-system-x86",
    "sed",
    "tar",
    "xz-utils",
];

/// An unpacked tree, with the only programs that its program can find.
struct Installed {
    folder: Folder,
    tree: PathBuf,
}

impl Installed {
    fn program(&self) -> Command {
        let mut program = Command::new(self.tree.join("bin/chronoscope"));
        program
            .env_clear()
            .env("PATH", self.folder.path("path"))
            .env("HOME", self.folder.path("home"));
        program.current_dir(&self.folder.0);
        program
    }
}

/// The only file in a folder whose name ends so.
fn file(folder: &Path, end: &str) -> PathBuf {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let found: Vec<PathBuf> =
        files.filter(|path| path.to_str().is_some_and(|name| name.ends_with(end))).collect();
    assert_eq!(found.len(), 1, "{end}: {found:?}");
    found[0].clone()
}

/// The Debian package, installed in a system without a compiler and without Rust: it measures the
/// host, a guest, whose kernel it fetches, and emulated and simulated chips.
#[test]
#[ignore = "fetches a kernel and needs the images of several machines: ./chronoscope test long"]
fn a_debian_package_measures_in_a_bare_system() {
    let folder = Folder::new("debian-package");
    let targets = ["bare@cortex-m4", "tandem@rv32", "tandem@ibex"];
    run(builder().args(["package", "--built", &folder.path("made")]).args(targets)).exits(0);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("tools/bare-root");
    let root = folder.0.join("root");
    run(Command::new(&script).arg(&root).args(SYSTEM)).exits(0);
    fs::copy(file(&folder.0.join("made"), ".deb"), root.join("tmp/chronoscope.deb")).unwrap();
    let enter = |words: &[&str]| run(Command::new(&script).arg("--enter").arg(&root).args(words));
    enter(&["dpkg", "--install", "/tmp/chronoscope.deb"]).exits(0);
    for tool in ["cc", "gcc", "rustc", "cargo", "verilator"] {
        let found = enter(&["sh", "-c", &format!("command -v {tool}")]);
        assert_ne!(found.status, Some(0), "{tool}: {found:#?}");
    }
    let measure = |words: &[&str]| enter(&[&["chronoscope"], words].concat());
    for target in targets {
        let exact: Vec<&str> =
            EXACT.iter().map(|word| if *word == TARGET { target } else { *word }).collect();
        let text = measure(&exact).exits(0).stdout.clone();
        assert!(text.lines().count() > 1, "{target}: {text}");
        assert_eq!(text, chronoscope(&exact).exits(0).stdout, "{target}: the checkout's figures");
    }
    measure(&HERE).exits(0);
    let guest =
        ["run", "switch", "--target", "linux-rt@vm", "--repeat=1", "-l", "50", "--no-store"];
    let first = measure(&guest);
    assert!(first.exits(0).stderr.contains("fetching Linux"), "{first:#?}");
    assert!(!measure(&guest).exits(0).stderr.contains("fetching Linux"), "it is fetched once");
}

/// Programs and images below a folder of the tree, with their paths in the tree.
fn binaries(folder: &Path, tree: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            binaries(&path, tree, found);
        } else if fs::read(&path).unwrap().starts_with(b"\x7fELF") {
            found.push(path.strip_prefix(tree).unwrap().to_str().unwrap().to_owned());
        }
    }
}

/// Each program and image is in the bill with its hash and with what is linked into it, in the form
/// that CycloneDX publishes.
fn the_bill_of_materials_is_whole(tree: &Path) {
    let path = tree.join("share/doc/chronoscope/chronoscope.cdx.json");
    let text = fs::read_to_string(&path).unwrap();
    let bill: Value = serde_json::from_str(&text).unwrap();
    let components = bill["components"].as_array().unwrap();
    let find = |key: &str, value: &str| components.iter().find(|one| one[key] == value);
    let mut files = Vec::new();
    binaries(tree, tree, &mut files);
    assert!(files.len() >= 6, "two programs, two of guests, an image, QEMU's plugin: {files:?}");
    let contents = bill["dependencies"].as_array().unwrap().iter();
    assert_eq!(contents.len(), files.len());
    for file in &files {
        let component = find("name", file).unwrap_or_else(|| panic!("{file} is in no bill"));
        let hash = sha256(&fs::read(tree.join(file)).unwrap());
        assert_eq!(component["hashes"][0]["content"], hash.as_str(), "{file}");
    }
    let named = |file: &str| -> Vec<&str> {
        let reference = format!("file:{file}");
        let entry = contents.clone().find(|one| one["ref"] == reference.as_str()).unwrap();
        let inside = entry["dependsOn"].as_array().unwrap().iter();
        let inside = inside.map(|one| find("bom-ref", one.as_str().unwrap()).unwrap());
        inside.map(|one| one["name"].as_str().unwrap()).collect()
    };
    let has = |file: &str, parts: &[&str]| {
        let names = named(file);
        for part in parts {
            assert!(names.contains(part), "{file} has no {part}: {names:?}");
        }
    };
    has("bin/chronoscope", &["chronoscope-engine", "serde_json", "rusqlite", "std"]);
    has("bin/chronoscope-linux", &["chronoscope-suite", "rustix", "std"]);
    let image = files.iter().find(|file| file.contains("/thumbv7em")).unwrap();
    has(image, &["chronoscope-suite", "cortex-m-rt", "core"]);
    let guest = files.iter().find(|file| file.contains("/guest/aarch64")).unwrap();
    has(guest, &["chronoscope-linux", "glibc"]);
    assert!(contents.clone().all(|entry| !entry["dependsOn"].as_array().unwrap().is_empty()));

    let python = env::var("CHRONOSCOPE_TEST_PYTHON").expect("set by the test command");
    let ask = "import cyclonedx.schema as s; print(s.__path__[0] + '/_res/')";
    let schemas = run(Command::new(&python).args(["-c", ask])).exits(0).stdout.clone();
    let schemas = schemas.trim();
    let folder = Folder::new("bill");
    let broken = text.replace("\"specVersion\": \"1.6\"", "\"specVersion\": 1.6");
    for (file, status) in [(path, 0), (folder.file("broken.json", broken).into(), 1)] {
        let mut check = Command::new(Path::new(&python).with_file_name("check-jsonschema"));
        check.arg("--schemafile").arg(format!("{schemas}bom-1.6.SNAPSHOT.schema.json"));
        run(check.args(["--base-uri", &format!("file://{schemas}")]).arg(file)).exits(status);
    }
}

#[test]
fn an_unpacked_program_measures_what_the_checkout_measures() {
    let folder = Folder::new("package");
    run(builder().args(["package", "--built", &folder.path("made"), TARGET])).exits(0);
    let made = folder.0.join("made");
    for name in ["tree", "path", "home"] {
        fs::create_dir(folder.path(name)).unwrap();
    }
    let tarball = file(&made, ".tar.gz");
    let tree = folder.0.join("tree");
    run(Command::new("tar").arg("-xf").arg(tarball).arg("-C").arg(&tree)).exits(0);
    let emulator = ["/usr/bin", "/usr/local/bin"].map(|folder| format!("{folder}/qemu-system-arm"));
    let emulator =
        emulator.iter().find(|path| Path::new(path).exists()).expect("QEMU is installed");
    symlink(emulator, folder.0.join("path/qemu-system-arm")).unwrap();
    let installed = Installed { tree: file(&tree, ""), folder };

    let text = run(installed.program().args(EXACT)).exits(0).stdout.clone();
    assert!(text.lines().count() > 1, "{text}");
    assert_eq!(text, chronoscope(&EXACT).exits(0).stdout, "the checkout's figures");
    run(installed.program().args(HERE)).exits(0);
    run(installed.program().args(["explain", "p99"])).exits(0);

    let version = run(installed.program().arg("--version"));
    version.exits(0).shows("schema 2");
    let program = fs::read(installed.tree.join("bin/chronoscope")).unwrap();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("lab");
    let sources = sources.to_str().unwrap();
    assert!(!String::from_utf8_lossy(&program).contains(sources), "a path of the sources");
    for (path, text) in [
        ("share/man/man1/chronoscope.1", ".TH"),
        ("share/bash-completion/completions/chronoscope", "_chronoscope()"),
        ("share/zsh/vendor-completions/_chronoscope", "#compdef chronoscope"),
        ("share/fish/vendor_completions.d/chronoscope.fish", "complete -c chronoscope"),
        ("share/chronoscope/studies/quick.toml", "name = \"quick\""),
        ("share/doc/chronoscope/LICENSE-MIT", "MIT"),
    ] {
        let found = fs::read_to_string(installed.tree.join(path)).unwrap();
        assert!(found.contains(text), "no `{text}` in {path}");
    }
    the_bill_of_materials_is_whole(&installed.tree);
    let mut list = Command::new("dpkg-deb");
    let list = run(list.arg("--contents").arg(file(&made, ".deb")));
    for path in [
        "./usr/bin/chronoscope\n",
        "./usr/share/chronoscope/guest/aarch64-unknown-linux-gnu/chronoscope-linux\n",
    ] {
        assert!(list.exits(0).stdout.contains(path), "no {path} in {list:#?}");
    }
}
