//! Provides kernels: Debian's, downloaded once and never installed, or the user's own. It knows
//! packages and files, not how a machine is started.

use std::{
    fmt, fs,
    io::{self, ErrorKind::BrokenPipe, Read as _, Write, pipe},
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::AtomicBool,
    thread,
    time::Duration,
};

use anyhow::{Context, Result, anyhow, bail};
use object::{
    Endianness, elf::FileHeader64, elf::PT_LOAD, read::elf::FileHeader, read::elf::ProgramHeader,
};

use super::{
    apt::{Apt, Failed, explained, pause, run},
    architecture::{AMD64, ARM64, Architecture},
    bzimage,
    initramfs::Module,
    modules::{self, read},
};
use crate::setup;
use chronoscope_base::{cache::Cache, cache::KERNELS, digest::sha256};
use chronoscope_child as child;
use chronoscope_units::file;

/// The Android binder driver, which Debian builds as a module.
const BINDER: &str = "binder_linux.ko";

/// The time limit of unpacking a package, which takes seconds.
const UNPACK: Duration = Duration::from_secs(600);

/// A kernel that can be named in a target.
#[derive(Debug)]
pub struct Flavour {
    /// The kernel's name in a target.
    pub name: &'static str,
    /// The processor and the machine of the guest.
    pub architecture: &'static Architecture,
    build: Option<&'static Build>,
    /// The preemption model to select; `None` leaves the kernel's own.
    pub preemption: Option<&'static str>,
}

/// A kernel build of Debian's.
#[derive(Debug)]
struct Build {
    name: &'static str,
    architecture: &'static Architecture,
    /// `true` for a kernel with PREEMPT_DYNAMIC.
    is_dynamic: bool,
    /// The package's name before and after the last part of the version.
    prefix: &'static str,
    suffix: &'static str,
    /// Metapackages of which one depends on the package; it differs between Debian's releases.
    leads: &'static [&'static str],
}

static STOCK_6_1: Build = Build {
    name: "6.1",
    architecture: &AMD64,
    is_dynamic: true,
    prefix: "linux-image-6.1.",
    suffix: "-amd64",
    leads: &["linux-image-amd64"],
};
static RT_6_1: Build = Build {
    name: "6.1-rt",
    architecture: &AMD64,
    is_dynamic: false,
    prefix: "linux-image-6.1.",
    suffix: "-rt-amd64",
    leads: &["linux-image-rt-amd64"],
};
static STOCK_6_12: Build = Build {
    name: "6.12",
    architecture: &AMD64,
    is_dynamic: true,
    prefix: "linux-image-6.12.",
    suffix: "-amd64",
    leads: &["linux-image-6.12-amd64", "linux-image-amd64"],
};
static RT_6_12: Build = Build {
    name: "6.12-rt",
    architecture: &AMD64,
    is_dynamic: false,
    prefix: "linux-image-6.12.",
    suffix: "-rt-amd64",
    leads: &["linux-image-6.12-rt-amd64", "linux-image-rt-amd64"],
};

static ARM64_STOCK_6_1: Build = Build {
    name: "6.1-arm64",
    architecture: &ARM64,
    is_dynamic: false,
    prefix: "linux-image-6.1.",
    suffix: "-arm64",
    leads: &["linux-image-arm64"],
};
static ARM64_RT_6_1: Build = Build {
    name: "6.1-rt-arm64",
    architecture: &ARM64,
    is_dynamic: false,
    prefix: "linux-image-6.1.",
    suffix: "-rt-arm64",
    leads: &["linux-image-rt-arm64"],
};
static ARM64_STOCK_6_12: Build = Build {
    name: "6.12-arm64",
    architecture: &ARM64,
    is_dynamic: false,
    prefix: "linux-image-6.12.",
    suffix: "-arm64",
    leads: &["linux-image-6.12-arm64", "linux-image-arm64"],
};
static ARM64_RT_6_12: Build = Build {
    name: "6.12-rt-arm64",
    architecture: &ARM64,
    is_dynamic: false,
    prefix: "linux-image-6.12.",
    suffix: "-rt-arm64",
    leads: &["linux-image-6.12-rt-arm64", "linux-image-rt-arm64"],
};

