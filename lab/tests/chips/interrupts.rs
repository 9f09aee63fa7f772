//! Labs that are interrupted or killed while they run an emulated chip.

use std::{thread, time::Duration};

use rustix::process::Signal;

use crate::victim::{Place, Random, Tally, Victim, rounds};

/// A case without end, whose repetitions take tens of milliseconds.
const WORDS: [&str; 8] =
    ["run", "switch", "--target", "tandem@cortex-m4", "--set", "loops=100", "--repeat", "1000000"];

/// The words of two such cases, side by side.
const TWO: [&str; 4] = ["--set", "tasks=2,3", "-j", "2"];

/// The number of cases that run side by side in this round.
fn jobs(round: u32) -> usize {
    1 + round as usize % 2
}

fn place(test: &str) -> Place {
    Place::new(test, "qemu-system-arm", "/usr/bin/qemu-system-arm")
}

/// Starts a lab and waits for a random time after the first repetition of each case, which takes two
/// starts that must agree.
fn begun<'a>(place: &'a Place, jobs: usize, random: &mut Random) -> Victim<'a> {
    let more = if jobs == 2 { &TWO[..] } else { &[] };
    let mut lab = place.start(&[&WORDS[..], more].concat());
    lab.has_ended(3 * jobs);
    thread::sleep(random.below(Duration::from_millis(500)));
    lab
}

/// The number of complete repetitions: all starts that came to a good end but the first of each case,
/// and but those that were left out, which the lab says before their repetition is complete.
fn complete(place: &Place, lab: &Victim<'_>, jobs: usize) -> usize {
    let said = lab.said();
    let left_out = said.lines().filter_map(|line| {
        line.split_once("left out ")?.1.split(' ').next()?.parse::<usize>().ok()
    });
    place.ends() - jobs - left_out.sum::<usize>()
}

#[test]
fn two_signals_lose_no_repetition() {
    let place = place("two-signals-m4");
    let (mut random, mut tally) = (Random(4), Tally::default());
    for round in 0..rounds() {
        let mut lab = begun(&place, jobs(round), &mut random);
        let journaled = place.journaled();
        let took = lab.ends_by_two_signals(round, &mut random);
        place.is_left_by_all();
        place.is_clean();
        let kept = place.take_stored();
        assert!(kept >= journaled, "{journaled} were in the journal");
        tally.add_of(jobs(round), complete(&place, &lab, jobs(round)).max(kept), kept, took);
    }
    tally.print("double signals on tandem@cortex-m4");
}

#[test]
fn a_killed_lab_loses_only_the_repetitions_it_was_in() {
    let place = place("killed-m4");
    let (mut random, mut tally) = (Random(3), Tally::default());
    for round in 0..rounds() {
        let mut lab = begun(&place, jobs(round), &mut random);
        let journaled = place.journaled();
        lab.signal(Signal::KILL);
        assert_eq!(lab.ended(), -9);
        let took = place.is_left_by_all();
        place.ask(&["recover"]).exits(0);
        place.is_clean();
        let kept = place.take_stored();
        assert!(kept >= journaled, "{journaled} were in the journal");
        tally.add_of(jobs(round), complete(&place, &lab, jobs(round)).max(kept), kept, took);
    }
    tally.print("kills on tandem@cortex-m4");
}

/// An emulator that is killed ends its case, and no complete repetition is lost. One that has sent all and
/// is about to end costs nothing: then the next one is killed.
#[test]
fn a_killed_emulator_costs_one_repetition() {
    let place = place("killed-emulator");
    let (mut random, mut tally) = (Random(5), Tally::default());
    for _ in 0..rounds() {
        let mut lab = begun(&place, 1, &mut random);
        let journaled = place.journaled();
        place.kill_one();
        while !lab.ends_within(Duration::from_secs(5)) {
            place.kill_one();
        }
        assert_eq!(lab.ended(), 4, "{}", lab.said());
        let took = place.is_left_by_all();
        place.is_clean();
        assert_eq!(place.killed_cases(), 1);
        let kept = place.take_stored();
        assert!(kept >= journaled, "{journaled} were in the journal");
        tally.add(complete(&place, &lab, 1).max(kept), kept, took);
    }
    tally.print("kills of the emulator of tandem@cortex-m4");
}
