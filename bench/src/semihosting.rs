//! The debug probe's semihosting: answers the program's calls.
//!
//! By RISC-V's specification, a call is an `ebreak` between two instructions without effect, which
//! distinguishes it from other breakpoints. The operations are the ones of Arm's specification that
//! the firmware uses. Any other operation ends the run.

use std::io::{self, Write};

use crate::{
    model::{Model, Stop, WIDE},
    probe,
};

const OPEN: u32 = 0x01;
const WRITE: u32 = 0x05;
const GET_COMMAND_LINE: u32 = 0x15;
const EXIT: u32 = 0x18;

const BEFORE: u32 = 0x01f0_1013; // slli x0, x0, 0x1f
const EBREAK: u32 = 0x0010_0073;
const AFTER: u32 = 0x4070_5013; // srai x0, x0, 7

/// The file name of the console. Its mode selects the stream: 4 to 7 (write) standard output, 8 to
/// 11 (append) standard error.
const CONSOLE: &[u8] = b":tt";
const OUTPUT: u32 = 1;
const ERRORS: u32 = 2;

const APPLICATION_EXIT: u32 = 0x20026;

const FAILED: u32 = u32::MAX;

/// The action after a call.
pub enum Next {
    GoOn { answer: u32 },
    Exit { well: bool },
}

pub struct Host<'a> {
    pub request: &'a str,
    pub output: &'a mut dyn Write,
    pub errors: &'a mut dyn Write,
}

impl Host<'_> {
    pub fn call(&mut self, model: &mut Model, stop: Stop) -> Result<Next, String> {
        let around = [stop.at.wrapping_sub(4), stop.at, stop.at.wrapping_add(4)]
            .map(|address| model.word(address));
        if around != [BEFORE, EBREAK, AFTER].map(Some) {
            return Err(format!("breakpoint at {:#010x}", stop.at));
        }
        let unreadable = || {
            format!(
                "semihosting at {:#010x}: its block at {:#010x} is not in memory",
                stop.at, stop.a1
            )
        };
        let answer = match stop.a0 {
            OPEN => self.open(model, stop.a1).ok_or_else(unreadable)?,
            WRITE => self
                .write(model, stop.a1)
                .ok_or_else(unreadable)?
                .map_err(|error| format!("output: {error}"))?,
            GET_COMMAND_LINE => self.command_line(model, stop.a1).ok_or_else(unreadable)?,
            EXIT if WIDE => {
                let [reason, status] = words(model, stop.a1).ok_or_else(unreadable)?;
                return Ok(Next::Exit { well: (reason, status) == (APPLICATION_EXIT, 0) });
            }
            EXIT => return Ok(Next::Exit { well: stop.a1 == APPLICATION_EXIT }),
            other => {
                return Err(format!(
                    "semihosting at {:#010x}: no operation {other:#x} here",
                    stop.at
                ));
            }
        };
        Ok(Next::GoOn { answer })
    }

    fn open(&self, model: &mut Model, block: u32) -> Option<u32> {
        let [name, mode, length] = words(model, block)?;
        let name = probe::load(model, name, length)?;
        Some(match mode {
            4..8 if name == CONSOLE => OUTPUT,
            8..12 if name == CONSOLE => ERRORS,
            _ => FAILED,
        })
    }

    /// Writes a block and returns the number of bytes not written. `None` if the block is not in
    /// memory.
    fn write(&mut self, model: &mut Model, block: u32) -> Option<io::Result<u32>> {
        let [file, start, length] = words(model, block)?;
        let bytes = probe::load(model, start, length)?;
        let written = match file {
            OUTPUT => self.output.write_all(&bytes),
            ERRORS => self.errors.write_all(&bytes),
            _ => return Some(Ok(length)),
        };
        Some(written.map(|()| 0))
    }

    fn command_line(&self, model: &mut Model, block: u32) -> Option<u32> {
        let [buffer, size] = words(model, block)?;
        let length = u32::try_from(self.request.len()).ok()?;
        if length >= size {
            return Some(FAILED);
        }
        let line = [self.request.as_bytes(), &[0]].concat();
        probe::store(model, buffer, &line)?;
        probe::store(model, block.checked_add(FIELD)?, &length.to_le_bytes())?;
        Some(0)
    }
}

/// The bytes of a field of a block: as many as a register has.
const FIELD: u32 = if WIDE { 8 } else { 4 };

/// The fields of a block, of which the low 32 bits are read: addresses and lengths have no more.
fn words<const N: usize>(model: &mut Model, block: u32) -> Option<[u32; N]> {
    let mut words = [0; N];
    for (word, at) in words.iter_mut().zip((0..).step_by(FIELD as usize)) {
        let bytes = probe::load(model, block.checked_add(at)?, 4)?;
        *word = u32::from_le_bytes(bytes.try_into().ok()?);
    }
    Some(words)
}
