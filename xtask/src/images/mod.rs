//! The images of microcontrollers, and the index of images that the lab reads.
//!
//! Each folder in `ports/firmware/kernels` is a kernel, whose manifest has the keys that
//! `docs/adding.md` lists. The table of chips has the rest.

pub mod index;
mod manifest;
mod plan;
mod tool;

use std::{collections::BTreeSet, path::Path, process::Command};

use anyhow::{Context, Result, bail};

use self::{
    index::{ImageRow, Index, LockedFolder},
    manifest::Language,
    plan::Plan,
    tool::Tool,
};
use crate::{
    bill::Part,
    command, firmware, fresh, packages,
    repository::{self, copy, root, target},
    rust::{Features, Toolchain},
};

/// The environment variable with the C compiler's options, which `ports/c/compile.rs` reads.
const C_OPTIONS: &str = "CHRONOSCOPE_C_OPTIONS";

pub const USAGE: &str = "images [list | build TARGET VARIANT | build TOOL | install FOLDER [TARGET…]]  \
    writes the index of microcontrollers' images; or: packages, one image, a machine's tool, \
    images in a folder";

pub fn run(arguments: &[&str]) -> Result<()> {
    let plans = plans()?;
    match arguments[..] {
        [] => write_index(&plans),
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
            let tool = tool::all().into_iter().find(|tool| tool.name == name);
            build_tool(&tool.with_context(|| format!("there is no tool {name}"))?)
        }
        ["install", folder, ref targets @ ..] => install(Path::new(folder), targets).map(drop),
        _ => bail!("usage: cargo xtask {USAGE}"),
    }
}

/// The images of this repository.
fn plans() -> Result<Vec<Plan>> {
    plan::all(&root().join("ports/firmware"))
}

/// Writes the index of all images, built or not.
fn write_index(plans: &[Plan]) -> Result<()> {
    let locked = LockedFolder::open(&target()?.join("firmware"))?;
    let options = Options::read()?;
    let rows = plans.iter().map(|plan| row(plan, &options)).collect::<Result<Vec<_>>>()?;
    let tools = tool::all();
    let tools = tools.iter().map(|tool| tool.row(beside(tool)));
    let builder = index::builder(locked.folder())?;
    let mut index = Index::new(Some(builder), rows, tools.collect());
    index.renew(locked.folder(), |_| true)?;
    locked.write(&index)
}

/// A plan's row of the index. The image of a kernel in C sends its compiler and options itself.
fn row(plan: &Plan, options: &Options) -> Result<ImageRow> {
    let build =
        (plan.language == Language::Rust).then(|| options.words(plan.options)).transpose()?;
    Ok(ImageRow { build, ..plan.row.clone() })
}

/// The compiler of the images, and the options of the profile `release`.
struct Options {
    compiler: String,
    release: toml::Table,
}

impl Options {
    /// # Errors
    /// There is no toolchain, or the workspace's manifest cannot be read.
    fn read() -> Result<Self> {
        let compiler = Toolchain::find()?.version().context("rustc prints no version")?;
        let text = repository::read(&root().join("ports/firmware/Cargo.toml"))?;
        let manifest: toml::Table = text.parse()?;
        let release = manifest.get("profile").and_then(|profiles| profiles.get("release"));
        let release = release.and_then(toml::Value::as_table).context("there is no release")?;
        Ok(Self { compiler, release: release.clone() })
    }

    /// The compiler and the options in words: the given ones, and otherwise `release`'s.
    ///
    /// # Errors
    /// An option is not among them.
    fn words(&self, own: &[(&str, &str)]) -> Result<String> {
        let option = |name: &str| {
            let own = own.iter().find(|(key, _)| *key == name);
            let value = own.map(|(_, value)| value.trim_matches('\'').to_owned());
            let release = || match self.release.get(name)? {
                toml::Value::String(text) => Some(text.clone()),
                value => Some(value.to_string()),
            };
            let value = value.or_else(release);
            let value = value.with_context(|| format!("the profile release has no {name}"))?;
            let is_no = name == "lto" && value == "false";
            anyhow::Ok(if is_no { "no".to_owned() } else { value })
        };
        let checks = [option("debug-assertions")?, option("overflow-checks")?];
        let checks =
            if checks.iter().any(|check| check == "true") { "checks" } else { "no checks" };
        let (level, lto, units) = (option("opt-level")?, option("lto")?, option("codegen-units")?);
        let several = if units == "1" { "" } else { "s" };
        Ok(format!("{}, -O{level}, {lto} lto of {units} unit{several}, {checks}", self.compiler))
    }
}

/// The path of a tool's file relative to the index in the build folder.
fn beside(tool: &Tool) -> String {
    format!("../{}", tool.file)
}

/// Prints each package with an image, after the triple that it is built for.
fn list(plans: &[Plan]) {
    let packages: BTreeSet<_> = plans
        .iter()
        .flat_map(|plan| {
            let packages = [Some(&plan.package), plan.program.as_ref()].into_iter().flatten();
            packages.map(|package| (&plan.row.triple, package))
        })
        .collect();
    packages.iter().for_each(|(triple, package)| println!("{triple} {package}"));
}

