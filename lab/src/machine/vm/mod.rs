//! `vm`: Linux in a virtual machine, emulated, so that no host needs virtualisation and the clock can be made of instructions.
//! A case is one start of the machine from the moment at which its only program, the port, was ready for a request.
//!
//! `docs/machines/vm.md` says why the machine is built as it is; `ports/linux/src/guest.rs` is the other side.

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
    time::Duration,
};

use anyhow::{Result, bail};
use chronoscope_suite::{Parameter, Spec, Values};

use self::{
    kernel::{FLAVOURS, Flavour},
    options::Mode,
    start::Guest,
};
use super::{Machine, Made, Program, Recording, default_in, host, take};

static MODE: Parameter = Parameter {
    name: "mode",
    unit: "",
    default: "det",
    values: Values::Word(&Mode::WORDS),
    help: "det: one emulated processor, its clock is its instructions; smp: two of them; kvm: the host's, and time on the wall",
};

/// Defaults of experiments' parameters here, where they differ from the experiments' own. Every sample of a kind is
/// nearly like the others, and the emulator executes some hundred million instructions a second.
pub(super) static DEFAULTS: [(&str, &str, &str); 5] = [
    ("switch", "loops", "2000"),
    ("message", "loops", "2000"),
    ("log", "loops", "500"),
    ("spawn", "loops", "5"),
    ("transaction", "loops", "500"),
];

/// One kernel in the virtual machine.
#[derive(Debug)]
pub struct Vm {
    flavour: &'static Flavour,
    /// Of the host, for the guest.
    programs: Vec<String>,
}

/// The kernel of that name, if this machine runs it.
pub fn find(kernel: &str) -> Option<Vm> {
    FLAVOURS
        .iter()
        .find(|flavour| flavour.name == kernel)
        .map(|flavour| Vm { flavour, programs: Vec::new() })
}

/// Every kernel here, as `kernel@machine`.
pub fn targets() -> impl Iterator<Item = String> {
    FLAVOURS.iter().map(|flavour| format!("{}@vm", flavour.name))
}

/// What was found of each kernel in each mode, with these programs: once in the lab's life.
static GUESTS: Mutex<Guests> = Mutex::new(BTreeMap::new());
type Guests = BTreeMap<(&'static str, Mode, Vec<String>), Result<Arc<Guest>, String>>;

impl Vm {
    /// The same machine, with these programs of the host in it.
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

/// The mode that a request asks for, and the request without it: the port has no use for it.
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

    fn run(
        &self,
        request: &str,
        limit: Duration,
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
        limit: Duration,
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
