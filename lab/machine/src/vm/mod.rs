//! The machine `vm`: Linux in an emulated virtual machine. The emulator needs no virtualisation on
//! the host, and the guest's clock can count instructions. Each case starts from a saved state of
//! the booted machine, in which the only program, the port, waits for a request.
//!
//! `docs/machines/vm.md` gives the reasons for this construction; `ports/linux/src/guest.rs` is the
//! guest's side.

mod apt;
mod architecture;
mod arm64;
mod bzimage;
mod identity;
mod initramfs;
pub mod kernel;
mod modules;
mod options;
mod port;
mod programs;
mod qmp;
mod start;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, atomic::AtomicBool},
};

use anyhow::{Result, bail};
use chronoscope_suite::{Parameter, Values};

use self::{
    architecture::{AMD64, ARM64},
    kernel::{FLAVOURS, Flavour, OWN, OwnKernel, Settings},
    options::Mode,
    start::Guest,
};
use super::{
    Description, Machine, Program, Properties, Provenance, Recording, Request, Start, TargetFailed,
    description::Defaults,
    determinism::{Agreements, Manner},
    family::Family,
    given::{self, GivenImage},
    host,
    images::Images,
    lock::lock,
};
use chronoscope_run::Target;

static MODE: Parameter = Parameter {
    name: "mode",
    unit: "",
    default: "det",
    values: Values::Word(&Mode::WORDS),
    help: "det: one emulated processor, its clock is its instructions; smp: two of them, in turns; wall: two at once, and time on the wall; kvm: the host's, and time on the wall",
};

/// The defaults of experiments' parameters on this machine, where they differ from the experiments'
/// own. Samples vary little here, so fewer loops suffice. The emulator is slow: it executes some
/// hundred million instructions a second.
const DEFAULTS: &Defaults = &[
    ("switch", "loops", "2000"),
    ("message", "loops", "2000"),
    ("log", "loops", "500"),
    ("spawn", "loops", "5"),
    ("transaction", "loops", "500"),
];

/// The properties of a guest.
const PROPERTIES: Properties =
    Properties { offers_soaks: false, is_emulated: true, shares_the_host: false, slowness: 10 };

/// A kernel in the virtual machine.
struct Vm<'m> {
    guests: &'m Guests,
    source: Source,
    /// The host's programs to include in the guest.
    programs: Vec<String>,
}

/// The kernel and the port that a target names.
#[derive(Debug)]
struct Source {
    flavour: &'static Flavour,
    /// The user's kernel, which is booted in place of the flavour's.
    own: Option<OwnKernel>,
    /// The user's program that contains a port, which runs in place of the guest's own port.
    given: Option<GivenImage>,
}

impl Source {
    /// The kernel and the port of a target; `None` if no guest has this name.
    ///
    /// An image with a kernel's header is booted, and the target may have any name. A name in
    /// [`FLAVOURS`] then selects the preemption model. Any other image is a program, and the target
    /// has the name of the kernel that runs it.
    ///
    /// # Errors
    /// The image is neither a kernel nor a program for this computer, or the guest's kernel cannot
    /// run it, or Debian has no kernel with this preemption model.
    fn look_up(settings: &Settings, target: &Target) -> Result<Option<Self>> {
        let architecture = [&AMD64, &ARM64].into_iter().find(|one| one.machine == target.machine);
        let Some(architecture) = architecture else { return Ok(None) };
        let named = Flavour::find(&target.kernel, &target.machine);
        if let Some(image) = &target.image
            && kernel::is_image(image, architecture)
        {
            let flavour = named.or(Flavour::find(OWN, &target.machine));
            let own = Some(settings.with_image(image));
            return Ok(flavour.map(|flavour| Self { flavour, own, given: None }));
        }
        if let Some(flavour) = named {
            if target.image.is_some() && target.machine == ARM64.machine {
                bail!(
                    "`{target}`: a program of your own runs in a guest of {} alone",
                    AMD64.machine
                );
            }
            let own = settings.image.as_deref().filter(|_| flavour.is_own());
            let own = own.map(|image| settings.with_image(image));
            return Ok(Some(Self { flavour, own, given: GivenImage::for_this_computer(target)? }));
        }
        if target.image.is_some() && target.machine == AMD64.machine {
            bail!(
                "`{target}`: the name of a program in a guest is that of the guest's kernel, such as \
                 linux-full"
            );
        }
        let selects_a_model = |flavour: &Flavour| {
            flavour.name == target.kernel && flavour.boot_preemption().is_some()
        };
        if target.machine == ARM64.machine && FLAVOURS.iter().any(selects_a_model) {
            bail!(
                "`{target}`: Debian builds its kernels for arm64 without PREEMPT_DYNAMIC, with the model `voluntary`: use \
                 linux-voluntary@{0} or linux-rt@{0}, or a kernel of your own as linux@{0}",
                target.machine
            );
        }
        Ok(None)
    }
}

