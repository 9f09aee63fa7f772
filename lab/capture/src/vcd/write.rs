//! Writes a dump through the crate `vcd`, edge by edge, and chooses its timescale. The module reads
//! no dump.

use std::io::{self, Write};

use vcd::{IdCode, SimulationCommand, TimescaleUnit, Value};

use super::{
    OURS,
    names::{UniqueNames, identifier},
};
use crate::error::Result;
use crate::{
    Sampling, Tick,
    flow::{Edge, Header, Sink},
};

/// A sink that writes each edge as it arrives.
pub struct Writer<'a> {
    writer: vcd::Writer<&'a mut dyn Write>,
    codes: Vec<IdCode>,
    /// The number of the file's ticks in a tick of the capture.
    factor: u64,
    now: Option<u64>,
}

impl<'a> Writer<'a> {
    /// Writes the dump's head.
    ///
    /// # Errors
    /// If `output` fails.
    pub fn new(header: &Header, output: &'a mut dyn Write) -> io::Result<Self> {
        let mut writer = vcd::Writer::new(output);
        writer.version(concat!("chronoscope ", env!("CARGO_PKG_VERSION")))?;
        let factor = match timescale(header.tick) {
            Some((size, unit, factor)) => {
                writer.timescale(size, unit)?;
                factor
            }
            None => {
                let (numerator, hertz) = header.tick.fraction();
                writer.comment(&format!("{OURS} hertz {hertz}"))?;
                writer.timescale(1, TimescaleUnit::NS)?;
                numerator
            }
        };
        if let Sampling::At(hertz) = header.sampling {
            writer.comment(&format!("{OURS} sampled {hertz}"))?;
        }
        writer.add_module("capture")?;
        let mut unique = UniqueNames::new('_', []);
        let names = header.channels.iter().map(|name| unique.claim(&identifier(name)));
        let codes = names.map(|name| writer.add_wire(1, &name)).collect::<io::Result<_>>()?;
        writer.upscope()?;
        writer.enddefinitions()?;
        Ok(Self { writer, codes, factor, now: None })
    }

    fn time(&mut self, at: u64) -> io::Result<()> {
        if self.now != Some(at) {
            self.now = Some(at);
            self.writer.timestamp(at.checked_mul(self.factor).ok_or_else(overflow)?)?;
        }
        Ok(())
    }
}

impl Sink for Writer<'_> {
    fn begin(&mut self, start: u64, levels: &[bool]) -> Result<()> {
        self.time(start)?;
        self.writer.begin(SimulationCommand::Dumpvars)?;
        for (code, level) in self.codes.iter().zip(levels) {
            self.writer.change_scalar(*code, value(*level))?;
        }
        Ok(self.writer.end()?)
    }

    fn edge(&mut self, edge: Edge) -> Result<()> {
        self.time(edge.at)?;
        Ok(self.writer.change_scalar(self.codes[edge.channel], value(edge.level))?)
    }

    fn end(&mut self, end: u64) -> Result<()> {
        Ok(self.time(end)?)
    }
}

fn value(level: bool) -> Value {
    if level { Value::V1 } else { Value::V0 }
}

/// Returns the greatest timescale of which the tick is a whole multiple, and the multiple; `None`
/// if there is none down to 1 fs.
fn timescale(tick: Tick) -> Option<(u32, TimescaleUnit, u64)> {
    use TimescaleUnit::{FS, MS, NS, PS, S, US};
    let (numerator, denominator) = tick.fraction();
    let units = [
        (S, 1),
        (MS, 10_u64.pow(3)),
        (US, 10_u64.pow(6)),
        (NS, 10_u64.pow(9)),
        (PS, 10_u64.pow(12)),
        (FS, 10_u64.pow(15)),
    ];
    let sizes =
        units.iter().flat_map(|(unit, parts)| [100, 10, 1].map(|size| (size, *unit, *parts)));
    sizes.into_iter().find_map(|(size, unit, parts)| {
        // The file's ticks in a tick of the capture: numerator/denominator ÷ size/parts.
        let (above, below) =
            (u128::from(numerator) * u128::from(parts), u128::from(denominator) * u128::from(size));
        let factor = (above % below == 0).then(|| above / below)?;
        Some((size, unit, u64::try_from(factor).ok()?))
    })
}

/// The error of a time that does not fit into the written file.
fn overflow() -> io::Error {
    io::Error::other("a time does not fit into the file: it is too long")
}
