//! The committed corpora of the fuzz targets: every reader keeps its promises for every file. A
//! file that once broke one stays in its corpus.

use std::{fs, path::Path, time::Duration};

use chronoscope_engine::journal::Unfinished;
use chronoscope_machine::{
    observe::events::Figures, observe::events::Interval, observe::events::Sign,
    observe::image::Image, observe::image::Place,
};
use chronoscope_store::{self as store, Store};

use crate::{common::Folder, readers};

#[test]
fn every_file_of_the_corpora_is_read() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus");
    for (name, _) in readers::READERS {
        let files =
            fs::read_dir(corpora.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
        paths.sort();
        assert!(!paths.is_empty(), "the corpus of {name} is empty");
        for path in paths {
            // Shown if the reader panics.
            println!("{}", path.display());
            readers::read(name, &fs::read(path).unwrap());
        }
    }
    for folder in fs::read_dir(corpora).unwrap().map(Result::unwrap) {
        let name = folder.file_name();
        if !folder.path().is_dir() {
            continue;
        }
        assert!(readers::READERS.iter().any(|(known, _)| name == *known), "{name:?} has no reader");
    }
}

/// The seeds are whole files, so that the readers get past their heads.
#[test]
fn the_seeds_are_sound() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus");
    let text = |name: &str| fs::read_to_string(corpora.join(name)).unwrap();
    let run = chronoscope_store::reference::parse(&text("run/seed")).unwrap();
    assert_eq!(run.cases.len(), 6);
    assert!(chronoscope_engine::study::parse(&text("study/seed")).is_ok());
    assert!(chronoscope_report::baseline::parse(&text("baseline/seed")).is_ok());
    // A store and a journal are opened for writing: copies. The store is one of version 1.
    let folder = Folder::new("seeds");
    let copy = folder.file("seed.sqlite", fs::read(corpora.join("store/seed")).unwrap());
    let store = Store::open(&store::Place::File(copy.into())).unwrap();
    assert_eq!(store.runs(None, 9).unwrap().len(), 1);
    let copy = folder.file("seed.journal", fs::read(corpora.join("journal/seed-whole")).unwrap());
    let journal = Unfinished::open(copy.as_ref(), Duration::ZERO).unwrap().unwrap();
    assert_eq!((journal.entries(), journal.damage), (1, None));
    let runs = chronoscope_engine::runner::recovered(&journal).unwrap();
    assert_eq!(runs[0].cases[0].repetitions, 1);
    let seed = fs::read(corpora.join("image/seed")).unwrap();
    let image = seed.strip_prefix(b"core::take\n").unwrap().to_vec();
    let image = Image::from_bytes(Path::new("kernel.elf"), image).unwrap();
    let address = |place: anyhow::Result<Place>| place.unwrap().address;
    assert_eq!(address(image.place("core::take")), 32);
    assert_eq!(address(image.variable("running")), 48);
    let seed = fs::read(corpora.join("events/seed-whole")).unwrap();
    let figures =
        Figures::from_events(seed.strip_prefix(b"whole\n").unwrap(), Sign::Space, &[]).unwrap();
    assert_eq!(figures.between, [Interval { start: 1, length: 8 }]);
    for format in ["vcd", "sigrok", "saleae_csv", "saleae_binary"] {
        let source = chronoscope_capture::open(&corpora.join(format).join("seed"));
        assert!(source.is_ok(), "{format}: {:?}", source.err());
    }
}
