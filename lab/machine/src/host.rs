//! The machine `host`: the Linux system that the lab runs on. A case is a fresh process of the
//! port; this module starts it and does not read its stream.

use std::{
    fs,
    process::Command,
    sync::{Arc, atomic::AtomicBool},
    thread,
};

use anyhow::{Context, Result, bail};
use chronoscope_suite::{Parameter, Values};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::{
    Description, Machine, Program, Properties, Provenance, Recording, Request, SOAK, Start,
    builder::next_to_the_lab,
    description::Defaults,
    family::Family,
    given::{self, GivenImage},
    images::Images,
    permission::{self, Fallback},
};
use chronoscope_child as child;
use chronoscope_run::{Target, names::HOST};
use chronoscope_units::words::nearest;

/// The defaults of experiments' parameters on this machine, where they differ from the experiments'
/// own. In `latency` the scheduler chooses the processors, because `latency` also measures that
/// choice.
const DEFAULTS: &Defaults = &[("latency", "cpu", "free")];

/// The port's own parameters; `ports/linux/src/settings.rs` parses them.
pub(super) static PARAMETERS: [Parameter; 7] = [
    Parameter {
        name: "policy",
        unit: "",
        default: "fifo",
        values: Values::Text(POLICY),
        help: "scheduling class of urgent tasks: SCHED_FIFO, SCHED_RR, SCHED_OTHER, or SCHED_DEADLINE with its reservation in µs (period and delay, with cpu=free): a runtime overrun fails the evidence",
    },
    Parameter {
        name: "priority",
        unit: "",
        default: "80",
        values: Values::Number(1, 91),
        help: "real-time priority of the least urgent urgent task",
    },
    Parameter {
        name: "cpu",
        unit: "",
        default: "0",
        values: Values::Text(CPU),
        help: "the processor of all tasks (the last one, unless given); several as 0+2, 0-3, all or isolated, of which each task has one; free: the scheduler chooses; matrix: a case for each processor and each pair (switch), also of a list as matrix:0-3",
    },
    Parameter {
        name: "slack_ns",
        unit: "ns",
        default: "0",
        values: Values::Number(0, 1_000_000_000),
        help: "timer slack of SCHED_OTHER tasks; 0: leave the system's (50 µs)",
    },
    Parameter {
        name: "mlock",
        unit: "",
        default: "yes",
        values: Values::Word(&["yes", "no"]),
        help: "lock all memory, so that no page fault falls into a sample",
    },
    Parameter {
        name: "load",
        unit: "",
        default: "none",
        values: Values::Word(LOADS),
        help: "ordinary processes beside the case: datagrams over the loopback interface, 96 MB mapped and forked, a storm of messages, arithmetic, cache lines, memory copied, a file written to the disk, timers, processes made",
    },
    Parameter {
        name: "trace",
        unit: "",
        default: "no",
        values: Values::Word(&["no", "yes"]),
        help: "record the kernel's scheduling (ftrace) for `chronoscope trace`; latency: stop at the first miss of a real-time caller, and keep it only then",
    },
];

/// The values of `load`: loads of the port's own.
pub const LOADS: &[&str] =
    &["none", "udp", "mmap", "messages", "cpu", "cache", "memory", "disk", "timers", "fork"];

/// The values of `policy` that are words.
const POLICIES: [&str; 3] = ["fifo", "rr", "other"];

/// The forms of `policy`, as help and messages list them.
const POLICY: &str = "fifo, rr, other, or deadline:RUNTIME/DEADLINE/PERIOD";

/// The forms of `cpu`, as help and messages list them.
const CPU: &str = "a processor, a list as 0+2, a range as 0-3, all, isolated, or free";

/// The value of `cpu` for the processors that were isolated at boot.
const ISOLATED: &str = "isolated";

/// The value of `cpu` that stands for every processor and every pair of two.
const MATRIX: &str = "matrix";

/// The file name of the port's program.
const PORT: &str = "chronoscope-linux";

/// The machine of [`HOST`], which runs the port that is installed with the lab.
pub struct Host;

