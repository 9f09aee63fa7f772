//! The distribution of cases among boards.

use std::time::Duration;

use super::plan::{After, Plan};

/// Four cases of 4, 3, 2 and 1 s on this number of boards.
fn plan(boards: usize) -> Plan {
    Plan::new(&[4, 3, 2, 1].map(Duration::from_secs), boards)
}

/// Takes all cases that wait for a board, and completes them.
fn run_all(plan: &mut Plan, board: usize) -> Vec<usize> {
    let mut taken = Vec::new();
    while let Some(index) = plan.take(board) {
        plan.done(index);
        taken.push(index);
    }
    taken
}

#[test]
fn cases_are_distributed_by_their_times() {
    let mut plan = plan(2);
    assert_eq!([run_all(&mut plan, 0), run_all(&mut plan, 1)], [vec![0, 3], vec![1, 2]]);
    assert!(plan.is_done());
}

#[test]
fn a_board_that_fails_twice_is_set_aside_and_its_cases_run_elsewhere() {
    let mut plan = plan(2);
    assert_eq!(plan.take(0), Some(0));
    assert!(!plan.fail(0, 0));
    // The board is healthy: the case runs elsewhere, and the next case fails too.
    assert_eq!(plan.suspect(0, 0), After::Elsewhere);
    assert_eq!(plan.take(0), Some(3));
    assert!(plan.fail(3, 0));
    assert_eq!(plan.set_aside(0), (vec![3], vec![]));
    assert_eq!(plan.take(0), None);
    assert_eq!(run_all(&mut plan, 1), [0, 1, 2, 3]);
    assert_eq!((plan.complete(), plan.board_of(0), plan.board_of(3)), (4, Some(1), Some(1)));
}

#[test]
fn a_case_that_fails_on_two_healthy_boards_is_no_fault_of_theirs() {
    let mut plan = plan(3);
    assert_eq!(plan.take(0), Some(0));
    assert!(!plan.fail(0, 0));
    assert_eq!(plan.suspect(0, 0), After::Elsewhere);
    let next = plan.board_of(0).or_else(|| (1..3).find(|board| plan.take(*board) == Some(0)));
    let next = next.expect("another board has the case");
    assert!(!plan.fail(0, next));
    assert_eq!(plan.suspect(0, next), After::Failed);
    assert_eq!(plan.board_of(0), Some(next));
    // Both boards have a clean record: one further failure sets none aside.
    assert!(!plan.fail(1, 0) && !plan.fail(1, next));
}

#[test]
fn without_a_board_all_cases_have_failed() {
    let mut plan = plan(2);
    assert_eq!(plan.set_aside(1), (vec![1, 2], vec![]));
    assert_eq!(plan.take(0), Some(0));
    assert_eq!(plan.set_aside(0), (vec![], vec![0, 1, 2, 3]));
    assert!(plan.is_done());
}
