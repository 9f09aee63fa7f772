//! The phases of a timer against all else: after each update that raises its interrupt, the timer stands
//! still for a while, so that the next one comes at another phase.

/// The schedule of a timer's updates. Times in ns.
#[derive(Clone, Debug, PartialEq)]
pub struct Phases {
    /// The time for which the timer stands still after an update.
    step: u64,
    /// The time for which it stands still after the first update.
    first: u64,
    /// The updates so far: the first has the number 1.
    updates: u64,
    request: Option<Request>,
}

/// An update that has raised the timer's interrupt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    /// Its number among the updates, those included that found the interrupt raised.
    pub number: u64,
    /// Its time in ns.
    pub due: u64,
}

impl Phases {
    pub fn new(step: u32, first: u32) -> Self {
        Self { step: step.into(), first: first.into(), updates: 0, request: None }
    }

    /// Takes in an update, and returns how long the timer stands still.
    pub fn update(&mut self, due: u64, is_raised_by_it: bool) -> u64 {
        self.updates += 1;
        if is_raised_by_it {
            self.request = Some(Request { number: self.updates, due });
        }
        if self.updates == 1 { self.first } else { self.step }
    }

    /// The last request, once.
    pub fn take_request(&mut self) -> Option<Request> {
        self.request.take()
    }
}
