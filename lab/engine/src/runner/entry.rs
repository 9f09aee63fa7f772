//! The entry of a repetition under way, in a journal that other repetitions may share.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::{journal::HELD, journal::Journal, journal::MadeForm, journal::Recorded};
use chronoscope_run::CaseResult;

/// The entry under way of the case at `place` in the journal's header.
///
/// A repetition that runs alone writes to the journal as it goes on. The entry of a repetition that
/// runs beside others is gathered in memory, and written when the repetition has ended. An entry
/// that grows beyond [`HELD`] bytes locks the journal until its end; other repetitions that end
/// meanwhile wait for the lock.
pub(super) struct Entry<'a, 'j> {
    journal: &'a Mutex<&'j mut Journal>,
    place: usize,
    is_alone: bool,
    /// A repetition that failed is dropped.
    drops_failures: bool,
    /// The begin and the stream that are not in the journal yet.
    begun: Option<Option<MadeForm>>,
    stream: Vec<u8>,
    /// The locked journal, from the entry's first byte in the journal to the entry's end.
    taken: Option<MutexGuard<'a, &'j mut Journal>>,
}

impl<'a, 'j> Entry<'a, 'j> {
    /// The entry of a repetition that runs alone.
    pub(super) fn alone(journal: &'a Mutex<&'j mut Journal>, place: usize) -> Self {
        Self { is_alone: true, ..Self::beside_others(journal, place) }
    }

    /// The entry of a repetition that runs beside others.
    pub(super) fn beside_others(journal: &'a Mutex<&'j mut Journal>, place: usize) -> Self {
        Self {
            journal,
            place,
            is_alone: false,
            drops_failures: false,
            begun: None,
            stream: Vec::new(),
            taken: None,
        }
    }

    /// The entry of a repetition that runs beside others, and that another machine repeats if it fails.
    pub(super) fn without_failures(journal: &'a Mutex<&'j mut Journal>, place: usize) -> Self {
        Self { drops_failures: true, ..Self::beside_others(journal, place) }
    }

    /// Begins a repetition; `made` is `None` if the machine could not be prepared.
    pub(super) fn begin(&mut self, made: Option<MadeForm>) {
        self.begun = Some(made);
        if self.is_alone {
            self.take();
        }
    }

    /// Takes in a piece of the stream.
    pub(super) fn stream(&mut self, bytes: &[u8]) {
        if let Some(journal) = &mut self.taken {
            return journal.stream(bytes);
        }
        self.stream.extend_from_slice(bytes);
        if self.stream.len() > HELD {
            self.take();
        }
    }

    /// Drops the repetition, which was stopped.
    pub(super) fn discard(&mut self) {
        if let Some(mut journal) = self.taken.take() {
            journal.discard();
        }
        (self.begun, self.stream) = (None, Vec::new());
    }

    /// Writes the checkpoint of a soak that goes on; `spent` is the time of all its repetitions.
    pub(super) fn checkpoint(&mut self, result: CaseResult, spent: Duration) {
        let place = self.place;
        self.take().checkpoint(place, result, spent);
    }

    /// Ends a repetition of a soak with the case's result.
    pub(super) fn end_soak(
        &mut self,
        result: CaseResult,
        spent: Duration,
        recorded: &Recorded<'_>,
    ) {
        let place = self.place;
        self.take().end_soak(place, result, spent, recorded);
        self.taken = None;
    }

    /// Ends the repetition and writes its entry.
    pub(super) fn end(&mut self, recorded: &Recorded<'_>) {
        if self.drops_failures && recorded.failed.is_some() {
            return self.discard();
        }
        self.take().end(recorded);
        self.taken = None;
    }

    /// Locks the journal, waiting for the entries of other repetitions, and writes the gathered
    /// entry.
    fn take(&mut self) -> &mut Journal {
        let Self { journal, place, begun, stream, taken, .. } = self;
        let journal =
            taken.get_or_insert_with(|| journal.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(made) = begun.take() {
            journal.begin(*place, made);
            journal.stream(&std::mem::take(stream));
        }
        journal
    }
}
