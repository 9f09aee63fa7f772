//! What an init does: mounts, the loopback interface.

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

/// What standard error was when the kernel started the port.
static CONSOLE: OnceLock<OwnedFd> = OnceLock::new();

/// Larger than the log of any case: nobody empties it.
const PIPE_BYTES: usize = 1 << 20;

/// What the port reads, or writes to.
const MOUNTS: [(&CStr, &CStr); 4] = [
    (c"proc", c"/proc"),
    (c"sysfs", c"/sys"),
    (c"devtmpfs", c"/dev"),
    (c"debugfs", c"/sys/kernel/debug"),
];

/// # Errors
/// What the kernel says, and to what.
pub fn set_up() -> io::Result<()> {
    for (kind, place) in MOUNTS {
        let name = place.to_string_lossy();
        // One that the kernel itself has made is refused, as are more than one.
        let _ = rustix::fs::mkdir(place, Mode::from_raw_mode(0o755));
        match mount(kind, place, kind, MountFlags::empty(), None) {
            // Not every kernel has debugfs.
            Ok(()) | Err(Errno::NODEV | Errno::BUSY) => {}
            Err(error) => {
                return Err(io::Error::other(format!("{name} cannot be mounted: {error}")));
            }
        }
    }
    load_modules()?;
    // A real-time task that never waits is no fault here.
    let _ = fs::write("/proc/sys/kernel/hung_task_timeout_secs", "0");
    loopback_up()
        .map_err(|error| io::Error::other(format!("the loopback interface stays down: {error}")))
}

/// Makes standard error a pipe, as it is on a host: the console is a serial line, and no place for
/// a log.
///
/// # Errors
/// What the kernel says.
pub fn log_to_pipe() -> io::Result<()> {
    let console = rustix::io::dup(stderr())?;
    let (reader, writer) = pipe()?;
    fcntl_setpipe_size(&writer, PIPE_BYTES)?;
    // Without a reader the kernel would refuse what is written.
    mem::forget(reader);
    dup2_stderr(&writer)?;
    // There is only this one call.
    let _ = CONSOLE.set(console);
    let told = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        log_to_console();
        told(panic);
    }));
    Ok(())
}

/// What is said from now on is for the user.
pub fn log_to_console() {
    if let Some(console) = CONSOLE.get() {
        // Where it fails nobody can be told.
        let _ = dup2_stderr(console);
    }
}

/// What the lab has put there, in the order of their names.
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

/// Sends and receives over 127.0.0.1 need it.
fn loopback_up() -> io::Result<()> {
    let socket = match socket(AddressFamily::INET, SocketType::DGRAM, None) {
        // A kernel without a network has nothing to raise.
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
