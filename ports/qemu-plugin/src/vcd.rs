//! The waveform, as a Value Change Dump.
//!
//! The header must name all wires, but the interrupts that occur are known only at the end. Changes
//! are therefore written to a second file first.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::PathBuf,
};

use crate::pins::PINS;

/// A wire: a pin, or an exception by the processor's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wire(u32);

const EXCEPTIONS: usize = 512;

impl Wire {
    pub fn pin(number: u32) -> Self {
        Self(number)
    }

    pub fn exception(number: u32) -> Self {
        Self(PINS + number % EXCEPTIONS as u32)
    }

    /// Returns the wire's name. Exceptions have Arm's names: the existing ones of the processor's
    /// 16, then the chip's interrupts.
    fn name(self) -> String {
        match self.0.checked_sub(PINS) {
            None => format!("D{}", self.0),
            Some(2) => "nmi".to_owned(),
            Some(3) => "hardfault".to_owned(),
            Some(4) => "memmanage".to_owned(),
            Some(5) => "busfault".to_owned(),
            Some(6) => "usagefault".to_owned(),
            Some(11) => "svcall".to_owned(),
            Some(12) => "debugmonitor".to_owned(),
            Some(14) => "pendsv".to_owned(),
            Some(15) => "systick".to_owned(),
            Some(exception @ 0..16) => format!("exception{exception}"),
            Some(exception) => format!("irq{}", exception - 16),
        }
    }

    /// Returns the wire's identifier code: one or two printable characters.
    fn code(self) -> String {
        const FIRST: u8 = b'!';
        const COUNT: u32 = 94;
        let character = |digit: u32| char::from(FIRST + (digit % COUNT) as u8);
        let last = character(self.0);
        if self.0 < COUNT {
            last.into()
        } else {
            [character(self.0 / COUNT), last].iter().collect()
        }
    }
}

#[derive(Clone, Copy, Default)]
struct State {
    high: bool,
    rises: u64,
    falls: u64,
}

/// A waveform that is being recorded. Only exceptions that occur become wires.
pub struct Vcd {
    path: PathBuf,
    scope: String,
    changes: BufWriter<File>,
    wires: Vec<State>,
    time: Option<u64>,
}

impl Vcd {
    pub fn create(path: PathBuf, scope: String) -> io::Result<Self> {
        // Creating the result now reveals an unusable path, and removes the result of an earlier
        // run.
        File::create(&path)?;
        let changes = BufWriter::new(File::create(beside(&path))?);
        Ok(Self {
            path,
            scope,
            changes,
            wires: vec![State::default(); PINS as usize + EXCEPTIONS],
            time: None,
        })
    }

    /// Records that the wire has this level from `time` on. Times must not decrease.
    pub fn change(&mut self, time: u64, wire: Wire, high: bool) -> io::Result<()> {
        let state = &mut self.wires[wire.0 as usize];
        if state.high == high {
            return Ok(());
        }
        state.high = high;
        *(if high { &mut state.rises } else { &mut state.falls }) += 1;
        if self.time != Some(time) {
            self.time = Some(time);
            writeln!(self.changes, "#{time}")?;
        }
        writeln!(self.changes, "{}{}", u8::from(high), wire.code())
    }

    /// Writes the result from the header and the recorded changes.
    pub fn finish(mut self) -> io::Result<()> {
        self.changes.flush()?;
        let part = beside(&self.path);
        let mut file = BufWriter::new(File::create(&self.path)?);
        self.header(&mut file)?;
        io::copy(&mut File::open(&part)?, &mut file)?;
        file.flush()?;
        fs::remove_file(part)
    }

    fn header(&self, file: &mut impl Write) -> io::Result<()> {
        let all = (0_u32..).map(Wire).zip(&self.wires);
        let seen: Vec<_> = all.filter(|(wire, state)| wire.0 < PINS || state.rises > 0).collect();
        writeln!(file, "$comment chronoscope hertz 1000000000 $end")?;
        for (wire, state) in seen.iter().filter(|(wire, _)| wire.0 >= PINS) {
            writeln!(
                file,
                "$comment chronoscope {} entered {} returned {} $end",
                wire.name(),
                state.rises,
                state.falls
            )?;
        }
        writeln!(file, "$timescale 1 ns $end\n$scope module {} $end", self.scope)?;
        for (wire, _) in &seen {
            writeln!(file, "$var wire 1 {} {} $end", wire.code(), wire.name())?;
        }
        writeln!(file, "$upscope $end\n$enddefinitions $end\n#0\n$dumpvars")?;
        for (wire, _) in &seen {
            writeln!(file, "0{}", wire.code())?;
        }
        writeln!(file, "$end")
    }
}

fn beside(path: &std::path::Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    name.into()
}
