//! The emulated chips on which tandem's own images are tested: rows of the table of chips, and
//! further builds of tandem for them.

use std::path::PathBuf;

use anyhow::{Context, Result};
use chronoscope_chips::{Table, Tandem};

use crate::{command, firmware, repository::target, rust};

/// An emulated chip, or another build of tandem for it.
#[derive(Clone)]
pub struct Chip {
    pub name: String,
    /// The row of the table.
    pub row: chronoscope_chips::Chip,
    pub tandem: Tandem,
    /// The steps that build the images for the full test.
    pub built: String,
    /// Another build of tandem for a chip that has a row: tested by the long test alone.
    pub is_variant: bool,
}

/// Options of the boards with an Arm processor, which print by semihosting.
const ARM: &str = "-serial null -semihosting-config enable=on,target=native";

/// Options of the boards with a RISC-V processor, which print on a UART.
const RISC_V: &str = "-serial stdio";

impl Chip {
    fn new(name: String, row: chronoscope_chips::Chip, tandem: Tandem, is_variant: bool) -> Self {
        let built = format!("tandem: {name}'s images");
        Self { name, row, tandem, built, is_variant }
    }

    /// The chips of the table on which tandem is tested, and the further builds.
    pub fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for row in Table::read().chips {
            let Some(tandem) = row.tandem.clone() else { continue };
            let variants = tandem.variants.iter().map(|feature| {
                let feature_alone = Some(feature.clone());
                let tandem = Tandem { is_main: false, feature: feature_alone, ..tandem.clone() };
                Self::new(format!("{}-{feature}", row.name), row.clone(), tandem, true)
            });
            let variants: Vec<Self> = variants.collect();
            all.push(Self::new(row.name.clone(), row, tandem, false));
            all.extend(variants);
        }
        all
    }

    /// The chip with this name.
    ///
    /// # Errors
    /// There is none.
    pub fn find(name: &str) -> Result<Self> {
        let chip = Self::all().into_iter().find(|chip| chip.name == name);
        chip.with_context(|| format!("there is no chip {name}"))
    }

    /// The build folder of this chip's images. Images with a feature of the chip's have their own.
    fn target(&self) -> Result<PathBuf> {
        let target = target()?;
        Ok(if self.tandem.feature.is_some() { target.join(&self.name) } else { target })
    }

    /// QEMU's arguments that start an emulated board, without the image. Without `sleep=off`, virtual
    /// time depends on the host's.
    pub fn emulator(&self) -> Vec<String> {
        let print = if self.row.architecture() == "arm" { ARM } else { RISC_V };
        let clock = format!("shift={},sleep=off", self.row.qemu.shift);
        let words = self.row.arguments(self.tandem.cpu.as_deref()).chain(["-icount", &clock]);
        words.chain(print.split(' ')).map(str::to_owned).collect()
    }

    /// The path of one of tandem's images, given as `PROFILE/NAME`.
    pub fn image(&self, name: &str) -> Result<PathBuf> {
        Ok(self.target()?.join("firmware").join(&self.row.triple).join(name))
    }

    /// Runs `cargo COMMAND` for tandem's images with these features, or with `none`, and arguments.
    pub fn cargo(&self, command: &str, features: &str, arguments: &[&str]) -> Result<()> {
        let mut cargo = firmware::cargo(&self.row.triple, command, &self.target()?)?;
        let mut features = if features == "none" { String::new() } else { features.to_owned() };
        if let Some(feature) = &self.tandem.feature {
            features = format!("{features},{feature}");
            cargo.env(rust::variable(&self.row.triple, "RUSTFLAGS"), &self.tandem.flags);
        }
        cargo.args(["--locked", "--package", "tandem-firmware", "--features", &features]);
        command::run(cargo.args(arguments))
            .with_context(|| format!("cargo {command} of tandem's images for {}", self.name))
    }
}
