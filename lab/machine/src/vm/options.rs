//! The options of QEMU for each mode: the machine, its clock, and the kernel's boot arguments. It
//! only makes texts; it starts nothing.

use anyhow::{Result, bail};

use super::{architecture::Architecture, identity::Emulator, kernel::Flavour};
use crate::Request;

/// The mode of the guest's processors and clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// A single emulated processor whose clock counts instructions: every start gives the same
    /// bytes.
    Deterministic,
    /// Two emulated processors that take turns: valid for the order of events, not for durations.
    Multiprocessor,
    /// Two emulated processors that run at once, with wall time: for what a system of several processors
    /// does, and not for how fast it is.
    Wall,
    /// The host's processor through KVM, with wall time.
    Kvm,
}

/// QEMU's `shift`: an instruction takes 2^SHIFT = 2 ns of guest time, as on a processor of 500
/// MIPS.
const SHIFT: u32 = 1;

/// Emulation with a clock that counts instructions; a sleeping processor skips to its next event.
/// The calendar starts on a fixed day and follows the same clock.
const INSTRUCTIONS: [&str; 4] = ["-accel", "tcg", "-rtc", "base=2020-01-01,clock=vm"];

impl Mode {
    pub const WORDS: [&'static str; 4] = ["det", "smp", "wall", "kvm"];

    /// The mode that a request names; deterministic unless it names another.
    pub fn from_word(word: &str) -> Self {
        match word {
            "smp" => Self::Multiprocessor,
            "wall" => Self::Wall,
            "kvm" => Self::Kvm,
            _ => Self::Deterministic,
        }
    }

    /// Checks that this mode is available.
    ///
    /// # Errors
    /// If QEMU is too old, /dev/kvm is missing, or the machine has no such mode; the message gives
    /// the remedy.
    pub fn check(self, architecture: &Architecture, emulator: &Emulator) -> Result<()> {
        match self {
            Self::Kvm if !architecture.has_kvm => bail!(
                "mode=kvm is not offered on {}, whose stream only QEMU's emulator carries: use mode=det",
                architecture.machine
            ),
            Self::Kvm if !architecture.is_the_hosts() => bail!(
                "mode=kvm runs the guest on the host's processor, and the host's is no {}: use mode=det",
                architecture.rust
            ),
            // QEMU 7.2 hangs while the second processor starts.
            Self::Multiprocessor if emulator.major() < 10 => bail!(
                "mode=smp needs QEMU 10, and this is {}: take mode=wall, or install {} from bookworm-backports on Debian 12",
                emulator.version,
                architecture.package
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
            Self::Wall => "mode=wall needs two processors of the host",
            _ => "mode=smp needs QEMU 10",
        }
    }

    /// `true` if the booted machine is saved, so that cases start from the saved state.
    pub fn is_kept(self) -> bool {
        self == Self::Deterministic
    }

    /// The options of QEMU for both the boot and the cases.
    pub fn options(self, architecture: &Architecture) -> Vec<String> {
        let own: Vec<String> = match self {
            Self::Kvm => ["-accel", "kvm", "-cpu", "host"].map(str::to_owned).into(),
            Self::Wall => ["-accel", "tcg,thread=multi"].map(str::to_owned).into(),
            _ => {
                let count = ["-icount".to_owned(), format!("shift={SHIFT},sleep=off")];
                INSTRUCTIONS.map(str::to_owned).into_iter().chain(count).collect()
            }
        };
        let is_two = matches!(self, Self::Multiprocessor | Self::Wall);
        let smp: &[&str] = if is_two { &["-smp", "2"] } else { &[] };
        let pause: &[&str] = if self.is_kept() { architecture.pause } else { &[] };
        let further = smp.iter().chain(pause).copied();
        architecture.options().chain(further).map(str::to_owned).chain(own).collect()
    }

    /// The kernel's boot arguments: the arguments of the mode and the flavour, then `append`.
    pub fn boot_arguments(self, flavour: &Flavour, append: &str) -> String {
        let clock = if self.counts() { flavour.architecture.clock } else { "" };
        let model = flavour.boot_preemption().map(|model| format!("preempt={model}"));
        let console =
            format!("console={} quiet panic=-1 cryptomgr.notests", flavour.architecture.console);
        // A panic ends the machine at once, and the self-tests of ciphers would delay the boot.
        let words = [&console, clock, model.as_deref().unwrap_or(""), append];
        let words = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
        format!("{words} -- chronoscope-guest")
    }

    /// The request with the parameters by which the guest's own port checks the kernel and reads
    /// the clock.
    pub fn completed(self, request: Request, flavour: &Flavour) -> Request {
        self.with_clock(match flavour.preemption {
            Some(model) => request.with("preemption", model),
            None => request,
        })
    }

    /// The request with the parameter that makes a port's clock count instructions; unchanged where
    /// time is on the wall.
    pub fn with_clock(self, request: Request) -> Request {
        if self.counts() { request.with("instruction_ns", 1 << SHIFT) } else { request }
    }

    /// `true` if the guest's clock counts instructions.
    fn counts(self) -> bool {
        matches!(self, Self::Deterministic | Self::Multiprocessor)
    }

    /// A remark on how to read the mode's figures.
    pub fn remark(self) -> &'static str {
        match self {
            Self::Kvm => {
                "time on the wall in a virtual machine: the host and its other work are in all figures"
            }
            Self::Wall => {
                "time on the wall of an emulator, whose two processors run at once: read what runs where, not how long it \
                 takes"
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{vm::architecture::AMD64, vm::architecture::ARM64};

    fn emulator(version: &str) -> Emulator {
        Emulator { version: version.to_owned(), sha256: String::new() }
    }

    #[test]
    fn two_processors_are_refused_where_qemu_hangs_with_them() {
        let check = |version| Mode::Multiprocessor.check(&AMD64, &emulator(version));
        let refusal = check("7.2.22 (Debian 1:7.2+dfsg-7+deb12u18+b3)").unwrap_err().to_string();
        assert!(refusal.starts_with("mode=smp needs QEMU 10, and this is 7.2.22"), "{refusal}");
        assert!(
            refusal.contains("take mode=wall, or install qemu-system-x86 from bookworm-backports")
        );
        check("10.0.3 (Debian 1:10.0.3+ds-1)").unwrap();
        Mode::Deterministic.check(&AMD64, &emulator("7.2.22")).unwrap();
    }

    #[test]
    fn two_processors_count_instructions_and_are_booted_for_each_case() {
        for architecture in [&AMD64, &ARM64] {
            let options = Mode::Multiprocessor.options(architecture);
            assert!(options.windows(2).any(|pair| pair == ["-smp", "2"]), "{options:?}");
            assert!(options.windows(2).any(|pair| pair == ["-icount", "shift=1,sleep=off"]));
            assert!(!Mode::Deterministic.options(architecture).contains(&"-smp".to_owned()));
        }
        assert!(!Mode::Multiprocessor.is_kept() && Mode::Deterministic.is_kept());
        let request = Mode::Multiprocessor.with_clock(Request::new("period"));
        assert_eq!(request.to_string(), "period instruction_ns=2");
    }
}
