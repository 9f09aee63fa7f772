//! Evidence that the port has counted: kept until the experiment is over, because the trial belongs
//! to the experiment meanwhile.

use core::{
    cell::Cell,
    ffi::c_char,
    ptr::{self, null},
};

use chronoscope_suite::Trial;

use crate::{kernel::Kernel, port, text::text};

/// A row of the table: `chrono_evidence`'s arguments. Free while `name` is null.
#[derive(Clone, Copy)]
struct Evidence {
    name: *const c_char,
    value: u32,
    low: u32,
    high: u32,
}

struct Table([Cell<Evidence>; 8]);

// SAFETY: the header allows one caller at a time, and the rows are read after the experiment.
unsafe impl Sync for Table {}

const FREE: Evidence = Evidence { name: null(), value: 0, low: 0, high: 0 };

static TABLE: Table = Table([const { Cell::new(FREE) }; 8]);

#[unsafe(no_mangle)]
extern "C" fn chrono_evidence(name: *const c_char, value: u32, low: u32, high: u32) {
    let fits = |row: &&Cell<Evidence>| {
        let known = row.get().name;
        known.is_null() || ptr::eq(known, name)
    };
    if let Some(row) = TABLE.0.iter().find(fits) {
        row.set(Evidence { name, value, low, high });
    }
}

/// The length at which a name is cut, in bytes.
const NAME: usize = 100;

/// Asks the port for its report, and sends all evidence.
pub fn send(trial: &mut Trial<'_, Kernel>) {
    if port::has("report") {
        // SAFETY: the experiment is over, and this is the task that called chrono_main.
        unsafe { port::chrono_report() };
    }
    for row in TABLE.0.iter().map(Cell::get).filter(|row| !row.name.is_null()) {
        // SAFETY: the name is a text of the port's that stays valid.
        let name = unsafe { text(row.name, NAME) };
        trial.evidence(name, row.value.into(), row.low.into(), row.high.into());
    }
}
