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
use crate::{scratch, setup};
use chronoscope_base::{cache::Cache, cache::KERNELS, console, digest::sha256};
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
#[derive(Clone, Copy, Debug)]
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
    /// The package to use while the archive has it.
    pinned: Pinned,
}

/// A package of which every byte is known: the figures of guests depend on the kernel. `apt-cache
/// show PACKAGE` prints the version and the hash of a newer one.
#[derive(Clone, Copy, Debug)]
struct Pinned {
    package: &'static str,
    version: &'static str,
    /// The SHA-256 of the package's file, in lower-case hexadecimal.
    sha256: &'static str,
}

static STOCK_6_1: Build = Build {
    name: "6.1",
    architecture: &AMD64,
    is_dynamic: true,
    prefix: "linux-image-6.1.",
    suffix: "-amd64",
    leads: &["linux-image-amd64"],
    pinned: Pinned {
        package: "linux-image-6.1.0-56-amd64",
        version: "6.1.192-2",
        sha256: "a86e2049672f52354c4536a089203b6c82639420424d31c91cf31a181fd4d8f1",
    },
};
static RT_6_1: Build = Build {
    name: "6.1-rt",
    architecture: &AMD64,
    is_dynamic: false,
    prefix: "linux-image-6.1.",
    suffix: "-rt-amd64",
    leads: &["linux-image-rt-amd64"],
    pinned: Pinned {
        package: "linux-image-6.1.0-56-rt-amd64",
        version: "6.1.192-2",
        sha256: "b66d757c30bf6106f190173c57fa867d2a4936c01f001baa812a1373ae425bb9",
    },
};
static STOCK_6_12: Build = Build {
    name: "6.12",
    architecture: &AMD64,
    is_dynamic: true,
    prefix: "linux-image-6.12.",
    suffix: "-amd64",
    leads: &["linux-image-6.12-amd64", "linux-image-amd64"],
    pinned: Pinned {
        package: "linux-image-6.12.117+deb12-amd64",
        version: "6.12.117-1~deb12u1",
        sha256: "803d36a7cda13355ae8152122470288b2636f19f1cb58162dd9d8b408af9b1b4",
    },
};
static RT_6_12: Build = Build {
    name: "6.12-rt",
    architecture: &AMD64,
    is_dynamic: false,
    prefix: "linux-image-6.12.",
    suffix: "-rt-amd64",
    leads: &["linux-image-6.12-rt-amd64", "linux-image-rt-amd64"],
    pinned: Pinned {
        package: "linux-image-6.12.117+deb12-rt-amd64",
        version: "6.12.117-1~deb12u1",
        sha256: "0a81551a8ae810a5b5e4cbf7178538b17e31e992db1a286e93ee75cb05678a3c",
    },
};