const fn flavour(name: &'static str, build: &'static Build, preemption: &'static str) -> Flavour {
    let architecture = build.architecture;
    Flavour { name, architecture, build: Some(build), preemption: Some(preemption) }
}

/// The name of the user's own kernel in a target.
pub const OWN: &str = "linux";

const fn own_flavour(architecture: &'static Architecture) -> Flavour {
    Flavour { name: OWN, architecture, build: None, preemption: None }
}

/// Debian's stock kernels for amd64 are built with PREEMPT_DYNAMIC: the boot arguments select one
/// of three preemption models. Those for arm64 are built without it, with the model `voluntary`.
pub static FLAVOURS: [Flavour; 14] = [
    flavour("linux-none", &STOCK_6_1, "none"),
    flavour("linux-voluntary", &STOCK_6_1, "voluntary"),
    flavour("linux-full", &STOCK_6_1, "full"),
    flavour("linux-rt", &RT_6_1, "rt"),
    flavour("linux-none-6.12", &STOCK_6_12, "none"),
    flavour("linux-voluntary-6.12", &STOCK_6_12, "voluntary"),
    flavour("linux-full-6.12", &STOCK_6_12, "full"),
    flavour("linux-rt-6.12", &RT_6_12, "rt"),
    own_flavour(&AMD64),
    flavour("linux-voluntary", &ARM64_STOCK_6_1, "voluntary"),
    flavour("linux-rt", &ARM64_RT_6_1, "rt"),
    flavour("linux-voluntary-6.12", &ARM64_STOCK_6_12, "voluntary"),
    flavour("linux-rt-6.12", &ARM64_RT_6_12, "rt"),
    own_flavour(&ARM64),
];

/// The settings of a command for kernels of the user's.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The kernel of [`OWN_TARGETS`] where the target names no image.
    pub image: Option<PathBuf>,
    /// A folder of modules, which every kernel of the user's loads.
    pub modules: Option<PathBuf>,
    /// Boot arguments that every kernel of the user's gets after the lab's.
    pub append: String,
}

/// The targets whose kernel [`Settings::image`] names.
pub const OWN_TARGETS: [&str; 2] = ["linux@vm", "linux@vm-arm64"];

/// A kernel of the user's, with everything that the user adds to it. Equal values are the same
/// kernel; two images at different paths are two kernels.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OwnKernel {
    /// The image's file, in a form that the guest's architecture unpacks.
    pub image: PathBuf,
    /// The folder with its modules.
    pub modules: Option<PathBuf>,
    /// Boot arguments after the lab's.
    pub append: String,
}

impl Settings {
    /// Checks that the image and the modules can be read.
    ///
    /// # Errors
    /// If the image or a module cannot be read, or is larger than 512 MiB.
    pub fn check(&self) -> Result<()> {
        if let Some(image) = &self.image {
            read(image)?;
        }
        self.modules.as_deref().map_or(Ok(()), |folder| modules::in_folder(folder).map(drop))
    }

    /// The kernel of this image with the modules and the boot arguments of the settings.
    pub(super) fn with_image(&self, image: &Path) -> OwnKernel {
        let Self { modules, append, .. } = self.clone();
        OwnKernel { image: image.to_owned(), modules, append }
    }
}

/// Returns whether a file begins as a kernel's image for that architecture, and not as a program. A
/// file that cannot be read does not. Reads one page.
pub(super) fn is_image(path: &Path, architecture: &Architecture) -> bool {
    const PAGE: u64 = 4096;
    let mut head = Vec::new();
    let mut read_head = || file::open(path)?.take(PAGE).read_to_end(&mut head);
    read_head().is_ok() && ((architecture.is_image)(&head) || is_vmlinux(&head))
}

/// Returns whether a file is an ELF file whose code is loaded to the upper half of the address
/// space, where kernels are. `head` is its first page, which has the program headers.
fn is_vmlinux(head: &[u8]) -> bool {
    let Ok(elf) = FileHeader64::<Endianness>::parse(head) else { return false };
    let Ok(endian) = elf.endian() else { return false };
    let mut headers = elf.program_headers(endian, head).unwrap_or_default().iter();
    headers.any(|one| one.p_type(endian) == PT_LOAD && one.p_vaddr(endian) >> 63 == 1)
}

