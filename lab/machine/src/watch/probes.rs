//! Uprobes and tracepoints: the Linux kernel records each execution of a place in a program's file, or
//! of an event of its own, by all processes. They are perf events, which end with the process that
//! opened them, however it ends.

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

use crate::{host, marks};
use chronoscope_units::printable;

/// The least and the greatest size of a buffer in bytes. A hit takes 32 to 48.
const BUFFER: [usize; 2] = [64 << 10, 1 << 20];

/// The bytes that all buffers share. More than 512 buffers take more, since each has the least size.
const ALL_BUFFERS: usize = 32 << 20;

/// The most buffers, which are one for each place and processor.
const MOST_BUFFERS: usize = 4096;

/// A place that the kernel records.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    pub event: Event,
    /// The number to read at each hit.
    pub argument: Argument,
}

/// The sort of a place.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// An instruction of a program or a library.
    Instruction {
        file: PathBuf,
        /// The offset of the instruction in the file, in bytes.
        offset: u64,
        /// The hit is the return of the function that begins there.
        is_return: bool,
    },
    /// An event of the kernel's, as `sched:sched_switch`.
    Tracepoint { name: String, id: u64 },
}

/// The number that a hit brings along.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Argument {
    None,
    /// A register.
    Register(marks::Argument),
    /// The offset of a whole number of four bytes in the kernel's record, in bytes.
    Field(usize),
}

impl Place {
    /// An event of the kernel's, and its field of four bytes to read.
    ///
    /// # Errors
    /// There is no such event, or it has no such field of four bytes, or this account may not read its
    /// description.
    pub fn tracepoint(name: &str, field: Option<&str>) -> Result<Self> {
        let found = name.split_once(':').and_then(|(group, event)| {
            let is_name =
                |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            let folder = Path::new(EVENTS).join(group).join(event);
            let id =
                (is_name(group) && is_name(event)).then(|| fs::read_to_string(folder.join("id")));
            Some((folder, id?))
        });
        let shown = printable(name);
        let Some((folder, id)) = found else {
            bail!("`{shown}` is no event of the kernel's: write GROUP:EVENT, as sched:sched_switch")
        };
        let id = match id {
            Ok(id) => id.trim().parse().with_context(|| format!("`{shown}` has no number"))?,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                bail!("this kernel has no event `{shown}`: as root, `perf list tracepoint` has all")
            }
            Err(_) => bail!("events of the kernel need root: start as root"),
        };
        let argument = match field {
            None => Argument::None,
            Some(field) => {
                let form = fs::read_to_string(folder.join("format"))?;
                let at = offset_of(&form, field);
                let none = || format!("`{shown}` has no field `{field}` of four bytes");
                Argument::Field(at.with_context(none)?)
            }
        };
        Ok(Self { event: Event::Tracepoint { name: name.to_owned(), id }, argument })
    }
}

/// The folder of the kernel's events.
const EVENTS: &str = "/sys/kernel/tracing/events";

/// The offset of a field of four bytes in an event's record, by the kernel's description.
fn offset_of(form: &str, field: &str) -> Option<usize> {
    let ending = format!(" {field};");
    let line = form.lines().find(|line| {
        line.split('\t').any(|part| part.starts_with("field:") && part.ends_with(&ending))
    })?;
    let value = |name| line.split('\t').find_map(|part| part.strip_prefix(name)?.strip_suffix(';'));
    if value("size:")? != "4" {
        return None;
    }
    value("offset:")?.parse().ok()
}

/// A hit of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hit {
    /// The time in ns of the monotonic clock.
    pub time: u64,
    /// The place's index.
    pub place: usize,
    /// The process and the thread.
    pub process: u32,
    pub thread: u32,
    /// The value of the place's argument.
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
    argument: Argument,
    sampler: Sampler,
}

impl Probes {
    /// Has the kernel record these places from now on.
    ///
    /// # Errors
    /// The kernel has no uprobes or refuses them to this account, or there are too many places.
    pub fn open(places: &[Place]) -> Result<Self> {
        let processors = processors()?;
        if places.len() * processors.len() > MOST_BUFFERS {
            bail!(
                "{} places on {} processors need more than {MOST_BUFFERS} buffers: watch fewer marks",
                places.len(),
                processors.len()
            );
        }
        let share = ALL_BUFFERS / (places.len() * processors.len()).max(1);
        let size = (1 << share.max(1).ilog2()).clamp(BUFFER[0], BUFFER[1]);
        let mut buffers = Vec::new();
        for (number, place) in places.iter().enumerate() {
            for processor in &processors {
                let sampler = sampler(place, *processor, size)?;
                buffers.push(Buffer { place: number, argument: place.argument, sampler });
            }
        }
        for buffer in &mut buffers {
            buffer.sampler.as_counter_mut().enable().context("an event cannot be enabled")?;
        }
        Ok(Self { buffers, early: Vec::new(), lost: 0 })
    }

