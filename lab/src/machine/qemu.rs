//! Microcontrollers that QEMU emulates: `cortex-m4`, `rv32`. A case is one fresh start of the chip with the port's image.
//!
//! `docs/machines/qemu.md` says why the machine is built as it is.

use std::{io::ErrorKind, process::Command, sync::atomic::AtomicBool, time::Duration};

use anyhow::{Result, anyhow};
use chronoscope_suite::{Parameter, Spec, Values, experiments};

use super::{
    Machine, Made, Recording, agreement,
    firmware::{self, Port, Variant},
    smallest, take,
};
use crate::child;

/// An emulated chip.
#[derive(Debug)]
pub(super) struct Chip {
    pub(super) name: &'static str,
    /// As Rust calls it.
    pub(super) triple: &'static str,
    /// QEMU's program, and Debian's package that has it.
    pub(super) program: &'static str,
    package: &'static str,
    pub(super) arguments: &'static [&'static str],
}

static CHIPS: [Chip; 2] = [
    Chip {
        name: "cortex-m4",
        triple: "thumbv7em-none-eabihf",
        program: "qemu-system-arm",
        package: "qemu-system-arm",
        arguments: &["-machine", "netduinoplus2"],
    },
    Chip {
        name: "rv32",
        triple: "riscv32imc-unknown-none-elf",
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
    },
];

/// For all chips. One instruction takes one tick; a processor that sleeps skips to the next event at once; and nothing of
/// the host's user interface gets in the way.
pub(super) const ARGUMENTS: [&str; 10] = [
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

/// Of the kernels whose images can record what they do.
static TRACE: Parameter = Parameter {
    name: "trace",
    unit: "",
    default: "no",
    values: Values::Word(&["no", "yes"]),
    help: "record what the kernel does for `chronoscope trace`: its latest events; the recording's instructions are in the figures",
};

/// The image that a request asks for, and the request without that: it is the image that differs.
fn split(request: &str) -> (Variant, String) {
    let (trace, request) = take(request, TRACE.name);
    (if trace == Some("yes") { Variant::Traced } else { Variant::Plain }, request)
}

/// One kernel on one chip.
#[derive(Debug)]
pub struct Qemu {
    pub(super) chip: &'static Chip,
    pub(super) port: &'static Port,
}

/// The emulated chip of that name with that kernel, if there is such a pair.
pub fn find(kernel: &str, machine: &str) -> Option<Qemu> {
    let chip = CHIPS.iter().find(|chip| chip.name == machine)?;
    Some(Qemu { chip, port: firmware::find(kernel, machine)? })
}

/// Every kernel on every chip that it has an image for, as `kernel@machine`.
pub fn targets() -> impl Iterator<Item = String> {
    CHIPS.iter().flat_map(|chip| firmware::targets(chip.name))
}

impl Machine for Qemu {
    fn parameters(&self) -> Vec<(&'static Parameter, String)> {
        if self.can_trace() { vec![(&TRACE, TRACE.default.to_owned())] } else { Vec::new() }
    }

    fn default(&self, spec: &Spec, parameter: &'static Parameter) -> Option<&'static str> {
        self.port.default(spec, parameter)
    }

    fn prepare(&self, request: &str, _stop: &AtomicBool) -> Result<Made> {
        self.port.image(self.chip.triple, split(request).0).map(|_| Made::default())
    }

    fn run(
        &self,
        request: &str,
        limit: Duration,
        stop: &AtomicBool,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<Recording> {
        let (variant, request) = split(request);
        let request = request.as_str();
        if request == experiments::image::SPEC.name {
            return smallest::run(self, request, limit, stop, sink).map(|()| Recording::new());
        }
        let Chip { program, package, arguments, .. } = *self.chip;
        let image = self.port.image(self.chip.triple, variant)?;
        let start = |sink: &mut dyn FnMut(&[u8]) -> Result<()>| {
            let mut qemu = Command::new(program);
            qemu.args(arguments).args(ARGUMENTS).arg("-semihosting-config").arg(semihosting(request));
            child::run(qemu.arg("-kernel").arg(&image), program, limit, stop, sink)
        };
        let what = format!("{}@{} {request}", self.port.kernel, self.chip.name);
        agreement::run(&what, start, sink).map_err(|error| match error.downcast_ref::<std::io::Error>() {
            Some(cause) if cause.kind() == ErrorKind::NotFound => {
                anyhow!("{program} is not installed: as root, apt-get install --no-install-recommends {package}")
            }
            _ => error,
        })?;
        Ok(Recording::new())
    }
}

/// QEMU's option that gives the image its command line, word by word. In it a comma is written twice.
fn semihosting(request: &str) -> String {
    let words = request.split(' ').map(|word| format!(",arg={}", word.replace(',', ",,")));
    "enable=on,target=native".to_owned() + &words.collect::<String>()
}

impl Qemu {
    fn can_trace(&self) -> bool {
        self.port.kernel == "tandem"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_reaches_the_image_word_by_word() {
        assert_eq!(semihosting("switch a=1,2"), "enable=on,target=native,arg=switch,arg=a=1,,2");
    }

    #[test]
    fn a_trace_is_no_business_of_the_request() {
        assert_eq!(split("switch tasks=2 trace=yes"), (Variant::Traced, "switch tasks=2".to_owned()));
        assert_eq!(split("image trace=no"), (Variant::Plain, "image".to_owned()));
    }
}
