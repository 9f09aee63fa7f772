//! The numbers that programs meet: of calls, refusals and statuses, and the limits of processes.

use super::handle::Family;

/// A handle that names no object of the kind, for the caller.
pub(super) const NO_OBJECT: usize = -1_isize as usize;
/// A value out of range, or memory that the caller may not read.
pub(super) const INVALID: usize = -2_isize as usize;
/// No room for another process or object.
pub(super) const FULL: usize = -3_isize as usize;
/// The other side has ended.
pub(super) const DEAD: usize = -4_isize as usize;
/// The time limit has come.
pub(super) const LATE: usize = -6_isize as usize;
/// No such call.
pub(super) const UNKNOWN: usize = -5_isize as usize;

/// The status of a process that its parent has ended, and of one that caused an exception.
pub(super) const KILLED: usize = 1 << 32;
pub(super) const FAULTED: usize = 1 << 33;

/// Numbers of calls that the assembly knows, which takes `give` for the one before `take`.
pub(super) const TAKE: usize = 3;
pub(super) const CALL: usize = 12;
pub(super) const REPLY: usize = 13;

/// The bytes that a process can hand to one that it spawns.
pub(super) const HANDED: usize = 1024;

/// The processes that can be alive at a time, or ended and not reaped.
pub(super) const PROCESSES: usize = 512;
/// The families that can exist at a time.
pub(super) const FAMILIES: usize = 16;
/// The family of the first process.
pub(super) const FIRST: Family = 0;
/// The processes and the objects of a family other than the first.
pub(super) const MEMBERS: u32 = 8;
pub(super) const MEMBERS_OBJECTS: u32 = 16;