/// The family of guests.
#[derive(Default)]
pub(super) struct Guests {
    /// The settings for the user's kernels.
    settings: Settings,
    /// The guests prepared so far, or the errors of preparing them. Each guest is prepared once.
    prepared: Mutex<BTreeMap<GuestKey, Result<Arc<Guest>, Failure>>>,
    agreements: Agreements,
}

impl Guests {
    pub(super) fn new(settings: Settings) -> Self {
        Self { settings, ..Self::default() }
    }

    /// The user's kernel that the guest of a target boots; `None` for any other target.
    ///
    /// # Errors
    /// The target's image is neither a kernel nor a program.
    pub(super) fn own_kernel(&self, target: &Target) -> Result<Option<OwnKernel>> {
        Ok(Source::look_up(&self.settings, target)?.and_then(|source| source.own))
    }
}

impl Family for Guests {
    /// The user's program has the suite's parameters and the mode, since the lab does not know its
    /// own parameters.
    fn describe(&self, _: &Images, target: &Target) -> Result<Option<Description>> {
        let Some(source) = Source::look_up(&self.settings, target)? else { return Ok(None) };
        let port = host::PARAMETERS.iter().filter(|_| source.given.is_none());
        let port = port.map(|parameter| (parameter, parameter.default.to_owned()));
        Ok(Some(Description {
            parameters: port.chain([(&MODE, MODE.default.to_owned())]).collect(),
            kind: source.given.map(|_| given::KIND.to_owned()),
            processors: || vec![0, 1],
            check: Arc::new(host::check_request),
            ..Description::new(self.defaults(), PROPERTIES)
        }))
    }

    fn open<'m>(&'m self, _: &'m Images, target: &Target) -> Result<Option<Box<dyn Machine + 'm>>> {
        let Some(source) = Source::look_up(&self.settings, target)? else { return Ok(None) };
        let program = source.given.as_ref().map(|given| given.path.display().to_string());
        Ok(Some(Box::new(Vm { guests: self, source, programs: program.into_iter().collect() })))
    }

    fn targets(&self, _: &Images) -> Vec<String> {
        FLAVOURS.iter().map(Flavour::to_string).collect()
    }

    fn takes_images(&self) -> bool {
        true
    }

    fn defaults(&self) -> &'static [&'static Defaults] {
        &[DEFAULTS]
    }
}

/// The identity of a prepared guest.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct GuestKey {
    flavour: String,
    /// The user's kernel, if the guest has one.
    own: Option<OwnKernel>,
    mode: Mode,
    /// The host's programs that the guest includes.
    programs: Vec<String>,
}

/// The error of a guest that could not be prepared.
struct Failure {
    text: String,
    /// The error was a [`TargetFailed`].
    is_the_guests: bool,
}

