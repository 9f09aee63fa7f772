//! Injects faults into the lab's surroundings. After each, the lab reports the fault in one line,
//! keeps its results and leaves no process or file behind.
//!
//! - `bad_port`: a script in the port's place ends, is killed, hangs, floods or sends nonsense. The
//!   case is inconclusive with the reason; other cases go on.
//! - `dying`: a port ends or is killed after each prefix of a good stream. The same must hold.
//! - `dying`: a port writes seven bytes at a time, while the lab is stopped and continued. The
//!   result is the same as after one write.
//! - `files::short_reads`: a file's source gives single bytes and is interrupted each time. The
//!   capture is the same.
//! - `disk`: a file may not grow, at each write (`ulimit -f` from 0 to enough). The lab exits with
//!   1; the old file or store is unchanged, and no temporary file is left.
//! - `disk`: the disk is full, at each write (a tmpfs of each size in a mount namespace). The same
//!   must hold, and the line names the disk.
//! - `quick::bad_input`: standard output or error is full or closed (`/dev/full`, a reader that
//!   ends). The lab exits with 1 and does not panic.
//! - `sharing`: another connection has locked the store. The lab waits; after 10 s it exits with 1
//!   before it measures anything.
//! - `sharing`: twenty labs share one store. Each run is stored under a number of its own.
//! - `sharing`: a signal while the store is locked, before or after the measurement. The lab ends
//!   within about a second; what was measured stays in the journal.
//! - `set_up`: a download or a build takes long, waits for the package manager, fails or is
//!   interrupted. The lab shows it with its time; the error names cause, log and remedy.
//! - `inherits`: a port plays a driver that passes on real-time priorities. The lab says PASS.
//! - `clock`: runs and cache entries have dates in any order, as after the host's clock is set
//!   back. The order of storing counts; all are listed.
//!
//! The lab measures its own durations and limits by the monotonic clock, which cannot be set. From
//! the wall clock it takes only the date of a run and the use of a cache entry.

#[path = "../common/mod.rs"]
mod common;

mod bad_port;
mod clock;
mod disk;
mod dying;
mod inherits;
mod played;
mod set_up;
mod sharing;
