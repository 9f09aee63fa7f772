//! The bill of materials of a package, in CycloneDX's JSON: each program, library and image of the
//! package with its hash, and everything that is linked into it with version, licence and checksum.
//! Crates are those that cargo resolves for the file's own target and features, without macros and
//! build scripts, which run on the builder's machine.

use std::{
    collections::{BTreeMap, BTreeSet},
    env::consts::ARCH,
    fs,
    path::Path,
    process::Command,
};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::{
    bench, command,
    images::index::sha256,
    repository::{self, root},
    rust::{Features, Toolchain},
};

/// The version of CycloneDX's form.
const FORM: &str = "1.6";

/// The bill's path in a package's tree.
pub const PATH: &str = "share/doc/chronoscope/chronoscope.cdx.json";

/// Something that is linked into a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// A crate of this repository with all crates that it needs.
    Crate(Crate),
    /// The sources in C that a crate carries: the direct dependencies of a manifest.
    Sources {
        /// The manifest's path relative to the repository.
        manifest: String,
    },
    /// The core of a bench board, from bench/cores.txt.
    Core(String),
    /// The C library, by its Debian package.
    Libc(&'static str),
}

/// A crate of this repository, and how it is built.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Crate {
    /// The manifest of its workspace, relative to the repository.
    pub manifest: &'static str,
    /// The crate's name.
    pub package: String,
    pub features: Features,
    pub triple: String,
}

/// The triple of programs for this computer.
pub fn host() -> String {
    format!("{ARCH}-unknown-linux-gnu")
}

/// A bill that grows by one file after the other.
pub struct Bill {
    toolchain: Toolchain,
    /// Components by their reference.
    components: BTreeMap<String, Value>,
    /// The references of everything that a file contains, by the file's reference.
    contents: BTreeMap<String, BTreeSet<String>>,
    /// The references that each part stands for: cargo is asked once for each.
    known: BTreeMap<Part, BTreeSet<String>>,
}

impl Bill {
    /// # Errors
    /// There is no toolchain.
    pub fn new() -> Result<Self> {
        Ok(Self {
            toolchain: Toolchain::find()?,
            components: BTreeMap::new(),
            contents: BTreeMap::new(),
            known: BTreeMap::new(),
        })
    }

    /// Adds the file `path` of the package's tree. `kind` is CycloneDX's: `application`, `library`
    /// or `firmware`.
    ///
    /// # Errors
    /// The file cannot be read, or cargo cannot resolve a crate.
    pub fn add(&mut self, tree: &Path, path: &str, kind: &str, parts: &[Part]) -> Result<()> {
        let file = tree.join(path);
        let bytes = fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let mut inside = BTreeSet::new();
        for part in parts {
            if !self.known.contains_key(part) {
                let found = self.components_of(part)?;
                let references = found.iter().filter_map(|one| one["bom-ref"].as_str());
                self.known.insert(part.clone(), references.map(str::to_owned).collect());
                for component in found {
                    let reference = component["bom-ref"].as_str().unwrap_or_default().to_owned();
                    self.components.insert(reference, component);
                }
            }
            inside.extend(self.known[part].iter().cloned());
        }
        let reference = format!("file:{path}");
        let component = json!({
            "type": kind, "bom-ref": reference, "name": path, "version": env!("CARGO_PKG_VERSION"),
            "hashes": [{ "alg": "SHA-256", "content": sha256(&bytes) }],
        });
        self.components.insert(reference.clone(), component);
        self.contents.insert(reference, inside);
        Ok(())
    }

    /// The bill as text: equal packages give equal bytes, so there is no date in it.
    pub fn render(&self) -> String {
        let dependencies: Vec<Value> = self
            .contents
            .iter()
            .map(|(file, inside)| json!({ "ref": file, "dependsOn": inside }))
            .collect();
        let (name, version) = ("chronoscope", env!("CARGO_PKG_VERSION"));
        let package = json!({
            "type": "application", "bom-ref": "package", "name": name, "version": version,
            "licenses": licences("MIT OR Apache-2.0"),
        });
        let bill = json!({
            "bomFormat": "CycloneDX", "specVersion": FORM, "version": 1,
            "metadata": { "component": package },
            "components": self.components.values().collect::<Vec<_>>(),
            "dependencies": dependencies,
        });
        format!("{bill:#}\n")
    }

