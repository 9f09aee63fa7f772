//! All images that the folders of kernels call for, and how cargo builds each.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use chronoscope_chips::{Chip, Table};

use crate::{
    bill::{Crate, Part},
    repository::root,
    rust::Features,
};

use super::{
    index::ImageRow,
    manifest::{self, Exception, Further, Kernel, Language, Manifest, Processes, Smallest},
};

/// One image, and cargo's options for it.
#[derive(Clone, Debug)]
pub struct Plan {
    pub row: ImageRow,
    pub package: String,
    /// The program, if the package has several.
    pub only: Option<String>,
    /// The options that differ from the profile `release`, as keys of cargo's configuration.
    pub options: &'static [(&'static str, &'static str)],
    pub features: Features,
    /// The package of a program that is built first, and whose file the image contains.
    pub program: Option<String>,
    pub language: Language,
    /// The licence that goes with copies of the image.
    pub licence: Option<PathBuf>,
    /// The build folder, relative to the repository's: images with other features have their own.
    pub folder: String,
    /// The options of the C compiler in place of its own, for a kernel in C.
    pub c_options: Option<&'static str>,
}

impl Plan {
    /// Gives the image a build folder of that name, around the one that it has.
    fn nest(&mut self, name: &str) {
        self.row.path = format!("{name}/firmware/{}", self.row.path);
        self.folder = match self.folder.as_str() {
            "" => format!("firmware/{name}"),
            inner => format!("firmware/{name}/{inner}"),
        };
    }

    /// Everything that is linked into the image.
    pub fn parts(&self) -> Vec<Part> {
        let part = |package: &String, features: Features| {
            Part::Crate(Crate {
                manifest: "ports/firmware/Cargo.toml",
                package: package.clone(),
                features,
                triple: self.row.triple.clone(),
            })
        };
        let image = part(&self.package, self.features.clone());
        let program = self.program.as_ref().map(|package| part(package, Features::default()));
        let manifest = format!("ports/firmware/kernels/{}/source/Cargo.toml", self.row.kernel);
        let sources = root().join(&manifest).is_file().then_some(Part::Sources { manifest });
        [Some(image), program, sources].into_iter().flatten().collect()
    }

    /// Returns whether the plan is one of [`BUILDS`].
    pub fn is_another_build(&self) -> bool {
        BUILDS.iter().any(|build| build.name == self.row.variant)
    }

    /// Returns whether the plan is one of [`VARIANTS`].
    pub fn is_variant(&self) -> bool {
        VARIANTS.contains(&self.row.variant.as_str())
    }
}

/// A build of a port's plain image with other options than those that users compile with for speed.
struct Build {
    /// The name as a variant of the image, and as a value of the lab's parameter `build`.
    name: &'static str,
    /// See [`Plan::options`].
    options: &'static [(&'static str, &'static str)],
    /// The options of the C compiler, for a kernel in C.
    c_options: &'static str,
    /// The build differs for a kernel in C alone.
    is_of_c: bool,
}

/// Cargo's own defaults for a release. Weak references of a kernel in C hold for one object file.
const DEFAULTS: &[(&str, &str)] =
    &[("lto", "false"), ("codegen-units", "16"), ("package.chronoscope-c.codegen-units", "1")];

/// The smallest code.
const SMALL: &[(&str, &str)] = &[("opt-level", "'s'")];

/// The builds beside the plain one, which is -O3 with fat LTO in Rust and -O2 in C. They are no cargo
/// profiles: for each of those, cargo compiles all macros and build scripts anew.
const BUILDS: [Build; 4] = [
    Build { name: "cargo", options: DEFAULTS, c_options: "-O2", is_of_c: false },
    Build { name: "size", options: SMALL, c_options: "-Os", is_of_c: false },
    Build { name: "c-o3", options: &[], c_options: "-O3", is_of_c: true },
    Build { name: "c-lto", options: &[], c_options: "-O3 -flto", is_of_c: true },
];

/// Variants of a port's image that are built with a feature of the same name, if the port has it.
/// Each has a build folder of its name, which keeps its file when another variant is built.
const VARIANTS: [&str; 3] = ["traced", "pins", TASKSET];

/// The variant with the experiment `taskset`, and the machine that it is for.
const TASKSET: &str = "taskset";
const TASKSET_ON: &str = "cortex-m4";

