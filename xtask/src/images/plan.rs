//! All images that the folders of kernels and chips call for, and how cargo builds each.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use super::{
    index::Row,
    manifest::{
        self, Chip, Exception, Kernel, Language, Manifest, Operations, Processes, Smallest,
    },
};

/// How an image is built.
#[derive(Debug)]
pub struct Plan {
    pub row: Row,
    pub package: String,
    /// The program, if the package has others beside it.
    pub only: Option<String>,
    pub profile: &'static str,
    pub features: Vec<String>,
    /// The package of a program that is built first, and whose file the image contains.
    pub program: Option<String>,
    pub language: Language,
    /// The licence that goes with copies of the image.
    pub licence: Option<PathBuf>,
    /// The build folder, relative to the repository's: images with other features have their own.
    pub folder: String,
}

/// Variants of a port's image that are built with a feature of the same name, if the port has it.
/// The cargo profile keeps the files of one variant when another is built.
const VARIANTS: [&str; 2] = ["traced", "pins"];

/// The images of the workspace `firmware`, by kernel, chip and machine.
///
/// # Errors
/// A manifest cannot be read, or names a chip without a folder.
pub fn of(firmware: &Path) -> Result<Vec<Plan>> {
    let chips = manifest::packages(&firmware.join("chips"))?
        .into_iter()
        .map(|(name, folder)| Ok((name, manifest::read(&folder)?.package.metadata.chronoscope)))
        .collect::<Result<BTreeMap<String, Chip>>>()?;
    let mut plans = Vec::new();
    for (name, folder) in manifest::packages(&firmware.join("kernels"))? {
        let port = manifest::read::<Kernel>(&folder)?;
        let smallest = folder.join("smallest");
        let smallest = smallest.is_dir().then(|| manifest::read::<Smallest>(&smallest));
        let smallest = smallest.transpose()?;
        let processes = folder.join("processes");
        let processes = processes.is_dir().then(|| manifest::read::<Processes>(&processes));
        let processes = processes.transpose()?;
        for chip in &port.package.metadata.chronoscope.chips {
            let known = chips.get(chip).with_context(|| {
                format!("{}: there is no folder chips/{chip}", folder.display())
            })?;
            let only = port.package.metadata.chronoscope.only.as_ref();
            let is_run = |machine: &&String| only.is_none_or(|only| only.contains(machine));
            for machine in known.machines.iter().filter(is_run) {
                let place = Place {
                    kernel: &name,
                    folder: &folder,
                    chip,
                    triple: &known.triple,
                    machine,
                    without: &known.without,
                };
                plans.extend(place.port(&port));
                plans.extend(place.operations(&port));
                plans.extend(smallest.iter().flat_map(|smallest| place.smallest(smallest, &port)));
                plans.extend(processes.iter().filter_map(|image| place.processes(image, &port)));
            }
        }
    }
    Ok(plans)
}

/// A kernel on a machine.
struct Place<'a> {
    kernel: &'a str,
    /// The folder of its port.
    folder: &'a Path,
    chip: &'a str,
    triple: &'a str,
    machine: &'a str,
    /// Variants of images that the chip does not have.
    without: &'a [String],
}

