//! The images of microcontrollers, and the index of images that the lab reads.
//!
//! The kernels and chips are those whose folders are in `ports/firmware/kernels` and `…/chips`: the
//! metadata of their manifests says all that the index needs. `docs/adding.md` has the keys.

mod index;
mod manifest;
mod plan;
mod tool;

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use anyhow::{Context, Result, bail};

pub use self::index::sha256;
use self::{
    index::{Index, Locked, Row},
    manifest::Language,
    plan::Plan,
    tool::{TOOLS, Tool},
};
use crate::{
    firmware, packages,
    repository::{root, target},
    rust::Toolchain,
};

pub const USAGE: &str = "images [list | build TARGET VARIANT | build TOOL | install FOLDER [TARGET…]]  \
    writes the index of microcontrollers' images; or: packages, one image, a machine's tool, \
    images in a folder";

pub fn run(arguments: &[String]) -> Result<()> {
    let plans = plan::of(&root().join("ports/firmware"))?;
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [] => index(&plans),
        ["list"] => {
            list(&plans);
            Ok(())
        }
        ["build", target, variant] => {
            let fits = |plan: &&Plan| plan.row.target == target && plan.row.variant == variant;
            let plan = plans.iter().find(fits);
            build(plan.with_context(|| format!("there is no image {variant} of {target}"))?)
        }
        ["build", name] => {
            let tool = TOOLS.iter().find(|tool| tool.name == name);
            build_tool(tool.with_context(|| format!("there is no tool {name}"))?)
        }
        ["install", folder, ref targets @ ..] => install(Path::new(folder), targets),
        _ => bail!("usage: cargo xtask {USAGE}"),
    }
}

/// Writes the index of all images, built or not.
fn index(plans: &[Plan]) -> Result<()> {
    let locked = Locked::open(&target()?.join("firmware"))?;
    let options = options()?;
    let rows = plans.iter().map(|plan| row(plan, &options));
    let tools = TOOLS.iter().map(|tool| tool.row(beside(tool)));
    let builder = index::builder(locked.folder())?;
    let mut index = Index::new(Some(builder), rows.collect(), tools.collect());
    for row in &mut index.images {
        row.renew(locked.folder())?;
    }
    for tool in &mut index.tools {
        tool.renew(locked.folder())?;
    }
    locked.write(&index)
}

/// A plan's row of the index. An image of a kernel in C sends itself how it was compiled.
fn row(plan: &Plan, options: &str) -> Row {
    let build = (plan.language == Language::Rust).then(|| options.to_owned());
    Row { build, ..plan.row.clone() }
}

/// The compiler of the images, and the options of their profiles, which all inherit from `release`.
///
/// # Errors
/// There is no toolchain, or the workspace's manifest cannot be read.
fn options() -> Result<String> {
    let compiler = Toolchain::find()?.version().context("rustc tells no version")?;
    let path = root().join("ports/firmware/Cargo.toml");
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let manifest: toml::Table = text.parse()?;
    let release = manifest.get("profile").and_then(|profiles| profiles.get("release"));
    let release = release.and_then(toml::Value::as_table).context("there is no profile release")?;
    let option = |name: &str| match release.get(name) {
        Some(toml::Value::String(text)) => Ok(text.clone()),
        Some(value) => Ok(value.to_string()),
        None => bail!("the profile release has no {name}"),
    };
    let checks = [option("debug-assertions")?, option("overflow-checks")?];
    let checks = if checks.iter().any(|check| check == "true") { "checks" } else { "no checks" };
    let (level, lto, units) = (option("opt-level")?, option("lto")?, option("codegen-units")?);
    Ok(format!("{compiler}, -O{level}, {lto} lto of {units} unit, {checks}"))
}

/// The path of a tool's file relative to the index in the build folder.
fn beside(tool: &Tool) -> String {
    format!("../{}", tool.file)
}

/// Prints each package with an image, after the triple that it is built for.
fn list<'a>(plans: &'a [Plan]) {
    let of = |plan: &'a Plan| [Some(&plan.package), plan.program.as_ref()].into_iter().flatten();
    let mut packages: Vec<_> =
        plans.iter().flat_map(|plan| of(plan).map(|package| (&plan.row.triple, package))).collect();
    packages.sort();
    packages.dedup();
    for (triple, package) in packages {
        println!("{triple} {package}");
    }
}

