//! The machines of a command as one value. It finds the family of a target, and owns the state that
//! the machines share; each family's state is a type of that family's module.

use std::{
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
};

use anyhow::{Result, bail};

use super::{
    Description, Machine,
    builder::Packages,
    family::Family,
    host::LocalHost,
    images::Images,
    qemu::{self, Chips},
    rtl::Cores,
    serial::{
        Lines,
        boards::{Boards, Holding},
        labgrid::Place,
    },
    vm::{
        Guests,
        kernel::{OwnKernel, Settings},
    },
};
use chronoscope_chips::Table;
use chronoscope_run::Target;
use chronoscope_units::words;

/// All machines, and the state that they share: the index of images, which is read once; files and
/// packages that are made or installed once; guests and boards that are held.
///
/// A command makes one value and passes it on by reference. Nothing is read before it is needed.
#[derive(Default)]
pub struct Machines {
    images: Images,
    packages: Packages,
    host: LocalHost,
    guests: Guests,
    chips: Chips,
    cores: Cores,
    lines: Lines,
    boards: Boards,
}

impl Machines {
    /// The machines of a command that names a kernel for guests, or modules and boot arguments for
    /// such kernels. The files are not read yet: see [`Settings::check`].
    pub fn with_kernel(kernel: Settings) -> Self {
        Self { guests: Guests::new(kernel), ..Self::default() }
    }

    /// The chips and the simulated cores.
    pub(super) fn table(&self) -> &Table {
        self.images.table()
    }

    /// The families of machines, in the order in which their targets are listed.
    fn families(&self) -> [&dyn Family; 6] {
        [&self.host, &self.guests, &self.chips, &self.cores, &self.lines, &self.boards]
    }

    /// Describes the machine of a target without opening it. May read the index of images and
    /// `boards.toml`, once, and the beginning of the target's own image.
    ///
    /// # Errors
    /// There is no such machine, it does not run that kernel, or the target's image is none for it.
    pub fn describe(&self, target: &Target) -> Result<Description> {
        self.first(target, |family| family.describe(&self.images, target))
    }

