//! The processors that guests can have, as data: their emulators, packages, machines and clocks.

use std::{env::consts::ARCH, sync::atomic::AtomicBool};

use anyhow::Result;

use super::{arm64, bzimage};

/// A processor of guests, and the machine that QEMU makes with it.
pub struct Architecture {
    /// The name of the machine in a target.
    pub machine: &'static str,
    /// The processor in the names of Debian's packages.
    pub debian: &'static str,
    /// The processor in Rust's names, as in `std::env::consts::ARCH`, and the target of the port.
    pub rust: &'static str,
    pub triple: &'static str,
    /// QEMU's program and its Debian package.
    pub emulator: &'static str,
    pub package: &'static str,
    /// Returns whether the first page of a file is the beginning of a kernel's image for the
    /// processor, in a form other than ELF.
    pub is_image: fn(&[u8]) -> bool,
    /// Extracts the image that QEMU starts from the kernel's file.
    pub unpack: fn(&[u8], &AtomicBool) -> Result<Vec<u8>>,
    /// QEMU's options for the machine and its processor.
    board: &'static [&'static str],
    /// QEMU's options for the device that carries the stream.
    stream: &'static [&'static str],
    /// QEMU's options for the device that stops the machine when the guest is ready.
    pub pause: &'static [&'static str],
    /// The kernel's name of the console.
    pub console: &'static str,
    /// Boot arguments that name the clock's frequency where the kernel would measure it.
    pub clock: &'static str,
    /// `true` if the guest's devices work under KVM.
    pub has_kvm: bool,
}

/// QEMU's options that all machines share: no devices but a console and the channel of the stream,
/// and 512 MiB of memory.
const COMMON: [&str; 17] = [
    "-nodefaults",
    "-no-user-config",
    "-nic",
    "none",
    "-vga",
    "none",
    "-display",
    "none",
    "-m",
    "512",
    "-no-reboot",
    "-chardev",
    "file,id=console,path=/dev/stderr",
    "-serial",
    "chardev:console",
    "-chardev",
    "file,id=stream,path=/dev/stdout",
];

impl Architecture {
    /// QEMU's options for the machine, in the order in which they are given.
    pub fn options(&self) -> impl Iterator<Item = &'static str> {
        [self.board, &COMMON, self.stream].into_iter().flatten().copied()
    }

    /// `true` if the host has this processor.
    pub fn is_the_hosts(&self) -> bool {
        self.rust == ARCH
    }
}

impl std::fmt::Debug for Architecture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.machine)
    }
}

/// A PC with only those devices for which the guest has drivers, which also shortens the firmware's
/// start.
pub static AMD64: Architecture = Architecture {
    machine: "vm",
    debian: "amd64",
    rust: "x86_64",
    triple: "x86_64-unknown-linux-gnu",
    emulator: "qemu-system-x86_64",
    package: "qemu-system-x86",
    is_image: bzimage::is_bzimage,
    unpack: bzimage::vmlinux,
    board: &["-machine", "q35,usb=off,smbus=off,sata=off,vmport=off"],
    stream: &[
        "-device",
        "isa-debugcon,iobase=0xe9,chardev=stream",
        "-device",
        "isa-debug-exit,iobase=0xf4,iosize=4",
    ],
    pause: &["-device", "pvpanic,ioport=0x505", "-action", "panic=pause"],
    console: "ttyS0",
    // The time stamp counter runs at 1 GHz.
    clock: "tsc_early_khz=1000000 lpj=4000000 tsc=reliable",
    has_kvm: true,
};

/// QEMU's `virt` with a Cortex-A72. Its generic timer runs at 1 GHz, as AMD64's clock does;
/// 62.5 MHz, QEMU's default, would be 8 instructions a tick. The stream is semihosting's console,
/// which only the emulator offers.
pub static ARM64: Architecture = Architecture {
    machine: "vm-arm64",
    debian: "arm64",
    rust: "aarch64",
    triple: "aarch64-unknown-linux-gnu",
    emulator: "qemu-system-aarch64",
    package: "qemu-system-arm",
    is_image: arm64::is_image,
    unpack: arm64::image,
    board: &["-machine", "virt,gic-version=3,its=off", "-cpu", "cortex-a72,cntfrq=1000000000"],
    stream: &["-semihosting-config", "enable=on,userspace=on,target=native,chardev=stream"],
    pause: &["-device", "pvpanic-pci", "-action", "panic=pause"],
    console: "ttyAMA0",
    // The kernel reads the frequency from a register.
    clock: "",
    has_kvm: false,
};

#[cfg(test)]
mod tests {
    use super::*;

    /// The command line of QEMU is part of a guest's identity, so its order matters.
    #[test]
    fn the_options_keep_their_order() {
        let middle = "-nodefaults -no-user-config -nic none -vga none -display none -m 512 \
                      -no-reboot -chardev file,id=console,path=/dev/stderr -serial chardev:console \
                      -chardev file,id=stream,path=/dev/stdout";
        let line = |of: &Architecture| of.options().collect::<Vec<_>>().join(" ");
        assert_eq!(
            line(&AMD64),
            format!(
                "-machine q35,usb=off,smbus=off,sata=off,vmport=off {middle} -device \
                 isa-debugcon,iobase=0xe9,chardev=stream -device \
                 isa-debug-exit,iobase=0xf4,iosize=4"
            )
        );
        assert_eq!(
            line(&ARM64),
            format!(
                "-machine virt,gic-version=3,its=off -cpu cortex-a72,cntfrq=1000000000 {middle} \
                 -semihosting-config enable=on,userspace=on,target=native,chardev=stream"
            )
        );
    }
}