/// The properties of the port on this computer.
const PROPERTIES: Properties =
    Properties { offers_soaks: true, is_emulated: false, shares_the_host: false, slowness: 1 };

/// The user's program in a target of this computer. `None` for the lab's own port, and for targets
/// of other machines.
///
/// # Errors
/// As [`GivenImage::for_this_computer`].
fn given(target: &Target) -> Result<Option<GivenImage>> {
    let is_here = HOST.rsplit_once('@').is_some_and(|(_, machine)| machine == target.machine);
    if is_here { GivenImage::for_this_computer(target) } else { Ok(None) }
}

/// The family of this computer.
#[derive(Default)]
pub(super) struct LocalHost;

impl Family for LocalHost {
    fn describe(&self, _: &Images, target: &Target) -> Result<Option<Description>> {
        if given(target)?.is_some() {
            // The suite's parameters are all that the lab knows of the program.
            let kind = Some(given::KIND.to_owned());
            let unknown = Description::new(self.defaults(), Properties::default());
            return Ok(Some(Description { kind, ..unknown }));
        }
        let default = |parameter: &'static Parameter| match parameter.name {
            "cpu" => default_cpu().to_string(),
            _ => parameter.default.to_owned(),
        };
        let parameters = PARAMETERS.iter().map(|parameter| (parameter, default(parameter)));
        Ok((target.to_string() == HOST).then(|| Description {
            parameters: parameters.collect(),
            processors: permitted,
            fallbacks: fallbacks(),
            check: Arc::new(check_request),
            ..Description::new(self.defaults(), PROPERTIES)
        }))
    }

    fn open<'m>(&'m self, _: &'m Images, target: &Target) -> Result<Option<Box<dyn Machine + 'm>>> {
        if let Some(image) = given(target)? {
            return Ok(Some(Box::new(Given(image))));
        }
        Ok(if target.to_string() == HOST { Some(Box::new(Host)) } else { None })
    }

    fn targets(&self, _: &Images) -> Vec<String> {
        vec![HOST.to_owned()]
    }

    fn takes_images(&self) -> bool {
        true
    }

    fn defaults(&self) -> &'static [&'static Defaults] {
        &[DEFAULTS]
    }
}

/// The user's program that contains a port, such as `ports/c/kernels/posix.c`.
struct Given(GivenImage);

impl Machine for Given {
    fn prepare(&self, _request: &Request, _stop: &AtomicBool) -> Result<Provenance> {
        Ok(self.0.provenance())
    }

    fn run(
        &self,
        start: &Start<'_>,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<Recording> {
        let mut command = Command::new(&self.0.path);
        command.args(start.request.words());
        let run = |limit, sink: &mut dyn FnMut(&[u8]) -> Result<()>| {
            child::run(&mut command, &self.0.name, limit, start.stop, sink)
        };
        self.0.run(start.limit, run, sink)?;
        Ok(Recording::new())
    }
}

impl Machine for Host {
    fn properties(&self) -> Properties {
        PROPERTIES
    }

    fn prepare(&self, request: &Request, _stop: &AtomicBool) -> Result<Provenance> {
        next_to_the_lab(PORT)?;
        let is_taken =
            |fallback: &Fallback| request.get(fallback.parameter) == Some(fallback.value);
        let taken = fallbacks().into_iter().filter(is_taken).map(|fallback| fallback.remark);
        Ok(Provenance { remark: taken.collect::<Vec<_>>().join("; "), ..Provenance::default() })
    }

    fn run(
        &self,
        start: &Start<'_>,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<Recording> {
        let port = next_to_the_lab(PORT)?;
        let mut command = Command::new(&port);
        command.args(start.request.words());
        let is_soak = start.request.get(SOAK).is_some();
        // A soak that is stopped keeps its samples.
        let run = if is_soak { child::run_to_an_end } else { child::run };
        run(&mut command, "the port", start.limit, start.stop, sink)?;
        Ok(Recording::new())
    }