/// The packages that consist of images for a chip, each with the features of a kernel.
///
/// # Errors
/// A manifest of a kernel cannot be read.
pub fn packages(triple: &str) -> Result<BTreeSet<(String, Features)>> {
    let plans = plans()?;
    let here = plans.into_iter().filter(|plan| plan.row.triple == triple && plan.only.is_none());
    let packages =
        here.filter(|plan| plan.options.is_empty() && !plan.is_variant()).flat_map(|plan| {
            let is_further = plan.row.path.starts_with(&plan.row.kernel);
            let features = if is_further { plan.features } else { Features::default() };
            [
                Some((plan.package, features)),
                plan.program.map(|program| (program, Features::default())),
            ]
        });
    Ok(packages.flatten().collect())
}

/// The targets that have an image, as `kernel@machine`.
///
/// # Errors
/// A manifest of a kernel cannot be read.
#[cfg(test)]
pub fn targets() -> Result<BTreeSet<String>> {
    Ok(plans()?.into_iter().map(|plan| plan.row.target).collect())
}

/// Builds an image unless it is fresh, and renews its hash in the index. One file can be the image of
/// several machines. Installs the chip's emulator where it is absent.
fn build(plan: &Plan) -> Result<()> {
    firmware::install_emulator(&plan.row.triple)?;
    renew(&plan.row.path, |target| compile(plan, target))
}

/// Builds a tool unless it is fresh, and renews its hash in the index.
fn build_tool(tool: &Tool) -> Result<()> {
    renew(&beside(tool), |target| tool.build(target))
}

/// Calls `build` with the build folder, unless the file `path` of the index is fresh, and renews its
/// hash.
fn renew(path: &str, build: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let target = target()?;
    let folder = target.join("firmware");
    if fresh::unless_fresh(&folder.join(path), || build(&target))? {
        LockedFolder::open(&folder)?.renew(|renewed| renewed == path)?;
    }
    Ok(())
}

/// Runs cargo for an image. Cargo decides whether there is anything to do.
fn compile(plan: &Plan, target: &Path) -> Result<()> {
    if plan.language == Language::C {
        let compiler = firmware::c_compiler(&plan.row.triple)?;
        packages::need(&[compiler], compiler)?;
    }
    let cargo = |package: &str| -> Result<Command> {
        let mut cargo = firmware::cargo(&plan.row.triple, "build", &target.join(&plan.folder))?;
        cargo.args(["--locked", "--release", "--package", package]);
        for (key, value) in plan.options {
            cargo.args(["--config", &format!("profile.release.{key}={value}")]);
        }
        Ok(cargo)
    };
    let finish = |mut cargo: Command, package: &str| {
        let triple = &plan.row.triple;
        let failed = || format!("{package} could not be built for {triple}");
        command::run(&mut cargo).with_context(failed)
    };
    let mut image = cargo(&plan.package)?;
    image.args(plan.only.iter().flat_map(|program| ["--bin", program]));
    image.envs(plan.c_options.map(|options| (C_OPTIONS, options)));
    image.args(plan.features.arguments());
    if let Some(program) = &plan.program {
        finish(cargo(program)?, program)?;
        let folder = target.join("firmware").join(&plan.row.triple).join("release");
        image.env("PROGRAM", folder.join(program));
    }
    finish(image, &plan.package)
}

/// A file that [`install`] has copied.
pub struct Installed {
    /// The path relative to the folder.
    pub path: String,
    /// The kind, as [`Bill::add`](crate::bill::Bill::add) takes it.
    pub kind: &'static str,
    /// Everything that is linked into the file.
    pub parts: Vec<Part>,
}

/// Builds the images of `targets`, or all if there are none, and their machines' tools, and copies
/// them with an index into a folder from which an installed lab runs them: the index names no
/// builder. Returns what each file contains.
///
/// # Errors
/// A target has no image, or a file cannot be built or copied.
pub fn install(folder: &Path, targets: &[&str]) -> Result<Vec<Installed>> {
    let plans = plans()?;
    let is_known = |target: &&&str| plans.iter().any(|plan| plan.row.target == **target);
    if let Some(unknown) = targets.iter().find(|target| !is_known(target)) {
        bail!("there is no image of {unknown}");
    }
    let target = target()?;
    let options = Options::read()?;
    let locked = LockedFolder::open(folder)?;
    let mut index = Index::new(None, Vec::new(), Vec::new());
    let (mut machines, mut installed) = (BTreeSet::new(), Vec::new());
    // Builds with other options are for comparing compilers, in a checkout.
    let is_wanted = |plan: &&Plan| {
        !plan.is_another_build() && (targets.is_empty() || targets.contains(&&*plan.row.target))
    };
    for plan in plans.iter().filter(is_wanted) {
        compile(plan, &target)?;
        copy(&target.join("firmware").join(&plan.row.path), &folder.join(&plan.row.path))?;
        if let Some(licence) = &plan.licence {
            let name = licence.file_name().context("a licence is a file")?;
            copy(licence, &folder.join("licences").join(name))?;
        }
        index.images.push(row(plan, &options)?);
        let (path, parts) = (plan.row.path.clone(), plan.parts());
        installed.push(Installed { path, kind: "firmware", parts });
        machines.extend(plan.row.target.rsplit_once('@').map(|(_, machine)| machine));
    }
    for tool in tool::needed_by(&machines) {
        tool.build(&target)?;
        copy(&target.join(&tool.file), &folder.join(&tool.file))?;
        index.tools.push(tool.row(tool.file.clone()));
        installed.push(Installed { path: tool.file, kind: "application", parts: tool.parts });
    }
    index.renew(folder, |_| true)?;
    locked.write(&index)?;
    Ok(installed)
}
