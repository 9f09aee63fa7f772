//! The machines on which images can be observed, as QEMU's options.

use object::Architecture::{self, Arm, Riscv32, Riscv64};

/// An emulated machine for unmodified images.
#[derive(Debug)]
pub struct Emulated {
    /// QEMU's name of the machine.
    pub name: &'static str,
    pub architecture: Architecture,
    pub program: &'static str,
    /// Debian's package that contains the program.
    pub package: &'static str,
    pub arguments: &'static [&'static str],
    /// A firmware in machine mode can run before the image (`-bios`); without one, the image does.
    /// The machine has sockets for virtio's disks, too.
    pub is_virt: bool,
    /// The processor's clock in QEMU, by which SysTick counts; 0 without a SysTick.
    pub hertz: u64,
}

/// A machine can have a row for each architecture.
pub const MACHINES: [Emulated; 4] = [
    Emulated {
        name: "virt",
        architecture: Riscv64,
        program: "qemu-system-riscv64",
        package: "qemu-system-misc",
        arguments: &["-machine", "virt"],
        is_virt: true,
        hertz: 0,
    },
    Emulated {
        name: "virt",
        architecture: Riscv32,
        program: "qemu-system-riscv32",
        package: "qemu-system-misc",
        arguments: &["-machine", "virt"],
        is_virt: true,
        hertz: 0,
    },
    Emulated {
        name: "netduinoplus2",
        architecture: Arm,
        program: "qemu-system-arm",
        package: "qemu-system-arm",
        arguments: &["-machine", "netduinoplus2"],
        is_virt: false,
        hertz: 168_000_000,
    },
    Emulated {
        name: "netduino2",
        architecture: Arm,
        program: "qemu-system-arm",
        package: "qemu-system-arm",
        arguments: &["-machine", "netduino2"],
        is_virt: false,
        hertz: 120_000_000,
    },
];
