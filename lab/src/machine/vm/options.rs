//! How QEMU is told to be: the machine, its clock, and the kernel's boot arguments.

use anyhow::{Result, bail};

use super::{identity::Emulator, kernel::Flavour};

/// How the guest's processor is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// One emulated processor whose clock is its instructions: the same bytes every time.
    Deterministic,
    /// Two of them, in turn: for what happens in which order, not for how long.
    Multiprocessor,
    /// The host's own processor, and time on the wall.
    Kvm,
}

/// The emulator's `shift`: an instruction takes 2 ns of the guest's time, as on a processor of 500 MIPS.
const SHIFT: u32 = 1;

/// The machine without all that a guest without drivers cannot use: firmware finds nothing to wait for.
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

/// The guest writes to this device when it is ready, and the machine stops there.
const PAUSE: [&str; 4] = ["-device", "pvpanic,ioport=0x505", "-action", "panic=pause"];

/// Time is what the instructions take; a processor that sleeps skips to the next event at once. The calendar starts at a fixed
/// day and follows the same clock.
const INSTRUCTIONS: [&str; 4] = ["-accel", "tcg", "-rtc", "base=2020-01-01,clock=vm"];

/// The counter of time stamps then runs at 1 GHz: what the kernel would measure at boot is known.
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

    /// # Errors
    /// Why this mode is not to be had here, with the mend.
    pub fn check(self, emulator: &Emulator) -> Result<()> {
        match self {
            // 7.2 hangs while the second processor starts.
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

    /// What a failure may come from.
    pub fn needs(self) -> &'static str {
        match self {
            Self::Kvm => "mode=kvm needs a host whose KVM works with QEMU",
            _ => "mode=smp needs QEMU 10",
        }
    }

    /// Whether a machine that has booted is kept, and cases start from it.
    pub fn is_kept(self) -> bool {
        self == Self::Deterministic
    }

    /// QEMU's options for both the boot and all that follows.
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

    /// The kernel's boot arguments.
    pub fn boot_arguments(self, flavour: &Flavour, append: &str) -> String {
        let clock = if self == Self::Kvm { "" } else { KNOWN_CLOCK };
        let model = flavour
            .preemption
            .filter(|model| *model != "rt")
            .map(|model| format!("preempt={model}"));
        // A panic ends the machine at once; nobody needs the self-tests of ciphers.
        let words = [
            "console=ttyS0 quiet panic=-1 cryptomgr.notests",
            clock,
            model.as_deref().unwrap_or(""),
            append,
        ];
        let words = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
        format!("{words} -- chronoscope-guest")
    }

    /// What the port is told besides its case.
    pub fn request(self, flavour: &Flavour) -> String {
        let model =
            flavour.preemption.map_or(String::new(), |model| format!(" preemption={model}"));
        if self == Self::Kvm { model } else { format!("{model} instruction_ns={}", 1 << SHIFT) }
    }

    /// How to read the figures.
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
