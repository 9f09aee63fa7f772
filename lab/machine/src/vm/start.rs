//! Starts the guest: from its kernel, or much faster from the saved state of a booted machine. It
//! runs one request at a time and does not read the stream.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::AtomicBool,
    thread,
    time::Duration,
};

use anyhow::{Context, Result, anyhow};
use serde_json::{Value, json};

use super::{
    architecture::Architecture,
    identity::Emulator,
    initramfs,
    kernel::{Flavour, OwnKernel},
    options::Mode,
    port, programs,
    qmp::{self, Qmp},
};
use crate::{Start, TargetFailed, determinism::Manner, setup};
use chronoscope_base::{cache::Cache, digest::Identity, digest::key, digest::sha256};
use chronoscope_child::{self as child, Limit};
use chronoscope_run::names::{INITRAMFS, KERNEL_ORIGIN};
use chronoscope_units::printable;

/// The time limit of a boot. A boot takes four seconds, or over a minute on a busy host; after ten
/// minutes it hangs.
const BOOT: Duration = Duration::from_secs(600);

/// The environment variable with the saved state's path, for the shell that QEMU starts to read or
/// write it.
const SAVED: &str = "CHRONOSCOPE_SAVED_MACHINE";

/// A machine that is prepared to run cases.
pub struct Guest {
    architecture: &'static Architecture,
    mode: Mode,
    /// The folder with the files of a start: `memory`, or `vmlinux` (the unpacked kernel) and
    /// `initramfs`.
    folder: PathBuf,
    boot_arguments: String,
    pub identity: Identity,
    /// The remark on the kernel, as [`Kernel::remark`](super::kernel::Kernel::remark).
    pub remark: String,
}

impl Guest {
    /// Prepares the machine with the flavour's kernel, or with `own` in its place: fetches, builds,
    /// boots and saves everything that is not in the cache.
    ///
    /// # Errors
    /// If a file or program is missing or the boot fails; the message gives the remedy.
    pub fn ready(
        flavour: &Flavour,
        own: Option<&OwnKernel>,
        mode: Mode,
        programs: &[String],
        stop: &AtomicBool,
    ) -> Result<Self> {
        // The build of the port also installs QEMU, if it is permitted.
        let architecture = flavour.architecture;
        let program = port::program(architecture)?;
        let emulator = Emulator::find(architecture, stop)?;
        mode.check(architecture, &emulator)?;
        let cache = Cache::for_user()?;
        let kernel = flavour.kernel(own, &cache, stop)?;
        let mut initramfs = initramfs::archive(&program, &kernel.modules);
        if !programs.is_empty() {
            // The kernel unpacks concatenated archives.
            initramfs.extend(initramfs::files(&programs::files(programs, stop)?));
        }
        let boot_arguments = mode.boot_arguments(flavour, &kernel.append);
        let identity = Identity::from([
            (
                "emulator".to_owned(),
                format!(
                    "{} {}, sha256 {}",
                    architecture.emulator, emulator.version, emulator.sha256
                ),
            ),
            ("kernel".to_owned(), format!("sha256 {}", sha256(&kernel.image))),
            (KERNEL_ORIGIN.to_owned(), kernel.origin),
            (INITRAMFS.to_owned(), format!("sha256 {}", sha256(&initramfs))),
            ("machine".to_owned(), mode.options(architecture).join(" ")),
            ("boot arguments".to_owned(), boot_arguments.clone()),
        ]);
        let name = format!("{}-{}", flavour.name, key(&identity));
        let kind = if mode.is_kept() { "machines" } else { "images" };
        let folder = cache.obtain::<anyhow::Error>(kind, &name, stop, |folder| {
            let image = (architecture.unpack)(&kernel.image, stop)
                .with_context(|| identity[KERNEL_ORIGIN].clone())?;
            fs::write(folder.join("vmlinux"), image)?;
            fs::write(folder.join("initramfs"), &initramfs)?;
            let guest = Self {
                architecture,
                mode,
                folder: folder.into(),
                boot_arguments: boot_arguments.clone(),
                identity: Identity::new(),
                remark: String::new(),
            };
            if mode.is_kept() {
                setup::step(&format!("booting {flavour}"), || guest.save(stop))
                    .map_err(|error| TargetFailed(format!("{error:#}")))?;
                fs::remove_file(folder.join("vmlinux"))?;
                fs::remove_file(folder.join("initramfs"))?;
            }
            Ok(fs::write(folder.join("identity.json"), serde_json::to_vec_pretty(&identity)?)?)
        })?;
        let remark = kernel.remark;
        Ok(Self { architecture, mode, folder, boot_arguments, identity, remark })
    }

    /// The folder with the guest's files. Another kernel has another folder.
    pub fn image(&self) -> &Path {
        &self.folder
    }

    fn qemu(&self) -> Command {
        let mut qemu = Command::new(self.architecture.emulator);
        qemu.args(self.mode.options(self.architecture));
        qemu
    }