    /// Opens the machine of a target, to run cases on it. Starts nothing yet.
    ///
    /// # Errors
    /// As [`describe`](Self::describe).
    pub fn open(&self, target: &Target) -> Result<Box<dyn Machine + '_>> {
        self.first(target, |family| family.open(&self.images, target))
    }

    /// Opens the machine of a target and makes these programs of the host available on it.
    ///
    /// # Errors
    /// As [`describe`](Self::describe).
    pub fn open_with_programs(
        &self,
        target: &Target,
        programs: &[&str],
    ) -> Result<Box<dyn Machine + '_>> {
        let mut machine = self.open(target)?;
        machine.include(programs);
        Ok(machine)
    }

    /// All targets that can be listed, as `KERNEL@MACHINE`.
    pub fn targets(&self) -> impl Iterator<Item = String> {
        self.families().into_iter().flat_map(|family| family.targets(&self.images))
    }

    /// The forms of targets on the user's own hardware, each with a phrase that explains it.
    pub fn forms(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.families().into_iter().filter_map(|family| family.form())
    }

    /// The kernel of the user's that the guest of a target boots; `None` for any other target.
    ///
    /// # Errors
    /// As [`describe`](Self::describe).
    pub fn own_kernel(&self, target: &Target) -> Result<Option<OwnKernel>> {
        self.guests.own_kernel(target)
    }

    /// The names of the chips whose time can be modelled (`--chip`).
    pub fn chips(&self) -> impl Iterator<Item = &str> {
        self.table().parts.iter().map(|part| &*part.name)
    }

    /// The path of QEMU's plugin, which is the logic analyser and the observer, brought up to date.
    ///
    /// # Errors
    /// It cannot be built, or is missing.
    pub fn qemu_plugin(&self) -> Result<PathBuf> {
        qemu::plugin(&self.images)
    }

    /// Installs the Debian package of a peer's tool, a step of set-up. Each package is tried once;
    /// a program without its builder leaves it to the user.
    ///
    /// # Errors
    /// The package cannot be installed; the message has the reason and the remedy.
    pub fn install_peer(&self, package: &str) -> Result<()> {
        self.packages.install(package)
    }

    /// Makes labgrid's place the board of its name, for as long as the result lives. Several places
    /// can be held. An entry of that name in boards.toml adds its chip and its commands.
    ///
    /// # Errors
    /// If the place has no serial line, is off line, or `stop` becomes true, or its name cannot be
    /// the name of a board; if there is a boards.toml that cannot be read.
    pub fn hold(&self, place: Place, stop: &AtomicBool) -> Result<Holding<'_>> {
        self.boards.hold(place, stop)
    }

    /// Writes `image` into the flash of the board of that name, by its command or with probe-rs.
    ///
    /// # Errors
    /// If there is no such board, its entry does not say how, or the command fails.
    pub fn flash_board(&self, name: &str, image: &Path, stop: &AtomicBool) -> Result<()> {
        self.boards.flash(name, image, stop)
    }

    /// The result of `find` for the family that knows the target.
    ///
    /// # Errors
    /// No family knows the target; its family takes no images; or as `find`.
    fn first<'m, T>(
        &'m self,
        target: &Target,
        find: impl Fn(&'m dyn Family) -> Result<Option<T>>,
    ) -> Result<T> {
        for family in self.families() {
            if let Some(found) = find(family)? {
                if target.image.is_some() && !family.takes_images() {
                    bail!(
                        "`{target}` takes no image: an image runs on host, in a guest, on an emulated chip, \
                         or on a board (NAME=IMAGE@MACHINE)"
                    );
                }
                return Ok(found);
            }
        }
        bail!("unknown target `{target}`: {} `chronoscope list` shows all", self.instead(target))
    }

    /// The meaning that the user of an unknown target may have had: another way to name the kernel or
    /// the chip, or the nearest names.
    fn instead(&self, target: &Target) -> String {
        let Target { kernel, machine, .. } = target;
        if let Some(instead) = self.by_chip(kernel, machine) {
            return instead;
        }
        let forms = self.forms().map(|(form, _)| form.to_owned());
        let known: Vec<String> = self.targets().chain(forms).collect();
        let names = known.iter().filter_map(|name| name.split_once('@'));
        let here = names.filter(|(_, other)| other == machine);
        let kernels: Vec<&str> = here.map(|(kernel, _)| kernel).collect();
        let is_mistyped = kernels.iter().any(|name| words::distance(name, kernel) <= 2);
        let takes_images = self.table().targets().any(|chip| chip.name == *machine);
        if takes_images && !is_mistyped {
            return format!(
                "{machine} runs {}; another kernel is given as an image, {kernel}=IMAGE@{machine};",
                words::listed(&kernels, "and")
            );
        }
        let near = words::nearest_three(&target.to_string(), known.iter().map(String::as_str));
        format!("did you mean {near}?")
    }

    /// The target and the chip that a target with a chip's name in the place of a machine means.
    fn by_chip(&self, kernel: &str, machine: &str) -> Option<String> {
        let name = machine.to_lowercase();
        let parts = &self.table().parts;
        // `stm32f405rg` has a suffix for the package, and `stm32f4` stands for a family.
        let is_named = |part: &str| name.starts_with(part) || part.starts_with(&name);
        let part = parts.iter().find(|part| name.len() > 4 && is_named(&part.name))?;
        let mut chips = self.table().targets();
        let chip = chips.find(|chip| part.runs.contains(&chip.core))?;
        let known = self.images.targets(&chip.name);
        let asked = format!("{kernel}@{}", chip.name);
        let target = known.iter().find(|name| **name == asked).or(known.first())?;
        Some(format!("a chip's time is `--target {target} --chip {}`;", part.name))
    }
}

#[cfg(test)]
mod tests {
    use chronoscope_suite::experiments;

    use super::*;

    #[test]
    fn defaults_are_values_of_known_parameters() {
        // The host's defaults may be of its own parameters.
        let machines = Machines::default();
        let host = machines.describe(&"linux@host".parse().unwrap()).unwrap().parameters;
        let tables = machines.families().into_iter().flat_map(|family| family.defaults());
        for (experiment, parameter, value) in tables.copied().flatten() {
            let spec = experiments::find(experiment).unwrap();
            let mut known = spec.parameters.iter().chain(host.iter().map(|(known, _)| *known));
            let parameter = known.find(|known| known.name == *parameter).unwrap();
            assert!(parameter.values.contain(value), "{experiment} {}", parameter.name);
        }
    }

    #[test]
    fn every_target_is_found() {
        let machines = Machines::default();
        for target in machines.targets() {
            let target = target.parse().unwrap();
            let description = machines.describe(&target).unwrap();
            let machine = machines.open(&target).unwrap();
            assert_eq!(machine.properties(), description.properties, "{target}");
        }
        for unknown in ["embassy@host", "linux@cortex-m4"] {
            let unknown = unknown.parse().unwrap();
            assert!(machines.describe(&unknown).is_err() && machines.open(&unknown).is_err());
        }
    }
}
