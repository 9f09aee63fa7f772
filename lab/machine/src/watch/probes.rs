//! Uprobes: the Linux kernel records each execution of a place in a program's file, by all processes.
//! They are perf events, which end with the process that opened them, however it ends.

use std::{
    ffi::CString,
    fs,
    io::{self, ErrorKind},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, anyhow, bail};
use perf_event::{Builder, Clock, SampleFlag, Sampler, data::Record, events::Software};
use rustix::time::{ClockId, clock_gettime};

use crate::host;
use chronoscope_units::printable;

/// The least and the greatest size of a buffer, and the size of all, in bytes. A hit takes 32 to 48.
const BUFFER: [usize; 2] = [64 << 10, 1 << 20];
const ALL_BUFFERS: usize = 32 << 20;

/// The most buffers, which are one for each place and processor.
const MOST_BUFFERS: usize = 4096;

/// A place in a program's file.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// The program or the library.
    pub file: PathBuf,
    /// The offset of the instruction in the file, in bytes.
    pub offset: u64,
    /// The hit is the return of the function that begins there.
    pub is_return: bool,
    /// perf's number of a register to read, and how many of its bytes count.
    pub register: Option<(usize, usize)>,
}

/// A hit of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hit {
    /// The time in ns of the monotonic clock.
    pub time: u64,
    /// The place, counted from 0.
    pub place: usize,
    /// The process and the thread.
    pub process: u32,
    pub thread: u32,
    /// The register's value.
    pub argument: Option<u64>,
}

/// The places that the kernel records. Nothing is left of them once this is dropped or the process
/// has ended.
pub struct Probes {
    buffers: Vec<Buffer>,
    /// Hits that were read, and may be preceded by others that were not.
    early: Vec<Hit>,
    /// The hits that found a full buffer.
    pub lost: u64,
}

struct Buffer {
    place: usize,
    size: Option<usize>,
    sampler: Sampler,
}

impl Probes {
    /// Has the kernel record these places from now on.
    ///
    /// # Errors
    /// The kernel has no uprobes or refuses them to this account, or there are too many places.
    pub fn open(places: &[Place]) -> Result<Self> {
        let kind = kind()?;
        let processors = processors()?;
        if places.len() * processors.len() > MOST_BUFFERS {
            bail!(
                "{} places on {} processors are more than {MOST_BUFFERS}: watch fewer marks",
                places.len(),
                processors.len()
            );
        }
        let share = ALL_BUFFERS / (places.len() * processors.len()).max(1);
        let size = (1 << share.max(1).ilog2()).clamp(BUFFER[0], BUFFER[1]);
        let mut buffers = Vec::new();
        for (number, place) in places.iter().enumerate() {
            for processor in &processors {
                let sampler = sampler(kind, place, *processor, size)
                    .map_err(|error| refused(place, error))?;
                let size = place.register.map(|(_, size)| size);
                buffers.push(Buffer { place: number, size, sampler });
            }
        }
        for buffer in &mut buffers {
            buffer.sampler.as_counter_mut().enable().context("a uprobe cannot be enabled")?;
        }
        Ok(Self { buffers, early: Vec::new(), lost: 0 })
    }

    /// The hits since the last call, in the order of time. Hits after its start wait for the next call,
    /// since another processor's may precede them; with `all` they do not.
    pub fn take(&mut self, all: bool) -> Vec<Hit> {
        let now = clock_gettime(ClockId::Monotonic);
        let now = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
        for buffer in &mut self.buffers {
            while let Some(record) = buffer.sampler.next_record() {
                match record.parse_record() {
                    Ok(Record::Sample(sample)) => {
                        let value = sample.regs_user().and_then(|all| all.regs.first().copied());
                        self.early.push(Hit {
                            time: sample.time().unwrap_or_default(),
                            place: buffer.place,
                            process: sample.pid().unwrap_or_default(),
                            thread: sample.tid().unwrap_or_default(),
                            argument: value.zip(buffer.size).map(|(value, size)| low(value, size)),
                        });
                    }
                    Ok(Record::Lost(lost)) => self.lost += lost.lost,
                    _ => {}
                }
            }
        }
        self.early.sort_unstable();
        let end =
            if all { self.early.len() } else { self.early.partition_point(|hit| hit.time < now) };
        self.early.drain(..end).collect()
    }
}

