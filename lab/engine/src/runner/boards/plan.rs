//! The cases of several boards: which board runs which case, and which boards are set aside. The
//! module starts nothing and waits for nothing.

use std::time::Duration;

use super::super::remaining::Work;

/// The number of failures after which a board is set aside.
const MOST_FAILURES: usize = 2;

/// The number of healthy boards on which a case fails before it has failed itself.
const MOST_BOARDS: usize = 2;

/// The distribution of cases among boards.
pub struct Plan {
    cases: Vec<Row>,
    works: Vec<Work>,
    boards: Vec<Board>,
}

struct Row {
    expected: Duration,
    /// The board that runs the case, or that will.
    board: usize,
    state: State,
    /// The healthy boards on which the case has failed.
    suspect_on: Vec<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    Running,
    /// All repetitions are there.
    Complete,
    /// The case failed for good.
    Failed,
}

#[derive(Default)]
struct Board {
    /// The cases that failed there.
    failed: Vec<usize>,
    is_aside: bool,
}

/// The work of a case before its first repetition, as if all were one.
fn unbegun(expected: Duration) -> Work {
    Work { expected, left: 1, ..Work::default() }
}

/// The consequence of a failure on a board that is healthy.
#[derive(Debug, PartialEq, Eq)]
pub enum After {
    /// The case runs on another board.
    Elsewhere,
    /// The case failed for good.
    Failed,
}

impl Plan {
    /// Distributes cases, by their expected times, among as many boards: the longest first, each to
    /// the board with the least to do. Equal cases and boards give the same distribution.
    pub fn new(expected: &[Duration], boards: usize) -> Self {
        let row = |&expected: &Duration| Row {
            expected,
            board: 0,
            state: State::Waiting,
            suspect_on: Vec::new(),
        };
        let mut plan = Self {
            cases: expected.iter().map(row).collect(),
            works: expected.iter().copied().map(unbegun).collect(),
            boards: (0..boards).map(|_| Board::default()).collect(),
        };
        let mut order: Vec<usize> = (0..expected.len()).collect();
        order.sort_by_key(|&index| std::cmp::Reverse(expected[index]));
        let mut loads = vec![Duration::ZERO; boards];
        for index in order {
            let board = (0..boards).min_by_key(|&board| loads[board]).unwrap_or_default();
            loads[board] = loads[board].saturating_add(expected[index]);
            plan.cases[index].board = board;
        }
        plan
    }

    /// Takes the next case of a board in service.
    pub fn take(&mut self, board: usize) -> Option<usize> {
        let is_next = |row: &Row| row.state == State::Waiting && row.board == board;
        let index = self.cases.iter().position(is_next)?;
        self.cases[index].state = State::Running;
        Some(index)
    }

    /// Returns whether every case has ended.
    pub fn is_done(&self) -> bool {
        self.cases.iter().all(|row| matches!(row.state, State::Complete | State::Failed))
    }

    /// The number of cases that have ended.
    pub fn complete(&self) -> usize {
        let ended = |row: &&Row| matches!(row.state, State::Complete | State::Failed);
        self.cases.iter().filter(ended).count()
    }

    /// The board whose result of a case counts; `None` for a case that has not begun.
    pub fn board_of(&self, index: usize) -> Option<usize> {
        let row = &self.cases[index];
        (row.state != State::Waiting).then_some(row.board)
    }

    /// Notes the work of a case under way.
    pub fn work(&mut self, index: usize, work: Work) {
        self.works[index] = work;
    }

    /// The work of each case.
    pub fn works(&self) -> &[Work] {
        &self.works
    }

    /// Notes that a case has all its repetitions.
    pub fn done(&mut self, index: usize) {
        self.cases[index].state = State::Complete;
    }

    /// Notes that a case failed on a board. Returns whether the board is to be set aside.
    pub fn fail(&mut self, index: usize, board: usize) -> bool {
        self.boards[board].failed.push(index);
        self.boards[board].failed.len() >= MOST_FAILURES
    }

    /// Decides on a case that failed on a board which is healthy.
    pub fn suspect(&mut self, index: usize, board: usize) -> After {
        self.cases[index].suspect_on.push(board);
        let is_tried = self.cases[index].suspect_on.len() >= MOST_BOARDS;
        if let Some(next) = self.next_board(index).filter(|_| !is_tried) {
            self.wait_for(index, next);
            return After::Elsewhere;
        }
        // The case has failed itself: that is no fault of the boards.
        for board in &mut self.boards {
            board.failed.retain(|failed| *failed != index);
        }
        self.cases[index].state = State::Failed;
        After::Failed
    }

    /// Sets a board aside. Returns its cases that run elsewhere, and those for which no board is
    /// left, which have failed.
    pub fn set_aside(&mut self, board: usize) -> (Vec<usize>, Vec<usize>) {
        self.boards[board].is_aside = true;
        let ours =
            |row: &Row| row.board == board && matches!(row.state, State::Waiting | State::Running);
        let ours = (0..self.cases.len()).filter(|&index| ours(&self.cases[index]));
        let (mut moved, mut stranded) = (Vec::new(), Vec::new());
        for index in ours.collect::<Vec<_>>() {
            match self.next_board(index) {
                Some(next) => {
                    self.wait_for(index, next);
                    moved.push(index);
                }
                None => {
                    self.cases[index].state = State::Failed;
                    stranded.push(index);
                }
            }
        }
        (moved, stranded)
    }

    fn wait_for(&mut self, index: usize, board: usize) {
        let row = &mut self.cases[index];
        (row.board, row.state) = (board, State::Waiting);
        self.works[index] = unbegun(row.expected);
    }

    /// The board in service with the least to do on which the case has not failed.
    fn next_board(&self, index: usize) -> Option<usize> {
        let suspect_on = &self.cases[index].suspect_on;
        let in_service = (0..self.boards.len()).filter(|board| !self.boards[*board].is_aside);
        in_service.filter(|board| !suspect_on.contains(board)).min_by_key(|&board| self.load(board))
    }

    /// The expected time of the cases that a board still has to run.
    fn load(&self, board: usize) -> Duration {
        let ours = self.cases.iter().filter(|row| row.board == board);
        let open = ours.filter(|row| matches!(row.state, State::Waiting | State::Running));
        open.fold(Duration::ZERO, |sum, row| sum.saturating_add(row.expected))
    }
}
