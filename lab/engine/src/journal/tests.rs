//! Tests journals whose files are cut, damaged or locked.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use super::*;
use crate::{case::Plan, case::Settings, case::expand, case::experiment};
use chronoscope_machine::Machines;
use chronoscope_run::{CaseResult, Context, SCHEMA, sample};

/// A store's folder, removed on drop.
struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("chronoscope-journal-{number}-{}", process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn store(&self) -> PathBuf {
        self.0.join("runs.sqlite")
    }

    /// Writes a file as a journal and reads it; the number of its entries, where it is damaged.
    fn read(&self, bytes: &[u8]) -> Result<Option<(usize, Option<u64>)>, String> {
        let path = folder(&self.store()).join("a.journal");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        let read = Unfinished::open(&path, Duration::ZERO).map_err(|error| format!("{error:#}"))?;
        Ok(read.map(|journal| {
            for case in 0..journal.header.cases.len() {
                journal.replay(case, &mut |_| ()).unwrap();
            }
            (journal.entries(), journal.damage)
        }))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn header() -> Header {
    let target = "linux@host".parse().unwrap();
    let spec = experiment("switch").unwrap();
    let cases =
        expand(&Machines::default(), spec, &target, &Settings::new(), &Plan::default()).unwrap();
    Header {
        schema: SCHEMA,
        context: Context { date: "2026-01-31T12:00:00Z".into(), ..Context::default() },
        study: "s".into(),
        titles: vec!["t".into()],
        notes: "".into(),
        answering: None,
        keep_samples: false,
        cases: cases.iter().map(CaseForm::new).collect(),
        peers: Vec::new(),
    }
}

fn repetition(journal: &mut Journal, stream: &[u8]) {
    journal.begin(0, Some(MadeForm { identity: BTreeMap::new(), remark: String::new() }));
    journal.stream(stream);
    journal.end(&Recorded { capture: Some(b"$end"), ..Recorded::default() });
}

/// A journal of two repetitions, and where each of the two entries ends.
fn written(place: &Place) -> (Vec<u8>, [usize; 2]) {
    let mut journal = Journal::create(&place.store(), &header()).unwrap();
    let path = all(&place.store()).unwrap().remove(0);
    let ends = [b"one".as_slice(), b"two more"].map(|stream| {
        repetition(&mut journal, stream);
        fs::read(&path).unwrap().len()
    });
    let bytes = fs::read(&path).unwrap();
    journal.remove();
    (bytes, ends)
}

#[test]
fn a_cut_journal_has_its_whole_entries() {
    let place = Place::new();
    let (bytes, ends) = written(&place);
    let mut counts = [0; 4];
    for length in 0..=bytes.len() {
        let read = place.read(&bytes[..length]).unwrap();
        let whole = ends.iter().filter(|&&end| end <= length).count();
        match read {
            Some((entries, damage)) => {
                assert_eq!((entries, damage), (whole, None), "cut at {length}");
                counts[entries] += 1;
            }
            // Nothing was measured; the file is removed.
            None => {
                assert_eq!(whole, 0, "cut at {length}");
                counts[3] += 1;
            }
        }
    }
    assert!(counts.iter().all(|&count| count > 0), "{counts:?}");
    assert!(all(&place.store()).unwrap().len() == 1, "the last one is whole");
}

#[test]
fn a_changed_byte_is_noticed() {
    let place = Place::new();
    let (bytes, ends) = written(&place);
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 0x20;
        match place.read(&changed) {
            Err(error) => assert!(!error.contains('\n') && at < ends[0], "{at}: {error}"),
            // What follows is not believed either, and kept. Nothing follows the last frame, whose
            // longer length looks like a cut.
            Ok(read) => {
                let (entries, damage) = read.expect("a damaged journal is not removed");
                assert!(entries <= usize::from(at >= ends[0]), "{at}: {entries}");
                assert!(damage.is_some() || at >= ends[0], "{at}: counts as cut");
            }
        }
    }
}

#[test]
fn hostile_files_are_told_in_a_line() {
    let place = Place::new();
    let (bytes, _) = written(&place);
    let frames = |header: &str, rest: &[(frame::Kind, &str)]| {
        let mut bytes = MAGIC.to_vec();
        frame::push(&mut bytes, frame::Kind::Header, header.as_bytes());
        rest.iter().for_each(|(kind, text)| frame::push(&mut bytes, *kind, text.as_bytes()));
        place.read(&bytes)
    };
    assert!(frames("{}", &[]).unwrap_err().contains("its header is damaged"));
    let deep = "[".repeat(1 << 20);
    assert!(frames(&deep, &[]).unwrap_err().contains("its header is damaged"));
    let newer = serde_json::to_string(&Header { schema: 7, ..header() }).unwrap();
    assert!(frames(&newer, &[]).unwrap_err().contains("schema 7"));
    for titles in [0, 3, 100] {
        let header = Header { titles: vec!["t".into(); titles], ..header() };
        let refused = frames(&serde_json::to_string(&header).unwrap(), &[]).unwrap_err();
        assert!(refused.contains(&format!("it makes {titles} runs")), "{refused}");
    }
    let good = serde_json::to_string(&header()).unwrap();
    for (kind, text) in [
        (frame::Kind::Begin, "{\"case\": 1}"),
        (frame::Kind::Begin, "{\"case\": -1}"),
        (frame::Kind::Stream, "of no repetition"),
        (frame::Kind::End, "{}"),
        (frame::Kind::Pair, "{}"),
        (frame::Kind::Header, &good),
    ] {
        let (entries, damage) = frames(&good, &[(kind, text)]).unwrap().unwrap();
        assert!(entries == 0 && damage.is_some(), "{kind:?} {text}");
    }
    assert!(place.read(b"SQLite format 3").unwrap_err().contains("it is no journal"));
    // A frame that promises 4 GiB, with nothing behind it, takes no memory.
    let mut promise = bytes.clone();
    promise.extend([b'S', 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
    assert_eq!(place.read(&promise).unwrap(), Some((2, Some(bytes.len() as u64))));
}

#[test]
fn a_long_stream_is_written_as_it_comes_and_counts_when_it_is_whole() {
    let place = Place::new();
    let mut journal = Journal::create(&place.store(), &header()).unwrap();
    let path = all(&place.store()).unwrap().remove(0);
    let size = |path: &Path| fs::metadata(path).unwrap().len();
    repetition(&mut journal, b"short");
    let before = size(&path);
    journal.begin(0, None);
    let piece = vec![7; 3 << 20];
    for _ in 0..7 {
        journal.stream(&piece);
    }
    assert!(size(&path) > before + (16 << 20));
    journal.discard();
    assert_eq!(size(&path), before);
    journal.begin(0, None);
    for _ in 0..7 {
        journal.stream(&piece);
    }
    journal.end(&Recorded::default());
    drop(journal);
    let journal = Unfinished::open(&path, Duration::ZERO).unwrap().unwrap();
    let mut streams = Vec::new();
    let each = &mut |event: Event<'_>| match event {
        Event::Begin(_) => streams.push(0),
        Event::Stream(bytes) => *streams.last_mut().unwrap() += bytes.len(),
        Event::End(_) => {}
    };
    journal.replay(0, each).unwrap();
    assert_eq!(streams, [5, 21 << 20]);
}

#[test]
fn the_living_hold_theirs_and_an_empty_one_is_removed() {
    let place = Place::new();
    let mut one = Journal::create(&place.store(), &header()).unwrap();
    let two = Journal::create(&place.store(), &header()).unwrap();
    let paths = all(&place.store()).unwrap();
    assert_eq!(paths.len(), 2);
    for path in &paths {
        assert!(Unfinished::open(path, Duration::ZERO).unwrap().is_none());
        assert!(!discard(path, Duration::ZERO).unwrap());
    }
    repetition(&mut one, b"");
    drop((one, two));
    let left = all(&place.store()).unwrap();
    assert_eq!(left.len(), 1, "the one with an entry");
    assert!(discard(&left[0], Duration::ZERO).unwrap());
    assert!(all(&place.store()).unwrap().is_empty());
}

#[test]
fn what_is_noted_while_storing_is_read_again() {
    let place = Place::new();
    let stored = |number| Stored { numbers: vec![number], seconds: 0.1 };
    let mut journal = Journal::create(&place.store(), &header()).unwrap();
    repetition(&mut journal, b"one");
    journal.storing(&stored(3));
    drop(journal);
    let path = all(&place.store()).unwrap().remove(0);
    let journal = Unfinished::open(&path, Duration::ZERO).unwrap().unwrap();
    assert_eq!((journal.entries(), &journal.stored), (1, &Some(stored(3))));
    journal.storing(&stored(4));
    drop(journal);
    let journal = Unfinished::open(&path, Duration::ZERO).unwrap().unwrap();
    assert_eq!((journal.entries(), &journal.stored), (1, &Some(stored(4))));
}

/// The journal of a soak under way, with a checkpoint of its case.
fn soak(place: &Place) -> PathBuf {
    let mut journal = Journal::create(&place.store(), &header()).unwrap();
    let path = all(&place.store()).unwrap().remove(0);
    journal.begin(0, Some(MadeForm { identity: BTreeMap::new(), remark: String::new() }));
    let result = CaseResult { target: "linux@host".into(), ..sample::case("switch", "") };
    journal.checkpoint(0, result, Duration::from_secs(7));
    // The lab is killed: nothing is dropped.
    std::mem::forget(journal);
    path
}

#[test]
fn a_checkpoint_counts_as_an_entry_and_goes_with_its_journal() {
    let place = Place::new();
    let path = soak(&place);
    // The lock is of this process, which lives.
    let copy = path.with_file_name("copy.journal");
    fs::copy(&path, &copy).unwrap();
    fs::copy(checkpoint_of(&path), checkpoint_of(&copy)).unwrap();
    let journal = Unfinished::open(&copy, Duration::ZERO).unwrap().unwrap();
    assert_eq!(journal.entries(), 1);
    let found = journal.checkpoint(0).unwrap().unwrap();
    assert_eq!((found.spent, found.is_whole), (Duration::from_secs(7), false));
    journal.remove().unwrap();
    assert!(!copy.exists() && !checkpoint_of(&copy).exists() && checkpoint_of(&path).exists());
}

#[test]
fn a_checkpoint_of_something_else_is_refused() {
    let place = Place::new();
    let path = soak(&place);
    let copy = path.with_file_name("copy.journal");
    fs::copy(&path, &copy).unwrap();
    let text = fs::read_to_string(checkpoint_of(&path)).unwrap();
    let other = text.replace("\"experiment\":\"switch\"", "\"experiment\":\"period\"");
    assert_ne!(text, other);
    for (text, why) in
        [(&*other, "is of another case"), ("{", "cannot be read"), ("", "cannot be read")]
    {
        fs::write(checkpoint_of(&copy), text).unwrap();
        let journal = Unfinished::open(&copy, Duration::ZERO).unwrap().unwrap();
        let error = format!("{:#}", journal.checkpoint(0).unwrap_err());
        assert!(error.contains(why), "{error}");
    }
}

fn checkpoint_of(journal: &Path) -> PathBuf {
    journal.with_extension("0.checkpoint")
}
