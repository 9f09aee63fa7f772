//! The Verilated model of the board, and its memory.
//!
//! # Soundness
//! [`Model`] owns the C++ object from `new` to `drop`, and is the only one to call its functions.
//! Methods that change the object or its memory take `&mut self`, so no slice of the memory exists
//! meanwhile. The object is used by one thread, since a raw pointer is not `Send`.

use std::{marker::PhantomData, slice};

/// The parameters of a board.
#[derive(Clone, Copy)]
pub struct Setup {
    pub wait_states: u8,
    pub hertz: u32,
    pub seed: u32,
}

/// The core has 64 bits. Its addresses have no more than 32 that are not zero.
pub const WIDE: bool = cfg!(any(feature = "cva6", feature = "rocket", feature = "rocket-small"));
/// The start address of the memory: flash, then RAM; one memory for a core of 64 bits.
pub const MEMORY: u32 = 0x8000_0000;
/// The size of the memory in words of 4 bytes.
pub const WORDS: usize = if WIDE { 32 * 1024 * 1024 / 4 } else { (1024 + 256) * 1024 / 4 };

/// The signals that may change with every cycle, as `rtl/bench.sv` packs them in `watch_o`.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Watch(u32);

impl Watch {
    /// The channels of the logic analyser: pins 0 to 7, the stimulus's interrupt line, and the
    /// core's sleep signal.
    pub const CHANNELS: [&str; 10] =
        ["D0", "D1", "D2", "D3", "D4", "D5", "D6", "D7", "irq", "sleep"];

    /// The levels of all channels, one bit each.
    pub fn levels(self) -> u32 {
        self.0 & ((1 << Self::CHANNELS.len()) - 1)
    }

    /// Pin 0: the program is in a measured window.
    pub fn in_window(self) -> bool {
        self.0 & 1 != 0
    }

    pub fn sleeps(self) -> bool {
        self.0 & 1 << 9 != 0
    }

    /// The debug probe has stopped the core and must answer.
    pub fn stopped(self) -> bool {
        self.0 & 1 << 10 != 0
    }

    /// An instruction has retired.
    pub fn retired(self) -> bool {
        self.0 & 1 << 11 != 0
    }

    /// The retired instruction is the first of an interrupt handler.
    pub fn entry(self) -> bool {
        self.0 & 1 << 12 != 0
    }

    /// The alarm is due, and nobody has cleared it.
    pub fn alarm(self) -> bool {
        self.0 & 1 << 13 != 0
    }

    /// The interrupt controller asks the core for an interrupt.
    pub fn asks(self) -> bool {
        self.0 & 1 << 14 != 0
    }
}

#[cfg(test)]
impl Watch {
    /// A cycle in which an instruction retires, which may be the first of an interrupt's handler.
    pub fn retiring(is_entry: bool, is_due: bool) -> Self {
        Self(1 << 11 | u32::from(is_entry) << 12 | Self::waiting(is_due).0)
    }

    /// A cycle in which none retires.
    pub fn waiting(is_due: bool) -> Self {
        Self(u32::from(is_due) << 13 | u32::from(is_due) << 14)
    }
}

/// The address at which the core was stopped, and its registers a0 and a1.
#[derive(Clone, Copy)]
pub struct Stop {
    pub at: u32,
    pub a0: u32,
    pub a1: u32,
}

/// The C++ object, opaque.
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
    fn bench_arrive(model: *mut Raw, arrives: bool);
    fn bench_time(model: *mut Raw) -> u64;
    fn bench_due(model: *mut Raw) -> u64;
    fn bench_retired_pc(model: *mut Raw) -> u32;
    fn bench_stopped(model: *mut Raw, at: *mut u32, operation: *mut u32, argument: *mut u32);
    fn bench_go_on(model: *mut Raw, at: u32, answer: u32);
}

pub struct Model(*mut Raw);

impl Model {
    pub fn new(setup: Setup) -> Self {
        // SAFETY: creates an object, which `drop` deletes.
        Self(unsafe { bench_new(setup.wait_states, setup.hertz, setup.seed) })
    }

    /// Simulates one cycle of the clock.
    #[inline]
    pub fn cycle(&mut self) -> Watch {
        // SAFETY: the object exists as long as `self`, here and below.
        Watch(unsafe { bench_cycle(self.0) })
    }

    /// Simulates one cycle of a sleeping core, and advances the time by `more` further cycles
    /// without simulating them.
    pub fn skip(&mut self, more: u64) -> Watch {
        // SAFETY: the object exists as long as `self`.
        unsafe {
            bench_skip(self.0, more);
            let watch = bench_cycle(self.0);
            bench_skip(self.0, 0);
            Watch(watch)
        }
    }

    /// Has the alarm become due in the next cycle, or not.
    pub fn arrive(&mut self, arrives: bool) {
        // SAFETY: the object exists as long as `self`.
        unsafe { bench_arrive(self.0, arrives) }
    }

    /// The number of cycles since reset.
    pub fn time(&self) -> u64 {
        // SAFETY: the object exists as long as `self`.
        unsafe { bench_time(self.0) }
    }

    /// The cycle at which the alarm or the stimulus is due, whichever is earlier, if one is set.
    pub fn due(&self) -> Option<u64> {
        // SAFETY: the object exists as long as `self`.
        Some(unsafe { bench_due(self.0) }).filter(|&due| due != u64::MAX)
    }

    /// The address of the instruction that retired last.
    pub fn retired_pc(&self) -> u32 {
        // SAFETY: the object exists as long as `self`.
        unsafe { bench_retired_pc(self.0) }
    }

    /// The state of a core that the probe has stopped.
    pub fn stop(&self) -> Stop {
        let mut stop = Stop { at: 0, a0: 0, a1: 0 };
        // SAFETY: the object exists as long as `self`; the pointers are to the three words of
        // `stop`.
        unsafe { bench_stopped(self.0, &raw mut stop.at, &raw mut stop.a0, &raw mut stop.a1) };
        stop
    }

    /// Lets a stopped core continue at `at`, with `a0`.
    pub fn go_on(&mut self, at: u32, a0: u32) {
        // SAFETY: the object exists as long as `self`.
        unsafe { bench_go_on(self.0, at, a0) }
    }

    fn memory(&self) -> &[u32] {
        // SAFETY: the object has an array of this many words. Only `cycle`, `skip` and `memory_mut`
        // change it, which borrow `self` mutably.
        unsafe { slice::from_raw_parts(bench_memory(self.0), WORDS) }
    }

    fn memory_mut(&mut self) -> &mut [u32] {
        // SAFETY: as above, and `self` is borrowed mutably.
        unsafe { slice::from_raw_parts_mut(bench_memory(self.0), WORDS) }
    }

    /// The byte at an address, if it is in memory.
    pub fn byte(&self, address: u32) -> Option<u8> {
        let offset = address.checked_sub(MEMORY)? as usize;
        Some(self.memory().get(offset / 4)?.to_le_bytes()[offset % 4])
    }

    /// Sets the byte at an address. Returns `false` if it is not in memory.
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
        // SAFETY: `new` created the object, and nothing uses it after this.
        unsafe { bench_free(self.0) }
    }
}