impl Vm<'_> {
    fn key(&self, mode: Mode) -> GuestKey {
        let Source { flavour, own, .. } = &self.source;
        GuestKey {
            flavour: flavour.to_string(),
            own: own.clone(),
            mode,
            programs: self.programs.clone(),
        }
    }

    fn guest(&self, mode: Mode, stop: &AtomicBool) -> Result<Arc<Guest>> {
        let mut guests = lock(&self.guests.prepared);
        let guest = guests.entry(self.key(mode)).or_insert_with(|| {
            let Source { flavour, own, .. } = &self.source;
            let guest = Guest::ready(flavour, own.as_ref(), mode, &self.programs, stop);
            guest.map(Arc::new).map_err(|error| Failure {
                text: format!("{error:#}"),
                is_the_guests: error.is::<TargetFailed>(),
            })
        });
        match guest {
            Ok(guest) => Ok(Arc::clone(guest)),
            Err(Failure { text, is_the_guests: true }) => Err(TargetFailed(text.clone()).into()),
            Err(Failure { text, is_the_guests: false }) => bail!("{text}"),
        }
    }
}

/// Splits a request into its mode and the rest for the port.
fn split(request: &Request) -> (Mode, Request) {
    let mode = request.get(MODE.name).map_or(Mode::Deterministic, Mode::from_word);
    (mode, request.without(MODE.name))
}

/// The command with which the guest runs the user's program for a request, as
/// [`programs::command`] writes it.
fn command(given: &GivenImage, request: Request, mode: Mode) -> Result<String> {
    let program = given.path.display().to_string();
    let request = mode.with_clock(request);
    programs::command(&[program].into_iter().chain(request.words()).collect::<Vec<_>>())
}

impl Machine for Vm<'_> {
    fn properties(&self) -> Properties {
        PROPERTIES
    }

    fn prepare(&self, request: &Request, stop: &AtomicBool) -> Result<Provenance> {
        let mode = split(request).0;
        let guest = self.guest(mode, stop)?;
        let mut identity = guest.identity.clone();
        identity.extend(self.source.given.iter().flat_map(|given| given.provenance().identity));
        let remarks = [mode.remark(), &guest.remark].into_iter().filter(|one| !one.is_empty());
        Ok(Provenance { identity, remark: remarks.collect::<Vec<_>>().join("; ") })
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
        let given = self.source.given.as_ref();
        let program = given.map(|given| command(given, request.clone(), mode)).transpose()?;
        let request = mode.completed(request, self.source.flavour);
        let once = |manner, sink: &mut dyn FnMut(&[u8]) -> Result<()>| {
            guest.run(&Start { request: &request, ..*start }, program.as_deref(), manner, sink)
        };
        match mode {
            Mode::Deterministic => {
                let what = format!("{} {}", self.source.flavour, start.request);
                self.guests.agreements.run(guest.image(), &what, once, sink)?;
            }
            Mode::Multiprocessor | Mode::Wall | Mode::Kvm => once(Manner::Plain, sink)?,
        }
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
        guest.run(&Start { request: &request, ..*start }, Some(&command), Manner::Plain, sink)
    }
}

#[cfg(test)]
mod tests {
    use std::{env, fs, fs::Permissions, os::unix::fs::PermissionsExt, path::PathBuf, process};

    use super::*;
    use crate::request::request;

    #[test]
    fn the_mode_is_no_business_of_the_port() {
        assert_eq!(
            split(&request("switch cpu=0 mode=kvm loops=3")),
            (Mode::Kvm, request("switch cpu=0 loops=3"))
        );
    }

