//! The emulated chips on which tandem's own images are tested.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::{command, firmware, repository::target, rust};

/// An emulated chip.
pub struct Chip {
    pub name: &'static str,
    pub triple: &'static str,
    /// The steps that build the images for the full test.
    pub built: &'static str,
    /// The full test runs all images. On other chips it runs only the hard ones
    /// ([`super::table`]), and the long test runs all.
    pub is_main: bool,
    /// Another build of tandem for a chip that has a row: tested by the long test alone.
    pub is_variant: bool,
    /// A feature of the images, and flags of the compiler. Such images have their own build folder
    /// with the chip's name.
    own: Option<(&'static str, &'static str)>,
    /// Images that do not apply.
    pub without: &'static [&'static str],
    /// QEMU's program, and the options that differ between boards.
    emulator: &'static str,
}

/// Options of the boards with an Arm processor, which print by semihosting.
const ARM: &str = "-serial null -semihosting-config enable=on,target=native";

/// Options of the boards with a RISC-V processor, which print on a UART.
const RISC_V: &str = "-M virt -bios none -serial stdio";

const NETDUINO_PLUS_2: &str = "qemu-system-arm -M netduinoplus2 -icount shift=0,sleep=off";

const VIRT: &str = "qemu-system-riscv32 -icount shift=0,sleep=off";

const fn chip(name: &'static str, triple: &'static str, built: &'static str) -> Chip {
    Chip {
        name,
        triple,
        built,
        is_main: false,
        is_variant: false,
        own: None,
        without: &[],
        emulator: "",
    }
}

/// Instructions take 1 ns where the board's timer counts every nanosecond; elsewhere a little longer
/// than the timer's tick. Without `sleep=off`, virtual time depends on the host's.
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
        emulator: "qemu-system-arm -M netduino2 -icount shift=0,sleep=off",
        ..chip("cortex-m3", "thumbv7m-none-eabi", "tandem: cortex-m3's images")
    },
    Chip {
        emulator: "qemu-system-arm -M mps2-an505 -icount shift=6,sleep=off",
        ..chip("cortex-m33", "thumbv8m.main-none-eabihf", "tandem: cortex-m33's images")
    },
    Chip {
        without: UNLIMITED,
        // The micro:bit has 16 KiB.
        emulator: "qemu-system-arm -M microbit -global nrf51-soc.sram-size=131072 \
                   -icount shift=7,sleep=off",
        ..chip("cortex-m0", "thumbv6m-none-eabi", "tandem: cortex-m0's images")
    },
    Chip {
        own: Some(("cortex-m7", "-C target-cpu=cortex-m7")),
        emulator: "qemu-system-arm -M mps2-an500 -icount shift=6,sleep=off",
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
        without: UNLIMITED,
        // The timer's interrupt comes by way of machine mode, as on processors without Sstc.
        emulator: "qemu-system-riscv64 -cpu rv64,f=off,d=off,h=off,sstc=off \
                   -icount shift=0,sleep=off",
        ..chip("rv64", "riscv64imac-unknown-none-elf", "tandem: rv64's images")
    },
];

/// The image that a chip lacks on which nothing limits the handlers' stack.
const UNLIMITED: &[&str] = &["checked/handler_overflow"];

impl Chip {
    /// The chip with this name.
    ///
    /// # Errors
    /// There is none.
    pub fn find(name: &str) -> Result<&'static Self> {
        let chip = CHIPS.iter().find(|chip| chip.name == name);
        chip.with_context(|| format!("there is no chip {name}"))
    }

    /// The build folder of this chip's images.
    fn target(&self) -> Result<PathBuf> {
        let target = target()?;
        Ok(if self.own.is_some() { target.join(self.name) } else { target })
    }

    /// The words of the command that starts an emulated board, without the image.
    pub fn emulator(&self) -> impl Iterator<Item = &'static str> {
        let options = if self.emulator.starts_with("qemu-system-arm") { ARM } else { RISC_V };
        self.emulator.split_whitespace().chain(options.split_whitespace())
    }

    /// The path of one of tandem's images, given as `PROFILE/NAME`.
    pub fn image(&self, name: &str) -> Result<PathBuf> {
        Ok(self.target()?.join("firmware").join(self.triple).join(name))
    }

    /// Runs `cargo COMMAND` for tandem's images with these features, or with `none`, and arguments.
    pub fn cargo(&self, command: &str, features: &str, arguments: &[&str]) -> Result<()> {
        let mut cargo = firmware::cargo(self.triple, command, &self.target()?)?;
        let mut features = if features == "none" { String::new() } else { features.to_owned() };
        if let Some((feature, flags)) = self.own {
            features = format!("{features},{feature}");
            cargo.env(rust::variable(self.triple, "RUSTFLAGS"), flags);
        }
        cargo.args(["--locked", "--package", "tandem-firmware", "--features", &features]);
        command::run(cargo.args(arguments))
            .with_context(|| format!("cargo {command} of tandem's images for {}", self.name))
    }
}
