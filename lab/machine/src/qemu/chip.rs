//! The emulated chips, as QEMU's options.

use std::{ops::Range, process::Command};

use object::Architecture;

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
    pub architecture: Architecture,
    /// The addresses of the memory that holds code.
    pub code: Range<u64>,
    /// The time that an instruction takes, as QEMU's `-icount` has it: 2 to this power, in ns. A
    /// little longer than a tick of the timers, unless that is 1 ns.
    instruction: &'static str,
    /// The plugin's options that locate the pins; empty where no image drives pins.
    pub pins: &'static str,
}

/// A chip with a Cortex-M, whose instructions take 1 ns.
const CORTEX_M: Chip = Chip {
    name: "",
    program: "qemu-system-arm",
    package: "qemu-system-arm",
    arguments: &[],
    architecture: Architecture::Arm,
    code: STM32_FLASH,
    instruction: "shift=0",
    pins: "",
};

const STM32_FLASH: Range<u64> = 0x0800_0000..0x0810_0000;

/// GPIOA's BSRR, through its bit-band alias.
const STM32_PINS: &str = "pins=0x42400300,exceptions=on";

pub static CHIPS: [Chip; 10] = [
    Chip {
        name: "cortex-m4",
        arguments: &["-machine", "netduinoplus2"],
        pins: STM32_PINS,
        ..CORTEX_M
    },
    Chip { name: "cortex-m3", arguments: &["-machine", "netduino2"], pins: STM32_PINS, ..CORTEX_M },
    Chip {
        name: "cortex-m33",
        arguments: &["-machine", "mps2-an505"],
        code: 0x1000_0000..0x1040_0000,
        instruction: "shift=6",
        ..CORTEX_M
    },
    Chip {
        name: "cortex-m0",
        arguments: &[
            "-machine",
            "microbit",
            "-global",
            "nrf51-soc.sram-size=131072",
            "-global",
            "nrf51-soc.flash-size=524288",
        ],
        code: 0..0x8_0000,
        instruction: "shift=7",
        ..CORTEX_M
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
        architecture: Architecture::Riscv32,
        code: 0x8000_0000..0x8010_0000,
        instruction: "shift=0",
        // Two registers of the bench board's, which QEMU ignores.
        pins: "set=0x02003010,clear=0x02003014",
    },
    Chip {
        name: "rv64",
        program: "qemu-system-riscv64",
        package: "qemu-system-misc",
        arguments: &[
            "-machine",
            "virt",
            "-bios",
            "none",
            // RV64IMAC, with all three modes.
            "-cpu",
            "rv64,f=off,d=off,h=off,sstc=off",
            "-rtc",
            "base=1970-01-01T00:00:00,clock=vm",
        ],
        architecture: Architecture::Riscv64,
        code: 0x8000_0000..0x8010_0000,
        instruction: "shift=0",
        pins: "",
    },
    // For images of the user's alone: machines that other kernels' own trees support.
    Chip {
        name: "mps2-an385",
        arguments: &["-machine", "mps2-an385"],
        code: 0..0x40_0000,
        ..CORTEX_M
    },
    Chip {
        name: "mps2-an386",
        arguments: &["-machine", "mps2-an386"],
        code: 0..0x40_0000,
        ..CORTEX_M
    },
    // Named as Zephyr's boards.
    Chip {
        name: "qemu_cortex_m3",
        arguments: &["-machine", "lm3s6965evb"],
        code: 0..0x4_0000,
        ..CORTEX_M
    },
    Chip {
        name: "qemu_riscv32",
        program: "qemu-system-riscv32",
        package: "qemu-system-misc",
        arguments: &["-machine", "virt", "-bios", "none", "-m", "256", "-cpu", "rv32"],
        architecture: Architecture::Riscv32,
        code: 0x8000_0000..0x9000_0000,
        instruction: "shift=0",
        pins: "",
    },
];

/// QEMU's arguments for all chips: the host's user interface is off.
const ARGUMENTS: [&str; 8] =
    ["-display", "none", "-monitor", "none", "-serial", "null", "-parallel", "null"];

impl Chip {
    /// The number of instructions in a second of the emulated time.
    pub fn hertz(&self) -> u64 {
        let shift = self.instruction.strip_prefix("shift=").and_then(|shift| shift.parse().ok());
        1_000_000_000 >> shift.unwrap_or(0)
    }

    /// The command that starts the chip without an image. A sleeping processor skips to the next
    /// event at once.
    pub fn command(&self) -> Command {
        let mut qemu = Command::new(self.program);
        qemu.args(self.arguments).arg("-icount");
        qemu.arg(format!("{},sleep=off,align=off", self.instruction)).args(ARGUMENTS);
        qemu
    }
}