/// The files and arguments with which a machine is started.
pub struct Kernel {
    /// The image, in one of the forms that its architecture unpacks.
    pub image: Vec<u8>,
    /// The origin of the image, for the run's identity.
    pub origin: String,
    /// The modules in the order of loading.
    pub modules: Vec<Module>,
    /// The user's boot arguments.
    pub append: String,
}

/// Writes the kernel's target.
impl fmt::Display for Flavour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.name, self.architecture.machine)
    }
}

impl Flavour {
    /// The flavour of a kernel name on a machine, if it is in the table.
    pub(super) fn find(name: &str, machine: &str) -> Option<&'static Self> {
        let is_it =
            |flavour: &&Self| flavour.name == name && flavour.architecture.machine == machine;
        FLAVOURS.iter().find(is_it)
    }

    /// Returns whether the kernel is the user's own.
    pub(super) fn is_own(&self) -> bool {
        self.build.is_none()
    }

    /// The preemption model that a boot argument selects; `None` for a kernel that has only one.
    pub fn boot_preemption(&self) -> Option<&'static str> {
        self.preemption.filter(|_| self.build.is_some_and(|build| build.is_dynamic))
    }

    /// Returns the kernel: `own` if there is one, else Debian's, which is downloaded unless it is
    /// in the cache.
    ///
    /// # Errors
    /// If a file or program is missing, or the download fails or is stopped; the message gives the
    /// remedy.
    pub fn kernel(
        &self,
        own: Option<&OwnKernel>,
        cache: &Cache,
        stop: &AtomicBool,
    ) -> Result<Kernel> {
        if let Some(own) = own {
            return own.kernel();
        }
        let Some(build) = self.build else { return Err(missing(self.architecture)) };
        // The folder's name includes its content, so that caches without the driver are not used.
        let name = format!("{}-with-binder", build.name);
        let what = format!("fetching Linux {} from Debian", build.name);
        let folder = cache.obtain(KERNELS, &name, stop, |folder| {
            setup::step(&what, || build.fetch(folder, stop))
                .map_err(|error| with_log(error, &what, cache.folder()))
        })?;
        let read = |name: &str| {
            fs::read(folder.join(name)).with_context(|| {
                format!("{} is damaged: `chronoscope cache --clear` renews it", folder.display())
            })
        };
        let origin = String::from_utf8_lossy(&read("origin")?).trim_end().to_owned();
        let modules = vec![Module { name: BINDER.to_owned(), contents: read(BINDER)? }];
        Ok(Kernel { image: read("vmlinuz")?, origin, modules, append: String::new() })
    }
}

/// The error of a target of the user's kernel for which no image is named.
fn missing(architecture: &Architecture) -> anyhow::Error {
    let machine = architecture.machine;
    let debians = FLAVOURS
        .iter()
        .filter(|flavour| flavour.architecture.machine == machine && flavour.build.is_some())
        .map(Flavour::to_string)
        .collect::<Vec<_>>();
    anyhow!(
        "linux@{machine} is a kernel of your own: name it with --kernel-image FILE; Debian's are {}",
        debians.join(", ")
    )
}

impl OwnKernel {
    /// Reads the image and the modules.
    ///
    /// # Errors
    /// If a file cannot be read, or is larger than 512 MiB.
    pub(super) fn kernel(&self) -> Result<Kernel> {
        Ok(Kernel {
            image: read(&self.image)?,
            origin: self.image.display().to_string(),
            modules: self.modules.as_deref().map_or(Ok(Vec::new()), modules::in_folder)?,
            append: self.append.clone(),
        })
    }
}

