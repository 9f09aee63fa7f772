//! Work beside the case: ordinary processes on the same processor that keep the kernel busy, each
//! kind in another part of it.
//!
//! - `udp`: datagrams of 1400 bytes over the loopback interface: the network's soft interrupts.
//! - `mmap`: 96 MB mapped and touched, forked, and unmapped; then as much of tmpfs filled and cut
//!   off: long walks through tables of pages.
//! - `messages`: two groups of ten senders, each of which writes to all ten receivers of its group
//!   in turn: a crowd to choose the next task from, as hackbench makes it.

use std::{
    io::{Read, Write},
    mem,
    net::{Ipv4Addr, UdpSocket},
    os::unix::net::UnixStream,
    ptr,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    thread,
    time::Duration,
};

use chronoscope_suite::{Reason, Refusal, Trial, trial::name};
use rustix::{
    fs::{FallocateFlags, MemfdFlags, fallocate, ftruncate, memfd_create},
    io::Errno,
    mm::{MapFlags, ProtFlags, mmap_anonymous, munmap},
};

use crate::kernel::Linux;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Udp,
    Mmap,
    Messages,
}

impl Kind {
    pub const ALL: [(Self, &'static str); 3] =
        [(Self::Udp, "udp"), (Self::Mmap, "mmap"), (Self::Messages, "messages")];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }

    fn unit(self) -> &'static str {
        match self {
            Self::Udp => "datagrams received",
            Self::Mmap => "megabytes touched",
            Self::Messages => "messages received",
        }
    }
}

/// The processes that do the work. Dropping it ends them.
pub struct Load {
    kind: Kind,
    workers: Vec<libc::pid_t>,
    /// Units of work, counted by all workers in memory that they share.
    done: &'static AtomicU64,
    /// Of these, those before the case.
    before: u64,
}

const MMAP_BYTES: usize = 96 << 20;
const PAGE: usize = 4096;
const GROUPS: usize = 2;
const MEMBERS: usize = 10;

fn failed(error: impl Into<std::io::Error>) -> Refusal {
    Refusal::new(Reason::Failed, "the load could not be started", "pass --set load=none")
        .with_code(error.into().raw_os_error().unwrap_or(0))
}

impl Load {
    /// Starts the load that the case asks for, and waits until it is under way.
    ///
    /// # Errors
    /// [`Refusal`] when the system lacks something that it needs.
    pub fn start(kind: Option<Kind>) -> Result<Option<Self>, Refusal> {
        let Some(kind) = kind else { return Ok(None) };
        let mut load =
            Self { kind, workers: Vec::new(), done: shared_counter().map_err(failed)?, before: 0 };
        match kind {
            Kind::Udp => load.udp(),
            Kind::Mmap => load.worker(map_and_unmap),
            Kind::Messages => load.messages(),
        }
        .map_err(failed)?;
        // The first unit takes a few milliseconds.
        for _ in 0..500 {
            if load.done.load(Relaxed) > 0 {
                break;
            }
            thread::sleep(Duration::from_millis(10));
        }
        load.before = load.done.load(Relaxed);
        Ok(Some(load))
    }

    /// Tells how much was done beside the case.
    pub fn report(&self, trial: &mut Trial<'_, Linux>) {
        let text = name(format_args!("load {}: {}", self.kind.name(), self.kind.unit()));
        trial.evidence(&text, self.done() as f64, 1.0, f64::INFINITY);
    }

    /// Units of work since it was under way.
    pub fn done(&self) -> u64 {
        self.done.load(Relaxed) - self.before
    }