static ARM64_STOCK_6_1: Build = Build {
    name: "6.1-arm64",
    architecture: &ARM64,
    is_dynamic: false,
    prefix: "linux-image-6.1.",
    suffix: "-arm64",
    leads: &["linux-image-arm64"],
    pinned: Pinned {
        package: "linux-image-6.1.0-56-arm64",
        version: "6.1.192-2",
        sha256: "6f4ed2d1cb9106bc977c2b1960008f175e2eed5740340634b7894e65ef5acc82",
    },
};
static ARM64_RT_6_1: Build = Build {
    name: "6.1-rt-arm64",
    architecture: &ARM64,
    is_dynamic: false,
    prefix: "linux-image-6.1.",
    suffix: "-rt-arm64",
    leads: &["linux-image-rt-arm64"],
    pinned: Pinned {
        package: "linux-image-6.1.0-56-rt-arm64",
        version: "6.1.192-2",
        sha256: "f48444034d0a69805beb3ca2c408479dfbcdb78bd582a98b222ad773017d8a88",
    },
};
static ARM64_STOCK_6_12: Build = Build {
    name: "6.12-arm64",
    architecture: &ARM64,
    is_dynamic: false,
    prefix: "linux-image-6.12.",
    suffix: "-arm64",
    leads: &["linux-image-6.12-arm64", "linux-image-arm64"],
    pinned: Pinned {
        package: "linux-image-6.12.117+deb12-arm64",
        version: "6.12.117-1~deb12u1",
        sha256: "29593b2ac908b9325be67b2bfb7252310d8500680bc05e89d540a9378abd01a1",
    },
};
static ARM64_RT_6_12: Build = Build {
    name: "6.12-rt-arm64",
    architecture: &ARM64,
    is_dynamic: false,
    prefix: "linux-image-6.12.",
    suffix: "-rt-arm64",
    leads: &["linux-image-6.12-rt-arm64", "linux-image-rt-arm64"],
    pinned: Pinned {
        package: "linux-image-6.12.117+deb12-rt-arm64",
        version: "6.12.117-1~deb12u1",
        sha256: "cf82f989785b1186b6644c996dd5c8cc3f3451ca501d8489e1963cc34ef811ed",
    },
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
    /// The kernel of [`OWN_TARGETS`] where the target names no image: an image, or a Debian package.
    pub image: Option<PathBuf>,
    /// Further Debian packages of that kernel.
    pub packages: Vec<PathBuf>,
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
    /// The image's file, in a form that the guest's architecture unpacks, or a Debian package.
    pub image: PathBuf,
    /// Further Debian packages of the kernel, if the image is one.
    pub packages: Vec<PathBuf>,
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
        for file in self.image.iter().chain(&self.packages) {
            read(file)?;
        }
        self.modules.as_deref().map_or(Ok(()), |folder| modules::in_folder(folder).map(drop))
    }

    /// The kernel of this image with the modules and the boot arguments of the settings.
    pub(super) fn with_image(&self, image: &Path) -> OwnKernel {
        let Self { modules, append, packages, .. } = self.clone();
        // The packages are of the settings' kernel alone.
        let packages = if self.image.as_deref() == Some(image) { packages } else { Vec::new() };
        OwnKernel { image: image.to_owned(), packages, modules, append }
    }
}

/// Returns whether a file begins as a kernel's image for that architecture, and not as a program. A
/// file that cannot be read does not. Reads one page.
pub(super) fn is_image(path: &Path, architecture: &Architecture) -> bool {
    const PAGE: u64 = 4096;
    let mut head = Vec::new();
    let mut read_head = || file::open(path)?.take(PAGE).read_to_end(&mut head);
    let is_kernel = |head: &[u8]| (architecture.is_image)(head) || is_vmlinux(head);
    read_head().is_ok() && (is_kernel(&head) || is_package(&head))
}