    fn run_program(
        &self,
        program: &Program<'_>,
        start: &Start<'_>,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        if start.request.get("load").is_some_and(|load| load != "none") {
            bail!("load is beside another program in guests only");
        }
        let mut command = Command::new(&program.command[0]);
        // In the locale C, programs print numbers with a decimal point, whatever the user's
        // language.
        command.args(&program.command[1..]).env("LC_ALL", "C");
        child::run(&mut command, program.name, start.limit, start.stop, sink)
    }
}

/// The values that this account's cases get in the place of defaults; none without a port.
fn fallbacks() -> Vec<Fallback> {
    next_to_the_lab(PORT).map_or_else(|_| Vec::new(), |port| permission::fallbacks(&port))
}

/// The processor of a case that names none: the last isolated one that the kernel permits, or else the
/// last of this process' own, since the first processors handle most of the system's interrupts. 0 if
/// the affinity cannot be read.
pub fn default_cpu() -> usize {
    let isolated = isolated();
    let own = || sched_getaffinity(None).map_or_else(|_| Vec::new(), |set| members(&set));
    let isolated = permitted().into_iter().rfind(|cpu| isolated.contains(cpu));
    isolated.or_else(|| own().pop()).unwrap_or(0)
}

/// The processors that were isolated at boot.
fn isolated() -> Vec<usize> {
    let isolated = fs::read_to_string("/sys/devices/system/cpu/isolated").unwrap_or_default();
    list(&isolated).unwrap_or_default()
}

/// The processors that the kernel permits to this process, in ascending order: those outside of its
/// affinity too, as isolated ones are.
fn permitted() -> Vec<usize> {
    // The affinity is of a thread, and so this one's stays as it is.
    let permitted = thread::spawn(|| {
        let mut all = CpuSet::new();
        (0..CpuSet::MAX_CPU).for_each(|cpu| all.set(cpu));
        let _ = sched_setaffinity(None, &all);
        sched_getaffinity(None).map_or_else(|_| Vec::new(), |set| members(&set))
    });
    permitted.join().unwrap_or_default()
}

fn members(set: &CpuSet) -> Vec<usize> {
    (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect()
}

/// The processors of a list of the kernel's, as `0-2,5`; `None` for another form.
pub fn list(text: &str) -> Option<Vec<usize>> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse::<usize>().ok()?..=last.parse().ok()?)
    };
    let parts = text.trim().split(',').filter(|part| !part.is_empty()).map(range);
    Some(parts.collect::<Option<Vec<_>>>()?.into_iter().flatten().collect())
}

/// Checks the form of a request's `policy` and `cpu`. The port checks that the processors exist.
///
/// # Errors
/// A value has another form than [`POLICY`] or [`CPU`].
pub(super) fn check_request(request: &Request) -> Result<()> {
    match request.get("policy") {
        Some(text) if !is_policy(text) => {
            let near = nearest(text, POLICIES.into_iter());
            bail!(
                "`policy={text}`: it is {POLICY}, in whole µs, each at most as long as the next{near}"
            )
        }
        _ => {}
    }
    match request.get("cpu") {
        Some("free" | ISOLATED) => Ok(()),
        Some(text) if processors(text).is_none() => {
            bail!("`cpu={text}`: it is {CPU}")
        }
        _ => Ok(()),
    }
}

/// Returns whether a text is one of [`POLICIES`], or a reservation of three times in µs: the first
/// is not 0, and each is at most as long as the next.
fn is_policy(text: &str) -> bool {
    let Some(times) = text.strip_prefix("deadline:") else {
        return POLICIES.contains(&text);
    };
    let number = |text: &str| {
        let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u32>().ok().filter(|_| is_plain)
    };
    let times: Option<Vec<u32>> = times.split('/').map(number).collect();
    times.is_some_and(|times| times.len() == 3 && times[0] > 0 && times.is_sorted())
}

