//! The Verilated model of the board.

use std::{marker::PhantomData, slice};

/// How a board is set up.
#[derive(Clone, Copy)]
pub struct Setup {
    pub wait_states: u8,
    pub hertz: u32,
    pub seed: u32,
}

/// Where the memory begins: flash, then RAM.
pub const MEMORY: u32 = 0x8000_0000;
pub const WORDS: usize = (1024 + 256) * 1024 / 4;

/// What may change with every cycle.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Watch(u32);

impl Watch {
    /// The channels of the logic analyser: pins 0 to 7, the stimulus's line, whether the core sleeps.
    pub const CHANNELS: [&str; 10] =
        ["D0", "D1", "D2", "D3", "D4", "D5", "D6", "D7", "irq", "sleep"];

    /// A bit for each channel.
    pub fn levels(self) -> u32 {
        self.0 & ((1 << Self::CHANNELS.len()) - 1)
    }

    /// Pin 0.
    pub fn in_window(self) -> bool {
        self.0 & 1 != 0
    }

    pub fn sleeps(self) -> bool {
        self.0 & 1 << 9 != 0
    }

    /// The probe has stopped the core, and is to answer.
    pub fn stopped(self) -> bool {
        self.0 & 1 << 10 != 0
    }

    /// An instruction has retired.
    pub fn retired(self) -> bool {
        self.0 & 1 << 11 != 0
    }

    /// The one that has retired is the first of an interrupt's handler.
    pub fn entry(self) -> bool {
        self.0 & 1 << 12 != 0
    }
}

/// Where the core was stopped, and its registers a0 and a1.
#[derive(Clone, Copy)]
pub struct Stop {
    pub at: u32,
    pub a0: u32,
    pub a1: u32,
}

/// The C++ object.
#[repr(C)]
struct Raw {
    _opaque: [u8; 0],
    _not_send: PhantomData<*mut ()>,
}

unsafe extern "C" {
    fn bench_new(wait_states: u8, hertz: u32, seed: u32) -> *mut Raw;
    fn bench_free(model: *mut Raw);
    fn bench_cycle(model: *mut Raw) -> u32;
    fn bench_memory(model: *mut Raw) -> *mut u32;
    fn bench_skip(model: *mut Raw, cycles: u64);
    fn bench_time(model: *mut Raw) -> u64;
    fn bench_due(model: *mut Raw) -> u64;
    fn bench_retired_pc(model: *mut Raw) -> u32;
    fn bench_stopped(model: *mut Raw, at: *mut u32, operation: *mut u32, argument: *mut u32);
    fn bench_go_on(model: *mut Raw, at: u32, answer: u32);
}

pub struct Model(*mut Raw);

impl Model {
    pub fn new(setup: Setup) -> Self {
        // SAFETY: makes an object, which `drop` gives back.
        Self(unsafe { bench_new(setup.wait_states, setup.hertz, setup.seed) })
    }

    /// One cycle of the clock.
    #[inline]
    pub fn cycle(&mut self) -> Watch {
        // SAFETY: the model lives as long as `self`, here and below.
        Watch(unsafe { bench_cycle(self.0) })
    }

    /// One cycle in which a core that sleeps does nothing, and as many more, of which the model only hears.
    pub fn skip(&mut self, more: u64) -> Watch {
        // SAFETY: as above.
        unsafe {
            bench_skip(self.0, more);
            let watch = bench_cycle(self.0);
            bench_skip(self.0, 0);
            Watch(watch)
        }
    }

    /// Cycles since reset.
    pub fn time(&self) -> u64 {
        // SAFETY: as above.
        unsafe { bench_time(self.0) }
    }

    /// When the alarm or the stimulus is due, if one is set.
    pub fn due(&self) -> Option<u64> {
        // SAFETY: as above.
        Some(unsafe { bench_due(self.0) }).filter(|&due| due != u64::MAX)
    }

    pub fn retired_pc(&self) -> u32 {
        // SAFETY: as above.
        unsafe { bench_retired_pc(self.0) }
    }

    pub fn stop(&self) -> Stop {
        let mut stop = Stop { at: 0, a0: 0, a1: 0 };
        // SAFETY: as above; writes three words that are ours.
        unsafe { bench_stopped(self.0, &raw mut stop.at, &raw mut stop.a0, &raw mut stop.a1) };
        stop
    }

    /// Lets the core go on at `at`, with `a0`.
    pub fn go_on(&mut self, at: u32, a0: u32) {
        // SAFETY: as above.
        unsafe { bench_go_on(self.0, at, a0) }
    }

    fn memory(&self) -> &[u32] {
        // SAFETY: the model has an array of this many words. It changes in `cycle` alone, which borrows the model for itself.
        unsafe { slice::from_raw_parts(bench_memory(self.0), WORDS) }
    }

    fn memory_mut(&mut self) -> &mut [u32] {
        // SAFETY: as above, and the model is borrowed for ourselves.
        unsafe { slice::from_raw_parts_mut(bench_memory(self.0), WORDS) }
    }

    /// The byte at an address, if that is memory.
    pub fn byte(&self, address: u32) -> Option<u8> {
        let offset = address.checked_sub(MEMORY)? as usize;
        Some(self.memory().get(offset / 4)?.to_le_bytes()[offset % 4])
    }

    /// Sets the byte at an address; false if that is not memory.
    #[must_use]
    pub fn set_byte(&mut self, address: u32, value: u8) -> bool {
        let Some(offset) = address.checked_sub(MEMORY).map(|offset| offset as usize) else {
            return false;
        };
        let Some(word) = self.memory_mut().get_mut(offset / 4) else { return false };
        let mut bytes = word.to_le_bytes();
        bytes[offset % 4] = value;
        *word = u32::from_le_bytes(bytes);
        true
    }

    pub fn word(&self, address: u32) -> Option<u32> {
        Some(u32::from(self.half(address)?) | u32::from(self.half(address.checked_add(2)?)?) << 16)
    }

    pub fn half(&self, address: u32) -> Option<u16> {
        Some(u16::from_le_bytes([self.byte(address)?, self.byte(address.checked_add(1)?)?]))
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        // SAFETY: `new` made it, and nothing uses it any more.
        unsafe { bench_free(self.0) }
    }
}
