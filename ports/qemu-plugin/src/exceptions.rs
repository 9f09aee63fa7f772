//! Entry into and return from exceptions of an Armv7-M processor: interrupts, SVCall, PendSV,
//! SysTick, faults.
//!
//! The plugin interface reports neither. But QEMU translates code for handler mode separately from
//! the same code for thread mode, so only blocks of handler mode need callbacks. A handler is
//! entered where a block of handler mode begins at an address of the vector table with EXC_RETURN
//! in the link register. A return is detected at the next block; its time is the end of the last
//! block of handler mode before that.

use std::io;

use crate::{
    api::Block,
    emulator::Processor,
    vcd::{Vcd, Wire},
};

// The debugger's register numbers.
pub const LINK: usize = 14;
const XPSR: usize = 25;

pub const VECTOR_TABLE_OFFSET: u64 = 0xe000_ed08;
const ACTIVE_INTERRUPTS: u64 = 0xe000_e300;
const SYSTEM_HANDLERS: u64 = 0xe000_ed24;

/// The active exceptions, as far as they have been detected.
#[derive(Default)]
pub struct Exceptions {
    /// The stack of active exceptions: the running one is last.
    active: Vec<u32>,
    /// The end of the last block of handler mode.
    end: u64,
}

/// Packs the callback's data about a block into one number; `None` in thread mode.
pub fn about(processor: &Processor, block: Block) -> Option<usize> {
    (running(processor) != 0)
        .then(|| block.len() << 1 | usize::from(is_vector(processor, block.address())))
}

/// Returns the number of the running exception; 0 in thread mode.
pub fn running(processor: &Processor) -> u32 {
    processor.register(XPSR) & 0x1ff
}

pub fn is_vector(processor: &Processor, address: u64) -> bool {
    let [table] = processor.words(VECTOR_TABLE_OFFSET);
    let vectors: [u32; 256] = processor.words(table.into());
    // The lowest bit of a vector marks Thumb code. The first two words are the initial stack
    // pointer and the reset vector.
    vectors[2..].iter().any(|vector| u64::from(*vector) == address | 1)
}

/// Returns `true` if the processor has not returned from this exception, interrupted or not.
fn is_active(processor: &Processor, exception: u32) -> bool {
    let (register, bit) = match exception {
        4 | 5 => (SYSTEM_HANDLERS, exception - 4),
        6 => (SYSTEM_HANDLERS, 3),
        11 => (SYSTEM_HANDLERS, 7),
        12 => (SYSTEM_HANDLERS, 8),
        14 | 15 => (SYSTEM_HANDLERS, exception - 4),
        16.. => {
            let interrupt = exception - 16;
            (ACTIVE_INTERRUPTS + u64::from(interrupt / 32 * 4), interrupt % 32)
        }
        // Armv7-M has no active bit for NMI and the hard fault; both return only to the code that
        // they have interrupted.
        _ => return true,
    };
    let [word] = processor.words(register);
    word >> bit & 1 == 1
}

/// Returns `true` if the handler of `last` has not ended when the handler of `exception` begins with
/// `link` in its link register. `depth` is the number of active exceptions, `last` included.
pub fn goes_on(processor: &Processor, last: u32, depth: usize, exception: u32, link: u32) -> bool {
    let interrupted_a_handler = link & 8 == 0;
    // No exception interrupts itself, and the first cannot have returned while there is a handler to
    // return to.
    interrupted_a_handler && last != exception && (depth == 1 || is_active(processor, last))
}

impl Exceptions {
    /// Records that a block of handler mode begins at `now`. `about` is the packed data of the
    /// block.
    pub fn block(
        &mut self,
        now: u64,
        about: usize,
        processor: &Processor,
        vcd: &mut Vcd,
    ) -> io::Result<()> {
        let (instructions, vector) = (about >> 1, about & 1 == 1);
        let link = processor.register(LINK);
        if vector && link >> 24 == 0xff {
            self.entry(now, link, processor, vcd)?;
        } else if self.active.len() > 1 {
            self.settle(now, processor, vcd)?;
        }
        self.end = now + instructions as u64;
        Ok(())
    }

    fn entry(
        &mut self,
        now: u64,
        link: u32,
        processor: &Processor,
        vcd: &mut Vcd,
    ) -> io::Result<()> {
        let exception = running(processor);
        while let Some(last) = self.active.last() {
            if goes_on(processor, *last, self.active.len(), exception, link) {
                break;
            }
            self.leave(now, vcd)?;
        }
        self.active.push(exception);
        vcd.change(now, Wire::exception(exception), true)
    }

    /// Records the returns made before `now`.
    pub fn settle(&mut self, now: u64, processor: &Processor, vcd: &mut Vcd) -> io::Result<()> {
        while self.active.last().is_some_and(|last| *last != running(processor)) {
            self.leave(now, vcd)?;
        }
        Ok(())
    }

    fn leave(&mut self, now: u64, vcd: &mut Vcd) -> io::Result<()> {
        match self.active.pop() {
            Some(exception) => vcd.change(self.end.min(now), Wire::exception(exception), false),
            None => Ok(()),
        }
    }
}