    /// The hits since the last call, in the order of time. Hits after the start of this call are kept for the
    /// next one, since earlier ones of another processor may follow; with `all` they are returned, too.
    pub fn take(&mut self, all: bool) -> Vec<Hit> {
        let now = clock_gettime(ClockId::Monotonic);
        let now = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
        for buffer in &mut self.buffers {
            while let Some(record) = buffer.sampler.next_record() {
                match record.parse_record() {
                    Ok(Record::Sample(sample)) => {
                        let argument = match buffer.argument {
                            Argument::None => None,
                            Argument::Register(marks::Argument { size, .. }) => {
                                let all = sample.regs_user();
                                all.and_then(|all| Some(low(*all.regs.first()?, size)))
                            }
                            Argument::Field(at) => sample.raw().and_then(|raw| word(raw, at)),
                        };
                        self.early.push(Hit {
                            time: sample.time().unwrap_or_default(),
                            place: buffer.place,
                            process: sample.pid().unwrap_or_default(),
                            thread: sample.tid().unwrap_or_default(),
                            argument,
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

/// The number at this offset of a record.
fn word(record: &[u8], at: usize) -> Option<u64> {
    let bytes = record.get(at..at.checked_add(4)?)?.try_into().ok()?;
    Some(u32::from_ne_bytes(bytes).into())
}

/// perf's type of event for uprobes.
fn type_of_uprobes() -> Result<u32> {
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
fn sampler(place: &Place, processor: usize, size: usize) -> Result<Sampler> {
    let mut builder = Builder::new(Software::DUMMY);
    let attributes = builder.attrs_mut();
    let mut path = CString::default();
    match &place.event {
        Event::Instruction { file, offset, is_return } => {
            path = CString::new(file.as_os_str().as_bytes())?;
            (attributes.type_, attributes.config) = (type_of_uprobes()?, (*is_return).into());
            // The kernel reads the path when the event is built.
            attributes.uprobe_path = path.as_ptr().addr() as u64;
            attributes.probe_offset = *offset;
        }
        Event::Tracepoint { id, .. } => (attributes.type_, attributes.config) = (TRACEPOINT, *id),
    }
    let mut content = SampleFlag::TID | SampleFlag::TIME;
    match place.argument {
        Argument::None => {}
        Argument::Register(marks::Argument { register, .. }) => {
            content |= SampleFlag::REGS_USER;
            builder.sample_regs_user(1 << register);
        }
        Argument::Field(_) => content |= SampleFlag::RAW,
    }
    builder.any_pid().one_cpu(processor).sample_period(1).sample(content);
    builder.include_kernel().clockid(Clock::MONOTONIC);
    let sampler = builder.build().and_then(|counter| counter.sampled(size));
    drop(path);
    sampler.map_err(|error| refused(place, error))
}

/// perf's type of event for tracepoints.
const TRACEPOINT: u32 = 2;

/// The reason why a place is not recorded, and the mend.
fn refused(place: &Place, error: io::Error) -> anyhow::Error {
    const TOO_MANY_FILES: i32 = 24;
    if error.raw_os_error() == Some(TOO_MANY_FILES) {
        return anyhow!("too many open files for all marks and processors: raise `ulimit -n`");
    }
    let (file, offset) = match &place.event {
        Event::Instruction { file, offset, .. } => (printable(&file.display().to_string()), offset),
        Event::Tracepoint { name, .. } => {
            let name = printable(name);
            return match error.kind() {
                ErrorKind::PermissionDenied => anyhow!(
                    "events of the kernel need root, or the capability CAP_PERFMON: start as root"
                ),
                _ => anyhow!(error).context(format!("the kernel does not give the event `{name}`")),
            };
        }
    };
    match error.kind() {
        ErrorKind::PermissionDenied => anyhow!(
            "uprobes need root, or the capabilities CAP_PERFMON and CAP_SYS_PTRACE: start as root, or \
             watch an image in an emulator"
        ),
        ErrorKind::InvalidInput => anyhow!(
            "{file}: the kernel sets no uprobe at offset {offset:#x}: name the first instruction of a \
             function"
        ),
        _ => anyhow!(error).context(format!("{file}: no uprobe at offset {offset:#x}")),
    }
}

/// Checks that the kernel accepts this place from this account, by opening its event on one processor.
///
/// # Errors
/// The kernel refuses the place; the message has the mend.
pub fn check(place: &Place) -> Result<()> {
    let processor = processors()?.first().copied().unwrap_or_default();
    sampler(place, processor, BUFFER[0]).map(drop)
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
    fn a_field_is_found_by_its_name() {
        let form = "format:\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\
                    \tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
                    \tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n";
        assert_eq!(offset_of(form, "pid"), Some(24));
        assert_eq!(offset_of(form, "common_pid"), Some(4));
        assert_eq!(offset_of(form, "comm[16]"), None);
        assert_eq!(offset_of(form, "prio"), None);
        assert_eq!(word(&[1, 2, 0, 0, 0, 3], 1), Some(u32::from_ne_bytes([2, 0, 0, 0]).into()));
        assert_eq!(word(&[1, 2, 0], 0), None);
        assert_eq!(word(&[1, 2, 0], usize::MAX), None);
    }

    #[test]
    fn the_low_bytes_count() {
        assert_eq!(low(0x1_2345_6789, 4), 0x2345_6789);
        assert_eq!(low(u64::MAX, 8), u64::MAX);
    }
}
