//! Writes the logic analyser's capture as a Value Change Dump (IEEE 1364-2005, section 18), with a
//! tick for each cycle.

use std::io::{self, Write};

use crate::model::Watch;

pub struct Waveform<W> {
    file: W,
    levels: u32,
    end: u64,
}

/// The identifiers of the channels in the file.
const IDENTIFIERS: std::ops::RangeFrom<u8> = b'!'..;

impl<W: Write> Waveform<W> {
    /// Starts a capture at cycle 0, with all channels low.
    pub fn new(mut file: W, hertz: u32) -> io::Result<Self> {
        writeln!(
            file,
            "$comment chronoscope hertz {hertz} $end\n$timescale 1 ns $end\n$scope module bench $end"
        )?;
        for (name, identifier) in Watch::CHANNELS.iter().zip(IDENTIFIERS) {
            writeln!(file, "$var wire 1 {} {name} $end", char::from(identifier))?;
        }
        writeln!(file, "$upscope $end\n$enddefinitions $end\n#0\n$dumpvars")?;
        for (_, identifier) in Watch::CHANNELS.iter().zip(IDENTIFIERS) {
            writeln!(file, "0{}", char::from(identifier))?;
        }
        writeln!(file, "$end")?;
        Ok(Self { file, levels: 0, end: 0 })
    }

    /// Sets the levels from cycle `at` on.
    pub fn set(&mut self, at: u64, levels: u32) -> io::Result<()> {
        let changed = self.levels ^ levels;
        if changed == 0 {
            return Ok(());
        }
        writeln!(self.file, "#{at}")?;
        for (channel, identifier) in (0..Watch::CHANNELS.len()).zip(IDENTIFIERS) {
            if changed >> channel & 1 != 0 {
                writeln!(self.file, "{}{}", levels >> channel & 1, char::from(identifier))?;
            }
        }
        (self.levels, self.end) = (levels, at);
        Ok(())
    }

    /// Ends the capture at cycle `at`.
    pub fn finish(mut self, at: u64) -> io::Result<()> {
        if at > self.end {
            writeln!(self.file, "#{at}")?;
        }
        self.file.flush()
    }
}