/// The images of the workspace `firmware`, by kernel, chip and machine.
///
/// # Errors
/// A manifest cannot be read, or names a chip that the table does not have.
pub fn all(firmware: &Path) -> Result<Vec<Plan>> {
    let table = Table::read();
    let mut plans = Vec::new();
    for (name, folder) in manifest::packages(&firmware.join("kernels"))? {
        let port = manifest::read::<Kernel>(&folder)?;
        let smallest = manifest::read_if_present(&folder.join("smallest"))?;
        let processes = manifest::read_if_present(&folder.join("processes"))?;
        for chip in &port.metadata().chips {
            let chip = table.chip(chip).with_context(|| {
                format!("{}: the table of chips has no {chip}", folder.display())
            })?;
            let only = port.metadata().only.as_ref();
            let is_run = |machine: &&str| only.is_none_or(|only| has(only, machine));
            for machine in table.machines(chip).filter(is_run) {
                let place = Place { kernel: &name, folder: &folder, port: &port, chip, machine };
                plans.extend(place.variants());
                plans.extend(place.builds());
                for (name, further) in &port.metadata().kernels {
                    plans.extend(place.further(name, further));
                }
                plans.extend(place.benchmarks());
                plans.extend(smallest.iter().flat_map(|smallest| place.smallest(smallest)));
                plans.extend(processes.iter().filter_map(|image| place.processes(image)));
            }
        }
    }
    Ok(plans)
}

/// A kernel on a machine.
struct Place<'a> {
    kernel: &'a str,
    /// The folder of the kernel's port.
    folder: &'a Path,
    port: &'a Manifest<Kernel>,
    chip: &'a Chip,
    machine: &'a str,
}

impl Place<'_> {
    /// The plain image of the port, and its [`VARIANTS`].
    fn variants(&self) -> impl Iterator<Item = Plan> {
        let none = Exception::default();
        let exception = self.port.metadata().machines.get(self.machine).unwrap_or(&none).clone();
        let is_here = |variant: &&str| {
            self.port.features.contains_key(*variant)
                && (*variant != "pins" || self.chip.pins.is_some())
                && (*variant != TASKSET || self.machine == TASKSET_ON)
        };
        let variants = VARIANTS.into_iter().filter(is_here);
        ["plain"].into_iter().chain(variants).map(move |variant| {
            let package = &self.port.package.name;
            let mut plan = self.plan(variant, package, package);
            let own = (variant != "plain").then(|| variant.to_owned());
            plan.row.remark = exception.remark.clone();
            own.iter().for_each(|variant| plan.nest(variant));
            if !exception.features.is_empty() {
                plan.nest(&exception.features.join("-"));
            }
            plan.features.names = exception.features.iter().cloned().chain(own).collect();
            plan
        })
    }

    /// The [`BUILDS`] of the plain image, each in a build folder of its name.
    fn builds(&self) -> Vec<Plan> {
        let Some(plain) = self.variants().next() else { return Vec::new() };
        let is_c = plain.language == Language::C;
        let builds = BUILDS.iter().filter(|build| is_c || !build.is_of_c).map(|build| {
            let Build { name, options, c_options, .. } = *build;
            let mut plan = plain.clone();
            plan.row.variant = name.to_owned();
            plan.options = options;
            plan.nest(&format!("build-{name}"));
            plan.c_options = is_c.then_some(c_options);
            plan
        });
        builds.collect()
    }

    /// The images of a kernel that differs in features. They have a build folder of its name.
    fn further(&self, kernel: &str, further: &Further) -> Vec<Plan> {
        if !has(&further.only, self.machine) {
            return Vec::new();
        }
        let known =
            |plan: &Plan| plan.row.variant == "plain" || has(&further.variants, &plan.row.variant);
        let builds = self.builds();
        let mut plans: Vec<Plan> = self.variants().filter(known).chain(builds).collect();
        for plan in &mut plans {
            plan.row.target = format!("{kernel}@{}", self.machine);
            plan.row.kernel = kernel.to_owned();
            plan.nest(kernel);
            plan.features.names.splice(0..0, further.features.iter().cloned());
            plan.features.is_bare = !further.default_features;
        }
        plans
    }

    /// The smallest images, which only the chip's own machine runs.
    fn smallest(&self, smallest: &Manifest<Smallest>) -> impl Iterator<Item = Plan> {
        let is_here = self.is_on_the_chip(&smallest.metadata().chips);
        smallest.programs.iter().filter(move |_| is_here).map(|program| {
            let tasks = program.name.rsplit_once('-').map_or("", |(_, tasks)| tasks);
            self.plan(&format!("smallest-{tasks}"), &smallest.package.name, &program.name)
        })
    }

    /// The builds of the kernel's own benchmarks, which only the chip's own machine runs. Each has a
    /// build folder of its own, since others build the program with other features.
    fn benchmarks(&self) -> impl Iterator<Item = Plan> {
        let Kernel { operations, crowded, .. } = self.port.metadata();
        let benchmarks = operations.iter().chain(crowded);
        benchmarks.filter(|one| self.is_on_the_chip(&one.chips)).flat_map(|one| {
            one.builds.iter().map(|(variant, features)| {
                let mut plan = self.plan(variant, &one.package, &one.program);
                plan.nest(variant);
                plan.features.names = features.clone();
                plan.only = Some(one.program.clone());
                plan
            })
        })
    }

    /// The image that measures processes, for the chips that it is written for.
    fn processes(&self, image: &Manifest<Processes>) -> Option<Plan> {
        let Processes { chips, program } = image.metadata();
        let package = &image.package.name;
        has(chips, &self.chip.name).then(|| Plan {
            program: Some(program.clone()),
            ..self.plan("processes", package, package)
        })
    }

    /// Returns whether the machine is the chip itself, and one of `chips`.
    fn is_on_the_chip(&self, chips: &[String]) -> bool {
        self.machine == self.chip.name && has(chips, &self.chip.name)
    }

    /// A program of a package, without features, in the profile `release`.
    fn plan(&self, variant: &str, package: &str, program: &str) -> Plan {
        let Kernel { kind, language, licence, .. } = self.port.metadata();
        let triple = &self.chip.triple;
        Plan {
            row: ImageRow {
                target: format!("{}@{}", self.kernel, self.machine),
                kernel: self.kernel.to_owned(),
                chip: self.chip.name.clone(),
                triple: triple.clone(),
                kind: kind.clone(),
                variant: variant.to_owned(),
                path: format!("{triple}/release/{program}"),
                sha256: None,
                build: None,
                remark: None,
            },
            package: package.to_owned(),
            only: None,
            options: &[],
            features: Features::default(),
            program: None,
            language: *language,
            licence: licence.as_ref().map(|name| self.folder.join(name)),
            folder: String::new(),
            c_options: None,
        }
    }
}

