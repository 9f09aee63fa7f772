//! The emulated chips on which tandem's own images are tested.

use std::{path::PathBuf, process::Command};

use anyhow::{Context, Result, bail};

use crate::{firmware, repository::target};

/// An emulated chip.
pub struct Chip {
    pub name: &'static str,
    pub triple: &'static str,
    /// The steps that build the images for the full test.
    pub built: &'static str,
    /// The whole set of images is part of the full test. Of other chips, the full test has
    /// [`HARD`](super::table), and the long one all.
    pub is_main: bool,
    /// Another build of tandem for a chip that has a row: tested by the long test alone.
    pub is_variant: bool,
    /// A feature of the images, and flags of the compiler. Such images have a build folder of their
    /// own, named as the chip.
    own: Option<(&'static str, &'static str)>,
    /// Images that do not apply.
    pub without: &'static [&'static str],
    /// The emulator's program and options.
    pub emulator: &'static [&'static str],
}

const fn chip(name: &'static str, triple: &'static str, built: &'static str) -> Chip {
    Chip {
        name,
        triple,
        built,
        is_main: false,
        is_variant: false,
        own: None,
        without: &[],
        emulator: &[],
    }
}

const SEMIHOSTING: &str = "enable=on,target=native";

/// Instructions take 1 ns where the board's timer counts every nanosecond; elsewhere a little longer
/// than the timer's tick.
/// Without `sleep=off`, virtual time depends on the host's.
pub static CHIPS: [Chip; 9] = [
    Chip {
        is_main: true,
        emulator: NETDUINO_PLUS_2,
        ..chip("cortex-m4", "thumbv7em-none-eabihf", "tandem: cortex-m4's images")
    },
    Chip {
        is_main: true,
        emulator: VIRT,
        ..chip("rv32", "riscv32imc-unknown-none-elf", "tandem: rv32's images")
    },
    Chip {
        emulator: &[
            "qemu-system-arm",
            "-M",
            "netduino2",
            "-icount",
            "shift=0,sleep=off",
            "-serial",
            "null",
            "-semihosting-config",
            SEMIHOSTING,
        ],
        ..chip("cortex-m3", "thumbv7m-none-eabi", "tandem: cortex-m3's images")
    },
    Chip {
        emulator: &[
            "qemu-system-arm",
            "-M",
            "mps2-an505",
            "-icount",
            "shift=6,sleep=off",
            "-serial",
            "null",
            "-semihosting-config",
            SEMIHOSTING,
        ],
        ..chip("cortex-m33", "thumbv8m.main-none-eabihf", "tandem: cortex-m33's images")
    },
    Chip {
        // Nothing limits the handlers' stack.
        without: &["checked/handler_overflow"],
        emulator: &[
            "qemu-system-arm",
            "-M",
            "microbit",
            // The micro:bit has 16 KiB.
            "-global",
            "nrf51-soc.sram-size=131072",
            "-icount",
            "shift=7,sleep=off",
            "-serial",
            "null",
            "-semihosting-config",
            SEMIHOSTING,
        ],
        ..chip("cortex-m0", "thumbv6m-none-eabi", "tandem: cortex-m0's images")
    },
    Chip {
        own: Some(("cortex-m7", "-C target-cpu=cortex-m7")),
        emulator: &[
            "qemu-system-arm",
            "-M",
            "mps2-an500",
            "-icount",
            "shift=6,sleep=off",
            "-serial",
            "null",
            "-semihosting-config",
            SEMIHOSTING,
        ],
        ..chip("cortex-m7", "thumbv7em-none-eabihf", "tandem: cortex-m7's images")
    },
    Chip {
        is_variant: true,
        own: Some(("basepri", "")),
        emulator: NETDUINO_PLUS_2,
        ..chip("cortex-m4-basepri", "thumbv7em-none-eabihf", "tandem: images that mask by BASEPRI")
    },
    Chip {
        emulator: VIRT,
        ..chip("rv32imac", "riscv32imac-unknown-none-elf", "tandem: rv32imac's images")
    },
    Chip {
        // Nothing limits the handlers' stack.
        without: &["checked/handler_overflow"],
        emulator: VIRT_64,
        ..chip("rv64", "riscv64imac-unknown-none-elf", "tandem: rv64's images")
    },
];

const NETDUINO_PLUS_2: &[&str] = &[
    "qemu-system-arm",
    "-M",
    "netduinoplus2",
    "-icount",
    "shift=0,sleep=off",
    "-serial",
    "null",
    "-semihosting-config",
    SEMIHOSTING,
];

const VIRT: &[&str] = &[
    "qemu-system-riscv32",
    "-M",
    "virt",
    "-bios",
    "none",
    "-icount",
    "shift=0,sleep=off",
    "-serial",
    "stdio",
];

const VIRT_64: &[&str] = &[
    "qemu-system-riscv64",
    "-M",
    "virt",
    "-cpu",
    // The timer's interrupt comes by way of machine mode, as on processors without Sstc.
    "rv64,f=off,d=off,h=off,sstc=off",
    "-bios",
    "none",
    "-icount",
    "shift=0,sleep=off",
    "-serial",
    "stdio",
];

impl Chip {
    /// # Errors
    /// There is no chip of this name.
    pub fn find(name: &str) -> Result<&'static Self> {
        let chip = CHIPS.iter().find(|chip| chip.name == name);
        chip.with_context(|| format!("there is no chip {name}"))
    }

    /// The folder that is the build folder for this chip's images.
    fn target(&self) -> Result<PathBuf> {
        let target = target()?;
        Ok(if self.own.is_some() { target.join(self.name) } else { target })
    }

    /// The path of one of tandem's images, given as `PROFILE/NAME`.
    pub fn image(&self, name: &str) -> Result<PathBuf> {
        Ok(self.target()?.join("firmware").join(self.triple).join(name))
    }

    /// Runs `cargo COMMAND` for tandem's images with these features and arguments.
    pub fn cargo(&self, command: &str, features: &str, arguments: &[&str]) -> Result<()> {
        let mut cargo: Command = firmware::cargo(self.triple, command, &self.target()?)?;
        let mut features = features.to_owned();
        if let Some((feature, flags)) = self.own {
            features = format!("{features},{feature}");
            let triple = self.triple.to_uppercase().replace(['-', '.'], "_");
            cargo.env(format!("CARGO_TARGET_{triple}_RUSTFLAGS"), flags);
        }
        cargo.args(["--locked", "--package", "tandem-firmware", "--features", &features]);
        let status = cargo.args(arguments).status().context("cannot start cargo")?;
        if !status.success() {
            bail!("tandem's images for {}: cargo {command} ended with {status}", self.name);
        }
        Ok(())
    }
}
