//! The machine `vm`: Linux in an emulated virtual machine. It needs no virtualisation on the host,
//! and its clock can count instructions. A case starts the machine from the saved state in which
//! its only program, the port, was ready for a request.
//!
//! `docs/machines/vm.md` gives the reasons for this construction; `ports/linux/src/guest.rs` is the
//! guest's side.

mod apt;
mod architecture;
mod arm64;
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
    architecture::{AMD64, ARM64},
    kernel::{FLAVOURS, Flavour},
    options::Mode,
    start::Guest,
};
use super::{
    Machine, Made, Program, Recording, Request, Start, TargetFailed,
    family::{Defaults, Family, Targets},
    host,
    own::{self, Own},
};
use chronoscope_run::Target;

pub static FAMILY: Family =
    Family { find, targets: Targets::Listed(targets), takes_images: true, defaults: &[DEFAULTS] };

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
const DEFAULTS: &Defaults = &[
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
    /// A program of the user's that holds a port, and is run in place of the guest's own.
    given: Option<Own>,
}

fn find(target: &Target) -> Result<Option<Box<dyn Machine>>> {
    let is_it = |flavour: &&Flavour| {
        flavour.name == target.kernel && flavour.architecture.machine == target.machine
    };
    if let Some(flavour) = FLAVOURS.iter().find(is_it) {
        if target.image.is_some() && target.machine == ARM64.machine {
            bail!("`{target}`: a program of your own runs in a guest of {} alone", AMD64.machine);
        }
        let given = Own::for_this_computer(target)?;
        let path = given.as_ref().map(|own| own.path.display().to_string());
        return Ok(Some(Box::new(Vm { flavour, programs: path.into_iter().collect(), given })));
    }
    if target.image.is_some() && target.machine == AMD64.machine {
        bail!(
            "`{target}`: the name of a program in a guest is that of the guest's kernel, such as \
             linux-full"
        );
    }
    let selects_a_model =
        |flavour: &Flavour| flavour.name == target.kernel && flavour.boot_preemption().is_some();
    if target.machine == ARM64.machine && FLAVOURS.iter().any(selects_a_model) {
        bail!(
            "`{target}`: Debian builds its kernels for arm64 without PREEMPT_DYNAMIC, with the model `voluntary`: use \
             linux-voluntary@{0} or linux-rt@{0}, or a kernel of your own as linux@{0}",
            target.machine
        );
    }
    Ok(None)
}

fn targets() -> Vec<String> {
    FLAVOURS.iter().map(Flavour::to_string).collect()
}

/// The prepared guests, or the errors of preparing them, by kernel, mode and programs. Each is
/// prepared once in the process's life.
static GUESTS: Mutex<Guests> = Mutex::new(BTreeMap::new());
type Guests = BTreeMap<(String, Mode, Vec<String>), Result<Arc<Guest>, Failure>>;

/// The error of preparing a guest, and whether the guest itself failed.
type Failure = (String, bool);

impl Vm {
    fn guest(&self, mode: Mode, stop: &AtomicBool) -> Result<Arc<Guest>> {
        let mut guests = GUESTS.lock().unwrap_or_else(PoisonError::into_inner);
        let guest = guests
            .entry((self.flavour.to_string(), mode, self.programs.clone()))
            .or_insert_with(|| {
                let guest = Guest::ready(self.flavour, mode, &self.programs, stop);
                guest.map(Arc::new).map_err(|error| {
                    let is_the_guests = error.is::<TargetFailed>();
                    (format!("{error:#}"), is_the_guests)
                })
            });
        match guest {
            Ok(guest) => Ok(Arc::clone(guest)),
            Err((why, true)) => Err(TargetFailed(why.clone()).into()),
            Err((why, false)) => bail!("{why}"),
        }
    }
}

/// Splits a request into its mode and the rest for the port.
fn split(request: &Request) -> (Mode, Request) {
    let mode = request.get(MODE.name).map_or(Mode::Deterministic, Mode::from_word);
    (mode, request.without(MODE.name))
}

/// The command that runs a request by a program of the user's.
fn command(own: &Own, request: Request, mode: Mode) -> Result<String> {
    let program = own.path.display().to_string();
    let request = mode.with_clock(request);
    programs::command(&[program].into_iter().chain(request.words()).collect::<Vec<_>>())
}

impl Machine for Vm {
    /// A program of the user's has the suite's parameters and the mode; the lab does not know the
    /// program's own.
    fn parameters(&self) -> Vec<(&'static Parameter, String)> {
        let own = host::PARAMETERS.iter().filter(|_| self.given.is_none());
        let port = own.map(|parameter| (parameter, parameter.default.to_owned()));
        port.chain([(&MODE, MODE.default.to_owned())]).collect()
    }

    fn default(&self, spec: &Spec, parameter: &'static Parameter) -> Option<&'static str> {
        FAMILY.default(self.given.as_ref().map(|_| own::KIND), spec, parameter)
    }

    fn check(&self, request: &Request) -> Result<()> {
        host::check_request(request)
    }

    fn prepare(&self, request: &Request, stop: &AtomicBool) -> Result<Made> {
        let mode = split(request).0;
        let mut identity = self.guest(mode, stop)?.identity.clone();
        identity.extend(self.given.iter().flat_map(|own| own.made().identity));
        Ok(Made { identity, remark: mode.remark() })
    }

    fn slowness(&self) -> u32 {
        10
    }

    fn is_emulated(&self) -> bool {
        true
    }

    fn include(&mut self, programs: &[&str]) {
        self.programs.extend(programs.iter().map(|&name| name.to_owned()));
    }

    fn run(
        &self,
        start: &Start<'_>,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<Recording> {
        let (mode, request) = split(start.request);
        let guest = self.guest(mode, start.stop)?;
        let given = self.given.as_ref();
        let program = given.map(|own| command(own, request.clone(), mode)).transpose()?;
        let request = mode.completed(request, self.flavour);
        guest.run(&Start { request: &request, ..*start }, program.as_deref(), sink)?;
        Ok(Recording::new())
    }

    fn run_program(
        &self,
        program: &Program<'_>,
        start: &Start<'_>,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let (mode, request) = split(start.request);
        let command = programs::command(program.command)?;
        let guest = self.guest(mode, start.stop)?;
        guest.run(&Start { request: &request, ..*start }, Some(&command), sink)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::request;

    #[test]
    fn the_mode_is_no_business_of_the_port() {
        assert_eq!(
            split(&request("switch cpu=0 mode=kvm loops=3")),
            (Mode::Kvm, request("switch cpu=0 loops=3"))
        );
    }
}
