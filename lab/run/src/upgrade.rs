//! The upgrade of runs in older versions of the form.

use crate::{CaseResult, Run, SCHEMA};

impl Run {
    /// Brings a run of an older version to [`SCHEMA`]: computes the intervals of its medians and
    /// the limits of its percentiles from the repetitions. A repetition's p99.9 stays unknown.
    pub fn upgrade(&mut self) {
        if self.schema != SCHEMA {
            self.schema = SCHEMA;
            self.cases.iter_mut().for_each(CaseResult::find_intervals);
        }
    }
}