impl Build {
    /// Fills `folder` with the image, the binder module, and a line that gives their origin.
    fn fetch(&self, folder: &Path, stop: &AtomicBool) -> Result<()> {
        let lists = folder.join("apt");
        let package = if self.architecture.is_the_hosts() {
            self.system_package(folder, stop)?
        } else {
            let apt = Apt::for_other(self.architecture.debian, &lists)?;
            apt.update(stop)?;
            let package = self.download(&apt, folder, stop)?;
            fs::remove_dir_all(&lists)?;
            package
        };
        let deb = files(folder)?
            .into_iter()
            .find(|path| path.extension().is_some_and(|extension| extension == "deb"));
        let deb = deb.with_context(|| format!("apt-get has not downloaded {package}"))?;
        let version = run(Command::new("dpkg-deb").arg("--field").arg(&deb).arg("Version"), stop)?;
        unpack(&deb, folder, stop)?;
        let packed = folder.join(format!("{BINDER}.xz"));
        if packed.is_file() {
            fs::write(folder.join(BINDER), bzimage::unpacked_module(&fs::read(&packed)?, stop)?)?;
            fs::remove_file(packed)?;
        }
        let hash = sha256(&fs::read(&deb)?);
        fs::remove_file(&deb)?;
        let image =
            files(folder)?.into_iter().find(|path| path.to_string_lossy().contains("vmlinuz-"));
        fs::rename(
            image.with_context(|| format!("{package} holds no kernel"))?,
            folder.join("vmlinuz"),
        )?;
        Ok(fs::write(
            folder.join("origin"),
            format!("{package} {}, sha256 {hash}\n", version.trim()),
        )?)
    }

    /// Downloads the current package by the system's package lists.
    fn system_package(&self, folder: &Path, stop: &AtomicBool) -> Result<String> {
        let apt = Apt::for_system();
        self.download(&apt, folder, stop).or_else(|first| {
            // The package lists may be older than the mirror, or the network failed for a moment.
            if apt.update(stop).is_err() {
                pause(Duration::from_secs(5), stop);
            }
            self.download(&apt, folder, stop).map_err(|_| first)
        })
    }

    /// Downloads the current package into `folder`; returns its name.
    fn download(&self, apt: &Apt, folder: &Path, stop: &AtomicBool) -> Result<String> {
        let package = self.package(apt, stop)?;
        apt.download(&package, folder, stop)?;
        Ok(package)
    }

    /// The name of the current package, from the package lists.
    fn package(&self, apt: &Apt, stop: &AtomicBool) -> Result<String> {
        for lead in self.leads {
            let Ok(text) = apt.depends(lead, stop) else { continue };
            let words = text.split_ascii_whitespace();
            if let Some(name) = words.into_iter().find(|word| self.is_it(word)) {
                return Ok(name.to_owned());
            }
        }
        let leads = self.leads.join(" or ");
        bail!(
            "this system's package lists have no {}*{} ({leads}): as root, apt-get update; or name a kernel of your own with \
             --kernel-image FILE --target linux@{}",
            self.prefix,
            self.suffix,
            self.architecture.machine
        )
    }

    fn is_it(&self, word: &str) -> bool {
        let version =
            word.strip_prefix(self.prefix).and_then(|word| word.strip_suffix(self.suffix));
        // Accepts `6.1.0-56` and `6.12.117+deb12`, but not `6.1.0-56-rt` or `-cloud`.
        version.is_some_and(|version| !version.ends_with(|last: char| last.is_ascii_alphabetic()))
    }
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    Ok(fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?)
}

/// Extracts the image and the binder module of a Debian package into `folder`, without their
/// folders: dpkg-deb writes the package's archive and tar reads it.
fn unpack(deb: &Path, folder: &Path, stop: &AtomicBool) -> Result<()> {
    let (archive, mut packed) = pipe()?;
    let wanted = ["./boot/vmlinuz-*", "./lib/modules/*/kernel/drivers/android/binder_linux.ko*"];
    let mut tar = Command::new("tar");
    tar.args(["--extract", "--wildcards", "--transform=s,.*/,,"])
        .args(wanted)
        .current_dir(folder)
        .stdin(archive);
    let mut dpkg = Command::new("dpkg-deb");
    dpkg.arg("--fsys-tarfile").arg(deb);
    thread::scope(|scope| {
        let tar = scope.spawn(move || {
            child::run_with_input(&mut tar, "tar", UNPACK.into(), stop, &mut |_| Ok(()))
        });
        // When tar ends early, a write fails, and dpkg-deb is ended.
        let written = child::run(&mut dpkg, "dpkg-deb", UNPACK.into(), stop, &mut |bytes| {
            Ok(packed.write_all(bytes)?)
        });
        // Tar reads to the end of the pipe.
        drop(packed);
        let read = tar.join().unwrap_or_else(|_| Err(anyhow!("the thread that runs tar panicked")));
        match (read, written) {
            // Tar may end before the archive's padding is written.
            (Ok(_), _) => Ok(()),
            // An archive that was cut explains less than its writer.
            (Err(_), Err(error)) if !is_io(&error, BrokenPipe) => Err(explained(error)),
            (Err(error), _) => Err(explained(error)),
        }
    })
}