    fn components_of(&self, part: &Part) -> Result<Vec<Value>> {
        match part {
            Part::Crate(Crate { manifest, package, features, triple }) => {
                let features = features.arguments();
                let mut words = vec!["--package", package, "--target", triple];
                words.extend(features.iter().map(String::as_str));
                let mut crates = self.crates(manifest, &words)?;
                let version = self.toolchain.version().unwrap_or_default();
                let library = if triple.contains("-linux-") { "std" } else { "core" };
                let version = version.trim_start_matches("rustc ");
                crates.push(component(library, version, "MIT OR Apache-2.0", None, None));
                Ok(crates)
            }
            Part::Sources { manifest } => {
                let own = self.crates(manifest, &["--depth", "0"])?;
                let mut direct = self.crates(manifest, &["--depth", "1"])?;
                direct.retain(|one| !own.contains(one));
                Ok(direct)
            }
            Part::Core(name) => Ok(vec![core(name)?]),
            Part::Libc(package) => {
                let mut ask = Command::new("dpkg-query");
                ask.args(["--show", "--showformat=${Version}", package]);
                let answer = command::output(&mut ask)?;
                let version = String::from_utf8(answer.stdout)?.trim().to_owned();
                let purl = format!("pkg:deb/debian/{package}@{version}");
                Ok(vec![component("glibc", &version, "LGPL-2.1-or-later", Some(&purl), None)])
            }
        }
    }

    /// The crates that cargo links for these words of `cargo tree`.
    fn crates(&self, manifest: &str, words: &[&str]) -> Result<Vec<Value>> {
        let manifest = root().join(manifest);
        let mut tree = self.toolchain.cargo("tree");
        tree.args(["--locked", "--quiet", "--edges", "normal,no-proc-macro", "--prefix", "none"]);
        tree.args(["--format", "{p}\t{l}", "--manifest-path"]).arg(&manifest).args(words);
        let answer = command::output(&mut tree)
            .with_context(|| format!("cargo tree {} of {}", words.join(" "), manifest.display()))?;
        let lock = lock_of(&manifest)?;
        let checksums = checksums(&repository::read(&lock)?)?;
        String::from_utf8(answer.stdout)?.lines().map(|line| crate_of(line, &checksums)).collect()
    }
}

/// The lock file of a workspace or of a member of it.
fn lock_of(manifest: &Path) -> Result<std::path::PathBuf> {
    let mut locks = manifest.ancestors().skip(1).map(|folder| folder.join("Cargo.lock"));
    locks.find(|lock| lock.is_file()).with_context(|| format!("no lock of {}", manifest.display()))
}

/// The checksums of a lock file, by `name version`.
fn checksums(lock: &str) -> Result<BTreeMap<String, String>> {
    let lock: toml::Table = lock.parse()?;
    let packages = lock.get("package").and_then(toml::Value::as_array);
    let checksum = |package: &toml::Value| {
        let text = |key: &str| package.get(key)?.as_str().map(str::to_owned);
        Some((format!("{} {}", text("name")?, text("version")?), text("checksum")?))
    };
    Ok(packages.into_iter().flatten().filter_map(checksum).collect())
}

/// The component of a line of `cargo tree`: `NAME vVERSION[ (…)]`, a tab, the licence, and ` (*)`
/// where the crate came before.
fn crate_of(line: &str, checksums: &BTreeMap<String, String>) -> Result<Value> {
    let parts = line.trim_end_matches(" (*)").split_once('\t');
    let (package, licence) = parts.with_context(|| format!("cargo tree said `{line}`"))?;
    let mut words = package.split(' ');
    let (name, version) = words.next().zip(words.next()).context("a crate has a version")?;
    let version = version.trim_start_matches('v');
    let checksum = checksums.get(&format!("{name} {version}"));
    let purl = checksum.map(|_| format!("pkg:cargo/{name}@{version}"));
    Ok(component(name, version, licence, purl.as_deref(), checksum.map(String::as_str)))
}

