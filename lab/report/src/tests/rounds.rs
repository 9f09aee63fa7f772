//! The pictures of rounds, of stored runs.

use super::answer::load;
use crate::answer::rounds::{Panel, Picture, State};
use crate::html::tests::growth::{LIMIT, tenfold};
use chronoscope_run::Run;

fn picture(run: &Run) -> Option<Picture> {
    Picture::from_run(run, run.answering.as_ref().unwrap().rounds.as_ref().unwrap())
}

#[test]
fn the_wait_ends_where_the_waiting_task_runs() {
    for name in ["show-inversion", "show-wakeup", "show-preemption", "show-miss"] {
        let picture = picture(&load(name)).unwrap();
        for panel in &picture.panels {
            let waiting = &panel.tracks[0].stretches;
            let waits = waiting.iter().filter(|one| one.state == State::Waits);
            let end = waits.map(|one| one.to).fold(0.0, f64::max);
            let shown: f64 = panel.wait.as_ref().unwrap().replace('\u{202f}', "").parse().unwrap();
            let off = (end / panel.tick - shown).abs();
            // Linux's trace is in µs, of 500 instructions.
            assert!(off <= 500.0, "{name}, {}: {end} ns for {shown}", panel.heading);
        }
    }
}

#[test]
fn the_low_task_is_raised_as_the_protocol_says() {
    let picture = picture(&load("show-inversion")).unwrap();
    let states = |panel: &Panel| -> Vec<State> {
        panel.tracks[2].stretches.iter().map(|one| one.state).collect()
    };
    let [none, inheritance, ceiling] = [0, 1, 2].map(|place| states(&picture.panels[place]));
    assert!(none.iter().all(|state| *state == State::Holds), "{none:?}");
    assert_eq!(inheritance[..2], [State::Holds, State::Raised]);
    assert_eq!(ceiling[0], State::Raised);
    // The hog runs before the urgent task without a protocol, and after it with one.
    for (place, first) in [(0, true), (1, false), (2, false)] {
        let tracks = &picture.panels[place].tracks;
        let urgent = tracks[0].stretches.last().unwrap().from;
        assert_eq!(tracks[1].stretches[0].from < urgent, first, "panel {place}");
    }
}

#[test]
fn a_record_that_is_missing_or_cut_draws_nothing() {
    let mut run = load("show-preemption");
    run.cases[0].attachments.values_mut().for_each(|text| {
        *text = text.lines().take(6).collect::<Vec<_>>().join("\n");
    });
    assert!(picture(&run).is_none());
    run.cases[0].attachments.clear();
    assert!(picture(&run).is_none());
    let mut run = load("show-inversion");
    run.cases[2].attachments.clear();
    let reason = picture(&run).unwrap().panels[2].wait.clone().unwrap_err();
    assert!(reason.ends_with("this kernel keeps no record"), "{reason}");
}

/// A record of a hundred thousand rounds, and rules that name no task.
#[test]
fn a_long_record_and_empty_rules_do_no_harm() {
    let long = |factor: usize| {
        let mut run = load("show-wakeup");
        run.cases.truncate(1);
        let mut text = "# tandem 1\n0 1 20000400 thread\n1 3 2000b080 director\n".to_owned();
        for index in 0..2_000 * factor {
            let at = 10 * index + 10;
            for (after, event) in [(0, 2), (1, 3), (2, 4)] {
                text += &format!("{} {event} 20000400 thread\n", at + after);
            }
        }
        run.cases[0].attachments.values_mut().for_each(|one| one.clone_from(&text));
        picture(&run).map(|picture| picture.panels.len())
    };
    assert!(tenfold(long) < LIMIT);
    let mut run = load("show-inversion");
    let rounds = run.answering.as_mut().unwrap().rounds.as_mut().unwrap();
    rounds.tasks.clear();
    assert!(picture(&run).is_none());
}
