//! The permissions of this account on this computer: real-time scheduling, and locked memory. Where it
//! may not have the port's defaults, cases get other values, and a remark says so.
//!
//! The permissions are read, not tried. If the kernel refuses what it seems to permit, as under
//! CONFIG_RT_GROUP_SCHED, the port's own error reports that.

use std::path::Path;

use rustix::{
    fs::getxattr,
    process::{Resource, getrlimit},
    thread::{CapabilitySet, capabilities},
};

/// A value that takes the place of a parameter's default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fallback {
    /// The parameter's name.
    pub parameter: &'static str,
    /// The value that this account may have.
    pub value: &'static str,
    /// The meaning of the figures then, and the remedy, as a sentence.
    pub remark: &'static str,
}

/// Ordinary tasks in the place of real-time ones.
pub(super) const POLICY: Fallback = Fallback {
    parameter: "policy",
    value: "other",
    remark: "this account may not use SCHED_FIFO, so tasks are ordinary (policy=other): run as root, \
             give the port cap_sys_nice with setcap, or raise `ulimit -r`",
};

/// Unlocked memory in the place of locked memory.
pub(super) const MLOCK: Fallback = Fallback {
    parameter: "mlock",
    value: "no",
    remark: "this account may not lock memory, so page faults fall into samples (mlock=no): run as \
             root, or raise `ulimit -l`",
};

/// The bytes that a case of the port locks at least, rounded up: under 6 MiB it failed, under 8 it ran.
const LEAST_LOCKED: u64 = 8 << 20;

/// The highest real-time priority that cases ask for by default: `priority`, and eight levels above.
const PRIORITY: u64 = 88;

/// The permissions of an account, as far as the port's defaults need them.
#[derive(Clone, Copy, Debug)]
struct Permissions {
    /// CAP_SYS_NICE, of this process or of the port's file.
    any_priority: bool,
    /// CAP_IPC_LOCK, likewise.
    any_memory: bool,
    /// The highest real-time priority; `None` for no limit.
    priority: Option<u64>,
    /// The most bytes of locked memory; `None` for no limit.
    memory: Option<u64>,
}

/// The values that this account's cases get in the place of the defaults of the port at `port`.
pub(super) fn fallbacks(port: &Path) -> Vec<Fallback> {
    let has = capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.effective);
    let permitted = Permissions {
        any_priority: has.contains(CapabilitySet::SYS_NICE) || is_privileged(port),
        any_memory: has.contains(CapabilitySet::IPC_LOCK) || is_privileged(port),
        priority: getrlimit(Resource::Rtprio).current,
        memory: getrlimit(Resource::Memlock).current,
    };
    permitted.fallbacks()
}

/// Returns whether a program's file has capabilities. Which it has is not read: the port is given
/// them for this purpose alone.
fn is_privileged(program: &Path) -> bool {
    getxattr(program, "security.capability", &mut [0; 64][..]).is_ok_and(|length| length > 0)
}

impl Permissions {
    fn fallbacks(self) -> Vec<Fallback> {
        let is_below = |limit: Option<u64>, need| limit.is_some_and(|limit| limit < need);
        let lacks_priority = !self.any_priority && is_below(self.priority, PRIORITY);
        let lacks_memory = !self.any_memory && is_below(self.memory, LEAST_LOCKED);
        let lacking = [(lacks_priority, POLICY), (lacks_memory, MLOCK)];
        lacking.into_iter().filter(|(lacks, _)| *lacks).map(|(_, fallback)| fallback).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_permitted_has_a_fallback() {
        let account = Permissions {
            any_priority: false,
            any_memory: false,
            priority: Some(0),
            memory: Some(8 << 20),
        };
        assert_eq!(account.fallbacks(), [POLICY]);
        let small = Permissions { memory: Some(64 << 10), ..account };
        assert_eq!(small.fallbacks(), [POLICY, MLOCK]);
        let root = Permissions { any_priority: true, any_memory: true, ..small };
        assert_eq!(root.fallbacks(), []);
        let audio = Permissions { priority: Some(95), memory: None, ..account };
        assert_eq!(audio.fallbacks(), []);
    }
}