/// The packages that consist of images for a chip.
///
/// # Errors
/// A manifest of a kernel or a chip cannot be read.
pub fn packages(triple: &str) -> Result<BTreeSet<String>> {
    let plans = plan::of(&root().join("ports/firmware"))?;
    let here = plans.into_iter().filter(|plan| plan.row.triple == triple && plan.only.is_none());
    Ok(here.flat_map(|plan| [Some(plan.package), plan.program]).flatten().collect())
}

/// Builds an image, and renews its hash in the index.
fn build(plan: &Plan) -> Result<()> {
    let target = target()?;
    compile(plan, &target)?;
    let locked = Locked::open(&target.join("firmware"))?;
    let mut index = locked.read()?;
    let mut changed = false;
    // One file can be the image of several machines.
    for row in index.images.iter_mut().filter(|row| row.path == plan.row.path) {
        changed |= row.renew(locked.folder())?;
    }
    if changed { locked.write(&index) } else { Ok(()) }
}

/// Builds a tool, and renews its hash in the index.
fn build_tool(tool: &Tool) -> Result<()> {
    let target = target()?;
    tool.build(&target)?;
    let locked = Locked::open(&target.join("firmware"))?;
    let mut index = locked.read()?;
    let mut changed = false;
    for row in index.tools.iter_mut().filter(|row| row.name == tool.name) {
        changed |= row.renew(locked.folder())?;
    }
    if changed { locked.write(&index) } else { Ok(()) }
}

/// Runs cargo for an image. Cargo decides whether there is anything to do.
fn compile(plan: &Plan, target: &Path) -> Result<()> {
    if plan.language == Language::C {
        let compiler = firmware::c_compiler(&plan.row.triple);
        packages::need(&[compiler], compiler)?;
    }
    let cargo = |package: &str| -> Result<Command> {
        let mut cargo = firmware::cargo(&plan.row.triple, "build", &target.join(&plan.folder))?;
        cargo.args(["--locked", "--profile", plan.profile, "--package", package]);
        Ok(cargo)
    };
    let mut image = cargo(&plan.package)?;
    image.args(plan.only.iter().flat_map(|program| ["--bin", program]));
    if !plan.features.is_empty() {
        image.args(["--features", &plan.features.join(",")]);
    }
    if let Some(program) = &plan.program {
        finish(cargo(program)?, program, plan)?;
        let folder = target.join("firmware").join(&plan.row.triple).join(plan.profile);
        image.env("PROGRAM", folder.join(program));
    }
    finish(image, &plan.package, plan)
}

fn finish(mut cargo: Command, package: &str, plan: &Plan) -> Result<()> {
    let status = cargo.status().context("cannot start cargo")?;
    if !status.success() {
        bail!("{package} could not be built for {}", plan.row.triple);
    }
    Ok(())
}

/// Builds the images of `targets`, or all if there are none, and their machines' tools, and copies
/// them with an index into a folder from which an installed lab runs them: the index names no
/// builder.
pub fn install(folder: &Path, targets: &[&str]) -> Result<()> {
    let plans = plan::of(&root().join("ports/firmware"))?;
    let is_known = |target: &&&str| plans.iter().any(|plan| plan.row.target == **target);
    if let Some(unknown) = targets.iter().find(|target| !is_known(target)) {
        bail!("there is no image of {unknown}");
    }
    let target = target()?;
    let options = options()?;
    let locked = Locked::open(folder)?;
    let mut index = Index::new(None, Vec::new(), Vec::new());
    let mut machines = BTreeSet::new();
    let is_wanted = |plan: &&Plan| targets.is_empty() || targets.contains(&&*plan.row.target);
    for plan in plans.iter().filter(is_wanted) {
        compile(plan, &target)?;
        copy(&target.join("firmware").join(&plan.row.path), &folder.join(&plan.row.path))?;
        if let Some(licence) = &plan.licence {
            let name = licence.file_name().context("a licence is a file")?;
            copy(licence, &folder.join("licences").join(name))?;
        }
        let mut row = row(plan, &options);
        row.renew(folder)?;
        index.images.push(row);
        machines.extend(plan.row.target.rsplit_once('@').map(|(_, machine)| machine));
    }
    for tool in tool::of(&machines) {
        tool.build(&target)?;
        copy(&target.join(tool.file), &folder.join(tool.file))?;
        let mut row = tool.row(tool.file.to_owned());
        row.renew(folder)?;
        index.tools.push(row);
    }
    locked.write(&index)
}

/// Copies a file; creates the folder that it goes to.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to.parent().context("a file is in a folder")?)?;
    fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
    Ok(())
}
