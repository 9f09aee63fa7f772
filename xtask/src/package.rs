//! A Debian package and a tarball of the lab: one relocatable tree with the program, the Linux
//! port, the guest's program, images of microcontrollers with their index and tools, the studies,
//! licences, a manual page and completions.
//!
//! The program finds everything relative to its own folder, so the tree may be unpacked anywhere.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use crate::{
    bill::{self, Bill, Crate, Part},
    command, guest, images, packages,
    repository::{TemporaryFolder, copy, root, target},
    rust::{Features, Toolchain},
    say,
};

pub const USAGE: &str = "package [--built] FOLDER [TARGET…]  \
    makes a Debian package and a tarball in FOLDER, with the images of these targets, or of all; \
    --built takes the programs next to this one";

/// The programs, and the package of each.
const PROGRAMS: [&str; 2] = ["chronoscope", PORT];
const PORT: &str = "chronoscope-linux";

/// The profile of the programs, in the root's Cargo.toml.
const PROFILE: &str = "release";

/// The processors of guests. Their programs are in folders of these names, below the build folder
/// and in the tree.
const GUESTS: [&str; 2] = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];

/// The folders of the guests' programs and of the images in the tree.
const GUEST: &str = "share/chronoscope/guest";
const FIRMWARE: &str = "share/chronoscope/firmware";

/// Texts in the tree's `share/doc/chronoscope`.
const TEXTS: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// Files that the program prints: its arguments, and the path in the tree.
const PRINTED: [(&[&str], &str); 4] = [
    (&["manual"], "share/man/man1/chronoscope.1"),
    (&["completions", "bash"], "share/bash-completion/completions/chronoscope"),
    (&["completions", "zsh"], "share/zsh/vendor-completions/_chronoscope"),
    (&["completions", "fish"], "share/fish/vendor_completions.d/chronoscope.fish"),
];

const VERSION: &str = env!("CARGO_PKG_VERSION");

pub fn run(arguments: &[&str]) -> Result<()> {
    let (built, words) = match arguments.split_first() {
        Some((&"--built", rest)) => (true, rest),
        _ => (false, arguments),
    };
    let [folder, targets @ ..] = words else { bail!("usage: cargo xtask {USAGE}") };
    let folder = std::path::absolute(folder)?;
    packages::need(&["strip", "dpkg-deb", "tar"], "build")?;
    let programs = if built { own_folder()? } else { build_programs()? };
    GUESTS.into_iter().try_for_each(build_guest)?;
    let name = format!("chronoscope-{VERSION}-{}", env::consts::ARCH);
    let tree = folder.join(&name);
    if tree.exists() {
        fs::remove_dir_all(&tree).with_context(|| format!("cannot remove {}", tree.display()))?;
    }
    fill(&tree, &programs, targets)?;
    let tarball = make_tarball(&folder, &name)?;
    let package = make_package(&folder, &tree)?;
    fs::remove_dir_all(&tree)?;
    for file in [tarball, package] {
        let size = fs::metadata(&file)?.len() as f64 / 1e6;
        say(&format!("{} ({size:.1} MB)", file.display()));
    }
    Ok(())
}

/// The folder of this program.
fn own_folder() -> Result<PathBuf> {
    let program = env::current_exe()?;
    Ok(program.parent().context("a program is in a folder")?.to_owned())
}

/// Builds the programs with that profile, and returns their folder.
fn build_programs() -> Result<PathBuf> {
    let target = target()?;
    let mut cargo = Toolchain::find()?.cargo("build");
    cargo.args(["--profile", PROFILE, "--locked"]).args(PROGRAMS.map(|name| ["-p", name]).concat());
    command::run(cargo.current_dir(root()).env("CARGO_TARGET_DIR", &target))?;
    Ok(target.join(PROFILE))
}

fn build_guest(triple: &str) -> Result<()> {
    let mut builder = Command::new(env::current_exe()?);
    command::run(builder.args(["guest", triple]).env("CARGO_TARGET_DIR", target()?))
}

