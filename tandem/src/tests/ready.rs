use super::{Random, proof, rounds, steps, task};
use crate::records::{Level, Ready, Task};
use std::collections::VecDeque;

/// A simple model of the ready set: one queue for each level.
struct Model(Vec<VecDeque<Task>>);

impl Model {
    fn most_urgent(&self) -> Option<Task> {
        self.0.iter().find_map(|queue| queue.front().copied())
    }

    fn contains(&self, task: Task) -> bool {
        self.0.iter().flatten().any(|other| other.is(task))
    }

    fn remove(&mut self, task: Task) {
        self.0.iter_mut().for_each(|queue| queue.retain(|other| !other.is(task)));
    }
}

#[test]
fn the_ready_set_is_one_queue_a_level() {
    let m = proof();
    for seed in 0..rounds(200) as u64 {
        let mut random = Random::new(seed);
        let ready: &'static Ready = Box::leak(Box::new(Ready::new()));
        let idle = task(32);
        ready.set_idle(m, idle);
        let levels = 1 + random.below(32);
        let tasks: Vec<Task> =
            (0..1 + random.below(40)).map(|_| task(random.below(levels) as Level)).collect();
        let mut model = Model(vec![VecDeque::new(); 33]);
        for _ in 0..steps(500) {
            step(&mut random, ready, &tasks, &mut model, levels);
            let expected = model.most_urgent().unwrap_or(idle);
            assert!(ready.most_urgent(m).is(expected));
            for task in tasks.iter().step_by(if cfg!(miri) { 7 } else { 1 }) {
                assert_eq!(ready.contains(m, task), model.contains(task));
            }
        }
        // The remaining tasks are taken out in the model's order.
        while let Some(expected) = model.most_urgent() {
            assert!(ready.most_urgent(m).is(expected));
            ready.remove_head(m, expected);
            model.remove(expected);
        }
        assert!(ready.most_urgent(m).is(idle));
    }
}

fn step(
    random: &mut Random,
    ready: &'static Ready,
    tasks: &[Task],
    model: &mut Model,
    levels: usize,
) {
    let m = proof();
    let task = tasks[random.below(tasks.len())];
    let level = task.level.get(m) as usize;
    match random.below(6) {
        0 | 1 => {
            let urgent = model.most_urgent().is_none_or(|top| task.level.get(m) < top.level.get(m));
            let was_ready = model.contains(task);
            assert_eq!(ready.insert(m, task), urgent && !was_ready);
            assert!(!task.again.get(m), "no poll is open");
            if !was_ready {
                model.0[level].push_back(task);
            }
        }
        2 if model.contains(task) => {
            ready.remove(m, task);
            model.remove(task);
        }
        3 => {
            if let Some(top) = model.most_urgent() {
                let queue = &mut model.0[top.level.get(m) as usize];
                queue.rotate_left(1);
                assert!(ready.rotate(m, top).is(queue[0]));
            }
        }
        4 => {
            if let Some(top) = model.most_urgent() {
                ready.remove_head(m, top);
                model.remove(top);
            }
        }
        5 => {
            let (to, front) = (random.below(levels), random.below(2) == 0);
            ready.relevel(m, task, to as Level, front);
            if model.contains(task) {
                model.remove(task);
                if front {
                    model.0[to].push_front(task);
                } else {
                    model.0[to].push_back(task);
                }
            }
        }
        _ => {}
    }
}

#[test]
fn a_dead_task_is_never_made_ready() {
    let m = proof();
    let ready: &'static Ready = Box::leak(Box::new(Ready::new()));
    let idle = task(32);
    ready.set_idle(m, idle);
    let dead = task(3);
    dead.bit.set(m, 0);
    assert!(!ready.insert(m, dead));
    assert!(ready.most_urgent(m).is(idle) && !ready.contains(m, dead));
    ready.insert(m, task(7));
    assert!(!ready.insert(m, dead) && !ready.contains(m, dead));
    let equal = task(3);
    ready.insert(m, equal);
    assert!(!ready.insert(m, dead) && ready.most_urgent(m).is(equal));
}
