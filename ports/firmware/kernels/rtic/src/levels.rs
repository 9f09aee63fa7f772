//! The suite's priorities as RTIC's.
//!
//! A handler visits every task that is declared at its priority, ready or not, so the cost of a
//! step depends on their number. A user declares as many as the program needs. This program serves
//! all cases, so a case gets the priorities whose numbers of tasks are nearest to its own.

use chronoscope_suite::{Priority, Request};

use crate::{app::SIZES, slot::LEVELS};

/// The level of `Ordinary` and of `Idle`: only sleep is below it.
pub const ORDINARY: usize = 0;

/// The level of `Urgent(1)`: the highest from which on there are as many levels, with as many tasks
/// each, as the case needs. Where none has, it is the lowest, and tasks for which there is no room
/// are refused.
pub fn first(request: &Request<'_>) -> usize {
    let (levels, tasks) = match request.spec().name {
        "switch" => (1, request.count("tasks")),
        "message" => (2, request.count("pairs")),
        // One for each task, and from the eighth on they share the lowest.
        "delay" | "period" => (request.count("tasks").min(8), 1),
        // Pairs that are more and less urgent in turn, the less urgent first; and one task above
        // all.
        "masked" => (2, request.count("tasks") / 4 * 2 + (request.count("tasks") % 4).min(2)),
        _ => (3, 1),
    };
    let fits = |first: &usize| SIZES[*first..first + levels].iter().all(|size| *size >= tasks);
    (ORDINARY + 1..=LEVELS - levels).rev().find(fits).unwrap_or(ORDINARY + 1)
}

#[inline]
pub fn level(first: usize, priority: Priority) -> usize {
    match priority {
        Priority::Urgent(urgency) => (first + usize::from(urgency) - 1).clamp(first, LEVELS - 1),
        Priority::Ordinary | Priority::Idle => ORDINARY,
    }
}
