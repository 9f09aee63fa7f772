//! A handler that is no part of the round: it leaves the kernel as it is, and comes back to the
//! instruction before which it began. So the round goes on as without it, whether the plugin or the
//! image's own timer has raised it, and several arrivals are tried in one round.

use std::io::{Result, Write};

use chronoscope_cycles::Sum;

/// The outcome of an arrival.
#[derive(Clone, Copy)]
pub enum Outcome {
    /// Instructions to the handler and of the round with it, rounds, and cycles to the handler.
    Tried { wait: u32, length: usize, tries: u32, cycles: Sum },
    /// Every try took another path.
    Missed,
}

impl Outcome {
    /// Writes the line of an arrival.
    pub fn write(self, arrival: usize, file: &mut impl Write) -> Result<()> {
        match self {
            Self::Tried { wait, length, tries, cycles } => {
                let Sum { least, estimate_halves, most, .. } = cycles;
                writeln!(
                    file,
                    "arrival {arrival} {wait} {length} {tries} {least} {estimate_halves} {most}"
                )
            }
            Self::Missed => writeln!(file, "missed {arrival}"),
        }
    }
}

/// The state of the handler, and the outcomes of the arrivals.
pub struct Aside {
    /// The handler runs.
    runs: bool,
    /// The handler's instructions since it began.
    handled: usize,
    together: usize,
    /// The least distance between two arrivals of a round.
    stride: usize,
    /// The first arrival of this start of the image.
    from: usize,
    outcomes: Vec<Option<Outcome>>,
}

impl Aside {
    /// Tries `together` arrivals in a round, from the instruction `from` of the round on.
    pub fn new(together: usize, from: usize) -> Self {
        let outcomes = Vec::new();
        let (runs, handled, stride) = (false, 0, 1);
        Self { runs, handled, together, stride, from, outcomes }
    }

    /// Begins with a round of `length` instructions.
    pub fn begin(&mut self, length: usize) {
        self.stride = length.div_ceil(self.together.max(1)).max(1);
        self.outcomes = vec![None; length];
    }

    /// Takes in whether the instruction that is about to execute is of the handler, and returns that.
    pub fn step(&mut self, is_of_the_handler: bool) -> bool {
        let has_begun = is_of_the_handler && !self.runs;
        self.handled = if has_begun { 0 } else { self.handled } + usize::from(is_of_the_handler);
        self.runs = is_of_the_handler;
        is_of_the_handler
    }

    /// The instructions of the handler's last run.
    pub fn handled(&self) -> usize {
        self.handled
    }

    pub fn note(&mut self, arrival: usize, outcome: Outcome) {
        if let Some(place) = self.outcomes.get_mut(arrival) {
            *place = Some(outcome);
        }
    }

    /// The first arrival without an outcome.
    pub fn first(&self) -> Option<usize> {
        let open = |arrival: &usize| self.outcomes[*arrival].is_none();
        (self.from..self.outcomes.len()).find(open)
    }

    /// The arrival of the same round after one: the next without an outcome that is far enough, and behind
    /// the instruction `position`. The length of the round if there is none.
    pub fn next(&self, arrival: usize, position: usize) -> usize {
        let open = |arrival: &usize| self.outcomes[*arrival].is_none();
        let (from, length) = ((arrival + self.stride).max(position + 1), self.outcomes.len());
        (from..length).find(open).unwrap_or(length)
    }

    /// Writes the outcomes up to the first arrival without one, with which another start goes on.
    pub fn write(&self, file: &mut impl Write) -> Result<()> {
        let from = self.from.min(self.outcomes.len());
        let known = self.outcomes[from..].iter().map_while(|outcome| *outcome);
        known.enumerate().try_for_each(|(index, outcome)| outcome.write(from + index, file))
    }
}
