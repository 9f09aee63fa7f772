//! The tasks of an init: mounts, kernel modules, the loopback interface.

use std::{ffi::CStr, fs, io, mem, panic, sync::OnceLock};

use rustix::{
    fd::{AsRawFd, OwnedFd},
    fs::Mode,
    io::Errno,
    mount::{MountFlags, mount},
    net::{AddressFamily, SocketType, socket},
    pipe::{fcntl_setpipe_size, pipe},
    stdio::{dup2_stderr, stderr},
};

/// The original standard error: the console.
static CONSOLE: OnceLock<OwnedFd> = OnceLock::new();

/// The size of the log's pipe, in bytes: more than the log of any case, because the pipe is never
/// read.
const PIPE_BYTES: usize = 1 << 20;

/// The file systems that the port uses.
const MOUNTS: [(&CStr, &CStr); 4] = [
    (c"proc", c"/proc"),
    (c"sysfs", c"/sys"),
    (c"devtmpfs", c"/dev"),
    (c"debugfs", c"/sys/kernel/debug"),
];

/// # Errors
/// The kernel's error and the step that failed.
pub fn set_up() -> io::Result<()> {
    for (kind, place) in MOUNTS {
        let name = place.to_string_lossy();
        // Fails for a folder that exists.
        let _ = rustix::fs::mkdir(place, Mode::from_raw_mode(0o755));
        match mount(kind, place, kind, MountFlags::empty(), None) {
            // Some kernels lack debugfs, and some mount devtmpfs themselves.
            Ok(()) | Err(Errno::NODEV | Errno::BUSY) => {}
            Err(error) => {
                return Err(io::Error::other(format!("{name} cannot be mounted: {error}")));
            }
        }
    }
    load_modules()?;
    // A real-time task that never waits is not reported as hung.
    let _ = fs::write("/proc/sys/kernel/hung_task_timeout_secs", "0");
    loopback_up()
        .map_err(|error| io::Error::other(format!("the loopback interface stays down: {error}")))
}

/// Replaces standard error by a pipe, as on a host: the console is a slow serial line.
///
/// # Errors
/// The kernel's error.
pub fn log_to_pipe() -> io::Result<()> {
    let console = rustix::io::dup(stderr())?;
    let (reader, writer) = pipe()?;
    fcntl_setpipe_size(&writer, PIPE_BYTES)?;
    // Without a reader the kernel would refuse writes.
    mem::forget(reader);
    dup2_stderr(&writer)?;
    // The cell is empty: this function is called once.
    let _ = CONSOLE.set(console);
    let told = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        log_to_console();
        told(panic);
    }));
    Ok(())
}

/// Sends all further output on standard error to the console.
pub fn log_to_console() {
    if let Some(console) = CONSOLE.get() {
        // A failure cannot be reported.
        let _ = dup2_stderr(console);
    }
}

/// Loads the modules that the lab has added, in the order of their names.
fn load_modules() -> io::Result<()> {
    let mut paths =
        fs::read_dir("/modules")?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    for path in paths {
        let is_binder = path.to_string_lossy().ends_with("binder_linux.ko");
        let parameters = if is_binder { c"devices=binder,hwbinder" } else { c"" };
        rustix::system::finit_module(fs::File::open(&path)?, parameters, 0).map_err(|error| {
            io::Error::other(format!("module {} cannot be loaded: {error}", path.display()))
        })?;
    }
    Ok(())
}

/// Brings up the loopback interface, which traffic over 127.0.0.1 needs.
fn loopback_up() -> io::Result<()> {
    let socket = match socket(AddressFamily::INET, SocketType::DGRAM, None) {
        // A kernel without a network has no interface.
        Err(Errno::AFNOSUPPORT) => return Ok(()),
        other => other?,
    };
    // SAFETY: ifreq is plain numbers and addresses, for which zero is valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name[..2].copy_from_slice(&[b'l' as libc::c_char, b'o' as libc::c_char]);
    request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
    // SAFETY: `request` is valid for the call, which reads the name and the flags.
    match unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
