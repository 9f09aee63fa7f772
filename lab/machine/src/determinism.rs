//! Repeats starts of an emulator that is deterministic except for a race of its own: the first
//! start of a case is repeated until two agree, and later starts until they agree with those. It
//! compares bytes and does not know their meaning.
//!
//! QEMU (7.2 at least) skips the time in which the processor sleeps. If its main loop looks while
//! the processor is about to sleep, it counts from the processor's last look at the clock, and that
//! wake-up is late. On a busy host about one run in some hundred has such a sample
//! (`docs/machines/qemu.md`). A guest has the same race.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    sync::Mutex,
};

use anyhow::{Result, bail};

use super::lock::lock;
use chronoscope_base::console;

/// The most starts of a case. If one start in a hundred differs, four in a row differ once in a
/// hundred million.
const STARTS: usize = 5;

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
        start: impl FnMut(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        match self.agree(image, what, start, sink)? {
            Found::Agreed => Ok(()),
            Found::Last(_) => bail!(
                "{STARTS} starts of `{what}` gave as many streams: the machine should be deterministic"
            ),
        }
    }

    /// Does the same for a machine that sleeps and wakes often in one case, so that on a busy host
    /// no two starts may agree: then the last stream is passed on, and a note says so.
    ///
    /// # Errors
    /// If a start fails; its stream is passed on all the same.
    pub(super) fn run_or_last(
        &self,
        image: &Path,
        what: &str,
        start: impl FnMut(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let Found::Last(stream) = self.agree(image, what, start, sink)? else { return Ok(()) };
        console::note(&format!(
            "no two of {STARTS} starts of `{what}` agree: the host is too busy; the last one counts"
        ));
        sink(&stream)
    }

    fn agree(
        &self,
        image: &Path,
        what: &str,
        mut start: impl FnMut(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<Found> {
        let case = (image.to_owned(), what.to_owned());
        let agreed = lock(&self.0).get(&case).copied();
        let mut seen: Vec<u64> = agreed.into_iter().collect();
        let mut stream = Vec::new();
        for starts in 1..=STARTS {
            stream.clear();
            let outcome = start(&mut |bytes| {
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
                return Ok(Found::Agreed);
            }
            seen.push(digest);
        }
        Ok(Found::Last(stream))
    }
}

/// The outcome of the starts of a case.
enum Found {
    /// Two streams agree, and were passed on.
    Agreed,
    /// No two agree; the last stream, which was not passed on.
    Last(Vec<u8>),
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
        let start = |sink: &mut dyn FnMut(&[u8]) -> Result<()>| {
            starts += 1;
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
        let mut got = Vec::new();
        let mut starts = 0..;
        let start = |sink: &mut dyn FnMut(&[u8]) -> Result<()>| sink(&[starts.next().unwrap()]);
        let mut sink = |bytes: &[u8]| {
            got.extend_from_slice(bytes);
            Ok(())
        };
        agreements.run_or_last(Path::new("image"), "e", start, &mut sink).unwrap();
        assert_eq!(got, [4]);
    }

    #[test]
    fn images_of_one_name_need_not_agree() {
        let agreements = Agreements::default();
        let streams = |image, streams: &[_]| run(&agreements, (image, "d"), streams);
        assert_eq!(streams("old", &[b"1", b"1"]).unwrap(), (b"1".to_vec(), 2));
        assert_eq!(streams("new", &[b"2", b"2"]).unwrap(), (b"2".to_vec(), 2));
    }
}
