//! Repeats starts of an emulator that is deterministic except for a race of its own: the first
//! start of a case is repeated until two agree, and later starts until they agree with those. It
//! compares bytes and does not know their meaning.
//!
//! QEMU (7.2 at least) skips the time in which the processor sleeps. If its main loop looks while
//! the processor is about to sleep, it counts from the processor's last look at the clock, and that
//! wake-up is late. On a busy host about one run in some hundred has such a sample
//! (`docs/machines/qemu.md`), and a case that sleeps at every tick has one in most. A guest has the
//! same race. While QEMU records a run for its own replay, its main loop waits for the processor and
//! the race is gone; but a kernel that waits by WFE then takes many times as long, so the first
//! starts of a case do not.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    process::Command,
    sync::Mutex,
};

use anyhow::{Result, bail};

use super::lock::lock;
use chronoscope_base::console;

/// The most starts of a case. Of those without the race two agree, if the machine is deterministic.
const STARTS: usize = 5;

/// The starts of a case before those without the race.
const PLAIN: usize = 2;

/// How an emulator starts.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Manner {
    /// At full speed.
    Plain,
    /// Its main loop never looks while the processor runs.
    InTurn,
}

impl Manner {
    /// Adds QEMU's options to a command that counts instructions.
    pub(super) fn add_to(self, qemu: &mut Command) {
        if self == Self::InTurn {
            qemu.args(["-icount", "rr=record,rrfile=/dev/null"]);
        }
    }
}

/// The digest of the agreed stream of each case of each image, by the image's path and the case's
/// name. Two images of the user's may have one name.
#[derive(Default)]
pub(super) struct Agreements(Mutex<BTreeMap<(PathBuf, String), u64>>);

impl Agreements {
    /// Starts `image` for the case named `what` with `start` until two streams agree, and passes that
    /// stream to `sink`. Holds each stream in memory.
    ///
    /// # Errors
    /// If a start fails (its stream is passed on all the same), or no two of five starts agree.
    pub(super) fn run(
        &self,
        image: &Path,
        what: &str,
        mut start: impl FnMut(Manner, &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let case = (image.to_owned(), what.to_owned());
        let agreed = lock(&self.0).get(&case).copied();
        let mut seen: Vec<u64> = agreed.into_iter().collect();
        let mut stream = Vec::new();
        for starts in 1..=STARTS {
            stream.clear();
            let manner = if starts <= PLAIN { Manner::Plain } else { Manner::InTurn };
            let outcome = start(manner, &mut |bytes| {
                stream.extend_from_slice(bytes);
                Ok(())
            });
            if let Err(error) = outcome {
                // The stream of a failed start is passed on, since it may contain the reason.
                sink(&stream)?;
                return Err(error);
            }
            let mut hasher = DefaultHasher::new();
            stream.hash(&mut hasher);
            let digest = hasher.finish();
            if seen.contains(&digest) {
                lock(&self.0).insert(case, digest);
                let odd = starts - 1 - usize::from(agreed.is_none());
                if odd > 0 {
                    console::note(&format!(
                        "left out {odd} of {starts} starts of `{what}`: the others agree"
                    ));
                }
                sink(&stream)?;
                return Ok(());
            }
            seen.push(digest);
        }
        bail!(
            "{STARTS} starts of `{what}` gave as many streams: the machine should be deterministic"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Starts a case of `image` with these streams in turn. Returns the stream that was passed on,
    /// and the number of starts.
    fn run(
        agreements: &Agreements,
        (image, what): (&str, &str),
        streams: &[&'static [u8]],
    ) -> Result<(Vec<u8>, usize)> {
        let (mut got, mut starts) = (Vec::new(), 0);
        let start = |manner, sink: &mut dyn FnMut(&[u8]) -> Result<()>| {
            starts += 1;
            assert_eq!(manner == Manner::InTurn, starts > 2);
            sink(streams[starts - 1])
        };
        agreements.run(Path::new(image), what, start, &mut |bytes| {
            got.extend_from_slice(bytes);
            Ok(())
        })?;
        Ok((got, starts))
    }

    #[test]
    fn two_must_agree_and_later_ones_with_them() {
        let agreements = Agreements::default();
        let streams = |what, streams: &[_]| run(&agreements, ("image", what), streams);
        assert_eq!(streams("a", &[b"1", b"1"]).unwrap(), (b"1".to_vec(), 2));
        assert_eq!(streams("a", &[b"1"]).unwrap(), (b"1".to_vec(), 1));
        assert_eq!(streams("a", &[b"2", b"1"]).unwrap(), (b"1".to_vec(), 2));
        assert_eq!(streams("b", &[b"2", b"1", b"1"]).unwrap(), (b"1".to_vec(), 3));
        assert!(streams("c", &[b"1", b"2", b"3", b"4", b"5"]).is_err());
    }

    #[test]
    fn images_of_one_name_need_not_agree() {
        let agreements = Agreements::default();
        let streams = |image, streams: &[_]| run(&agreements, (image, "d"), streams);
        assert_eq!(streams("old", &[b"1", b"1"]).unwrap(), (b"1".to_vec(), 2));
        assert_eq!(streams("new", &[b"2", b"2"]).unwrap(), (b"2".to_vec(), 2));
    }
}