impl Place<'_> {
    /// The images of the port.
    fn port(&self, port: &Manifest<Kernel>) -> Vec<Plan> {
        let none = Exception::default();
        let exception =
            port.package.metadata.chronoscope.machines.get(self.machine).unwrap_or(&none);
        let is_here = |variant: &&str| {
            port.features.contains_key(*variant)
                && !self.without.iter().any(|missing| missing == variant)
        };
        let variants = VARIANTS.into_iter().filter(is_here);
        let plan = |variant: &'static str| {
            let profile = if variant == "plain" { "release" } else { variant };
            let own = (variant != "plain").then(|| variant.to_owned());
            let features: Vec<String> = exception.features.iter().cloned().chain(own).collect();
            let inside = exception.features.join("-");
            let folder = if inside.is_empty() { inside } else { format!("firmware/{inside}") };
            let path = format!("{}/{profile}/{}", self.triple, port.package.name);
            let path = match folder.strip_prefix("firmware/") {
                Some(inside) => format!("{inside}/firmware/{path}"),
                None => path,
            };
            let remark = exception.remark.clone();
            let row = Row { remark, ..self.row(port, variant, path) };
            Plan {
                row,
                package: port.package.name.clone(),
                only: None,
                profile,
                features,
                program: None,
                language: port.package.metadata.chronoscope.language,
                licence: self.licence(port),
                folder,
            }
        };
        ["plain"].into_iter().chain(variants).map(plan).collect()
    }

    /// The smallest images, which only the chip's own machine runs.
    fn smallest(&self, smallest: &Manifest<Smallest>, port: &Manifest<Kernel>) -> Vec<Plan> {
        let chips = &smallest.package.metadata.chronoscope.chips;
        let is_here = self.machine == self.chip && chips.iter().any(|chip| chip == self.chip);
        let programs = smallest.programs.iter().filter(|_| is_here);
        let plan = |program: &manifest::Program| {
            let tasks = program.name.rsplit_once('-').map_or("", |(_, tasks)| tasks);
            let path = format!("{}/release/{}", self.triple, program.name);
            Plan {
                row: self.row(port, &format!("smallest-{tasks}"), path),
                package: smallest.package.name.clone(),
                only: None,
                profile: "release",
                features: Vec::new(),
                program: None,
                language: port.package.metadata.chronoscope.language,
                licence: self.licence(port),
                folder: String::new(),
            }
        };
        programs.map(plan).collect()
    }

    /// The builds of the kernel's own benchmark, which only the chip's own machine runs. Each has a
    /// build folder of its own, since others build the program with other features.
    fn operations(&self, port: &Manifest<Kernel>) -> Vec<Plan> {
        let kernel = &port.package.metadata.chronoscope;
        let is_here = |chip: &String| chip == self.chip && chip == self.machine;
        let operations = kernel.operations.iter().filter(|one| one.chips.iter().any(is_here));
        let plan = |Operations { package, program, builds, .. }: &Operations| {
            builds
                .iter()
                .map(|(variant, features)| {
                    let path = format!("{variant}/firmware/{}/release/{program}", self.triple);
                    Plan {
                        row: self.row(port, variant, path),
                        package: package.clone(),
                        only: Some(program.clone()),
                        profile: "release",
                        features: features.clone(),
                        program: None,
                        language: kernel.language,
                        licence: self.licence(port),
                        folder: format!("firmware/{variant}"),
                    }
                })
                .collect::<Vec<_>>()
        };
        operations.flat_map(plan).collect()
    }

    /// The image that measures processes, for the chips that it is written for.
    fn processes(&self, image: &Manifest<Processes>, port: &Manifest<Kernel>) -> Option<Plan> {
        let Processes { chips, program } = &image.package.metadata.chronoscope;
        chips.iter().any(|chip| chip == self.chip).then(|| Plan {
            row: self.row(
                port,
                "processes",
                format!("{}/release/{}", self.triple, image.package.name),
            ),
            package: image.package.name.clone(),
            only: None,
            profile: "release",
            features: Vec::new(),
            program: Some(program.clone()),
            language: port.package.metadata.chronoscope.language,
            licence: self.licence(port),
            folder: String::new(),
        })
    }

    fn licence(&self, port: &Manifest<Kernel>) -> Option<PathBuf> {
        port.package.metadata.chronoscope.licence.as_ref().map(|name| self.folder.join(name))
    }

    fn row(&self, port: &Manifest<Kernel>, variant: &str, path: String) -> Row {
        Row {
            target: format!("{}@{}", self.kernel, self.machine),
            kernel: self.kernel.to_owned(),
            chip: self.chip.to_owned(),
            triple: self.triple.to_owned(),
            kind: port.package.metadata.chronoscope.kind.clone(),
            variant: variant.to_owned(),
            path,
            sha256: None,
            build: None,
            remark: None,
        }
    }
}
