//! The machine `host`: the Linux system that the lab runs on. A case is a fresh process of the
//! port; this module starts it and does not read its stream.

use std::{process::Command, sync::atomic::AtomicBool};

use anyhow::{Result, bail};
use chronoscope_suite::{Parameter, Values};
use rustix::thread::{CpuSet, sched_getaffinity};

use super::{
    Machine, Made, Program, Recording, Start,
    builder::beside_the_lab,
    family::{Family, Targets},
};
use crate::{
    child,
    run::{Target, names::HOST},
};

pub static FAMILY: Family =
    Family { find, targets: Targets::Listed(|| vec![HOST.to_owned()]), defaults: &[] };

/// The port's own parameters, which `ports/linux/src/settings.rs` reads.
pub(super) static PARAMETERS: [Parameter; 7] = [
    Parameter {
        name: "policy",
        unit: "",
        default: "fifo",
        values: Values::Word(&["fifo", "other"]),
        help: "scheduling class of urgent tasks: SCHED_FIFO or SCHED_OTHER",
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
        values: Values::Number(0, 4095),
        help: "the processor that all tasks run on; the last one, unless given",
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
        values: Values::Word(&["none", "udp", "mmap", "messages"]),
        help: "ordinary processes beside the case: datagrams over the loopback interface, 96 MB mapped and forked, a storm of messages",
    },
    Parameter {
        name: "trace",
        unit: "",
        default: "no",
        values: Values::Word(&["no", "yes"]),
        help: "record the kernel's scheduling (ftrace) for `chronoscope trace`; latency: stop at the first miss of a real-time caller, and keep it only then",
    },
];

/// The program of the port.
const PORT: &str = "chronoscope-linux";

pub struct Host;

fn find(target: &Target) -> Result<Option<Box<dyn Machine>>> {
    Ok(if target.to_string() == HOST { Some(Box::new(Host)) } else { None })
}

impl Machine for Host {
    fn parameters(&self) -> Vec<(&'static Parameter, String)> {
        let default = |parameter: &'static Parameter| match parameter.name {
            "cpu" => last_cpu().to_string(),
            _ => parameter.default.to_owned(),
        };
        PARAMETERS.iter().map(|parameter| (parameter, default(parameter))).collect()
    }

    fn prepare(&self, _request: &str, _stop: &AtomicBool) -> Result<Made> {
        beside_the_lab(PORT)?;
        Ok(Made::default())
    }

    fn run(
        &self,
        start: &Start<'_>,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<Recording> {
        let port = beside_the_lab(PORT)?;
        let mut command = Command::new(&port);
        command.args(start.request.split(' '));
        child::run(&mut command, "the port", start.limit, start.stop, sink)?;
        Ok(Recording::new())
    }

    fn run_program(
        &self,
        program: &Program<'_>,
        start: &Start<'_>,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        if start.request.split(' ').any(|word| word.starts_with("load=") && word != "load=none") {
            bail!("load is beside another program in guests only");
        }
        let mut command = Command::new(&program.command[0]);
        // Programs must print numbers as C does, whatever the user's language.
        command.args(&program.command[1..]).env("LC_ALL", "C");
        child::run(&mut command, program.name, start.limit, start.stop, sink)
    }
}

/// The last processor that this process may use; the first ones handle most of the system's
/// interrupts. 0 if the system does not say.
pub fn last_cpu() -> usize {
    let Ok(set) = sched_getaffinity(None) else { return 0 };
    (0..CpuSet::MAX_CPU).rev().find(|&cpu| set.is_set(cpu)).unwrap_or(0)
}

/// The number of processors that this process may use; 1 if the system does not say.
pub fn usable_cpus() -> usize {
    sched_getaffinity(None).map_or(1, |set| set.count() as usize)
}