/// The low bytes of a register.
fn low(value: u64, bytes: usize) -> u64 {
    if bytes < 8 { value & ((1 << (8 * bytes)) - 1) } else { value }
}

/// perf's number of the kind of event.
fn kind() -> Result<u32> {
    let text = fs::read_to_string("/sys/bus/event_source/devices/uprobe/type").map_err(|_| {
        anyhow!("this kernel has no uprobes (CONFIG_UPROBE_EVENTS), by which a process is watched")
    })?;
    text.trim().parse().context("/sys/bus/event_source/devices/uprobe/type is no number")
}

/// The processors of this computer that are on.
fn processors() -> Result<Vec<usize>> {
    let path = "/sys/devices/system/cpu/online";
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
    host::list(&text).with_context(|| format!("{path} is no list of processors"))
}

/// The buffer of a place's hits on one processor.
fn sampler(kind: u32, place: &Place, processor: usize, size: usize) -> io::Result<Sampler> {
    let path = CString::new(place.file.as_os_str().as_bytes())?;
    let mut builder = Builder::new(Software::DUMMY);
    let attributes = builder.attrs_mut();
    (attributes.type_, attributes.config) = (kind, place.is_return.into());
    // The kernel reads the path when the event is built.
    attributes.uprobe_path = path.as_ptr().addr() as u64;
    attributes.probe_offset = place.offset;
    let mut content = SampleFlag::TID | SampleFlag::TIME;
    if let Some((register, _)) = place.register {
        content |= SampleFlag::REGS_USER;
        builder.sample_regs_user(1 << register);
    }
    builder.any_pid().one_cpu(processor).sample_period(1).sample(content);
    builder.include_kernel().clockid(Clock::MONOTONIC);
    builder.build()?.sampled(size)
}

/// The reason why a place is not recorded, and the mend.
fn refused(place: &Place, error: io::Error) -> anyhow::Error {
    const TOO_MANY_FILES: i32 = 24;
    let file = printable(&place.file.display().to_string());
    match error.kind() {
        ErrorKind::PermissionDenied => anyhow!(
            "uprobes need root, or the capabilities CAP_PERFMON and CAP_SYS_PTRACE: start as root, or \
             watch an image in an emulator"
        ),
        ErrorKind::InvalidInput => anyhow!(
            "{file}: the kernel sets no uprobe at offset {:#x}: name the first instruction of a \
             function",
            place.offset
        ),
        _ if error.raw_os_error() == Some(TOO_MANY_FILES) => {
            anyhow!("too many open files for all marks and processors: raise `ulimit -n`")
        }
        _ => anyhow!(error).context(format!("{file}: no uprobe at offset {:#x}", place.offset)),
    }
}

/// Returns whether this computer has uprobes for this account: sets one where nothing executes it.
///
/// # Errors
/// It has none; the message has the mend.
pub fn check(place: &Place) -> Result<()> {
    sampler(kind()?, place, processors()?.first().copied().unwrap_or_default(), BUFFER[0])
        .map(drop)
        .map_err(|error| refused(place, error))
}

/// The file's path as the kernel reads it.
pub fn absolute(path: &Path) -> Result<PathBuf> {
    fs::canonicalize(path)
        .with_context(|| format!("there is no program {}", printable(&path.display().to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_low_bytes_count() {
        assert_eq!(low(0x1_2345_6789, 4), 0x2345_6789);
        assert_eq!(low(u64::MAX, 8), u64::MAX);
    }
}
