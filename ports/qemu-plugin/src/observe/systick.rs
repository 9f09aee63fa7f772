//! A model of the SysTick timer of a Cortex-M as QEMU 7.2 has it (hw/timer/armv7m_systick.c,
//! hw/core/ptimer.c): the due times that follow from the image's stores.

/// The addresses of the timer's registers.
const CONTROL: u64 = 0xe000_e010;
const RELOAD: u64 = 0xe000_e014;
const CURRENT: u64 = 0xe000_e018;

/// Bits of [`CONTROL`].
const ENABLE: u32 = 1;
const INTERRUPT: u32 = 2;
const PROCESSOR_CLOCK: u32 = 4;

pub struct SysTick {
    /// A cycle of the processor's clock in ns, with 32 binary places.
    cycle: u64,
    /// Cycles of the processor's clock in one of the reference clock.
    reference: u64,
    control: u32,
    reload: u64,
    /// The counter is 0, and nothing has been counted since.
    is_cleared: bool,
    /// The time of the next interrupt in ns; `None` if it is not known or the timer is off.
    next: Option<u64>,
}

impl SysTick {
    /// The state after a reset, with a processor of this many cycles a second, and a reference clock that
    /// is slower by this ratio.
    pub fn new(hertz: u64, reference: u64) -> Self {
        let cycle = (1_000_000_000 << 32) / hertz.max(1);
        Self { cycle, reference, control: 0, reload: 0, is_cleared: true, next: None }
    }

    /// Returns `true` if a store to `address` may change the timer.
    pub fn is_watched(address: u64) -> bool {
        matches!(address, CONTROL | RELOAD | CURRENT)
    }

    /// Takes in a store at a time in ns.
    pub fn stored(&mut self, address: u64, value: u32, now: u64) {
        self.skip(now);
        match address {
            CONTROL => {
                let was_enabled = self.control & ENABLE != 0;
                let is_same_clock = (self.control ^ value) & PROCESSOR_CLOCK == 0;
                self.control = value;
                let is_enabled = self.control & ENABLE != 0;
                match (was_enabled, is_enabled) {
                    (false, true) if self.is_cleared => self.start(now),
                    (true, true) if is_same_clock => {}
                    // A counter that goes on from its value, or at another rate, is not modelled.
                    (_, _) => self.next = None,
                }
            }
            RELOAD => self.reload = u64::from(value & 0x00ff_ffff),
            _ => {
                self.is_cleared = true;
                if self.control & ENABLE != 0 {
                    self.start(now);
                }
            }
        }
    }

    /// Starts to count from 0: one cycle until the reload, then down to 0.
    fn start(&mut self, now: u64) {
        self.is_cleared = false;
        self.next = (self.reload > 0).then(|| now + self.length(1) + self.length(self.reload));
    }

    /// The length of some cycles in ns, rounded down as QEMU does.
    fn length(&self, cycles: u64) -> u64 {
        let factor = if self.control & PROCESSOR_CLOCK != 0 { 1 } else { self.reference };
        let length = u128::from(self.cycle) * u128::from(factor) * u128::from(cycles);
        (length >> 32) as u64
    }

    /// Passes over the due times up to `now`, which one pending bit stands for. Returns the first.
    pub fn skip(&mut self, now: u64) -> Option<u64> {
        let first = self.next.filter(|next| *next <= now)?;
        let period = self.length(self.reload + 1).max(1);
        self.next = (self.reload > 0).then(|| first + (1 + (now - first) / period) * period);
        (self.control & INTERRUPT != 0).then_some(first)
    }
}
