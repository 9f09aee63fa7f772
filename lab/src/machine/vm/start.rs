//! Starting the guest: from its kernel, or, much faster, from the moment at which it had booted.

use std::{
    fs, io,
    path::PathBuf,
    process::{Command, Stdio},
    sync::atomic::AtomicBool,
    thread,
    time::Duration,
};

use anyhow::{Context, Result, anyhow};
use serde_json::{Value, json};

use super::{
    bzimage,
    identity::{Emulator, Identity, PROGRAM, key, sha256},
    initramfs,
    kernel::Flavour,
    options::Mode,
    port, programs,
    qmp::{self, Qmp},
};
use crate::{cache::Cache, child, machine::firmware::told_when_long, units::printable};

/// A boot takes four seconds, or a minute and more on a host that is busy: hung is what takes ten.
const BOOT: Duration = Duration::from_secs(600);

/// Where the shell that QEMU asks to write or read the saved machine finds the file's name.
const SAVED: &str = "CHRONOSCOPE_SAVED_MACHINE";

/// A machine that is ready to be started.
pub struct Guest {
    mode: Mode,
    /// Holds what the start needs: `memory`, or `vmlinux` and `initramfs`.
    folder: PathBuf,
    boot_arguments: String,
    pub identity: Identity,
}

impl Guest {
    /// Fetches, builds, boots and saves what is not in the cache.
    ///
    /// # Errors
    /// What is missing, with the mend.
    pub fn ready(
        flavour: &Flavour,
        mode: Mode,
        programs: &[String],
        stop: &AtomicBool,
    ) -> Result<Self> {
        // This also installs QEMU where it may.
        let program = port::program()?;
        let emulator = Emulator::find()?;
        mode.check(&emulator)?;
        let cache = Cache::of_user()?;
        let kernel = flavour.kernel(&cache)?;
        let mut initramfs = initramfs::archive(&program, &kernel.modules);
        if !programs.is_empty() {
            // The kernel unpacks archives that stand one behind the other.
            initramfs.extend(initramfs::files(&programs::files(programs)?));
        }
        let boot_arguments = mode.boot_arguments(flavour, &kernel.append);
        let identity = Identity::from([
            (
                "emulator".to_owned(),
                format!("{PROGRAM} {}, sha256 {}", emulator.version, emulator.sha256),
            ),
            ("kernel".to_owned(), format!("sha256 {}", sha256(&kernel.image))),
            ("kernel's origin".to_owned(), kernel.origin),
            ("initramfs".to_owned(), format!("sha256 {}", sha256(&initramfs))),
            ("machine".to_owned(), mode.options().join(" ")),
            ("boot arguments".to_owned(), boot_arguments.clone()),
        ]);
        let name = format!("{}-{}", flavour.name, key(&identity));
        let kind = if mode.is_kept() { "machines" } else { "images" };
        let folder = cache.obtain(kind, &name, |folder| {
            let image = bzimage::vmlinux(&kernel.image)
                .with_context(|| identity["kernel's origin"].clone())?;
            fs::write(folder.join("vmlinux"), image)?;
            fs::write(folder.join("initramfs"), &initramfs)?;
            let guest = Self {
                mode,
                folder: folder.into(),
                boot_arguments: boot_arguments.clone(),
                identity: Identity::new(),
            };
            if mode.is_kept() {
                told_when_long(&format!("booting {}@vm", flavour.name), || guest.save(stop))?;
                fs::remove_file(folder.join("vmlinux"))?;
                fs::remove_file(folder.join("initramfs"))?;
            }
            Ok(fs::write(folder.join("identity.json"), serde_json::to_vec_pretty(&identity)?)?)
        })?;
        Ok(Self { mode, folder, boot_arguments, identity })
    }

    fn qemu(&self) -> Command {
        let mut qemu = Command::new(PROGRAM);
        qemu.args(self.mode.options());
        qemu
    }