fn is_io(error: &anyhow::Error, kind: io::ErrorKind) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|cause| cause.kind() == kind)
}

/// The error of the step `what`. If a program failed, its output becomes a log in `folder`, and the
/// message has the log's path.
fn with_log(error: anyhow::Error, what: &str, folder: &Path) -> anyhow::Error {
    let Some(Failed { words, .. }) = error.downcast_ref() else { return error };
    let remedy = setup::remedy(folder, what, words, "the same command");
    anyhow!("{what}: {error} ({remedy})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_told_apart() {
        for (build, name, is_it) in [
            (&STOCK_6_1, "linux-image-6.1.0-56-amd64", true),
            (&STOCK_6_1, "linux-image-6.1.0-56-rt-amd64", false),
            (&STOCK_6_1, "linux-image-6.1.0-56-cloud-amd64", false),
            (&RT_6_1, "linux-image-6.1.0-56-rt-amd64", true),
            (&STOCK_6_12, "linux-image-6.12.117+deb12-amd64", true),
            (&RT_6_12, "linux-image-6.12.117+deb12-rt-amd64", true),
            (&STOCK_6_1, "linux-image-6.12.117+deb12-amd64", false),
            (&ARM64_STOCK_6_1, "linux-image-6.1.0-56-arm64", true),
            (&ARM64_STOCK_6_1, "linux-image-6.1.0-56-cloud-arm64", false),
            (&ARM64_STOCK_6_1, "linux-image-6.1.0-56-rt-arm64", false),
            (&ARM64_RT_6_12, "linux-image-6.12.117+deb12-rt-arm64", true),
        ] {
            assert_eq!(build.is_it(name), is_it, "{name}");
        }
    }

    /// An ELF file whose only segment is loaded to that address.
    fn elf(address: u64) -> Vec<u8> {
        let mut file = vec![0; 64 + 56];
        file[..7].copy_from_slice(b"\x7FELF\x02\x01\x01");
        file[32] = 64;
        file[54] = 56;
        file[56] = 1;
        file[64] = 1;
        file[64 + 16..64 + 24].copy_from_slice(&address.to_le_bytes());
        file
    }

    #[test]
    fn a_kernel_is_told_from_a_program() {
        let folder =
            std::env::temp_dir().join(format!("chronoscope-kernel-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("image");
        let is_image = |bytes: &[u8], architecture| {
            fs::write(&path, bytes).unwrap();
            is_image(&path, architecture)
        };
        let mut bzimage = vec![0; 0x300];
        bzimage[0x202..0x206].copy_from_slice(b"HdrS");
        assert!(is_image(&bzimage, &AMD64) && !is_image(&bzimage, &ARM64));
        let mut image = vec![0; 100];
        image[56..60].copy_from_slice(b"ARM\x64");
        assert!(is_image(&image, &ARM64) && !is_image(&image, &AMD64));
        assert!(is_image(&elf(0xffff_ffff_8100_0000), &AMD64));
        assert!(!is_image(&elf(0x40_0000), &AMD64));
        for none in [&b""[..], b"#!/bin/sh\n", b"\x7FELF", &elf(0)[..70]] {
            assert!(!is_image(none, &AMD64), "{none:?}");
        }
        fs::remove_dir_all(&folder).unwrap();
        assert!(!super::is_image(&path, &AMD64), "a file that is not there");
    }
}