    /// A folder with two images that begin as a bzImage, `a` and `b`, and a program, `app`.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = env::temp_dir().join(format!("chronoscope-vm-{name}-{}", process::id()));
            fs::create_dir_all(&path).unwrap();
            let mut image = vec![0; 0x300];
            image[0x202..0x206].copy_from_slice(b"HdrS");
            for (name, last) in [("a", 1), ("b", 2)] {
                image[0x2ff] = last;
                fs::write(path.join(name), &image).unwrap();
            }
            fs::write(path.join("app"), "#!/bin/sh\n").unwrap();
            fs::set_permissions(path.join("app"), Permissions::from_mode(0o755)).unwrap();
            Self(path)
        }

        /// The target `NAME=FILE@MACHINE` of a file in the folder.
        fn target(&self, name: &str, file: &str, machine: &str) -> Target {
            let image = Some(self.0.join(file));
            Target { kernel: name.to_owned(), machine: machine.to_owned(), image }
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn vm<'m>(guests: &'m Guests, target: &Target) -> Vm<'m> {
        let source = Source::look_up(&guests.settings, target).unwrap().unwrap();
        Vm { guests, source, programs: Vec::new() }
    }

    #[test]
    fn two_kernels_of_one_name_are_two_guests() {
        let folder = Folder::new("two");
        let settings = Settings { append: "isolcpus=0".to_owned(), ..Settings::default() };
        let guests = Guests::new(settings);
        let [a, b] = ["a", "b"].map(|file| folder.target("linux", file, "vm"));
        assert_eq!(a.to_string(), b.to_string());
        let [own_a, own_b] = [&a, &b].map(|target| guests.own_kernel(target).unwrap().unwrap());
        assert_eq!((&own_a.image, &own_b.image), (&folder.0.join("a"), &folder.0.join("b")));
        assert_eq!((own_a.append.as_str(), own_b.append.as_str()), ("isolcpus=0", "isolcpus=0"));
        let key = |target| vm(&guests, target).key(Mode::Deterministic);
        assert!(key(&a) != key(&b) && key(&a) == key(&a));
        for target in [&a, &b] {
            let images = Images::default();
            let described = guests.describe(&images, target).unwrap().unwrap();
            let opened = guests.open(&images, target).unwrap().unwrap();
            assert_eq!(described.properties, opened.properties());
        }
    }

    #[test]
    fn the_images_of_two_kernels_are_read_one_by_one() {
        let folder = Folder::new("read");
        let guests = Guests::default();
        let [a, b] = ["a", "b"].map(|file| {
            let own = guests.own_kernel(&folder.target("linux", file, "vm")).unwrap();
            own.unwrap().kernel(&AtomicBool::new(false)).unwrap()
        });
        assert_eq!((a.image.last(), b.image.last()), (Some(&1), Some(&2)));
        assert!(a.origin.ends_with("/a") && b.origin.ends_with("/b"));
    }

    #[test]
    fn an_image_is_a_kernel_or_a_program() {
        let folder = Folder::new("sort");
        let setting = Settings { image: Some(folder.0.join("b")), ..Settings::default() };
        let look_up = |name, file| {
            let target = folder.target(name, file, "vm");
            Source::look_up(&setting, &target).map(Option::unwrap)
        };
        let model = |source: Source| source.flavour.boot_preemption();
        // A kernel may have any name; one of the table selects its preemption model.
        let mine = look_up("mine", "a").unwrap();
        assert_eq!(mine.own.as_ref().unwrap().image, folder.0.join("a"));
        assert!(mine.given.is_none() && model(mine).is_none());
        assert_eq!(model(look_up("linux-none", "a").unwrap()), Some("none"));
        // A program runs in the guest of its name, which may be a kernel of the user's.
        let program = look_up("linux", "app").unwrap();
        assert!(program.given.is_some());
        assert_eq!(program.own.unwrap().image, folder.0.join("b"));
        let program = look_up("linux-full", "app").unwrap();
        assert!(program.given.is_some() && program.own.is_none());
        let error = look_up("mine", "app").unwrap_err().to_string();
        assert!(error.contains("is that of the guest's kernel"), "{error}");
        // Without an image, the setting is the kernel of `linux` and of no other.
        let own = |text: &str| {
            let source = Source::look_up(&setting, &text.parse().unwrap()).unwrap().unwrap();
            source.own.map(|own| own.image)
        };
        assert_eq!(own("linux@vm"), Some(folder.0.join("b")));
        assert_eq!(own("linux-full@vm"), None);
    }
}