    fn with_kernel(&self, qemu: &mut Command) {
        qemu.arg("-kernel")
            .arg(self.folder.join("vmlinux"))
            .arg("-initrd")
            .arg(self.folder.join("initramfs"));
        qemu.arg("-append").arg(&self.boot_arguments);
    }

    /// Boots the machine until it stops itself, and writes its state to a file.
    fn save(&self, stop: &AtomicBool) -> Result<()> {
        let mut qemu = self.qemu();
        self.with_kernel(&mut qemu);
        self.talk(&mut qemu, Limit::for_work(BOOT), stop, &mut |_| Ok(()), |qmp| {
            qmp.until(|message| message["event"] == "GUEST_PANICKED")
                .context("the guest has not booted")?;
            // QEMU reports the event before it stops; a state saved in between would run on by
            // itself when restored.
            qmp.ask_until("query-status", |answer| answer["status"] == "guest-panicked")?;
            // QEMU limits the bandwidth for networks by default; a file can take more.
            qmp.command("migrate-set-parameters", &json!({ "max-bandwidth": 1_u64 << 40 }))?;
            qmp.command("migrate", &json!({ "uri": format!("exec:cat > \"${SAVED}\"") }))?;
            let is_over =
                |answer: &Value| matches!(answer["status"].as_str(), Some("completed" | "failed"));
            let saved = qmp.ask_until("query-migrate", is_over)?;
            anyhow::ensure!(
                saved["status"] == "completed",
                "the machine cannot be saved: {}",
                saved["error-desc"]
            );
            qmp.command("quit", &json!({})).map(|_| ())
        })
    }

    /// Runs a case, or `command` in place of the port.
    ///
    /// # Errors
    /// If QEMU or the guest fails; the message includes their last words.
    pub fn run(
        &self,
        start: &Start<'_>,
        command: Option<&str>,
        manner: Manner,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut qemu = self.qemu();
        manner.add_to(&mut qemu);
        let request = start.request.to_string();
        for (name, text) in [("request", Some(request.as_str())), ("program", command)] {
            let Some(text) = text else { continue };
            // A comma in an option is written twice.
            let text = text.replace(',', ",,");
            qemu.arg("-fw_cfg").arg(format!("name=opt/chronoscope/{name},string={text}"));
        }
        if !self.mode.is_kept() {
            self.with_kernel(&mut qemu);
            let limit = start.limit.saturating_add(BOOT);
            qemu.stdin(Stdio::null());
            let ran = child::run_with_input(&mut qemu, "the guest", limit, start.stop, sink)
                .map_err(|error| self.installed(error))
                .and_then(no_panic);
            return ran
                .with_context(|| format!("{}, which mode=det does not need", self.mode.needs()));
        }
        qemu.args(["-incoming", &format!("exec:cat \"${SAVED}\"")]);
        self.talk(&mut qemu, start.limit, start.stop, sink, |qmp| {
            // The machine was saved while stopped, and is stopped when completely restored.
            qmp.ask_until("query-status", |answer| answer["status"] != "inmigrate")?;
            qmp.command("cont", &json!({})).map(|_| ())
        })
    }

    /// Replaces the error of a missing QEMU by one with the remedy.
    fn installed(&self, error: anyhow::Error) -> anyhow::Error {
        let Architecture { emulator, package, .. } = self.architecture;
        match error.downcast_ref().is_some_and(child::Error::is_missing) {
            true => anyhow!("{emulator} has gone: install {package}"),
            false => error,
        }
    }

    /// Runs QEMU, and at the same time a conversation with it.
    fn talk(
        &self,
        qemu: &mut Command,
        limit: Limit,
        stop: &AtomicBool,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
        conversation: impl FnOnce(&mut Qmp<'_>) -> Result<()> + Send,
    ) -> Result<()> {
        let (mut qmp, theirs) = Qmp::pair(limit.wall, stop)?;
        qemu.args(qmp::ARGUMENTS)
            .env(SAVED, self.folder.join("memory"))
            .stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)));
        thread::scope(|scope| {
            let talk = scope.spawn(move || qmp.greet().and_then(|()| conversation(&mut qmp)));
            let ran = child::run_with_input(qemu, "the guest", limit, stop, sink)
                .map_err(|error| self.installed(error))
                .and_then(no_panic);
            let talked = talk
                .join()
                .unwrap_or_else(|_| Err(anyhow!("the thread that controls QEMU panicked")));
            // An error of QEMU or the guest explains more than an error of the conversation.
            ran.and(talked)
        })
    }
}

/// A kernel panic ends the machine like a normal end; only the console shows it.
fn no_panic(console: String) -> Result<()> {
    match console.lines().find_map(|line| Some(&line[line.find("Kernel panic")?..])) {
        Some(line) => Err(anyhow!("in the guest: {}", printable(line))),
        None => Ok(()),
    }
}