/// Returns whether a file begins as a Debian package.
fn is_package(head: &[u8]) -> bool {
    head.starts_with(b"!<arch>\ndebian-binary")
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
    /// A sentence on a kernel that is used in the place of the pinned one; else empty.
    pub remark: String,
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
            return own.kernel(stop);
        }
        let Some(build) = self.build else { return Err(missing(self.architecture)) };
        // Another pinned version is another entry.
        let name = format!("{}_{}", build.name, build.pinned.version);
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
        let remark = build.pinned.remark(&origin);
        Ok(Kernel { image: read("vmlinuz")?, origin, remark, modules, append: String::new() })
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
    /// Reads the image and the modules; of Debian packages the image and the binder module.
    ///
    /// # Errors
    /// If a file cannot be read, or is larger than 512 MiB, or the packages hold no kernel.
    pub(super) fn kernel(&self, stop: &AtomicBool) -> Result<Kernel> {
        let image = read(&self.image)?;
        let mut kernel = if is_package(&image) {
            self.in_packages(stop)?
        } else if let Some(package) = self.packages.first() {
            bail!("{} is no Debian package, as {} is", self.image.display(), package.display());
        } else {
            let origin = self.image.display().to_string();
            Kernel {
                image,
                origin,
                remark: String::new(),
                modules: Vec::new(),
                append: String::new(),
            }
        };
        kernel.modules.extend(self.modules.as_deref().map_or(Ok(Vec::new()), modules::in_folder)?);
        kernel.append.clone_from(&self.append);
        Ok(kernel)
    }

    /// The kernel that is in the packages together.
    fn in_packages(&self, stop: &AtomicBool) -> Result<Kernel> {
        let unpacked = scratch::folder()?;
        let folder = unpacked.path("");
        let mut origins = Vec::new();
        for deb in [&self.image].into_iter().chain(&self.packages) {
            let deb =
                fs::canonicalize(deb).with_context(|| format!("cannot read {}", deb.display()))?;
            let field =
                |name| run(Command::new("dpkg-deb").arg("--field").arg(&deb).arg(name), stop);
            let (package, version) = (field("Package")?, field("Version")?);
            origins.push(kernel_origin(package.trim(), version.trim(), &sha256(&read(&deb)?)));
            // No package has all places, which tar calls a failure.
            let _ = unpack(&deb, &folder, &WANTED, stop);
        }
        let is_image = |path: &PathBuf| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("vmlinuz"))
        };
        let image = files(&folder)?.into_iter().find(is_image).with_context(|| {
            format!(
                "{} holds no kernel: name the package that has boot/vmlinuz-* too",
                origins.join(" and ")
            )
        })?;
        Ok(Kernel {
            image: fs::read(image)?,
            origin: origins.join(" and "),
            remark: String::new(),
            modules: modules::in_folder(&folder)?,
            append: String::new(),
        })
    }
}

impl Pinned {
    /// The package's name with its version, as apt takes it.
    fn exactly(&self) -> String {
        format!("{}={}", self.package, self.version)
    }

    /// The sentence on a kernel of this origin: empty if it is the pinned one.
    fn remark(&self, origin: &str) -> String {
        let Self { package, version, sha256 } = self;
        let other = origin.split(", sha256").next().unwrap_or_default();
        match origin == kernel_origin(package, version, sha256) {
            true => String::new(),
            false => format!(
                "Debian's package lists have no {package} {version}, the pinned kernel: this is \
                 {other}; baselines of another kernel are not comparable"
            ),
        }
    }
}

impl Build {
    /// Fills `folder` with the image, the binder module, and a line that gives their origin.
    fn fetch(&self, folder: &Path, stop: &AtomicBool) -> Result<()> {
        if self.architecture.is_the_hosts() {
            return self.fetch_by(&Apt::for_system(), folder, stop);
        }
        let lists = folder.join("apt");
        let apt = Apt::for_other(self.architecture.debian, &lists)?;
        apt.update(stop)?;
        self.fetch_by(&apt, folder, stop)?;
        Ok(fs::remove_dir_all(&lists)?)
    }

    /// Does [`fetch`](Self::fetch) with these package lists.
    fn fetch_by(&self, apt: &Apt, folder: &Path, stop: &AtomicBool) -> Result<()> {
        let package = self.download(apt, folder, stop)?;
        let deb = files(folder)?
            .into_iter()
            .find(|path| path.extension().is_some_and(|extension| extension == "deb"));
        let deb = deb.with_context(|| format!("apt-get has not downloaded {package}"))?;
        let version = run(Command::new("dpkg-deb").arg("--field").arg(&deb).arg("Version"), stop)?;
        let (version, hash) = (version.trim(), sha256(&fs::read(&deb)?));
        let Pinned { package: pinned, version: its_version, sha256: its_hash } = self.pinned;
        if (package.as_str(), version) == (pinned, its_version) && hash != its_hash {
            bail!(
                "{package} {version} from Debian has the SHA-256 {hash}, and the pinned one \
                 {its_hash}: it is not used"
            );
        }
        unpack(&deb, folder, &WANTED[..2], stop)?;
        let packed = folder.join(format!("{BINDER}.xz"));
        if packed.is_file() {
            fs::write(folder.join(BINDER), bzimage::unpacked_module(&fs::read(&packed)?, stop)?)?;
            fs::remove_file(packed)?;
        }
        fs::remove_file(&deb)?;
        let image =
            files(folder)?.into_iter().find(|path| path.to_string_lossy().contains("vmlinuz-"));
        fs::rename(
            image.with_context(|| format!("{package} holds no kernel"))?,
            folder.join("vmlinuz"),
        )?;
        let origin = kernel_origin(&package, version, &hash);
        let remark = self.pinned.remark(&origin);
        if !remark.is_empty() {
            console::note(&remark);
        }
        Ok(fs::write(folder.join("origin"), origin + "\n")?)
    }

