//! Faults: what is around the lab fails, and the lab says so in a line, keeps what it has and leaves
//! nothing behind. A row is a fault, the way it is injected, and what must hold.
//!
//! | fault | injected by | must hold | test |
//! |---|---|---|---|
//! | port ends, is killed, hangs, floods or sends nonsense | a script in its place | inconclusive with the reason; other cases go on; no process is left | `bad_port` |
//! | port dies at each record | each prefix of a good stream, ended or killed | the same | `dying` |
//! | short reads and interrupted calls | a port that writes seven bytes at a time, while the lab is stopped and continued | the same result as from one write | `dying` |
//! | short reads of files | a source of single bytes that is interrupted each time | the same capture | `files::short_reads` |
//! | file may grow no more, at each write | `ulimit -f` from 0 to enough | exit 1 and a line; the old file or store is unchanged; no temporary file is left | `disk` |
//! | disk full, at each write | a tmpfs of each size in a mount namespace | the same, and the line names the disk | `disk` |
//! | standard output or error full or closed | `/dev/full`, a reader that ends | exit 1, no panic | `quick::bad_input` |
//! | store locked | another connection's exclusive transaction | waits; after 10 s exit 1, the figures are shown | `sharing` |
//! | twenty labs at once | twenty processes, one store | each is stored, with a number of its own | `sharing` |
//! | host's clock set back | runs and cache entries with dates in any order | the order of storing counts; all is listed | `clock` |
//!
//! The lab measures its own durations and limits by the monotonic clock, which cannot be set; the
//! date of a run and the use of a cache entry are all that it takes from the wall clock.

#[path = "../common/mod.rs"]
mod common;

mod bad_port;
mod clock;
mod disk;
mod dying;
mod played;
mod sharing;