/// The core of a bench board, from its line in bench/cores.txt.
fn core(name: &str) -> Result<Value> {
    let package = bench::Package::with_core(name)?;
    let bench::Pin { name, version, hash } = package.pin()?;
    let purl = format!("pkg:pypi/{name}@{version}");
    Ok(component(&name, &version, package.licence, Some(&purl), Some(&hash)))
}

fn component(
    name: &str,
    version: &str,
    licence: &str,
    purl: Option<&str>,
    sha256: Option<&str>,
) -> Value {
    let mut component = json!({
        "type": "library", "bom-ref": format!("{name}@{version}"), "name": name, "version": version,
        "licenses": licences(licence),
    });
    if let Some(purl) = purl {
        component["purl"] = purl.into();
    }
    if let Some(hash) = sha256 {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": hash }]);
    }
    component
}

/// A licence in CycloneDX's form. Old manifests write `MIT/Apache-2.0`.
fn licences(expression: &str) -> Value {
    json!([{ "expression": expression.replace('/', " OR ") }])
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = "[[package]]\nname = \"anyhow\"\nversion = \"1.0.1\"\nsource = \"registry\"\n\
                        checksum = \"0a\"\n[[package]]\nname = \"mine\"\nversion = \"0.1.0\"\n";

    #[test]
    fn a_crate_has_version_licence_and_checksum() {
        let checksums = checksums(LOCK).unwrap();
        let line = "anyhow v1.0.1\tMIT/Apache-2.0 (*)";
        let found = crate_of(line, &checksums).unwrap();
        let expected = json!({
            "type": "library", "bom-ref": "anyhow@1.0.1", "name": "anyhow", "version": "1.0.1",
            "licenses": [{ "expression": "MIT OR Apache-2.0" }], "purl": "pkg:cargo/anyhow@1.0.1",
            "hashes": [{ "alg": "SHA-256", "content": "0a" }],
        });
        assert_eq!(found, expected);
        // A crate of this repository has no checksum, and its path is not shown.
        let own = crate_of("mine v0.1.0 (/home/me/mine)\tMIT", &checksums).unwrap();
        assert!(own.get("hashes").is_none() && own.get("purl").is_none());
        assert!(!own.to_string().contains("home"));
        assert!(crate_of("nonsense", &checksums).is_err());
    }

    /// The crates that only run while the program is built are not in it.
    #[test]
    fn what_is_linked_into_this_program_is_listed() {
        let mut bill = Bill::new().unwrap();
        let folder = root().join("xtask");
        let part = Part::Crate(Crate {
            manifest: "Cargo.toml",
            package: "xtask".to_owned(),
            features: Features::default(),
            triple: host(),
        });
        bill.add(&folder, "Cargo.toml", "application", &[part]).unwrap();
        let text = bill.render();
        let read: Value = serde_json::from_str(&text).unwrap();
        let components = read["components"].as_array().unwrap();
        let named = |name: &str| components.iter().find(|one| one["name"] == name);
        let anyhow = named("anyhow").unwrap();
        assert_eq!(anyhow["hashes"][0]["content"].as_str().unwrap().len(), 64);
        assert!(named("std").is_some() && named("chronoscope-suite").is_some());
        assert!(named("serde_derive").is_none() && named("proptest").is_none());
        let inside = read["dependencies"][0]["dependsOn"].as_array().unwrap();
        assert_eq!(inside.len() + 1, components.len());
        let hash = sha256(&fs::read(folder.join("Cargo.toml")).unwrap());
        assert_eq!(named("Cargo.toml").unwrap()["hashes"][0]["content"], hash.as_str());
        assert!(!text.contains(root().to_str().unwrap()), "a path of the sources");
    }

    #[test]
    fn every_core_is_listed_with_its_hash() {
        for core in chronoscope_chips::Table::read().cores {
            let core = super::core(&core.name).unwrap();
            assert_eq!(core["hashes"][0]["content"].as_str().unwrap().len(), 64, "{core}");
        }
        assert!(core("none").is_err());
    }
}
