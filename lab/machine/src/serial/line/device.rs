//! A serial line of the operating system, locked for one program at a time.

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

use super::{Line, MOMENT};

/// An open serial line. It is closed and unlocked on drop, and also if the process dies.
pub struct Device {
    file: File,
    device: PathBuf,
}

impl Device {
    /// Opens and locks the line, and discards bytes received so far.
    ///
    /// # Errors
    /// If the device is missing, in use or no serial line, or cannot do the rate; the message gives
    /// the remedy.
    pub fn open(device: &Path, baud: u32) -> Result<Self> {
        // The open does not wait for a modem's carrier.
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
        // Two locks are needed: terminal programs respect one or the other, and neither excludes
        // root alone. This one comes first, because a program that does not get it has nothing to
        // undo.
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
        // Closing the line must not change its modem lines, which many boards wire to reset.
        settings.control_modes -= ControlModes::HUPCL;
        settings.control_modes |= ControlModes::CLOCAL | ControlModes::CREAD | ControlModes::CS8;
        settings.special_codes[SpecialCodeIndex::VMIN] = 1;
        settings.special_codes[SpecialCodeIndex::VTIME] = 0;
        let wrong =
            || format!("{device} does not take {baud} baud: choose another rate, on the board too");
        settings.set_speed(baud).with_context(wrong)?;
        tcsetattr(line, OptionalActions::Now, &settings).with_context(wrong)?;
        // A driver that does not support a rate sets the nearest one.
        let done = tcgetattr(line)?.output_speed();
        if done.abs_diff(baud) > baud / 50 {
            bail!("{}: it can do {done}", wrong());
        }
        Ok(tcflush(line, QueueSelector::IOFlush)?)
    }

    fn gone(&self) -> anyhow::Error {
        anyhow!("{} went away: was the board unplugged?", self.device.display())
    }
}

impl Line for Device {
    fn send(&mut self, bytes: &[u8]) -> Result<()> {
        match write(&self.file, bytes) {
            Ok(_) | Err(Errno::AGAIN | Errno::INTR) => Ok(()),
            Err(_) => Err(self.gone()),
        }
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let moment = Timespec { tv_sec: 0, tv_nsec: MOMENT.subsec_nanos().into() };
        match poll(&mut [PollFd::new(&self.file, PollFlags::IN)], Some(&moment)) {
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
}

impl Drop for Device {
    fn drop(&mut self) {
        // The lock ends with the last close, but another program may hold the line open from
        // before.
        let _ = ioctl_tiocnxcl(&self.file);
    }
}

fn busy(device: &Path) -> anyhow::Error {
    anyhow!("{} is in use: close the other program, a terminal perhaps", device.display())
}