    /// A process that runs `work` over and over. It sends no signal when it ends, so that an
    /// experiment that waits for its own tasks does not see it.
    fn worker(
        &mut self,
        mut work: impl FnMut(&'static AtomicU64) -> std::io::Result<()>,
    ) -> std::io::Result<()> {
        let child = fork_unseen()?;
        if child != 0 {
            self.workers.push(child);
            return Ok(());
        }
        // SAFETY: PR_SET_PDEATHSIG takes one number.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
        // An error shows as work that is not done.
        while work(self.done).is_ok() {}
        // SAFETY: does not return; the parent's destructors are not this process's to run.
        unsafe { libc::_exit(1) }
    }

    fn udp(&mut self) -> std::io::Result<()> {
        let receiver = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        sender.connect(receiver.local_addr()?)?;
        self.worker(|_| sender.send(&[0; 1400]).map(|_| ()))?;
        self.worker(|done| {
            receiver.recv(&mut [0; 1400])?;
            count(done);
            Ok(())
        })
    }

    fn messages(&mut self) -> std::io::Result<()> {
        for _ in 0..GROUPS {
            let pairs =
                (0..MEMBERS).map(|_| UnixStream::pair()).collect::<std::io::Result<Vec<_>>>()?;
            for (_, receiver) in &pairs {
                self.worker(|done| {
                    let mut receiver = receiver;
                    receiver.read_exact(&mut [0; 100])?;
                    count(done);
                    Ok(())
                })?;
            }
            for _ in 0..MEMBERS {
                self.worker(|_| {
                    pairs.iter().try_for_each(|(sender, _)| (&*sender).write_all(&[0; 100]))
                })?;
            }
        }
        Ok(())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for &worker in &self.workers {
            // SAFETY: takes numbers. The process is a child of ours that nobody has waited for, so
            // the number is still its own.
            unsafe { libc::kill(worker, libc::SIGKILL) };
            wait_unseen(worker);
        }
    }
}

fn count(done: &AtomicU64) {
    done.fetch_add(1, Relaxed);
}

fn map_and_unmap(done: &'static AtomicU64) -> std::io::Result<()> {
    // SAFETY: a fresh mapping at an address of the kernel's choice aliases nothing.
    let region = unsafe {
        mmap_anonymous(
            ptr::null_mut(),
            MMAP_BYTES,
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::PRIVATE,
        )?
    };
    for page in (0..MMAP_BYTES).step_by(PAGE) {
        // SAFETY: it lies within the mapping, which nobody else knows.
        unsafe { region.cast::<u8>().add(page).write_volatile(1) };
        if page % (1 << 20) == 0 {
            count(done);
        }
    }
    match fork_unseen()? {
        // SAFETY: does not return.
        0 => unsafe { libc::_exit(0) },
        child => wait_unseen(child),
    }
    // SAFETY: the mapping made above, which is not used after this.
    unsafe { munmap(region, MMAP_BYTES)? };
    let file = memfd_create(c"load", MemfdFlags::CLOEXEC)?;
    match fallocate(&file, FallocateFlags::empty(), 0, MMAP_BYTES as u64) {
        // The next round will do.
        Err(Errno::INTR) => {}
        other => other?,
    }
    ftruncate(&file, 0)?;
    Ok(())
}

/// `fork`, but the child's end is no news to a plain `wait`: its exit signal is none.
fn fork_unseen() -> std::io::Result<libc::pid_t> {
    // SAFETY: without flags, clone copies the process as fork does; all threads of this one are the
    // caller. The C library's locks are free, since nobody else could hold them.
    let child = unsafe { libc::syscall(libc::SYS_clone, 0, 0, 0, 0, 0) };
    libc::pid_t::try_from(child)
        .ok()
        .filter(|&child| child >= 0)
        .ok_or_else(std::io::Error::last_os_error)
}

/// Waits for a child of [`fork_unseen`].
fn wait_unseen(child: libc::pid_t) {
    // SAFETY: takes numbers, and a null pointer is allowed.
    unsafe { libc::waitpid(child, ptr::null_mut(), libc::__WCLONE) };
}

fn shared_counter() -> Result<&'static AtomicU64, Errno> {
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a fresh mapping aliases nothing; it is large enough, aligned to a page, never
    // unmapped, and zero is a valid count.
    unsafe {
        let page = mmap_anonymous(
            ptr::null_mut(),
            mem::size_of::<AtomicU64>(),
            protection,
            MapFlags::SHARED,
        )?;
        Ok(&*page.cast::<AtomicU64>())
    }
}
