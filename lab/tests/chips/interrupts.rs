//! Labs that are killed while they run an emulated chip.

use std::{thread, time::Duration};

use rustix::process::Signal;

use crate::victim::{Place, Random, Tally, rounds};

#[test]
fn a_killed_lab_loses_only_the_repetition_it_was_in() {
    let place = Place::new("killed-m4", "qemu-system-arm", "/usr/bin/qemu-system-arm");
    let words = [
        "run",
        "switch",
        "--target",
        "tandem@cortex-m4",
        "--set",
        "loops=100",
        "--repeat",
        "1000000",
    ];
    let (mut random, mut tally) = (Random(3), Tally::default());
    for _ in 0..rounds() {
        let mut lab = place.start(&words);
        // The first repetition takes two starts, which must agree.
        lab.has_ended(3);
        thread::sleep(random.below(Duration::from_millis(500)));
        let journaled = place.journaled();
        lab.signal(Signal::KILL);
        assert_eq!(lab.ended(), -9);
        let took = place.is_left_by_all();
        place.ask(&["recover"]).exits(0);
        place.is_clean();
        let kept = place.take_stored();
        assert!(kept >= journaled, "{journaled} were in the journal");
        // A start that was left out says so before its repetition is complete.
        let said = lab.said();
        let left_out = said.lines().filter_map(|line| {
            line.split_once("left out ")?.1.split(' ').next()?.parse::<usize>().ok()
        });
        let starts = place.ends();
        let complete = starts - 1 - left_out.sum::<usize>();
        tally.add(complete.max(kept), kept, took);
    }
    tally.print("kills on tandem@cortex-m4");
}
