//! The board form of the marks: each mark reads a clock and writes one record to a ring in memory,
//! which the program sends when it is idle. The ring has `CHRONO_MARK_SLOTS` records of 16 bytes,
//! an environment variable of the build: a power of two of at most 1024, else 256.
//!
//! ```ignore
//! let mut board = Board::start_dwt(84_000_000).expect("the first start, and a cycle counter");
//! loop {
//!     begin!(control);
//!     control();
//!     end!(control);
//!     board.drain(&mut |byte| uart.write(byte));
//! }
//! ```
//!
//! A mark is 13 instructions on a Cortex-M, 14 with an id or a number. It masks interrupts for 9 of
//! them, so it may stand in handlers; not in a handler of NMI or HardFault, and not in unprivileged
//! code. One processor. Marks before the start count for nothing; on a Cortex-M such a mark reads
//! address 0.

#[cfg(is_board)]
use core::{
    cell::UnsafeCell,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

/// The records of the ring, as a power of two.
#[cfg(is_board)]
#[doc(hidden)]
pub const BITS: usize = match env!("CHRONO_MARK_BITS").as_bytes() {
    [ones] => (*ones - b'0') as usize,
    [tens, ones] => 10 * (*tens - b'0') as usize + (*ones - b'0') as usize,
    _ => panic!("a number of one or two digits"),
};

/// The records, and their number so far. The instructions of a mark know the places of these
/// fields.
#[cfg(is_board)]
#[doc(hidden)]
#[repr(C, align(16))]
pub struct Ring {
    head: UnsafeCell<u32>,
    /// The address of the counter.
    clock: UnsafeCell<u32>,
    unused: [u32; 2],
    /// Place, clock, argument, and nothing.
    slots: [UnsafeCell<[u32; 4]>; 1 << BITS],
}

// SAFETY: the fields are written by marks with interrupts masked, and by the one `Board`; all reads
// are volatile, and a record is taken only if it was not overwritten meanwhile.
#[cfg(is_board)]
unsafe impl Sync for Ring {}

/// The ring of the program.
#[cfg(is_board)]
#[doc(hidden)]
#[unsafe(export_name = "chrono_ring")]
pub static RING: Ring = Ring {
    head: UnsafeCell::new(0),
    clock: UnsafeCell::new(0),
    unused: [0; 2],
    slots: [const { UnsafeCell::new([0; 4]) }; 1 << BITS],
};

/// The stream of the marks. There is one: it is made by the first start.
pub struct Board {
    #[cfg(is_board)]
    stream: Stream,
    _one: (),
}

impl Board {
    /// Begins the stream with the cycle counter of a Cortex-M (DWT) as the clock, at this rate in
    /// Hz. `None` if the stream was begun before, or the counter does not count: the core has none.
    #[cfg(any(target_arch = "arm", not(is_board)))]
    pub fn start_dwt(hertz: u32) -> Option<Self> {
        #[cfg(is_board)]
        {
            const DEBUG: *mut u32 = 0xe000_edfc as *mut u32;
            const DWT: *mut u32 = 0xe000_1000 as *mut u32;
            // SAFETY: registers of every Cortex-M3 and newer: trace on, unlocked (Cortex-M7),
            // counter on.
            let counts = unsafe {
                DEBUG.write_volatile(DEBUG.read_volatile() | 1 << 24);
                DWT.byte_add(0xfb0).write_volatile(0xc5ac_ce55);
                DWT.write_volatile(DWT.read_volatile() | 1);
                let first = DWT.add(1).read_volatile();
                (0..8).any(|_| DWT.add(1).read_volatile() != first)
            };
            if !counts {
                return None;
            }
            // SAFETY: the counter can be read at any time.
            unsafe { Self::start_counter(DWT.add(1), hertz, u32::MAX, false) }
        }
        #[cfg(not(is_board))]
        Self::start_nothing(hertz)
    }

    /// Begins the stream with a counter in memory as the clock: its rate in Hz, its largest value,
    /// after which it begins anew, and whether it counts down. `None` if the stream was begun
    /// before.
    ///
    /// # Safety
    /// `counter` can be read from every context that sets a mark, for as long as the program runs.
    #[cfg(any(target_arch = "arm", not(is_board)))]
    pub unsafe fn start_counter(
        counter: *const u32,
        hertz: u32,
        top: u32,
        is_down: bool,
    ) -> Option<Self> {
        #[cfg(is_board)]
        {
            // SAFETY: a word of the ring, aligned; marks read it.
            unsafe { RING.clock.get().write_volatile(counter.addr() as u32) };
            Self::start(hertz, top, is_down)
        }
        #[cfg(not(is_board))]
        {
            let _ = (counter, top, is_down);
            Self::start_nothing(hertz)
        }
    }

    /// Begins the stream with `mcycle` of a RISC-V processor in machine mode as the clock, at this
    /// rate in Hz. `None` if the stream was begun before.
    #[cfg(any(not(target_arch = "arm"), not(is_board)))]
    pub fn start_mcycle(hertz: u32) -> Option<Self> {
        #[cfg(is_board)]
        return Self::start(hertz, u32::MAX, false);
        #[cfg(not(is_board))]
        Self::start_nothing(hertz)
    }

    /// Without marks there is nothing to send.
    #[cfg(not(is_board))]
    fn start_nothing(_hertz: u32) -> Option<Self> {
        Some(Self { _one: () })
    }

    #[cfg(is_board)]
    fn start(hertz: u32, top: u32, is_down: bool) -> Option<Self> {
        static STARTED: AtomicBool = AtomicBool::new(false);
        if STARTED.load(Relaxed) {
            return None;
        }
        STARTED.store(true, Relaxed);
        let (since, names) = (HEADS, Names::new());
        let stream = Stream { hertz, top, is_down, tail: head(), since, stamped: now(), names };
        for _ in 0..8.min((1_usize << BITS) / 4) {
            crate::begin!(mark_to_mark);
            crate::end!(mark_to_mark);
        }
        Some(Self { stream, _one: () })
    }

    /// Names the task that the numbers `task_runs` and `task_ready` mean, which a kernel's hooks set. At
    /// most 16 tasks have names, of at most 16 letters; a task that has another one's id takes its
    /// place.
    pub fn name(&mut self, id: u32, name: &str) {
        #[cfg(is_board)]
        self.stream.names.add(id, name);
        #[cfg(not(is_board))]
        let _ = (id, name);
    }

    /// Sends the records so far byte by byte, at most as many as the ring has. Must be called at
    /// least once in half a period of the clock: of 32 bits at 84 MHz, 25 s. `put` may wait.
    pub fn drain(&mut self, put: &mut dyn FnMut(u8)) {
        #[cfg(is_board)]
        self.stream.drain(put);
        #[cfg(not(is_board))]
        let _ = put;
    }
}

/// The records between two heads of the stream.
#[cfg(is_board)]
const HEADS: u32 = 64;

/// The distance from a mark to the program counter that its first instruction reads.
#[cfg(is_board)]
const BEHIND: u32 = if cfg!(target_arch = "arm") { 4 } else { 0 };

#[cfg(is_board)]
struct Stream {
    hertz: u32,
    top: u32,
    is_down: bool,
    /// The number of records that were sent or lost.
    tail: u32,
    /// The records since the last head, and the clock then.
    since: u32,
    stamped: u32,
    names: Names,
}

/// The names of tasks: an id and 16 letters each.
#[cfg(is_board)]
struct Names {
    words: [[u32; 5]; 16],
    count: usize,
    sent: usize,
    /// The next one to send again, with a head.
    repeated: usize,
}

#[cfg(is_board)]
impl Names {
    const fn new() -> Self {
        Self { words: [[0; 5]; 16], count: 0, sent: 0, repeated: 0 }
    }

    fn add(&mut self, id: u32, name: &str) {
        let known = self.words[..self.count].iter().position(|words| words[0] == id);
        let place = known.unwrap_or(self.count);
        let Some(words) = self.words.get_mut(place) else { return };
        *words = [id, 0, 0, 0, 0];
        for (letter, byte) in name.bytes().take(16).enumerate() {
            words[1 + letter / 4] |= u32::from(byte) << (8 * (letter % 4));
        }
        self.count = self.count.max(place + 1);
        self.sent = self.sent.min(place);
    }

    /// Sends the names that were not sent, and with a head one that was: who listens since then hears
    /// each within as many heads.
    fn send(&mut self, is_head: bool, put: &mut dyn FnMut(u8)) {
        if is_head {
            match self.words[..self.sent].get(self.repeated) {
                Some(words) => send(b'N', words, put),
                None => self.repeated = usize::MAX,
            }
            self.repeated = self.repeated.wrapping_add(1);
        }
        for words in &self.words[self.sent..self.count] {
            send(b'N', words, put);
        }
        self.sent = self.count;
    }
}

/// The number of records so far.
#[cfg(is_board)]
fn head() -> u32 {
    // SAFETY: a word of the ring, aligned.
    unsafe { RING.head.get().read_volatile() }
}

/// The clock.
#[cfg(is_board)]
fn now() -> u32 {
    #[cfg(target_arch = "arm")]
    // SAFETY: the address is the one of `start_counter`, whose caller promises that it can be read.
    unsafe {
        core::ptr::with_exposed_provenance::<u32>(RING.clock.get().read_volatile() as usize)
            .read_volatile()
    }
    #[cfg(not(target_arch = "arm"))]
    {
        let value: usize;
        // SAFETY: reads a register without effects.
        unsafe { core::arch::asm!("csrr {}, mcycle", out(reg) value, options(nomem, nostack)) };
        value as u32
    }
}

#[cfg(is_board)]
impl Stream {
    fn drain(&mut self, put: &mut dyn FnMut(u8)) {
        let now = now();
        let (from, to) = if self.is_down { (now, self.stamped) } else { (self.stamped, now) };
        // The period of a counter of 32 bits is 0.
        let period = if to < from { self.top.wrapping_add(1) } else { 0 };
        let passed = to.wrapping_sub(from).wrapping_add(period);
        let is_head = self.since >= HEADS || passed > self.top / 8;
        if is_head {
            (self.since, self.stamped) = (0, now);
            let form = 1 | u32::from(self.is_down) << 8;
            send(b'H', &[form, self.hertz, self.top, self.tail, now], put);
        }
        self.names.send(is_head, put);
        for _ in 0..1 << BITS {
            let position = self.tail;
            if head() == position {
                return;
            }
            let slot = RING.slots[position.wrapping_add(1) as usize % (1 << BITS)].get();
            // SAFETY: a record of the ring. A mark of a handler's may change it meanwhile; the
            // check below finds that out.
            let [place, clock, argument, _] = unsafe { slot.read_volatile() };
            let head = head();
            if head.wrapping_sub(position) > 1 << BITS {
                self.tail = head.wrapping_sub(1 << BITS);
                continue;
            }
            self.tail = position.wrapping_add(1);
            self.since += 1;
            send(b'M', &[position, place.wrapping_sub(BEHIND), clock, argument], put);
        }
    }
}

/// Sends the words behind a letter, with a CRC-16 (CCITT), as a frame of COBS.
#[cfg(is_board)]
fn send(letter: u8, words: &[u32], put: &mut dyn FnMut(u8)) {
    let mut frame = [0; 1 + 4 * 5 + 2];
    let (content, sum) = frame[..3 + 4 * words.len()].split_at_mut(1 + 4 * words.len());
    content[0] = letter;
    for (bytes, word) in content[1..].chunks_exact_mut(4).zip(words) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    let crc = content.iter().fold(0xffff_u16, |crc, byte| {
        (0..8).fold(crc ^ u16::from(*byte) << 8, |crc, _| {
            if crc & 0x8000 == 0 { crc << 1 } else { crc << 1 ^ 0x1021 }
        })
    });
    sum.copy_from_slice(&crc.to_le_bytes());
    for block in frame[..3 + 4 * words.len()].split(|byte| *byte == 0) {
        put(block.len() as u8 + 1);
        block.iter().for_each(|byte| put(*byte));
    }
    put(0);
}
