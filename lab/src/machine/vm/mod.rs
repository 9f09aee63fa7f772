//! The machine `vm`: Linux in an emulated virtual machine. It needs no virtualisation on the host,
//! and its clock can count instructions. A case starts the machine from the saved state in which
//! its only program, the port, was ready for a request.
//!
//! `docs/machines/vm.md` gives the reasons for this construction; `ports/linux/src/guest.rs` is the
//! guest's side.

mod bzimage;
pub mod identity;
mod initramfs;
pub mod kernel;
mod options;
mod port;
mod programs;
mod qmp;
mod start;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError, atomic::AtomicBool},
};

use anyhow::{Result, bail};
use chronoscope_suite::{Parameter, Spec, Values};

use self::{
    kernel::{FLAVOURS, Flavour},
    options::Mode,
    start::Guest,
};
use super::{Machine, Made, Program, Recording, default_in, host, take};
use crate::child::Limit;

static MODE: Parameter = Parameter {
    name: "mode",
    unit: "",
    default: "det",
    values: Values::Word(&Mode::WORDS),
    help: "det: one emulated processor, its clock is its instructions; smp: two of them; kvm: the host's, and time on the wall",
};

/// The defaults of experiments' parameters on this machine, where they differ from the experiments'
/// own. Samples vary little here, and the emulator executes only some hundred million instructions
/// a second.
pub(super) static DEFAULTS: [(&str, &str, &str); 5] = [
    ("switch", "loops", "2000"),
    ("message", "loops", "2000"),
    ("log", "loops", "500"),
    ("spawn", "loops", "5"),
    ("transaction", "loops", "500"),
];

/// A kernel in the virtual machine.
#[derive(Debug)]
pub struct Vm {
    flavour: &'static Flavour,
    /// The host's programs to include in the guest.
    programs: Vec<String>,
}

/// Finds the machine for a kernel's name; `None` if this machine does not offer it.
pub fn find(kernel: &str) -> Option<Vm> {
    FLAVOURS
        .iter()
        .find(|flavour| flavour.name == kernel)
        .map(|flavour| Vm { flavour, programs: Vec::new() })
}

/// All targets of this machine, as `kernel@vm`.
pub fn targets() -> impl Iterator<Item = String> {
    FLAVOURS.iter().map(|flavour| format!("{}@vm", flavour.name))
}

/// The prepared guests, or the errors of preparing them, by kernel, mode and programs. Each is
/// prepared once in the process's life.
static GUESTS: Mutex<Guests> = Mutex::new(BTreeMap::new());
type Guests = BTreeMap<(&'static str, Mode, Vec<String>), Result<Arc<Guest>, String>>;

impl Vm {
    /// Returns the machine with these programs of the host added to the guest.
    pub fn with_programs(self, programs: &[&str]) -> Self {
        Self { programs: programs.iter().map(|&name| name.to_owned()).collect(), ..self }
    }

    fn guest(&self, mode: Mode, stop: &AtomicBool) -> Result<Arc<Guest>> {
        let mut guests = GUESTS.lock().unwrap_or_else(PoisonError::into_inner);
        let guest =
            guests.entry((self.flavour.name, mode, self.programs.clone())).or_insert_with(|| {
                let guest = Guest::ready(self.flavour, mode, &self.programs, stop);
                guest.map(Arc::new).map_err(|error| format!("{error:#}"))
            });
        match guest {
            Ok(guest) => Ok(Arc::clone(guest)),
            Err(error) => bail!("{error}"),
        }
    }
}

/// Splits the mode from a request; the port has no use for it.
fn split(request: &str) -> (Mode, String) {
    let (mode, request) = take(request, MODE.name);
    (mode.map_or(Mode::Deterministic, Mode::of), request)
}

impl Machine for Vm {
    fn parameters(&self) -> Vec<(&'static Parameter, String)> {
        let port =
            host::PARAMETERS.iter().map(|parameter| (parameter, parameter.default.to_owned()));
        port.chain([(&MODE, MODE.default.to_owned())]).collect()
    }

    fn default(&self, spec: &Spec, parameter: &'static Parameter) -> Option<&'static str> {
        default_in(&DEFAULTS, spec, parameter)
    }

    fn prepare(&self, request: &str, stop: &AtomicBool) -> Result<Made> {
        let mode = split(request).0;
        Ok(Made { identity: self.guest(mode, stop)?.identity.clone(), remark: mode.remark() })
    }

    fn slowness(&self) -> u32 {
        10
    }

    fn is_emulated(&self) -> bool {
        true
    }

    fn run(
        &self,
        request: &str,
        limit: Limit,
        stop: &AtomicBool,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<Recording> {
        let (mode, request) = split(request);
        let guest = self.guest(mode, stop)?;
        guest.run(&(request + &mode.request(self.flavour)), None, limit, stop, sink)?;
        Ok(Recording::new())
    }

    fn run_program(
        &self,
        program: &Program<'_>,
        request: &str,
        limit: Limit,
        stop: &AtomicBool,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let (mode, request) = split(request);
        let command = programs::command(program.command)?;
        self.guest(mode, stop)?.run(&request, Some(&command), limit, stop, sink)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_is_no_business_of_the_port() {
        assert_eq!(
            split("switch cpu=0 mode=kvm loops=3"),
            (Mode::Kvm, "switch cpu=0 loops=3".to_owned())
        );
    }
}