fn has(names: &[String], name: &str) -> bool {
    names.iter().any(|one| one == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::root;

    #[test]
    fn kernels_that_differ_in_features_have_images_in_folders_of_their_own() {
        let plans = all(&root().join("ports/firmware")).unwrap();
        let of = |kernel: &str| plans.iter().filter(|plan| plan.row.kernel == kernel).collect();
        let basepri: Vec<&Plan> = of("tandem-basepri");
        let variants: Vec<&str> = basepri.iter().map(|plan| &*plan.row.variant).collect();
        assert_eq!(variants, ["plain", "traced", "cargo", "size"]);
        for plan in basepri {
            assert_eq!(plan.row.target, "tandem-basepri@cortex-m4");
            assert!(plan.row.path.starts_with("tandem-basepri/firmware/"), "{}", plan.row.path);
            assert_eq!(plan.features.names[0], "basepri");
            assert!(plan.licence.is_none());
        }
        let thread: Vec<&Plan> = of("embassy-thread");
        let expected = ["--no-default-features", "--features=counted,thread"];
        assert!(
            thread.len() == 3 && thread.iter().all(|plan| plan.features.arguments() == expected)
        );
        let checked: Vec<&Plan> = of("freertos-checked");
        let builds: Vec<_> =
            checked.iter().map(|plan| (&*plan.row.variant, plan.c_options)).collect();
        let of_c = [("c-o3", Some("-O3")), ("c-lto", Some("-O3 -flto"))];
        let all = [("plain", None), ("cargo", Some("-O2")), ("size", Some("-Os"))];
        assert_eq!(builds, [&all[..], &of_c].concat());
        assert!(checked[0].licence.is_some() && checked[0].language == Language::C);
    }
}
