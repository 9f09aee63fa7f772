use super::{Random, proof, rounds, steps, task};
use crate::records::{Level, WaitQueue, Waiter};

/// Waiters of one queue are served the most urgent first, equals in the order of arrival.
#[test]
fn waiters_come_out_by_urgency_then_by_age() {
    let m = proof();
    for seed in 0..rounds(300) as u64 {
        let mut random = Random::new(seed);
        let queue: &'static WaitQueue = Box::leak(Box::new(WaitQueue::new()));
        let levels = 1 + random.below(32);
        let waiters: Vec<&'static Waiter> = (0..1 + random.below(60))
            .map(|_| &*Box::leak(Box::new(Waiter::new(task(random.below(levels) as Level)))))
            .collect();
        let mut model: Vec<&Waiter> = Vec::new();
        for _ in 0..steps(600) {
            let waiter = waiters[random.below(waiters.len())];
            let waits = model.iter().any(|other| core::ptr::eq(*other, waiter));
            match random.below(5) {
                0 | 1 if !waits => {
                    queue.insert(m, waiter);
                    insert(&mut model, waiter);
                }
                2 => {
                    let served = queue.pop(m);
                    assert_eq!(served.is_some(), !model.is_empty());
                    if let Some(served) = served {
                        assert!(core::ptr::eq(served.0, model.remove(0)) && served.0.is_served(m));
                    }
                }
                3 => {
                    waiter.leave(m);
                    model.retain(|other| !core::ptr::eq(*other, waiter));
                    assert!(!waiter.is_waiting(m));
                }
                4 => {
                    let level = random.below(levels) as Level;
                    let changed = waiter.task(m).level.get(m) != level;
                    waiter.task(m).set_level(m, level);
                    waiter.move_to_level_of_task(m);
                    if waits && changed {
                        model.retain(|other| !core::ptr::eq(*other, waiter));
                        insert(&mut model, waiter);
                    }
                }
                _ => {}
            }
            assert_eq!(queue.top_level(m), model.first().map(|first| first.task(m).level.get(m)));
        }
        for expected in model {
            assert!(queue.pop(m).is_some_and(|served| core::ptr::eq(served.0, expected)));
        }
        assert!(queue.is_empty(m));
    }
}

fn insert<'a>(model: &mut Vec<&'a Waiter>, waiter: &'a Waiter) {
    let m = proof();
    let level = waiter.task(m).level.get(m);
    let place =
        model.iter().position(|other| other.task(m).level.get(m) > level).unwrap_or(model.len());
    model.insert(place, waiter);
}