/// Puts all files into the tree.
fn fill(tree: &Path, programs: &Path, targets: &[&str]) -> Result<()> {
    for name in PROGRAMS {
        let to = tree.join("bin").join(name);
        copy(&programs.join(name), &to)?;
        // Debug information names the folders of the sources.
        command::run(Command::new("strip").arg("--strip-debug").arg(&to))?;
    }
    for triple in GUESTS {
        copy(&guest::program(triple)?, &tree.join(GUEST).join(triple).join(PORT))?;
    }
    let images = images::install(&tree.join(FIRMWARE), targets)?;
    let bill = tree.join(bill::PATH);
    fs::create_dir_all(bill.parent().context("a file is in a folder")?)?;
    fs::write(bill, bill_of(tree, &images)?)?;
    for entry in fs::read_dir(root().join("studies"))? {
        let path = entry?.path();
        let name = path.file_name().context("a file has a name")?;
        copy(&path, &tree.join("share/chronoscope/studies").join(name))?;
    }
    for name in TEXTS {
        copy(&root().join(name), &tree.join("share/doc/chronoscope").join(name))?;
    }
    for (arguments, path) in PRINTED {
        let output = command::output(Command::new(tree.join("bin/chronoscope")).args(arguments))?;
        let path = tree.join(path);
        fs::create_dir_all(path.parent().context("a file is in a folder")?)?;
        fs::write(path, output.stdout)?;
    }
    Ok(())
}

/// The bill of materials of the tree's programs and images.
fn bill_of(tree: &Path, images: &[images::Installed]) -> Result<String> {
    let mut bill = Bill::new()?;
    let program = |package: &str, triple: String| {
        let (manifest, features) = ("Cargo.toml", Features::default());
        Part::Crate(Crate { manifest, package: package.to_owned(), features, triple })
    };
    for name in PROGRAMS {
        let parts = [program(name, bill::host())];
        bill.add(tree, &format!("bin/{name}"), "application", &parts)?;
    }
    for triple in GUESTS {
        let library = match triple.split('-').next() {
            _ if triple == bill::host() => "libc6-dev",
            Some("x86_64") => "libc6-dev-amd64-cross",
            _ => "libc6-dev-arm64-cross",
        };
        // A guest's program is linked statically.
        let parts = [program(PORT, triple.to_owned()), Part::Libc(library)];
        bill.add(tree, &format!("{GUEST}/{triple}/{PORT}"), "application", &parts)?;
    }
    for images::Installed { path, kind, parts } in images {
        bill.add(tree, &format!("{FIRMWARE}/{path}"), kind, parts)?;
    }
    Ok(bill.render())
}

/// Packs the tree; equal trees give equal bytes.
fn make_tarball(folder: &Path, name: &str) -> Result<PathBuf> {
    let file = folder.join(format!("{name}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0"]);
    tar.args(["--use-compress-program=gzip -n", "-cf"]).arg(&file);
    command::run(tar.arg("-C").arg(folder).arg(name))?;
    Ok(file)
}

/// Makes the Debian package, whose files are the tree's below `/usr`.
fn make_package(folder: &Path, tree: &Path) -> Result<PathBuf> {
    let output = command::output(Command::new("dpkg").arg("--print-architecture"))?;
    let architecture = String::from_utf8(output.stdout)?.trim().to_owned();
    let root = folder.join(".chronoscope-debian");
    if root.exists() {
        fs::remove_dir_all(&root)?;
    }
    let root = &TemporaryFolder::new(root)?.0;
    fs::create_dir_all(root.join("DEBIAN"))?;
    command::run(Command::new("cp").arg("-a").arg(tree).arg(root.join("usr")))?;
    let control = format!(
        "Package: chronoscope\nVersion: {VERSION}\nArchitecture: {architecture}\n\
         Maintainer: Chronoscope's authors <chronoscope@localhost>\nSection: utils\nPriority: optional\n\
         Depends: libc6\nRecommends: qemu-system-arm, qemu-system-misc, qemu-system-x86\n\
         Description: measures how well a kernel keeps time\n \
         Latencies of Linux, of guests and of kernels for microcontrollers, by the same experiments.\n"
    );
    fs::write(root.join("DEBIAN/control"), control)?;
    let file = folder.join(format!("chronoscope_{VERSION}_{architecture}.deb"));
    let mut dpkg = Command::new("dpkg-deb");
    command::run(dpkg.args(["--root-owner-group", "-Zxz", "-z1", "--build"]).arg(root).arg(&file))?;
    Ok(file)
}
