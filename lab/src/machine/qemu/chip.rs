//! The emulated chips, as QEMU's options.

use std::process::Command;

/// An emulated chip.
#[derive(Debug)]
pub struct Chip {
    /// The machine's name in a target.
    pub name: &'static str,
    /// QEMU's program.
    pub program: &'static str,
    /// Debian's package that contains the program.
    pub package: &'static str,
    arguments: &'static [&'static str],
    /// The plugin's options that locate the pins.
    pub pins: &'static str,
}

pub static CHIPS: [Chip; 2] = [
    Chip {
        name: "cortex-m4",
        program: "qemu-system-arm",
        package: "qemu-system-arm",
        arguments: &["-machine", "netduinoplus2"],
        // GPIOA's BSRR, through its bit-band alias.
        pins: "pins=0x42400300,exceptions=on",
    },
    Chip {
        name: "rv32",
        program: "qemu-system-riscv32",
        package: "qemu-system-misc",
        arguments: &[
            "-machine",
            "virt",
            "-bios",
            "none",
            // RV32IMC, with machine mode alone.
            "-cpu",
            "rv32,a=off,f=off,d=off,h=off,s=off,u=off",
            // The alarm that counts instructions, from when the processor's counter does.
            "-rtc",
            "base=1970-01-01T00:00:00,clock=vm",
        ],
        // Two registers of the bench board's, which QEMU ignores.
        pins: "set=0x02003010,clear=0x02003014",
    },
];

/// QEMU's arguments for all chips: one instruction takes one tick, a sleeping processor skips to
/// the next event at once, and the host's user interface is off.
const ARGUMENTS: [&str; 10] = [
    "-icount",
    "shift=0,sleep=off,align=off",
    "-display",
    "none",
    "-monitor",
    "none",
    "-serial",
    "null",
    "-parallel",
    "null",
];

impl Chip {
    /// The command that starts the chip without an image.
    pub fn command(&self) -> Command {
        let mut qemu = Command::new(self.program);
        qemu.args(self.arguments).args(ARGUMENTS);
        qemu
    }
}
