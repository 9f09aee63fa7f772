//! Words of the guest's memory that are recorded when they change: fields of each task's record, and
//! words beside the address in a field.

use std::{
    collections::{BTreeSet, HashMap},
    path::PathBuf,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use super::events::{Events, kind};
use crate::{emulator::Processor, give_up};

/// The most records of tasks whose fields are watched. Fields of later tasks are not.
const MOST_TASKS: usize = 1024;

/// Bits of the watched addresses, so that most stores return at the first look.
static FILTER: [AtomicU64; 256] = [const { AtomicU64::new(0) }; 256];

/// A field of a task's record.
#[derive(Clone)]
pub struct Field {
    /// Bytes from the record's address, a multiple of a word.
    pub offset: u64,
    /// Bytes from the address in the field to further words.
    pub beside: Vec<i64>,
}

/// A part of the memory that is written to a file when the observation ends.
pub struct Memory {
    pub out: PathBuf,
    pub address: u64,
    pub bytes: u64,
}

/// The watched words.
#[derive(Default)]
pub struct Words {
    fields: Vec<Field>,
    tasks: BTreeSet<u64>,
    /// The last value of each watched word, and the index of its field.
    watched: HashMap<u64, (u64, usize)>,
}

/// Returns `true` if a store to this address may change a watched word.
pub fn may_be_watched(address: u64) -> bool {
    let (word, bit) = place(address);
    FILTER[word].load(Relaxed) >> bit & 1 == 1
}

/// The place of an address in the filter, which has a bit for eight bytes.
fn place(address: u64) -> (usize, u64) {
    let bits = address >> 3;
    ((bits >> 6) as usize % FILTER.len(), bits & 63)
}

impl Words {
    /// `single` are addresses of words that are no fields, and begin as 0.
    pub fn new(fields: Vec<Field>, single: &[u64]) -> Self {
        let mut words = Self { fields, ..Self::default() };
        let index = words.fields.len();
        words.fields.push(Field { offset: 0, beside: Vec::new() });
        single.iter().for_each(|address| words.watch(*address, 0, index));
        words
    }

    fn watch(&mut self, address: u64, value: u64, index: usize) {
        let (word, bit) = place(address);
        FILTER[word].fetch_or(1 << bit, Relaxed);
        self.watched.insert(address, (value, index));
    }

    /// Watches the fields of a task, and records their values. Does nothing for a known task.
    pub fn add(&mut self, task: u64, is_wide: bool, processor: &Processor, events: &mut Events) {
        if task == 0 || self.tasks.len() >= MOST_TASKS || !self.tasks.insert(task) {
            return;
        }
        // The last one has no offset: see `new`.
        for index in 0..self.fields.len() - 1 {
            let address = task.wrapping_add(self.fields[index].offset);
            let value = read(address, is_wide, processor);
            self.watch(address, value, index);
            self.record(address, value, index, is_wide, processor, events);
        }
    }

    /// Records a watched word that a store to this address has changed.
    pub fn stored(
        &mut self,
        address: u64,
        is_wide: bool,
        processor: &Processor,
        events: &mut Events,
    ) {
        let address = address & if is_wide { !7 } else { !3 };
        let Some((last, index)) = self.watched.get_mut(&address) else { return };
        let (value, index) = (read(address, is_wide, processor), *index);
        if std::mem::replace(last, value) != value {
            self.record(address, value, index, is_wide, processor, events);
        }
    }

    fn record(
        &self,
        address: u64,
        value: u64,
        index: usize,
        is_wide: bool,
        processor: &Processor,
        events: &mut Events,
    ) {
        // The words beside come first: the field is the one whose change has a meaning.
        for beside in self.fields[index].beside.iter().filter(|_| value != 0) {
            let address = value.wrapping_add_signed(*beside);
            events.record(kind::WORD_AT, address);
            events.record(kind::WORD, read(address, is_wide, processor));
        }
        events.record(kind::WORD_AT, address);
        events.record(kind::WORD, value);
    }
}

/// A word of the guest's memory, of 8 bytes if `is_wide`, else of 4.
pub fn read(address: u64, is_wide: bool, processor: &Processor) -> u64 {
    let [low, high] = processor.words(address);
    let high = if is_wide { high } else { 0 };
    u64::from(high) << 32 | u64::from(low)
}

impl Memory {
    /// Writes the file.
    pub fn write(&self, processor: &Processor) {
        let words = (self.address..self.address.saturating_add(self.bytes)).step_by(64);
        let bytes: Vec<u8> = words
            .flat_map(|address| processor.words::<16>(address))
            .flat_map(u32::to_le_bytes)
            .collect();
        if let Err(error) = std::fs::write(&self.out, bytes) {
            give_up(&format!("the memory cannot be written: {error}"));
        }
    }
}