    fn with_kernel(&self, qemu: &mut Command) {
        qemu.arg("-kernel")
            .arg(self.folder.join("vmlinux"))
            .arg("-initrd")
            .arg(self.folder.join("initramfs"));
        qemu.arg("-append").arg(&self.boot_arguments);
    }

    /// Boots the machine until it stops itself, and keeps it as a file.
    fn save(&self, stop: &AtomicBool) -> Result<()> {
        let mut qemu = self.qemu();
        self.with_kernel(&mut qemu);
        self.talk(&mut qemu, BOOT, stop, &mut |_| Ok(()), |qmp| {
            qmp.until(|message| message["event"] == "GUEST_PANICKED")
                .context("the guest has not booted")?;
            // QEMU tells first and stops then; what is saved in between would go on by itself when it is restored.
            qmp.ask_until("query-status", |answer| answer["status"] == "guest-panicked")?;
            // As fast as the file can be written; QEMU thinks of networks.
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

    /// Runs one case, or the command of another program in its place.
    ///
    /// # Errors
    /// What went wrong, with what QEMU or the guest had to say about it.
    pub fn run(
        &self,
        request: &str,
        command: Option<&str>,
        limit: Duration,
        stop: &AtomicBool,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut qemu = self.qemu();
        for (name, text) in [("request", Some(request)), ("program", command)] {
            let Some(text) = text else { continue };
            // In an option a comma is written twice.
            let text = text.replace(',', ",,");
            qemu.arg("-fw_cfg").arg(format!("name=opt/chronoscope/{name},string={text}"));
        }
        if !self.mode.is_kept() {
            self.with_kernel(&mut qemu);
            let limit = limit.saturating_add(BOOT);
            qemu.stdin(Stdio::null());
            let ran = child::run_with_input(&mut qemu, "the guest", limit, stop, sink)
                .map_err(installed)
                .and_then(no_panic);
            return ran
                .with_context(|| format!("{}, which mode=det does not need", self.mode.needs()));
        }
        qemu.args(["-incoming", &format!("exec:cat \"${SAVED}\"")]);
        self.talk(&mut qemu, limit, stop, sink, |qmp| {
            // It was saved while it stood still, and stands still when all of it is back.
            qmp.ask_until("query-status", |answer| answer["status"] != "inmigrate")?;
            qmp.command("cont", &json!({})).map(|_| ())
        })
    }

    /// Runs QEMU, and meanwhile a conversation with it.
    fn talk(
        &self,
        qemu: &mut Command,
        limit: Duration,
        stop: &AtomicBool,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
        conversation: impl FnOnce(&mut Qmp<'_>) -> Result<()> + Send,
    ) -> Result<()> {
        let (mut qmp, theirs) = Qmp::pair(limit, stop)?;
        qemu.args(qmp::ARGUMENTS)
            .env(SAVED, self.folder.join("memory"))
            .stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)));
        thread::scope(|scope| {
            let talk = scope.spawn(move || qmp.greet().and_then(|()| conversation(&mut qmp)));
            let ran = child::run_with_input(qemu, "the guest", limit, stop, sink)
                .map_err(installed)
                .and_then(no_panic);
            let talked =
                talk.join().unwrap_or_else(|_| Err(anyhow!("the conversation with QEMU failed")));
            // What QEMU and the guest say tells more than that they have gone.
            ran.and(talked)
        })
    }
}

/// A kernel that panics ends the machine like one that is done; its console tells.
fn no_panic(console: String) -> Result<()> {
    match console.lines().find_map(|line| Some(&line[line.find("Kernel panic")?..])) {
        Some(line) => Err(anyhow!("in the guest: {}", printable(line))),
        None => Ok(()),
    }
}

/// Why QEMU could not be started.
fn installed(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<io::Error>() {
        Some(cause) if cause.kind() == io::ErrorKind::NotFound => {
            anyhow!("{PROGRAM} has gone: install qemu-system-x86")
        }
        _ => error,
    }
}
