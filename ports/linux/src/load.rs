//! Background load: ordinary processes on the processor of the case. Each kind keeps another part
//! of the kernel busy.
//!
//! - `udp`: datagrams of 1400 bytes over the loopback interface: the network's soft interrupts.
//! - `mmap`: 96 MB mapped and touched, forked, and unmapped; then as much of tmpfs filled and cut
//!   off: long walks through page tables.
//! - `messages`: two groups of ten senders, each of which writes to all ten receivers of its group
//!   in turn: many ready tasks for the scheduler, as in hackbench.
//! - `cpu`: arithmetic in registers: a hot core, and a sibling that shares its units.
//! - `cache`: 4 MB written line by line: no line of the case stays in the core's caches.
//! - `memory`: 32 MB copied: the bandwidth of the memory.
//! - `disk`: megabytes written to a file and waited for: the disk's interrupts and the kernel's writers.
//! - `timers`: four processes that sleep for 50 µs: interrupts of the timer.
//! - `fork`: a process made and waited for: page tables copied, processes freed.

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

use chronoscope_suite::{Kernel, Reason, Refusal, Trial, trial::name};
use rustix::{
    fs::{FallocateFlags, MemfdFlags, fallocate, ftruncate, memfd_create},
    io::Errno,
    mm::{MapFlags, ProtFlags, mmap_anonymous, munmap},
};

mod work;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Udp,
    Mmap,
    Messages,
    Cpu,
    Cache,
    Memory,
    Disk,
    Timers,
    Fork,
}

impl Kind {
    /// The kinds, each with its name and its unit of work.
    const ALL: [(Self, &'static str, &'static str); 9] = [
        (Self::Udp, "udp", "datagrams received"),
        (Self::Mmap, "mmap", "megabytes touched"),
        (Self::Messages, "messages", "messages received"),
        (Self::Cpu, "cpu", "rounds of arithmetic"),
        (Self::Cache, "cache", "megabytes written"),
        (Self::Memory, "memory", "megabytes copied"),
        (Self::Disk, "disk", "megabytes on the disk"),
        (Self::Timers, "timers", "timers expired"),
        (Self::Fork, "fork", "processes made"),
    ];

    /// Finds the kind of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(_, known, _)| *known == name).map(|(kind, ..)| kind)
    }

    /// The name, and the unit of work.
    fn words(self) -> (&'static str, &'static str) {
        let row = Self::ALL.into_iter().find(|(kind, ..)| *kind == self);
        row.map_or(("", ""), |(_, name, unit)| (name, unit))
    }
}

/// The worker processes. Dropping the value kills them.
pub struct Load {
    kind: Kind,
    workers: Vec<libc::pid_t>,
    /// The number of completed units of work, in shared memory.
    done: &'static AtomicU64,
    /// The number of units completed before the case.
    before: u64,
}

const MMAP_BYTES: usize = 96 << 20;
const PAGE: usize = 4096;
const GROUPS: usize = 2;
const MEMBERS: usize = 10;
const SLEEPERS: usize = 4;

fn failed(error: impl Into<std::io::Error>) -> Refusal {
    Refusal::new(Reason::Failed, "the load could not be started", "pass --set load=none")
        .with_code(error.into().raw_os_error().unwrap_or(0))
}

impl Load {
    /// Starts the load, if there is one, and waits until a unit of work is completed.
    ///
    /// # Errors
    /// [`Refusal`] when the system lacks a resource for the load.
    pub fn start(kind: Option<Kind>) -> Result<Option<Self>, Refusal> {
        let Some(kind) = kind else { return Ok(None) };
        let mut load =
            Self { kind, workers: Vec::new(), done: shared_counter().map_err(failed)?, before: 0 };
        match kind {
            Kind::Udp => load.udp(),
            Kind::Mmap => load.worker(map_and_unmap),
            Kind::Messages => load.messages(),
            Kind::Cpu => load.worker(work::arithmetic),
            Kind::Cache => load.worker(work::cache()),
            Kind::Memory => load.worker(work::memory()),
            Kind::Disk => work::disk().and_then(|disk| load.worker(disk)),
            Kind::Timers => (0..SLEEPERS).try_for_each(|_| load.worker(work::timer)),
            Kind::Fork => load.worker(work::fork),
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

    /// Reports the number of units completed during the case.
    pub fn report<K: Kernel>(&self, trial: &mut Trial<'_, K>) {
        let (kind, unit) = self.kind.words();
        let text = name(format_args!("load {kind}: {unit}"));
        trial.evidence(&text, self.done() as f64, 1.0, f64::INFINITY);
    }

    /// Returns the number of units completed since the start.
    pub fn done(&self) -> u64 {
        self.done.load(Relaxed) - self.before
    }

    /// Forks a process that repeats `work`. Its end sends no signal, so an experiment that waits
    /// for its own tasks does not see it.
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
        // An error shows as a unit that is not completed.
        while work(self.done).is_ok() {}
        // SAFETY: `_exit` does not return, and runs none of the parent's destructors.
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
            // SAFETY: takes numbers. The process is a child that was not waited for, so its number
            // has not been reused.
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
        // SAFETY: the address is within the mapping, to which there is no other reference.
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
        // A failure is left to the next round.
        Err(Errno::INTR) => {}
        other => other?,
    }
    ftruncate(&file, 0)?;
    Ok(())
}

/// Forks a child without an exit signal, which a plain `wait` does not report.
fn fork_unseen() -> std::io::Result<libc::pid_t> {
    // SAFETY: without flags, clone copies the process like fork. The caller is the only thread, so
    // no other thread holds a lock of the C library.
    let child = unsafe { libc::syscall(libc::SYS_clone, 0, 0, 0, 0, 0) };
    libc::pid_t::try_from(child)
        .ok()
        .filter(|&child| child >= 0)
        .ok_or_else(std::io::Error::last_os_error)
}

/// Waits for a child made by [`fork_unseen`].
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
