//! The options of QEMU for each mode: the machine, its clock, and the kernel's boot arguments. It
//! only makes texts; it starts nothing.

use anyhow::{Result, bail};

use super::{identity::Emulator, kernel::Flavour};

/// The mode of the guest's processors and clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// A single emulated processor whose clock counts instructions: every start gives the same
    /// bytes.
    Deterministic,
    /// Two emulated processors that take turns: valid for the order of events, not for durations.
    Multiprocessor,
    /// The host's processor through KVM, with wall time.
    Kvm,
}

/// QEMU's `shift`: an instruction takes 2^SHIFT = 2 ns of guest time, as on a processor of 500
/// MIPS.
const SHIFT: u32 = 1;

/// A machine without devices that the guest has no drivers for; their absence also shortens the
/// firmware's start.
const MACHINE: [&str; 23] = [
    "-machine",
    "q35,usb=off,smbus=off,sata=off,vmport=off",
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
    "-device",
    "isa-debugcon,iobase=0xe9,chardev=stream",
    "-device",
    "isa-debug-exit,iobase=0xf4,iosize=4",
];

/// A device that stops the machine when the guest writes to it to report that it is ready.
const PAUSE: [&str; 4] = ["-device", "pvpanic,ioport=0x505", "-action", "panic=pause"];

/// Emulation with a clock that counts instructions; a sleeping processor skips to its next event.
/// The calendar starts on a fixed day and follows the same clock.
const INSTRUCTIONS: [&str; 4] = ["-accel", "tcg", "-rtc", "base=2020-01-01,clock=vm"];

/// The frequency of the time stamp counter, 1 GHz, so that the kernel does not measure it at boot.
const KNOWN_CLOCK: &str = "tsc_early_khz=1000000 lpj=4000000 tsc=reliable";

impl Mode {
    pub const WORDS: [&'static str; 3] = ["det", "smp", "kvm"];

    pub fn of(word: &str) -> Self {
        match word {
            "smp" => Self::Multiprocessor,
            "kvm" => Self::Kvm,
            _ => Self::Deterministic,
        }
    }

    /// Checks that this mode is available.
    ///
    /// # Errors
    /// If QEMU is too old or /dev/kvm is missing; the message gives the remedy.
    pub fn check(self, emulator: &Emulator) -> Result<()> {
        match self {
            // QEMU 7.2 hangs while the second processor starts.
            Self::Multiprocessor if emulator.major() < 10 => bail!(
                "mode=smp needs QEMU 10, and this is {}: on Debian 12, install qemu-system-x86 from bookworm-backports",
                emulator.version
            ),
            Self::Kvm => match std::fs::File::options().read(true).write(true).open("/dev/kvm") {
                Ok(_) => Ok(()),
                Err(error) => bail!(
                    "mode=kvm needs /dev/kvm ({error}): use mode=det, or a host with virtualisation"
                ),
            },
            _ => Ok(()),
        }
    }

    /// The mode's requirements, for the message of a failed start.
    pub fn needs(self) -> &'static str {
        match self {
            Self::Kvm => "mode=kvm needs a host whose KVM works with QEMU",
            _ => "mode=smp needs QEMU 10",
        }
    }

    /// `true` if the booted machine is saved, so that cases start from the saved state.
    pub fn is_kept(self) -> bool {
        self == Self::Deterministic
    }

    /// The options of QEMU for both the boot and the cases.
    pub fn options(self) -> Vec<String> {
        let own: Vec<String> = match self {
            Self::Kvm => ["-accel", "kvm", "-cpu", "host"].map(str::to_owned).into(),
            _ => {
                let count = ["-icount".to_owned(), format!("shift={SHIFT},sleep=off")];
                INSTRUCTIONS.map(str::to_owned).into_iter().chain(count).collect()
            }
        };
        let smp: &[&str] = if self == Self::Multiprocessor { &["-smp", "2"] } else { &[] };
        let pause: &[&str] = if self.is_kept() { &PAUSE } else { &[] };
        let common = MACHINE.iter().chain(smp).chain(pause).map(|&word| word.to_owned());
        common.chain(own).collect()
    }

    /// The kernel's boot arguments: those of the mode and the flavour, then `append`.
    pub fn boot_arguments(self, flavour: &Flavour, append: &str) -> String {
        let clock = if self == Self::Kvm { "" } else { KNOWN_CLOCK };
        let model = flavour
            .preemption
            .filter(|model| *model != "rt")
            .map(|model| format!("preempt={model}"));
        // A panic ends the machine at once, and the self-tests of ciphers would delay the boot.
        let words = [
            "console=ttyS0 quiet panic=-1 cryptomgr.notests",
            clock,
            model.as_deref().unwrap_or(""),
            append,
        ];
        let words = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
        format!("{words} -- chronoscope-guest")
    }

    /// The words that the mode adds to the port's request.
    pub fn request(self, flavour: &Flavour) -> String {
        let model =
            flavour.preemption.map_or(String::new(), |model| format!(" preemption={model}"));
        if self == Self::Kvm { model } else { format!("{model} instruction_ns={}", 1 << SHIFT) }
    }

    /// A remark on how to read the mode's figures.
    pub fn remark(self) -> &'static str {
        match self {
            Self::Kvm => {
                "time on the wall in a virtual machine: the host and its other work are in all figures"
            }
            Self::Deterministic => {
                "a tick is one instruction of the guest (2 ns of its clock): the length of the path through kernel and program, \
                 without caches, memory and devices; a processor that sleeps skips to the next event"
            }
            Self::Multiprocessor => {
                "a tick is one instruction of the guest (2 ns of its clock), and the processors take turns: read what comes \
                 before what, not how long it takes"
            }
        }
    }
}