/// The values of `cpu` that a value stands for: with `matrix`, or `matrix:LIST`, each processor alone and
/// each pair of two. `None` for any other value.
///
/// # Errors
/// The list names no processors, or one that is not `usable`.
pub fn matrix(text: &str, usable: fn() -> Vec<usize>) -> Result<Option<Vec<String>>> {
    let Some(list) = text.strip_prefix(MATRIX) else { return Ok(None) };
    let usable = usable();
    let cpus = match list.strip_prefix(':') {
        None if !list.is_empty() => return Ok(None),
        None => usable.clone(),
        Some(list) => {
            processors(list).with_context(|| format!("`cpu={text}`: the list is {CPU}"))?
        }
    };
    if let Some(other) = cpus.iter().find(|cpu| !usable.contains(cpu)) {
        bail!("`cpu={text}`: the case may not run on processor {other}");
    }
    let row = |(place, first): (usize, &usize)| {
        let pairs = cpus[place + 1..].iter().map(|second| format!("{first}+{second}"));
        [first.to_string()].into_iter().chain(pairs).collect::<Vec<_>>()
    };
    Ok(Some(cpus.iter().enumerate().flat_map(row).collect()))
}

/// The processors that a value of `cpu` names, in ascending order. `all` names every processor that
/// the kernel permits, `isolated` every one that was isolated at boot. `None` for `free`, for any other form,
/// for a processor named twice, and where none is isolated.
pub fn processors(text: &str) -> Option<Vec<usize>> {
    match text {
        "all" => return Some(permitted()),
        ISOLATED => return Some(isolated()).filter(|cpus| !cpus.is_empty()),
        _ => {}
    }
    let number = |text: &str| {
        let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|&cpu: &usize| is_plain && cpu < CpuSet::MAX_CPU)
    };
    let mut all = Vec::new();
    for part in text.split('+') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        all.extend(number(first)?..=number(last)?);
    }
    all.sort_unstable();
    let count = all.len();
    all.dedup();
    (count > 0 && all.len() == count).then_some(all)
}

/// The number of processors that the kernel permits to this process, at least 1.
pub fn usable_cpus() -> usize {
    permitted().len().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::request;

    #[test]
    fn processors_are_lists_and_ranges() {
        assert_eq!(processors("3"), Some(vec![3]));
        assert_eq!(processors("5+0-2"), Some(vec![0, 1, 2, 5]));
        assert_eq!(processors("all").map(|all| all.len()), Some(usable_cpus()));
        for text in ["", "free", "-1", "+1", "1-", "2-1", "0+0", "0-2+1", "a", "9999999", "0x1"] {
            assert_eq!(processors(text), None, "{text}");
        }
        assert!(check_request(&request("period cpu=free loops=2")).is_ok());
        assert!(check_request(&request("period loops=2")).is_ok());
        let error = check_request(&request("period cpu=al loops=2")).unwrap_err().to_string();
        assert!(error.contains("a list as 0+2, a range as 0-3, all, isolated, or free"), "{error}");
    }

    #[test]
    fn a_fallback_is_another_value_of_its_parameter() {
        for fallback in [permission::POLICY, permission::MLOCK] {
            let Fallback { parameter: name, value, remark } = fallback;
            let parameter = PARAMETERS.iter().find(|known| known.name == name).unwrap();
            assert_ne!(parameter.default, value);
            assert!(remark.contains(&format!("{name}={value}")), "{remark}");
            assert!(check_request(&request(&format!("period {name}={value}"))).is_ok());
        }
    }

    #[test]
    fn policies_are_words_or_reservations() {
        for policy in ["fifo", "rr", "other", "deadline:200/500/1000", "deadline:7/7/7"] {
            assert!(
                check_request(&request(&format!("period policy={policy}"))).is_ok(),
                "{policy}"
            );
        }
        for policy in ["ff", "deadline", "deadline:1/2", "deadline:0/1/2", "deadline:3/2/1"] {
            let error = check_request(&request(&format!("period policy={policy}")))
                .unwrap_err()
                .to_string();
            assert!(error.contains("deadline:RUNTIME/DEADLINE/PERIOD"), "{error}");
        }
    }
}
