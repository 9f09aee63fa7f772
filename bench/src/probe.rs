//! The program's memory as a stopped core sees it.
//!
//! Most cores have no caches, or write them back when the probe stops them, so the probe looks into the
//! memory itself. Rocket does not write its caches back: it loads and stores for the probe, by its debug
//! ROM (`rtl/core_rocket.sv`), and its caches stay as they are.

use crate::model::Model;

/// The core accesses the memory for the probe.
const ASKS_THE_CORE: bool = cfg!(any(feature = "rocket", feature = "rocket-small"));

/// In an address at which the core is to continue: it is to load the word there instead.
const LOAD: u32 = 1;
/// In the same place: it is to store the answer there.
const STORE: u32 = 3;

/// The cycles within which the core has accessed a word: it takes some 30.
const PATIENCE: u32 = 10_000;

/// The bytes from an address on, of a program that is stopped. `None` if they are not all in memory.
pub fn load(model: &mut Model, start: u32, length: u32) -> Option<Vec<u8>> {
    let end = start.checked_add(length)?;
    let mut bytes = Vec::new();
    for at in words(start, end) {
        let word = load_word(model, at)?.to_le_bytes();
        bytes.extend(
            (at..).zip(word).filter(|(at, _)| (start..end).contains(at)).map(|(_, byte)| byte),
        );
    }
    Some(bytes)
}

/// Stores bytes from an address on, for a program that is stopped. `None` if an address is not in
/// memory; bytes before it may be stored.
pub fn store(model: &mut Model, start: u32, bytes: &[u8]) -> Option<()> {
    let end = start.checked_add(u32::try_from(bytes.len()).ok()?)?;
    for at in words(start, end) {
        let mut word = load_word(model, at)?.to_le_bytes();
        for (at, byte) in (at..).zip(&mut word).filter(|(at, _)| (start..end).contains(at)) {
            *byte = bytes[(at - start) as usize];
        }
        store_word(model, at, u32::from_le_bytes(word))?;
    }
    Some(())
}

/// The aligned addresses of the words that hold these bytes.
fn words(start: u32, end: u32) -> impl Iterator<Item = u32> {
    (start & !3..end).step_by(4)
}

fn load_word(model: &mut Model, at: u32) -> Option<u32> {
    let word = model.word(at)?;
    if ASKS_THE_CORE { ask(model, at | LOAD, 0) } else { Some(word) }
}

fn store_word(model: &mut Model, at: u32, word: u32) -> Option<()> {
    model.word(at)?;
    if ASKS_THE_CORE {
        return ask(model, at | STORE, word).map(drop);
    }
    (at..).zip(word.to_le_bytes()).all(|(at, byte)| model.set_byte(at, byte)).then_some(())
}

/// Has the core access a word, and returns the word. `None` if it does not within [`PATIENCE`].
fn ask(model: &mut Model, question: u32, value: u32) -> Option<u32> {
    model.go_on(question, value);
    (0..PATIENCE).find(|_| model.cycle().stopped()).map(|_| model.stop().a1)
}
