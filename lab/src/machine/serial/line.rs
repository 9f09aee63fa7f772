//! A serial line as the operating system gives it: raw bytes at a rate, for one program at a time.

use std::{
    fs::File,
    os::fd::AsFd,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, anyhow, bail};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{FlockOperation, Mode, OFlags, flock, open},
    io::{Errno, read, write},
    termios::{
        ControlModes, InputModes, OptionalActions, QueueSelector, SpecialCodeIndex, ioctl_tiocexcl,
        ioctl_tiocnxcl, tcflush, tcgetattr, tcsetattr,
    },
};

/// An open line. It is closed, and free for others, when this is dropped or the process ends in whatever way.
#[derive(Debug)]
pub struct Line {
    file: File,
    device: PathBuf,
}

impl Line {
    /// Opens the line and drops what has come over it so far.
    ///
    /// # Errors
    /// Why it cannot be had, with the mend.
    pub fn open(device: &Path, baud: u32) -> Result<Self> {
        // Without waiting for a modem's carrier.
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let shown = device.display();
        let file = open(device, flags, Mode::empty()).map_err(|error| match error {
            Errno::NOENT => {
                anyhow!("{shown} is not there: is the board plugged in? `ls /dev/serial/by-id` shows what is")
            }
            Errno::ACCESS | Errno::PERM => {
                anyhow!("{shown} is not for this user: join its group (dialout on Debian), or run as root")
            }
            Errno::BUSY => busy(device),
            error => anyhow!("{shown} cannot be opened: {error}"),
        })?;
        tcgetattr(&file).map_err(|_| anyhow!("{shown} is no serial line"))?;
        // Two locks: terminal programs know the one or the other, and neither keeps root out where the other does. This one comes
        // first: who does not get it has nothing to give back.
        flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|_| busy(device))?;
        let line = Self { file: file.into(), device: device.to_owned() };
        line.set_up(baud)?;
        Ok(line)
    }

    fn set_up(&self, baud: u32) -> Result<()> {
        let (line, device) = (self.file.as_fd(), self.device.display());
        let mut settings = tcgetattr(line)?;
        ioctl_tiocexcl(line).with_context(|| format!("{device} cannot be had alone"))?;
        settings.make_raw();
        settings.input_modes -= InputModes::IXOFF | InputModes::IXANY;
        settings.control_modes -=
            ControlModes::CSTOPB | ControlModes::PARENB | ControlModes::CRTSCTS;
        // When the line is closed, its modem lines stay as they are: on many boards they are wired to reset.
        settings.control_modes -= ControlModes::HUPCL;
        settings.control_modes |= ControlModes::CLOCAL | ControlModes::CREAD | ControlModes::CS8;
        settings.special_codes[SpecialCodeIndex::VMIN] = 1;
        settings.special_codes[SpecialCodeIndex::VTIME] = 0;
        let wrong =
            || format!("{device} does not take {baud} baud: choose another rate, on the board too");
        settings.set_speed(baud).with_context(wrong)?;
        tcsetattr(line, OptionalActions::Now, &settings).with_context(wrong)?;
        // A driver that cannot do a rate sets the one that comes nearest.
        let done = tcgetattr(line)?.output_speed();
        if done.abs_diff(baud) > baud / 50 {
            bail!("{}: it can do {done}", wrong());
        }
        Ok(tcflush(line, QueueSelector::IOFlush)?)
    }

    /// Sends a line, as far as it is taken at once.
    ///
    /// # Errors
    /// When the line is gone.
    pub fn send(&self, bytes: &[u8]) -> Result<()> {
        match write(&self.file, bytes) {
            Ok(_) | Err(Errno::AGAIN | Errno::INTR) => Ok(()),
            Err(_) => Err(self.gone()),
        }
    }

    /// Waits a moment for bytes; returns how many there were.
    ///
    /// # Errors
    /// When the line is gone.
    pub fn receive(&self, buffer: &mut [u8]) -> Result<usize> {
        const MOMENT: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
        match poll(&mut [PollFd::new(&self.file, PollFlags::IN)], Some(&MOMENT)) {
            Ok(0) | Err(Errno::INTR) => return Ok(0),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        match read(&self.file, buffer) {
            Err(Errno::AGAIN | Errno::INTR) => Ok(0),
            Ok(0) | Err(_) => Err(self.gone()),
            Ok(length) => Ok(length),
        }
    }

    fn gone(&self) -> anyhow::Error {
        anyhow!("{} went away: was the board unplugged?", self.device.display())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        // It ends with the last close; but somebody may have had the line open before.
        let _ = ioctl_tiocnxcl(&self.file);
    }
}

fn busy(device: &Path) -> anyhow::Error {
    anyhow!("{} is in use: close the other program, a terminal perhaps", device.display())
}