    /// Downloads the pinned package into `folder`, or the current one where up-to-date package
    /// lists have no pinned one. Returns the package's name.
    fn download(&self, apt: &Apt, folder: &Path, stop: &AtomicBool) -> Result<String> {
        if !apt.has(&self.pinned.exactly(), stop)? {
            // Lists that cannot be updated, as without root, are used as they are.
            let _ = apt.update(stop);
        }
        self.download_listed(apt, folder, stop).or_else(|first| {
            // The package lists may be older than the mirror, or the network failed for a moment.
            if apt.update(stop).is_err() {
                pause(Duration::from_secs(5), stop);
            }
            self.download_listed(apt, folder, stop).map_err(|_| first)
        })
    }

    /// Does [`download`](Self::download) once, with the package lists of the moment.
    fn download_listed(&self, apt: &Apt, folder: &Path, stop: &AtomicBool) -> Result<String> {
        let exactly = self.pinned.exactly();
        if apt.has(&exactly, stop)? {
            apt.download(&exactly, folder, stop)?;
            return Ok(self.pinned.package.to_owned());
        }
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

/// The line that gives the origin of a kernel of Debian's.
fn kernel_origin(package: &str, version: &str, sha256: &str) -> String {
    format!("{package} {version}, sha256 {sha256}")
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    Ok(fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?)
}

/// The places of the image and the binder module in a Debian package; the last two are for packages
/// that have all under /usr.
const WANTED: [&str; 4] = [
    "./boot/vmlinuz-*",
    "./lib/modules/*/kernel/drivers/android/binder_linux.ko*",
    "./usr/lib/modules/*/vmlinuz*",
    "./usr/lib/modules/*/kernel/drivers/android/binder_linux.ko*",
];

/// Extracts the wanted files of a Debian package into `folder`, without their folders: dpkg-deb writes the
/// package's archive and tar reads it.
fn unpack(deb: &Path, folder: &Path, wanted: &[&str], stop: &AtomicBool) -> Result<()> {
    let (archive, mut packed) = pipe()?;
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

    static GO_ON: AtomicBool = AtomicBool::new(false);

    /// An archive of packages in a folder, with lists of its own; removed on drop.
    struct Archive(PathBuf);

    impl Archive {
        fn new(name: &str) -> Self {
            let name = format!("chronoscope-archive-{name}-{}", std::process::id());
            let archive = Self(std::env::temp_dir().join(name));
            fs::create_dir_all(archive.0.join("cache")).unwrap();
            fs::write(archive.0.join("Packages"), "").unwrap();
            archive
        }

        fn apt(&self) -> Apt {
            let apt = Apt::for_other("amd64", &self.0.join("apt")).unwrap();
            let apt = apt.with_source(&self.0);
            apt.update(&GO_ON).unwrap();
            apt
        }

        /// Adds a package with a kernel. Returns its SHA-256.
        fn add(&self, package: &str, version: &str) -> String {
            let tree = self.0.join("tree");
            let boot = tree.join("boot");
            let binder = tree.join("lib/modules/1/kernel/drivers/android");
            for folder in [&tree.join("DEBIAN"), &boot, &binder] {
                fs::create_dir_all(folder).unwrap();
            }
            let head = format!(
                "Package: {package}\nVersion: {version}\nArchitecture: amd64\n\
                 Maintainer: nobody\nDescription: a kernel\n"
            );
            fs::write(tree.join("DEBIAN/control"), &head).unwrap();
            fs::write(boot.join("vmlinuz-1"), package).unwrap();
            fs::write(binder.join(BINDER), "binder").unwrap();
            let deb = self.0.join(format!("{package}_{version}.deb"));
            run(Command::new("dpkg-deb").arg("--build").args([&tree, &deb]), &GO_ON).unwrap();
            fs::remove_dir_all(&tree).unwrap();
            let bytes = fs::read(&deb).unwrap();
            let hash = sha256(&bytes);
            let name = deb.file_name().unwrap().to_str().unwrap();
            let size = bytes.len();
            self.list(&format!("{head}Filename: ./{name}\nSize: {size}\nSHA256: {hash}\n"));
            hash
        }

        /// Adds an entry to the list of packages.
        fn list(&self, entry: &str) {
            let path = self.0.join("Packages");
            let list = fs::read_to_string(&path).unwrap();
            fs::write(&path, format!("{list}{entry}\n")).unwrap();
        }

        /// Adds the metapackage, which depends on the current package.
        fn lead(&self, package: &str) {
            self.list(&format!(
                "Package: linux-image-amd64\nVersion: 1\nArchitecture: amd64\n\
                 Depends: {package}\nFilename: ./none\nSize: 1\nSHA256: 00\n"
            ));
        }

        /// Fetches a build with that pinned hash of version 1. Returns its origin.
        fn fetch(&self, pinned_hash: &str) -> Result<String> {
            let sha256 = Box::leak(pinned_hash.to_owned().into_boxed_str());
            let pinned = Pinned { package: PINNED, version: "1", sha256 };
            let folder = self.0.join("fetched");
            fs::create_dir_all(&folder)?;
            Build { pinned, ..STOCK_6_1 }.fetch_by(&self.apt(), &folder, &GO_ON)?;
            assert_eq!(fs::read_to_string(folder.join(BINDER))?, "binder");
            let origin = fs::read_to_string(folder.join("origin"))?.trim_end().to_owned();
            let package = origin.split(' ').next().unwrap();
            assert_eq!(fs::read_to_string(folder.join("vmlinuz"))?, package);
            let is_pinned = origin.starts_with(&format!("{PINNED} 1,"));
            assert_eq!(pinned.remark(&origin).is_empty(), is_pinned);
            Ok(origin)
        }
    }

    impl Drop for Archive {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const PINNED: &str = "linux-image-6.1.0-1-amd64";
    const NEWER: &str = "linux-image-6.1.0-2-amd64";

    #[test]
    fn the_pinned_kernel_is_fetched_and_not_a_newer_one() {
        let archive = Archive::new("pinned");
        let hash = archive.add(PINNED, "1");
        archive.add(PINNED, "2");
        archive.add(NEWER, "3");
        archive.lead(NEWER);
        assert_eq!(archive.fetch(&hash).unwrap(), format!("{PINNED} 1, sha256 {hash}"));
    }

    /// The kernel of one package, or of two.
    fn own(files: &[PathBuf]) -> Result<Kernel> {
        let settings = Settings {
            image: Some(files[0].clone()),
            packages: files[1..].to_vec(),
            ..Settings::default()
        };
        settings.with_image(&files[0]).kernel(&GO_ON)
    }

    #[test]
    fn packages_of_the_user_s_hold_a_kernel_together() {
        let archive = Archive::new("own");
        let hash = archive.add("linux-image-9", "1");
        let whole = archive.0.join("linux-image-9_1.deb");
        assert!(is_image(&whole, &AMD64) && is_image(&whole, &ARM64));
        let kernel = own(std::slice::from_ref(&whole)).unwrap();
        assert_eq!((&*kernel.image, kernel.modules.len()), (&b"linux-image-9"[..], 1));
        assert_eq!(kernel.origin, format!("linux-image-9 1, sha256 {hash}"));
        // Newer ones have the modules apart, under /usr.
        let part = |package: &str, file: &str| {
            let tree = archive.0.join(package);
            let path = tree.join(file);
            fs::create_dir_all(tree.join("DEBIAN")).unwrap();
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, package).unwrap();
            let head = format!(
                "Package: {package}\nVersion: 1\nArchitecture: amd64\nMaintainer: nobody\nDescription: a part\n"
            );
            fs::write(tree.join("DEBIAN/control"), head).unwrap();
            let deb = archive.0.join(format!("{package}.deb"));
            run(Command::new("dpkg-deb").arg("--build").args([&tree, &deb]), &GO_ON).unwrap();
            deb
        };
        let modules = part("modules", "usr/lib/modules/9/kernel/drivers/android/binder_linux.ko");
        let image = part("image", "usr/lib/modules/9/vmlinuz");
        let error = own(std::slice::from_ref(&modules)).err().unwrap().to_string();
        assert!(error.contains("holds no kernel: name the package"), "{error}");
        let kernel = own(&[modules, image.clone()]).unwrap();
        assert_eq!(
            (&*kernel.image, &*kernel.modules[0].contents),
            (&b"image"[..], &b"modules"[..])
        );
        let plain = archive.0.join("plain");
        fs::write(&plain, "no package").unwrap();
        let error = own(&[plain, image]).err().unwrap().to_string();
        assert!(error.contains("is no Debian package"), "{error}");
    }

    #[test]
    fn another_file_under_the_pinned_version_is_refused() {
        let archive = Archive::new("other-file");
        let hash = archive.add(PINNED, "1");
        let error = archive.fetch(&"0".repeat(64)).unwrap_err().to_string();
        let told = format!("{PINNED} 1 from Debian has the SHA-256 {hash}, and the pinned one 000");
        assert!(error.starts_with(&told), "{error}");
        assert!(!archive.0.join("fetched/origin").exists());
    }

    /// Apt itself checks what it downloads by its lists.
    #[test]
    fn a_file_without_the_hash_of_the_lists_is_refused() {
        let archive = Archive::new("damaged");
        let hash = archive.add(PINNED, "1");
        let deb = archive.0.join(format!("{PINNED}_1.deb"));
        let mut bytes = fs::read(&deb).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(&deb, bytes).unwrap();
        let error = archive.fetch(&hash).unwrap_err().to_string();
        assert!(error.starts_with("apt-get failed: "), "{error}");
        assert!(!archive.0.join("fetched/origin").exists());
    }

    #[test]
    fn where_the_pinned_kernel_is_gone_the_current_one_is_in_its_place() {
        for package in [NEWER, PINNED] {
            let archive = Archive::new(&format!("gone-{package}"));
            let hash = archive.add(package, "3");
            archive.lead(package);
            let origin = archive.fetch(&"0".repeat(64)).unwrap();
            assert_eq!(origin, format!("{package} 3, sha256 {hash}"));
            let sha256 = "0";
            let remark = Pinned { package: PINNED, version: "1", sha256 }.remark(&origin);
            let told = format!("have no {PINNED} 1, the pinned kernel: this is {package} 3;");
            assert!(remark.contains(&told), "{remark}");
        }
    }

    #[test]
    fn pinned_packages_belong_to_their_builds() {
        let builds: Vec<&Build> = FLAVOURS.iter().filter_map(|flavour| flavour.build).collect();
        assert!(!builds.is_empty());
        for Build { name, pinned, .. } in builds.iter().copied() {
            let build = builds.iter().find(|build| build.name == *name).unwrap();
            assert!(build.is_it(pinned.package), "{name}");
            assert!(pinned.sha256.len() == 64 && !pinned.version.is_empty(), "{name}");
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
