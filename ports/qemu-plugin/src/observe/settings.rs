//! The plugin's options as an observer.

use std::path::PathBuf;

use super::words::{Field, Memory};

/// The ratio of the two clocks on an STM32.
const REFERENCE: u64 = 8;

const TAKES: &str = "observe=FILE, limit=INSTRUCTIONS, events=COUNT, hertz=CYCLES, reference=RATIO, \
                     task=ADDRESS, field=OFFSET[:BYTES], word=ADDRESS, memory=FILE, range=ADDRESS:BYTES, \
                     requests=NUMBER and at=ADDRESS[:REGISTER]";

pub struct Settings {
    pub out: PathBuf,
    pub limit: u64,
    /// The number of events after which the observation ends.
    pub events: u64,
    /// The processor's cycles a second, by which SysTick counts; 0 if they are not known.
    pub hertz: u64,
    /// Cycles of the processor's clock in one of SysTick's reference clock.
    pub reference: u64,
    /// The address of the variable that holds the running task; without one, an address that no
    /// store has.
    pub task: u64,
    /// The watched addresses, each with the debugger's number of a register that is read there.
    pub at: Vec<(u64, Option<usize>)>,
    /// The watched fields of each task's record.
    pub fields: Vec<Field>,
    /// The addresses of other watched words.
    pub words: Vec<u64>,
    /// The part of the memory that is written to a file at the end.
    pub memory: Option<Memory>,
    /// The number of the request of the timer whose phases are tried, with which the observation ends.
    pub requests: u64,
}

impl Settings {
    pub fn parse(arguments: &[String]) -> Result<Self, String> {
        let (mut out, mut limit, mut events) = (None, u64::MAX, 1_000_000);
        let (mut hertz, mut reference) = (0, REFERENCE);
        let (mut task, mut at) = (u64::MAX, Vec::new());
        let (mut fields, mut memory, mut range) = (Vec::new(), None, None);
        let (mut words, mut requests) = (Vec::new(), u64::MAX);
        for argument in arguments {
            let wrong = || format!("`{argument}`: it takes {TAKES}");
            let (name, value) = argument.split_once('=').ok_or_else(wrong)?;
            let number = || value.parse::<u64>().ok().filter(|number| *number > 0);
            let address = |value: &str| {
                let digits = value.strip_prefix("0x").ok_or_else(wrong)?;
                u64::from_str_radix(digits, 16).map_err(|_| wrong())
            };
            let place = || -> Result<_, String> {
                let Some((at, register)) = value.split_once(':') else {
                    return Ok((address(value)?, None));
                };
                let register = register.parse::<usize>().ok().filter(|register| *register < 32);
                Ok((address(at)?, Some(register.ok_or_else(wrong)?)))
            };
            let field = || -> Result<_, String> {
                let mut numbers = value.split(':').map(str::parse::<i64>);
                let offset = numbers.next().and_then(Result::ok);
                let offset = offset.and_then(|offset| u64::try_from(offset).ok());
                let beside = numbers.collect::<Result<Vec<_>, _>>().map_err(|_| wrong())?;
                Ok(Field { offset: offset.ok_or_else(wrong)?, beside })
            };
            let addresses = || -> Result<_, String> {
                let (at, bytes) = value.split_once(':').ok_or_else(wrong)?;
                Ok((address(at)?, bytes.parse::<u64>().map_err(|_| wrong())?))
            };
            match name {
                "word" => words.push(address(value)?),
                "field" => fields.push(field()?),
                "memory" if !value.is_empty() => memory = Some(PathBuf::from(value)),
                "range" => range = Some(addresses()?),
                "observe" if !value.is_empty() => out = Some(PathBuf::from(value)),
                "limit" => limit = number().ok_or_else(wrong)?,
                "requests" => requests = number().ok_or_else(wrong)?,
                "events" => events = number().ok_or_else(wrong)?,
                "hertz" => hertz = number().ok_or_else(wrong)?,
                "reference" => {
                    reference = number().filter(|ratio| *ratio > 0).ok_or_else(wrong)?;
                }
                "task" => task = address(value)?,
                "at" => at.push(place()?),
                _ => return Err(wrong()),
            }
        }
        let out = out.ok_or("say where the events go: observe=FILE")?;
        let memory = memory.zip(range);
        let memory = memory.map(|(out, (address, bytes))| Memory { out, address, bytes });
        Ok(Self { out, limit, events, hertz, reference, task, at, fields, words, memory, requests })
    }
}

/// Returns `true` if the options ask for an observation.
pub fn is_asked(arguments: &[String]) -> bool {
    arguments.iter().any(|argument| argument.starts_with("observe="))
}
